"""The evidence score that no grader can override (C62)."""

from __future__ import annotations

from typing import Any

import pytest
from builders import make_chunk

from rag.agent.grader import apply_evidence_floor, evidence_score
from rag.agent.graph import fresh_state
from rag.agent.state import AgentState
from rag.papers import Paper
from rag.reasoning.protocol import InformationCheck, QueryPlan
from rag.retrieval.candidate import Candidate
from rag.retrieval.lexicon import Lexicon

QUESTION = "<script> How does RAG retrieve?"
WORDS = Lexicon(lambda term: 3.0, {"rag": "retrieval augmented generation"})
YES = InformationCheck(True, (), (1, 2), "all is there")


def candidate(query: str, score: float | None, **more: Any) -> Candidate:
    return Candidate(make_chunk("A", 1, "t"), Paper("A", "T"), query, score_evidence=score, **more)


def state(*pool: Candidate, kept: list[Candidate] | None = None) -> AgentState:
    made = fresh_state(QUESTION)
    made["plan"] = QueryPlan(QUESTION, (QUESTION,))
    made["pool"] = list(pool)
    made["all_sub_queries"] = [item.sub_query for item in pool]
    made["accumulated_context"] = list(pool) if kept is None else kept
    return made


@pytest.mark.parametrize(
    ("second", "score"),
    [
        ("RAG retrieve", 0.9),
        ("RAG (retrieval augmented generation)", 0.9),
        ("How does diffusion denoise?", 0.3),
        ("RAG with diffusion", 0.3),
    ],
)
def test_only_a_query_that_adds_nothing_lifts_the_score(second: str, score: float) -> None:
    found = evidence_score(state(candidate(QUESTION, 0.3), candidate(second, 0.9)), WORDS)
    assert found == score


def test_a_first_pass_that_kept_nothing_still_counts() -> None:
    kept = [candidate("diffusion", 0.2)]
    assert evidence_score(state(candidate(QUESTION, 0.8), *kept, kept=kept), WORDS) == 0.8


def test_without_an_unaided_passage_there_is_no_score() -> None:
    first = candidate(QUESTION, 0.9)
    assert evidence_score(state(first, kept=[]), WORDS) is None
    raised = candidate(QUESTION, 0.9, floored=True)
    assert evidence_score(state(first, kept=[raised]), WORDS) is None
    assert evidence_score(state(first, kept=[raised, first]), WORDS) == 0.9
    assert evidence_score(state(candidate(QUESTION, None)), WORDS) is None


@pytest.mark.parametrize("best", [None, 0.0, 0.49])
def test_below_the_floor_no_yes_counts(best: float | None) -> None:
    check = apply_evidence_floor(YES, best, 0.5)
    assert not check.sufficient and check.relevant == ()
    assert "below the floor of 0.50" in check.reason


@pytest.mark.parametrize(("best", "floor"), [(0.5, 0.5), (0.9, 0.5), (None, None), (0.0, None)])
def test_above_the_floor_or_without_one_the_verdict_stays(
    best: float | None, floor: float | None
) -> None:
    assert apply_evidence_floor(YES, best, floor) is YES
