"""Fitting: ever shorter prompts for a model whose window is too small."""

from __future__ import annotations

from collections.abc import Iterator

from rag.reasoning.protocol import Evidence
from rag.results import TurnRecord

History = tuple[TurnRecord, ...]
Passages = tuple[Evidence, ...]


def shorter_variants(history: History, evidence: Passages) -> Iterator[tuple[History, Passages]]:
    """Ever shorter prompts: as it is, without history, then half of the passages each time."""
    yield history, evidence
    if history:
        yield (), evidence
    while len(evidence) > 1:
        evidence = strongest(evidence, len(evidence) // 2)
        yield (), evidence


def strongest(evidence: Passages, count: int) -> Passages:
    """The ``count`` passages with the highest scores, in the order they had; one without a score
    counts as the weakest."""

    def weight(item: Evidence) -> float:
        return -1.0 if item.score is None else item.score

    kept = {item.n for item in sorted(evidence, key=weight, reverse=True)[:count]}
    return tuple(item for item in evidence if item.n in kept)
