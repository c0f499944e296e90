"""Reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.chunks import paper_of


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


def seat_papers(fused: Sequence[Fused], stand_ins: Sequence[str], size: int) -> list[Fused]:
    """The best ``size`` fused items, of which each paper of ``stand_ins`` has at least one.

    A paper that only fits as a whole is in one list alone and would fuse below chunks that two
    lists share; its first stand-in takes the place of the last items. The better half of the
    fused items always stays.
    """
    pool = list(fused[:size])
    seated = {paper_of(item.key) for item in pool}
    late: list[Fused] = []
    by_key = {item.key: item for item in fused[size:]}
    for key in stand_ins:
        if paper_of(key) not in seated and key in by_key:
            seated.add(paper_of(key))
            late.append(by_key[key])
    late = late[: size // 2]
    return [*pool[: size - len(late)], *sorted(late, key=lambda item: item.rank)]
