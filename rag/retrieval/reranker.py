"""Reranker: scores how well a passage answers a query; one small file per implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rag.local_models import BGE_SMALL
from rag.retrieval.relevance import EvidenceWeights, RelevanceWeights


@dataclass(frozen=True)
class Calibration:
    """How one reranker's scores become relevance, and the bars for it (all 0..1).

    ``bar`` is for trusted fusion ranks, ``strict_bar`` for later ones; ``floor_minimum`` is the
    least own score at which a hand-picked paper may be raised to the bar; below
    ``evidence_floor`` (evidence score of the pool) nothing is kept and no evidence is sufficient.
    """

    relevance: RelevanceWeights
    evidence: EvidenceWeights
    bar: float
    strict_bar: float
    floor_minimum: float
    evidence_floor: float
    embedder: str = ""
    without_cosine: Calibration | None = None

    def for_embedder(self, name: str) -> Calibration:
        """The calibration that fits an embedder: cosines of another model mean something else,
        so with another one the weights that use no cosine are taken."""
        if not self.embedder or name == self.embedder or self.without_cosine is None:
            return self
        return self.without_cosine


def unfitted_calibration(rerank: float) -> Calibration:
    """For a reranker to which nothing could be fitted yet; uncalibrated, and careful.

    Relevance is that of the other signs, with the weights that fit them on the tuning half when
    there is no reranker (``scripts/calibrate.py --index DIR --reranker none``); the reranker's
    log-odds only tilt it, by the small weight ``rerank``, and not at all at a score of 0.5. To be
    replaced by what ``scripts/calibrate.py --index DIR --reranker NAME`` prints.
    """
    without_cosine = Calibration(
        relevance=RelevanceWeights(
            rerank, abstract=0.0, late=3.024, keyword=2.0, constant=-27.117, named=2.797
        ),
        evidence=EvidenceWeights(rerank, abstract=0.0, late=5.894, constant=-45.756),
        bar=0.01,
        strict_bar=0.02,
        floor_minimum=0.005,
        evidence_floor=0.5,
    )
    return replace(
        without_cosine,
        relevance=RelevanceWeights(
            rerank, abstract=0.916, late=1.545, keyword=2.0, constant=-21.36, named=2.645
        ),
        evidence=EvidenceWeights(rerank, abstract=1.478, late=1.789, constant=-22.019),
        embedder=BGE_SMALL.name,
        without_cosine=without_cosine,
    )


class Reranker(Protocol):
    """What retrieval needs of a reranker. A score depends on nothing but query and passage."""

    name: str
    calibration: Calibration

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores in 0..1 of ``(query, passage)`` pairs, in their order; ``[]`` for none."""
