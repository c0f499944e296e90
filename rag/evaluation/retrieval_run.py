"""Retrieval evaluation: each question through the same graph that the app runs."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag.engine import Engine
from rag.evaluation.questions import Question
from rag.results import AskRequest, ChunkRecord

SettingValue = float | int | bool | str | None
RESAMPLES = 1000
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class RetrievalRow:
    """What happened to one question; shares are 0..1, None where they do not apply.

    For a comparison ``pool`` and ``kept`` are the share of its gold papers, for other questions
    whether any gold paper is there. ``page`` is whether a kept context touches a gold page,
    ``facts`` the share of required facts that stand in the kept contexts.
    """

    question: Question
    route: str
    pool: float | None
    kept: float | None
    first: float | None
    page: float | None
    facts: float | None
    answer_facts: float | None
    kept_passages: int
    passes: int
    milliseconds: float

    @property
    def refused(self) -> bool:
        """Whether the visitor was told that the library does not cover the question."""
        return self.route == "refusal"


def run_question(
    engine: Engine, question: Question, settings: Mapping[str, SettingValue] | None = None
) -> RetrievalRow:
    """Ask one question without a language model and measure what retrieval brought.

    ``settings`` are per-request values such as ``{"retrieval.papers_per_query": 0}``.
    """
    result = engine.ask(
        AskRequest(question=question.question, reasoner="extractive", settings=dict(settings or {}))
    )
    kept = [record for record in result.chunks if record.kept]
    gold = question.answerable
    return RetrievalRow(
        question=question,
        route=result.route,
        pool=paper_share(question, result.chunks) if gold else None,
        kept=paper_share(question, kept) if gold else None,
        first=first_right(question, kept) if gold else None,
        page=page_hit(question, kept) if gold and question.pages else None,
        facts=fact_share(question, [record.context or "" for record in kept]) if gold else None,
        answer_facts=fact_share(question, [result.answer]) if gold else None,
        kept_passages=len(kept),
        passes=result.passes,
        milliseconds=result.timings_ms.get("total", 0.0),
    )


def paper_share(question: Question, records: Iterable[ChunkRecord]) -> float:
    """Share of the gold papers of a comparison; whether any is there for other questions."""
    found = {record.paper_id for record in records}
    hits = [paper_id in found for paper_id in question.papers]
    if question.category == "comparison":
        return sum(hits) / len(hits)
    return float(any(hits))


def first_right(question: Question, kept: Sequence[ChunkRecord]) -> float:
    """Whether the best kept passage comes from a gold paper."""
    return float(bool(kept) and kept[0].paper_id in question.papers)


def page_hit(question: Question, kept: Sequence[ChunkRecord]) -> float:
    """Whether a kept passage of a gold paper touches one of its gold pages."""
    for record in kept:
        pages = question.pages.get(record.paper_id, ())
        if record.page_start is not None and record.page_end is not None:
            low, high = sorted((record.page_start, record.page_end))
            if any(low <= page <= high for page in pages):
                return 1.0
    return 0.0


def fact_share(question: Question, texts: Sequence[str]) -> float | None:
    """Share of the required facts of which one spelling occurs in the texts; None without any."""
    if not question.facts:
        return None
    whole = folded(" ".join(texts))
    hits = [any(folded(spelling) in whole for spelling in group) for group in question.facts]
    return sum(hits) / len(hits)


def folded(text: str) -> str:
    """Text for finding facts: lower case, one kind of dash and blank, no thousands marks."""
    plain = text.casefold().replace("–", "-").replace("−", "-").replace(",", "")
    return " ".join(plain.split())


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % bootstrap interval (percentile method, Efron 1979)."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.2f}, {self.high:.2f}] n={self.count}"


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of values in 0..1 with its interval; None for no values."""
    if not values:
        return None
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = (means[int(share * (RESAMPLES - 1))] for share in INTERVAL)
    return Estimate(statistics.fmean(values), low, high, len(values))


MEASURES: dict[str, Callable[[RetrievalRow], float | None]] = {
    "paper in pool": lambda row: row.pool,
    "paper kept": lambda row: row.kept,
    "first right": lambda row: row.first,
    "gold page kept": lambda row: row.page,
    "facts in context": lambda row: row.facts,
    "facts in answer": lambda row: row.answer_facts,
    "refused": lambda row: float(row.refused),
}


def summarise(rows: Sequence[RetrievalRow]) -> dict[str, Estimate]:
    """Every measure that applies to these rows."""
    found: dict[str, Estimate] = {}
    for name, measure in MEASURES.items():
        values = [value for row in rows if (value := measure(row)) is not None]
        result = estimate(values)
        if result is not None:
            found[name] = result
    return found
