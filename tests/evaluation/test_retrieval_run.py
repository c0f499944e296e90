"""The measures, by hand on small cases and once over the real engine."""

from __future__ import annotations

from typing import Any

import pytest

from rag.engine import Engine
from rag.evaluation.questions import Question
from rag.evaluation.retrieval_run import (
    estimate,
    fact_share,
    first_right,
    page_hit,
    paper_share,
    run_question,
    summarise,
)
from rag.results import ChunkRecord


def question(category: str = "fact", *papers: str, **more: Any) -> Question:
    return Question(
        id="q",
        question=more.pop("text", "q"),
        category=category,
        split="tune",
        papers=papers,
        **more,
    )  # type: ignore[arg-type]


def record(paper_id: str, pages: tuple[int | None, int | None] = (1, 1)) -> ChunkRecord:
    empty = dict.fromkeys(
        [
            "context",
            "drop_reason",
            "rank_dense",
            "score_dense",
            "rank_bm25",
            "score_bm25",
            "rank_fused",
            "score_fused",
            "score_rerank",
        ]
    )
    return ChunkRecord(
        chunk_id="c", paper_id=paper_id, title="T", section="", page_start=pages[0], page_end=pages[1],
        chunk_type="passage", text="t", kept=True, floored=False, sub_query="q", also_in=(), **empty,
    )  # type: ignore[arg-type]  # fmt: skip


def test_paper_share() -> None:
    found = [record("A"), record("A"), record("X")]
    assert paper_share(question("fact", "A", "B"), found) == 1.0
    assert paper_share(question("comparison", "A", "B"), found) == 0.5
    assert paper_share(question("fact", "B"), found) == 0.0


def test_first_right() -> None:
    assert first_right(question("fact", "A"), [record("A"), record("X")]) == 1.0
    assert first_right(question("fact", "A"), [record("X"), record("A")]) == 0.0
    assert first_right(question("fact", "A"), []) == 0.0


@pytest.mark.parametrize(
    ("pages", "hit"),
    [((3, 5), 1.0), ((4, 4), 1.0), ((5, 3), 1.0), ((5, 9), 0.0), ((None, None), 0.0)],
)
def test_page_hit(pages: tuple[int | None, int | None], hit: float) -> None:
    asked = question("fact", "A", pages={"A": (4,)})
    assert page_hit(asked, [record("A", pages)]) == hit
    assert page_hit(asked, [record("X", (4, 4))]) == 0.0


def test_fact_share() -> None:
    asked = question("number", "A", facts=(("10,000 times",), ("3x", "three-fold")))
    assert fact_share(asked, ["By 10000 Times", "and a three–fold drop"]) == 1.0
    assert fact_share(asked, ["by 10,000 times"]) == 0.5
    assert fact_share(question("fact", "A"), ["anything"]) is None


def test_estimate() -> None:
    found = estimate([1.0] * 30 + [0.0] * 10)
    assert found is not None
    assert (found.mean, found.count) == (0.75, 40)
    assert 0.55 < found.low < 0.75 < found.high < 0.95
    assert estimate([1.0] * 30 + [0.0] * 10) == found, "the same numbers in every run"
    assert estimate([]) is None
    assert str(found).startswith("0.750 [0.")


def test_questions_over_the_real_engine(starter_engine: Engine) -> None:
    right = run_question(
        starter_engine,
        question(
            "fact", "2106.09685", text="Which layers does LoRA adapt?", facts=(("attention",),)
        ),
    )
    assert (right.route, right.pool, right.kept, right.first) == ("answer", 1.0, 1.0, 1.0)
    assert (right.facts, right.answer_facts, right.page, right.refused) == (1.0, 1.0, None, False)
    outside = run_question(
        starter_engine, question("out_of_scope", text="Best pizza dough hydration?")
    )
    assert outside.refused and outside.passes == 2
    assert (outside.pool, outside.kept, outside.facts) == (None, None, None)
    table = summarise([right, outside])
    assert (table["paper kept"].count, table["refused"].count, table["refused"].mean) == (1, 2, 0.5)
    assert "gold page kept" not in table
