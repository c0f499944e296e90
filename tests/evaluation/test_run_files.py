"""Evaluation results on disk, and two runs compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag.errors import InvalidSettingError
from rag.evaluation.run_files import Change, RunFile, changes, dated_path, read_run, write_run


def run(*rows: dict[str, object]) -> RunFile:
    return RunFile(
        kind="retrieval",
        date="2026-11-30T00:00:00+00:00",
        settings_hash="aaa",
        index_fingerprint="bbb",
        key=("question",),
        rows=rows,  # type: ignore[arg-type]
    )


BEFORE = run(
    {"question": "a", "kept": 1.0, "page": None},
    {"question": "b", "kept": 0.0, "page": 1.0},
    {"question": "c", "kept": 1.0},
)
AFTER = run(
    {"question": "a", "kept": 0.5, "page": 1.0},
    {"question": "b", "kept": 1.0, "page": 1.0},
    {"question": "d", "kept": 1.0},
)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "run.json"
    write_run(path, BEFORE)
    assert read_run(path) == BEFORE
    assert len(path.read_text().splitlines()) == 5
    write_run(path, run())
    assert read_run(path).rows == ()


def test_what_is_no_run_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.json", "absent.json"):
        with pytest.raises(InvalidSettingError, match=name):
            read_run(tmp_path / name)


def test_runs_have_dated_names(tmp_path: Path) -> None:
    assert dated_path(tmp_path, "retrieval").name.startswith("retrieval-20")
    assert dated_path(tmp_path, "retrieval").parent == tmp_path / "evaluations"


def test_changes_name_the_rows_that_both_runs_have_broken_first() -> None:
    assert changes(BEFORE, AFTER, ["kept", "page"]) == [
        Change("a", "kept", 1.0, 0.5),
        Change("b", "kept", 0.0, 1.0),
    ]


def test_the_script_lists_fixed_and_broken(tmp_path: Path) -> None:
    write_run(tmp_path / "a.json", BEFORE)
    write_run(tmp_path / "b.json", AFTER)
    done = subprocess.run(
        [sys.executable, "scripts/compare_runs.py", tmp_path / "a.json", tmp_path / "b.json"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "broken a kept: 1 -> 0.5" in done.stdout
    assert "fixed  b kept: 0 -> 1" in done.stdout
    assert "settings aaa, index bbb, 3 rows" in done.stdout
