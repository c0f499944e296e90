"""Reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fused:
    """One fused item: ``score`` is the sum of ``1 / (k + rank)`` over the lists that hold it."""

    key: str
    rank: int
    score: float


def fuse(lists: Sequence[Sequence[str]], k: int) -> list[Fused]:
    """Fuse ranked lists of ids; rank counts from 1 in each list.

    A repeat within one list counts once, at its best rank. Ties go to the item with the better
    single rank, then to the smaller id, so that every run gives the same order.
    """
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for ranked in lists:
        for rank, key in enumerate(dict.fromkeys(ranked), start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
            best[key] = min(rank, best.get(key, rank))
    order = sorted(scores, key=lambda key: (-scores[key], best[key], key))
    return [Fused(key, rank, scores[key]) for rank, key in enumerate(order, start=1)]
