"""Fitting the relevance and evidence scores."""

from __future__ import annotations

import numpy as np
import pytest
from builders import make_chunk

from rag.engine import Engine
from rag.evaluation.calibration import (
    KEYWORD_WEIGHT,
    ScoredQuestion,
    fit_evidence,
    fit_logistic,
    fit_relevance,
    score_questions,
    signs_of,
)
from rag.evaluation.questions import Question
from rag.papers import Paper
from rag.retrieval.candidate import Candidate
from rag.retrieval.paper_match import PaperMatch


def test_known_weights_are_found_again() -> None:
    random = np.random.default_rng(0)
    table = np.column_stack(
        [random.normal(3, 2, 20_000), random.normal(0, 1, 20_000), np.ones(20_000)]
    )
    offset = random.normal(0, 1, 20_000)
    chance = 1 / (1 + np.exp(-(table @ [0.8, -1.5, -2.0] + offset)))
    labels = (random.random(20_000) < chance).astype(float)
    np.testing.assert_allclose(
        fit_logistic(table, labels, 1e-6, offset), [0.8, -1.5, -2.0], atol=0.12
    )


def test_the_penalty_keeps_separable_cases_finite() -> None:
    table = np.column_stack([np.linspace(-1, 1, 10), np.ones(10)])
    weights = fit_logistic(table, (table[:, 0] > 0).astype(float), 0.01)
    assert np.isfinite(weights).all() and weights[0] > 0


def entry(category: str, good: float, bad: float, seed: int) -> ScoredQuestion:
    """A question over paper A with one candidate of A and one of another paper."""
    jitter = np.random.default_rng(seed).normal(0, 0.05, 2)

    def item(paper_id: str, sign: float) -> Candidate:
        value = float(np.clip(sign + jitter[int(paper_id == "A")], 0.01, 0.99))
        match = PaperMatch(paper_id, value, value, value, 0.0, 0.0, 1)
        return Candidate(
            make_chunk(paper_id, 1, "t"), Paper(paper_id, "T"), "q", score_rerank=value, match=match
        )

    papers = ("A",) if category == "fact" else ()
    asked = Question(id="q", question="q", category=category, split="tune", papers=papers)  # type: ignore[arg-type]
    return ScoredQuestion(asked, (item("A", good), item("B", bad)))


def test_signs_that_tell_right_from_wrong_get_positive_weights() -> None:
    inside = [entry("fact", 0.7, 0.4, seed) for seed in range(40)]
    outside = [entry("out_of_scope", 0.4, 0.3, seed) for seed in range(40, 80)]
    weights = fit_relevance(inside)
    assert weights.keyword == KEYWORD_WEIGHT and weights.constant < 0
    assert min(weights.rerank, weights.abstract, weights.late) > 0
    found = fit_evidence([*inside, *outside])
    assert min(found.rerank, found.abstract, found.late) > 0 > found.constant
    near = [entry("near_miss", 0.99, 0.99, seed) for seed in range(80, 99)]
    assert fit_evidence([*inside, *outside, *near]) == found, "near-misses are left out"


def test_signs_without_a_match() -> None:
    bare = Candidate(make_chunk("A", 1, "t"), Paper("A", "T"), "q", score_rerank=0.5)
    assert signs_of(bare) == {
        "rerank": 0.0,
        "abstract": 0.0,
        "late": 0.0,
        "keyword": 0.0,
        "named": 0.0,
    }
    empty = ScoredQuestion(entry("fact", 0.5, 0.5, 0).question, ())
    assert empty.best("late") == 0.0


def test_questions_are_scored_as_the_first_pass_does(starter_engine: Engine) -> None:
    asked = Question(
        id="q",
        question="Which layers does LoRA adapt?",
        category="fact",
        split="tune",
        papers=("2106.09685",),
    )
    (scored,) = score_questions(starter_engine, [asked])
    result = starter_engine.ask(asked.question)
    assert {item.chunk.chunk_id for item in scored.candidates} == {
        chunk.chunk_id for chunk in result.chunks
    }
    assert scored.best("late") == pytest.approx(
        10 * max(item.match.late for item in scored.candidates if item.match)
    )
