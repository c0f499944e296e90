"""RAGAS rows: what a judge is given of each answer, and its scores with nothing averaged away.

Imported by ``scripts/eval_ragas.py`` in an environment without the app's dependencies: nothing
here may need more than pydantic.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.errors import InvalidSettingError
from rag.evaluation.questions import Question
from rag.results import Result

METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")


class RagasRow(BaseModel):
    """One answer under RAGAS's names: ``retrieved_contexts`` are what the writer was given, best
    first; ``response`` has its citation marks, as the reader saw it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_id: str
    category: str
    user_input: str
    response: str
    retrieved_contexts: tuple[str, ...]
    reference: str


@dataclass(frozen=True)
class MetricTable:
    """One metric over all rows. ``nan`` counts rows for which the judge gave no number (a reply
    that could not be read, no statement in the answer), ``failed`` those that ended in an error;
    ``mean`` is over the scored ones, ``mean_as_zero`` takes all the others as 0."""

    metric: str
    rows: int
    scored: int
    nan: int
    failed: int
    mean: float | None
    mean_as_zero: float | None

    def __str__(self) -> str:
        if self.mean is None or self.mean_as_zero is None:
            return f"{self.metric:<18}no score; {self.nan} NaN, {self.failed} failed of {self.rows}"
        return (
            f"{self.metric:<18}{self.mean:.3f} over {self.scored} of {self.rows} rows; "
            f"{self.nan} NaN, {self.failed} failed (all rows, these as 0: {self.mean_as_zero:.3f})"
        )


def ragas_row(question: Question, result: Result) -> RagasRow | None:
    """The row of an answer; None where there is none to judge: a refusal, the catalogue, or a
    question without a reference answer."""
    if not question.answerable or not question.answer or result.route not in ("answer", "partial"):
        return None
    contexts = [chunk.context for chunk in result.chunks if chunk.kept and chunk.context]
    return RagasRow(
        question_id=question.id,
        category=question.category,
        user_input=question.question,
        response=result.answer,
        retrieved_contexts=tuple(dict.fromkeys(contexts)),
        reference=question.answer,
    )


def write_ragas_rows(path: Path, rows: Iterable[RagasRow]) -> None:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")


def read_ragas_rows(path: Path) -> list[RagasRow]:
    """Read exported rows; raises ``InvalidSettingError`` when the file holds something else."""
    try:
        # Not splitlines(): a text may hold U+2028, which JSON leaves as it is.
        lines = path.read_text(encoding="utf-8").split("\n")
        return [RagasRow.model_validate_json(line) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError, ValidationError):
        raise InvalidSettingError(
            f"{path.name} holds no exported rows; make it with "
            "scripts/eval_answers.py --export-ragas FILE."
        ) from None


def score_tables(scores: Sequence[Mapping[str, float | None]]) -> list[MetricTable]:
    """The metrics over the scores of each row, in which None is a call that failed."""
    return [_table(metric, [row.get(metric) for row in scores]) for metric in METRICS]


def _table(metric: str, values: Sequence[float | None]) -> MetricTable:
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    failed = sum(value is None for value in values)
    return MetricTable(
        metric=metric,
        rows=len(values),
        scored=len(numbers),
        nan=len(values) - len(numbers) - failed,
        failed=failed,
        mean=statistics.fmean(numbers) if numbers else None,
        mean_as_zero=sum(numbers) / len(values) if numbers else None,
    )


def plain_scores(row: RagasRow, scores: Mapping[str, float | None]) -> dict[str, str | float]:
    """Scores as a flat object: a NaN is the text "NaN", which JSON has no number for."""
    plain: dict[str, str | float] = {"question": row.question_id, "category": row.category}
    for metric in METRICS:
        value = scores.get(metric)
        plain[metric] = "failed" if value is None else value if math.isfinite(value) else "NaN"
    return plain
