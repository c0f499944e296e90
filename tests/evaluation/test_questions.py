"""The question file that every evaluation reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import CORPUS

from rag.errors import InvalidSettingError
from rag.evaluation.questions import read_questions


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
    "change", [{"category": "funny"}, {"split": "both"}, {"extra": 1}, {"id": None}]
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = write(tmp_path / "q.jsonl", ROW, ROW | change)
    with pytest.raises(InvalidSettingError, match=r"Line 2 of q\.jsonl is no question"):
        read_questions(path)


def test_the_shipped_questions() -> None:
    questions = read_questions(CORPUS / "eval" / "questions.jsonl")
    assert len({question.id for question in questions}) == len(questions) > 100
    for question in questions:
        assert question.answerable == bool(question.papers) or question.category == "near_miss"
        assert set(question.pages) <= set(question.papers)
    halves = {
        split: len(read_questions(CORPUS / "eval" / "questions.jsonl", split))
        for split in ("tune", "report")
    }
    assert sum(halves.values()) == len(questions) and min(halves.values()) > 30
