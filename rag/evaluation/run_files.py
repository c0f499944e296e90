"""RunFile: the rows of an evaluation on disk, with what identifies the run, and two compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from rag.errors import InvalidSettingError

FOLDER = "evaluations"


class RunFile(BaseModel):
    """One run: rows are flat objects; ``key`` names the fields that tell rows apart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    date: str
    settings_hash: str
    index_fingerprint: str
    key: tuple[str, ...]
    rows: tuple[dict[str, JsonValue], ...]


@dataclass(frozen=True)
class Change:
    """A measure of one row that differs between two runs."""

    row: str
    measure: str
    before: float
    after: float


def dated_path(data_dir: Path, kind: str) -> Path:
    """Where a run of now is kept: ``data/evaluations/retrieval-20261130T141500Z.json``."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return data_dir / FOLDER / f"{kind}-{stamp}.json"


def write_run(path: Path, run: RunFile) -> None:
    """Write a run, a row a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = run.model_dump(exclude={"rows"}, mode="json")
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in run.rows)
    lines = json.dumps(head, ensure_ascii=False)[:-1]
    path.write_text(f'{lines}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def read_run(path: Path) -> RunFile:
    """Read a run; raises ``InvalidSettingError`` when the file is none."""
    try:
        return RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        raise InvalidSettingError(f"{path.name} is not a file of evaluation results.") from None


def changes(before: RunFile, after: RunFile, measures: Sequence[str]) -> list[Change]:
    """The measures that moved, of rows that both runs have; broken ones first."""
    old, new = _by_key(before), _by_key(after)
    found = [
        Change(name, measure, first, second)
        for name in old
        if name in new
        for measure in measures
        if (first := _number(old[name], measure)) is not None
        and (second := _number(new[name], measure)) is not None
        and first != second
    ]
    return sorted(found, key=lambda change: (change.after > change.before, change.row))


def _by_key(run: RunFile) -> dict[str, Mapping[str, JsonValue]]:
    return {" ".join(str(row.get(name)) for name in run.key): row for row in run.rows}


def _number(row: Mapping[str, JsonValue], measure: str) -> float | None:
    value = row.get(measure)
    return float(value) if isinstance(value, int | float) else None
