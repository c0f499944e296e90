"""Rows for a judge and what becomes of its scores; ragas itself is not installed here."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from rag.engine import Engine
from rag.errors import InvalidSettingError
from rag.evaluation.questions import Question
from rag.evaluation.ragas_rows import (
    METRICS,
    RagasRow,
    plain_scores,
    ragas_row,
    read_ragas_rows,
    score_tables,
    write_ragas_rows,
)
from rag.results import Result

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "eval_ragas.py"
NAN = float("nan")
ROW = RagasRow(
    question_id="a",
    category="fact",
    user_input="Q?",
    response="R [1].",
    retrieved_contexts=("one", "two"),
    reference="R.",
)


def question(category: str = "fact", answer: str = "R.") -> Question:
    return Question(
        id="a",
        question="Which layers does LoRA adapt?",
        category=category,  # type: ignore[arg-type]
        split="tune",
        answer=answer,
    )


def test_a_row_holds_what_the_writer_was_given(starter_engine: Engine) -> None:
    result = starter_engine.ask("Which layers does LoRA adapt?")
    row = ragas_row(question(), result)
    assert row is not None
    assert (row.user_input, row.response, row.reference) == (
        result.question,
        result.answer,
        "R.",
    )
    kept = [chunk.context for chunk in result.chunks if chunk.kept]
    assert row.retrieved_contexts and set(row.retrieved_contexts) == set(kept)
    assert len(row.retrieved_contexts) == len(set(row.retrieved_contexts))


@pytest.mark.parametrize(
    ("asked", "route"),
    [
        (question(), "refusal"),
        (question(), "catalogue"),
        (question(), "error"),
        (question(answer=""), "answer"),
        (question("near_miss"), "answer"),
    ],
)
def test_what_cannot_be_judged_is_no_row(asked: Question, route: str) -> None:
    assert ragas_row(asked, Result(question="q", route=route)) is None  # type: ignore[arg-type]


def test_rows_survive_the_file(tmp_path: Path) -> None:
    odd = ROW.model_copy(update={"response": "line\nbreak “ü” \u2028"})
    write_ragas_rows(tmp_path / "deep" / "rows.jsonl", [ROW, odd])
    assert read_ragas_rows(tmp_path / "deep" / "rows.jsonl") == [ROW, odd]


@pytest.mark.parametrize("content", ["{", '{"question_id": "a"}', None])
def test_another_file_is_refused_in_a_sentence(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(InvalidSettingError, match=r"rows\.jsonl holds no exported rows"):
        read_ragas_rows(tmp_path / "rows.jsonl")


def test_nan_and_failures_are_counted_not_averaged_away() -> None:
    scores = [dict.fromkeys(METRICS, value) for value in (1.0, 0.5, NAN, math.inf, None)]
    table = score_tables(scores)[0]
    assert (table.metric, table.rows, table.scored) == ("faithfulness", 5, 2)
    assert (table.nan, table.failed) == (2, 1)
    assert (table.mean, table.mean_as_zero) == (0.75, 0.3)
    assert "0.750 over 2 of 5 rows; 2 NaN, 1 failed (all rows, these as 0: 0.300)" in str(table)


@pytest.mark.parametrize("value", [NAN, None])
def test_a_metric_without_any_score_has_no_mean(value: float | None) -> None:
    (table, *_) = score_tables([dict.fromkeys(METRICS, value)] * 2)
    assert table.mean is None and table.mean_as_zero is None
    assert "no score" in str(table) and table.nan + table.failed == 2


def test_scores_on_disk_are_strict_json() -> None:
    plain = plain_scores(ROW, {"faithfulness": NAN, "answer_relevancy": 0.5})
    assert json.loads(json.dumps(plain, allow_nan=False)) == {
        "question": "a", "category": "fact", "faithfulness": "NaN", "answer_relevancy": 0.5,
        "context_precision": "failed", "context_recall": "failed",
    }  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs the script on one row, as if ragas were not there, and gives its exit code."""
    for name in ("RAGAS_JUDGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "false")
    monkeypatch.setitem(sys.modules, "ragas", None)
    monkeypatch.setitem(sys.modules, "ragas.embeddings", None)
    write_ragas_rows(tmp_path / "rows.jsonl", [ROW])

    def start(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["eval_ragas.py", *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        return int(end.value.code or 0)

    return start


def test_without_ragas_a_sentence_says_what_to_install(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-AAAA")
    assert run(str(tmp_path / "rows.jsonl")) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ragas is not installed here.")
    assert "pip install -r scripts/requirements-ragas.txt" in shown
    assert "sk-test" not in shown and "Traceback" not in shown
    assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"


def test_without_a_key_nothing_is_imported_or_asked(
    run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(tmp_path / "rows.jsonl")) == 2
    assert "needs a key in RAGAS_JUDGE_API_KEY or OPENAI_API_KEY" in capsys.readouterr().err


def test_without_rows(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nowhere.jsonl") == 2
    assert capsys.readouterr().err.startswith("error: nowhere.jsonl holds no exported rows")


def test_one_failing_row_does_not_end_the_run() -> None:
    names = runpy.run_path(str(SCRIPT))

    async def good(row: RagasRow) -> float:
        return 1.0

    async def bad(row: RagasRow) -> float:
        if row.question_id == "b":
            raise RuntimeError("no quota")
        return NAN

    rows = [ROW, ROW.model_copy(update={"question_id": "b"})]
    found, errors = asyncio.run(
        names["score_rows"](rows, {"faithfulness": good, "context_recall": bad}, 1)
    )
    assert [one["faithfulness"] for one in found] == [1.0, 1.0]
    assert math.isnan(found[0]["context_recall"]) and found[1]["context_recall"] is None
    assert errors == {"RuntimeError: no quota": 1}


def test_the_environment_is_pinned_exactly_and_apart() -> None:
    lines = (ROOT / "scripts" / "requirements-ragas.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", pin) for pin in pins)
    names = {pin.split("==")[0] for pin in pins}
    assert {"ragas", "openai", "langchain-community", "pydantic"} <= names
    for other in ("requirements.txt", "requirements-dev.txt", "scripts/test.sh"):
        assert "ragas" not in (ROOT / other).read_text("utf-8")
