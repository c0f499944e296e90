"""What each stage of retrieval gains."""

from __future__ import annotations

import math

import pytest

from rag.engine import Engine
from rag.evaluation.questions import Question
from rag.evaluation.stages import (
    STAGES,
    found_share,
    ndcg,
    reciprocal_rank,
    stage_rows,
    wanted_papers,
)


def question(text: str = "Which layers does LoRA adapt?", **values: object) -> Question:
    record = {"id": "q", "question": text, "category": "fact", "split": "tune", "papers": ("a",)}
    return Question.model_validate({**record, **values})


BOTH = question(category="comparison", papers=("a", "b"))


def test_measures_of_an_order() -> None:
    assert reciprocal_rank(["x", "a"], ["a"]) == 0.5
    assert reciprocal_rank(["x"], ["a"]) == 0.0
    assert ndcg(["a"], ["a"]) == 1.0
    assert ndcg(["x", "a"], ["a"]) == pytest.approx(1 / math.log2(3))
    assert ndcg(["a", "x", "b"], ["a", "b"]) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
    assert ndcg(["x"] * 10 + ["a"], ["a"]) == 0.0
    assert ndcg([], ["a"]) == 0.0
    assert ndcg(["a"], []) == 0.0


def test_a_comparison_wants_all_of_its_papers_and_others_any() -> None:
    either = question(papers=("a", "b"))
    assert found_share(BOTH, ["a", "x"]) == 0.5
    assert found_share(either, ["x", "b"]) == 1.0
    assert wanted_papers(BOTH, ["x", "b"]) == ["a", "b"]
    assert wanted_papers(either, ["x", "b", "a"]) == ["b"]
    assert wanted_papers(either, ["x"]) == ["a"]


def test_every_stage_is_measured(starter_engine: Engine) -> None:
    rows = stage_rows(starter_engine, question(papers=("2106.09685",)))
    assert [row.stage for row in rows] == list(STAGES)
    assert {row.stage: row.reciprocal for row in rows}["barred"] == 1.0
    by_stage = {row.stage: row for row in rows}
    assert by_stage["barred"].passages <= by_stage["reranked"].passages
    assert by_stage["fused"].passages == by_stage["reranked"].passages


def test_dense_and_keyword_search_are_measured_alone(starter_engine: Engine) -> None:
    rows = {row.stage: row for row in stage_rows(starter_engine, question("zzz qqq xxx"))}
    assert rows["bm25"].passages == 0 and rows["dense"].passages > 0


def test_out_of_scope_questions_have_no_measures_but_counts(starter_engine: Engine) -> None:
    rows = stage_rows(
        starter_engine,
        question("How long does pizza dough rise?", category="out_of_scope", papers=()),
    )
    assert all(row.top is None and row.ndcg is None for row in rows)
    assert {row.stage: row.passages for row in rows}["barred"] == 0
