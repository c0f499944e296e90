"""PaperMatch: how well whole papers fit a question, from the same searches read deeper.

A question in everyday words may share no term with the one passage that answers it, but the
paper's abstract and several of its passages are all a little near. Summed over a paper these weak
signs are strong: on paraphrased questions the right paper is among the first eight far more often
than by any single list (docs/decisions.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.chunks import paper_of
from rag.retrieval.keyword import KeywordHit
from rag.retrieval.vector_store import VectorHit

Table = npt.NDArray[np.float64]
DEEP_ABSTRACTS = 100
DEEP_PASSAGES = 200
DEEP_KEYWORD = 200
PASSAGES_COUNTED = 4
BOTH_RANKS = 4


@dataclass(frozen=True)
class PaperMatch:
    """The signs for one paper: cosine of its abstract, mean cosine of its four nearest passages,
    late interaction with its abstract (all -1..1), and its best BM25 score as a share of the
    best of all papers (0..1). ``score`` is their standardised sum; ``rank`` counts from 1."""

    paper_id: str
    abstract: float
    passages: float
    late: float
    keyword: float
    score: float
    rank: int


def match_papers(
    abstracts: Sequence[VectorHit],
    passages: Sequence[VectorHit],
    keyword: Sequence[KeywordHit],
    late: Mapping[str, float],
    allowed: frozenset[str] | None = None,
) -> list[PaperMatch]:
    """All papers that any deep list names, best first; ``allowed`` restricts them to a scope.

    A paper that a list does not name counts with the list's lowest value, the most it can have.
    """
    abstract = {paper_of(hit.chunk_id): hit.score for hit in abstracts}
    near = _mean_of_nearest(passages)
    words = _best_keyword(keyword)
    ids = sorted({*abstract, *near, *words, *_best_late(late)})
    ids = [paper_id for paper_id in ids if allowed is None or paper_id in allowed]
    if not ids:
        return []
    lowest_abstract = min(abstract.values(), default=0.0)
    lowest_passage = min((hit.score for hit in passages), default=0.0)
    table = np.array(
        [
            (
                abstract.get(paper_id, lowest_abstract),
                near.get(paper_id, lowest_passage),
                late.get(paper_id, min(late.values(), default=0.0)),
                words.get(paper_id, 0.0),
            )
            for paper_id in ids
        ]
    )
    sums = _standardised(table) @ np.array([1.0, 1.0, 1.0, 0.5])
    order = np.lexsort((np.array(ids), -sums))
    return [
        PaperMatch(
            paper_id=ids[row],
            abstract=float(table[row, 0]),
            passages=float(table[row, 1]),
            late=float(table[row, 2]),
            keyword=float(table[row, 3]),
            score=float(sums[row]),
            rank=rank,
        )
        for rank, row in enumerate(order, start=1)
    ]


def _mean_of_nearest(passages: Sequence[VectorHit]) -> dict[str, float]:
    lowest = min((hit.score for hit in passages), default=0.0)
    scores: dict[str, list[float]] = defaultdict(list)
    for hit in passages:
        if len(scores[paper_of(hit.chunk_id)]) < PASSAGES_COUNTED:
            scores[paper_of(hit.chunk_id)].append(hit.score)
    return {
        paper_id: (sum(found) + lowest * (PASSAGES_COUNTED - len(found))) / PASSAGES_COUNTED
        for paper_id, found in scores.items()
    }


def _best_keyword(hits: Sequence[KeywordHit]) -> dict[str, float]:
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(paper_of(hit.chunk_id), hit.score)
    top = max(best.values(), default=0.0)
    return {paper_id: score / top if top > 0 else 0.0 for paper_id, score in best.items()}


def _best_late(late: Mapping[str, float], most: int = DEEP_ABSTRACTS) -> list[str]:
    return sorted(late, key=lambda paper_id: (-late[paper_id], paper_id))[:most]


def _standardised(table: Table) -> Table:
    spread = table.std(axis=0)
    scaled: Table = (table - table.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)
    return scaled


def representatives(
    matches: Sequence[PaperMatch],
    abstracts: Sequence[VectorHit],
    passages: Sequence[VectorHit],
    papers: int,
) -> list[str]:
    """Chunk ids that stand for the best papers: abstract and nearest passage of the very best,
    whichever of the two is nearer for the others."""
    slot: dict[str, VectorHit] = {paper_of(hit.chunk_id): hit for hit in abstracts}
    nearest: dict[str, VectorHit] = {}
    for hit in passages:
        nearest.setdefault(paper_of(hit.chunk_id), hit)
    ids: list[str] = []
    for match in matches[:papers]:
        found = [hits[match.paper_id] for hits in (slot, nearest) if match.paper_id in hits]
        found.sort(key=lambda hit: -hit.score)
        ids += [hit.chunk_id for hit in found[: 2 if match.rank <= BOTH_RANKS else 1]]
    return ids
