"""Reranker: scores how well a passage answers a query; one small file per implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Reranker(Protocol):
    """What retrieval needs of a reranker. A score depends on nothing but query and passage."""

    name: str
    calibration: Calibration

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Scores in 0..1 of ``(query, passage)`` pairs, in their order; ``[]`` for none."""
