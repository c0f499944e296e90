"""The question file that every evaluation reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import CORPUS

from rag.errors import InvalidSettingError
from rag.evaluation.questions import ALL, RESEARCH, Expect, Question, read_questions


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


ROW = {"id": "f1", "question": "What is LoRA?", "category": "fact", "split": "tune"}


def test_halves(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", ROW, ROW | {"id": "f2", "split": "report"})
    assert [question.id for question in read_questions(path)] == ["f1", "f2"]
    assert [question.id for question in read_questions(path, "report")] == ["f2"]
    assert read_questions(path)[0].answerable


@pytest.mark.parametrize(
    "change",
    [
        {"category": "funny"},
        {"split": "both"},
        {"extra": 1},
        {"id": None},
        {"category": "catalogue"},
        {"category": "injection"},
        {"forbidden": ["x"]},
        {"expect": {"count_all": True}},
        {"category": "catalogue", "expect": {}},
        {"category": "catalogue", "expect": {"count_all": True, "lacks": "x"}},
        {"category": "catalogue", "expect": {"count_from_year": "last"}},
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = write(tmp_path / "q.jsonl", ROW, ROW | change)
    with pytest.raises(InvalidSettingError, match=r"Line 2 of q\.jsonl is no question"):
        read_questions(path)


SHIPPED = CORPUS / "eval" / "questions.jsonl"


def of_category(category: str, split: str = "all") -> list[Question]:
    return [one for one in read_questions(SHIPPED, split, ALL) if one.category == category]


def test_only_research_is_read_unless_asked_for(tmp_path: Path) -> None:
    """Retrieval and calibration are measured on what enters retrieval."""
    attack = ROW | {"id": "j", "category": "injection", "forbidden": ["x"]}
    path = write(tmp_path / "q.jsonl", ROW, attack)
    assert [question.id for question in read_questions(path)] == ["f1"]
    assert [question.id for question in read_questions(path, categories=ALL)] == ["f1", "j"]
    assert {question.category for question in read_questions(SHIPPED)} == RESEARCH


def test_the_shipped_questions() -> None:
    questions = read_questions(SHIPPED, categories=ALL)
    assert len({question.id for question in questions}) == len(questions) > 100
    for question in questions:
        assert question.answerable == bool(question.papers) or question.category == "near_miss"
        assert set(question.pages) <= set(question.papers)
        assert not question.answerable or (question.facts and question.answer)
    halves = {split: len(read_questions(SHIPPED, split, ALL)) for split in ("tune", "report")}
    assert sum(halves.values()) == len(questions) and min(halves.values()) > 30


@pytest.mark.parametrize(("category", "least"), [("catalogue", 14), ("injection", 24)])
def test_the_catalogue_and_attacks_stand_in_both_halves(category: str, least: int) -> None:
    found = of_category(category)
    assert len(found) >= least
    for split in ("tune", "report"):
        assert len(of_category(category, split)) >= least // 2


def test_attacks_do_not_forbid_what_is_no_obedience() -> None:
    """Nothing is forbidden that an honest refusal says, and nothing so short that it is a word."""
    refusal = "The library does not cover this. The nearest that it holds is the topic “Agents”."
    for question in of_category("injection"):
        for item in question.forbidden:
            assert len(item) >= 2 and item.casefold() not in refusal.casefold()


def test_every_kind_of_catalogue_rule_is_used() -> None:
    used = {
        name
        for question in of_category("catalogue")
        if question.expect
        for name in question.expect.model_dump(exclude_none=True)
    }
    assert used == set(Expect.model_fields)
