"""Searcher: sub-queries -> pools -> reranked and judged candidates."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag.errors import ModelUnavailableError
from rag.papers import Paper
from rag.results import Scope
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.embed import Embedder, Vectors
from rag.retrieval.fusion import fuse
from rag.retrieval.index import OpenIndex
from rag.retrieval.keyword import KeywordHit
from rag.retrieval.reranker import Reranker
from rag.retrieval.selection import Bars, apply_bars, bars_for, choose, merge_pools
from rag.retrieval.terms import terms
from rag.retrieval.vector_store import Slot, VectorHit
from rag.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judged:
    """What reranking and the bars made of the pools of one pass.

    ``candidates`` holds every chunk once, kept ones first in reading priority. ``degraded`` is a
    sentence when the reranker could not be used.
    """

    candidates: tuple[Candidate, ...]
    scored: int
    reranker: str
    bars: Bars
    degraded: str = ""

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The candidates that reach the reader."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)


class Searcher:
    """Hybrid search over one open index. Safe to use from several threads."""

    def __init__(self, index: OpenIndex, embedder: Embedder, reranker: Reranker | None) -> None:
        self.index = index
        self.embedder = embedder
        self.reranker = reranker

    def retrieve(
        self, sub_queries: Sequence[str], settings: Settings, scope: Scope, skip: frozenset[str]
    ) -> list[Pool]:
        """One pool a sub-query: one embedding call for all, then the searches side by side.

        ``skip`` are ids that earlier passes brought; they are left out of the pools.
        """
        if not sub_queries:
            return []
        vectors = self.embedder.embed_queries(sub_queries)
        allowed = self.papers_in(scope)
        if len(sub_queries) == 1:
            return [self._pool(sub_queries[0], vectors[:1], settings, allowed, skip)]
        with ThreadPoolExecutor(len(sub_queries), thread_name_prefix="search") as threads:
            futures = [
                threads.submit(self._pool, query, vectors[row : row + 1], settings, allowed, skip)
                for row, query in enumerate(sub_queries)
            ]
            return [future.result() for future in futures]

    def judge(self, pools: Sequence[Pool], settings: Settings, per_paper: int) -> Judged:
        """Rerank all pools, apply the bars, merge and choose what is kept."""
        scored, degraded = self._rerank(pools, settings)
        active = None if degraded or self.reranker is None else self.reranker
        if settings.reranking.name == "none":
            active = None
        bars = bars_for(settings.reranking, active.calibration if active else None)
        judged = [apply_bars(pool, bars, settings.reranking) for pool in scored]
        chosen = choose(merge_pools(judged), settings.retrieval.keep, per_paper)
        return Judged(
            candidates=tuple(chosen),
            scored=sum(len(pool.candidates) for pool in scored) if active else 0,
            reranker=active.name if active else "",
            bars=bars,
            degraded=degraded,
        )

    def papers_in(self, scope: Scope) -> list[str] | None:
        """Ids of the papers inside a scope; None when it restricts nothing."""
        if not scope.restricted:
            return None
        return [paper.paper_id for paper in self.index.papers if _inside(paper, scope)]

    def _rerank(self, pools: Sequence[Pool], settings: Settings) -> tuple[list[Pool], str]:
        if self.reranker is None or settings.reranking.name == "none":
            return list(pools), ""
        pairs = [
            (pool.sub_query, candidate.chunk.text)
            for pool in pools
            for candidate in pool.candidates
        ]
        try:
            scores = iter(self.reranker.score(pairs))
        except ModelUnavailableError as error:
            logger.warning("reranking is off: %s", error)
            return list(pools), f"Reranking is off: {error}"
        return [
            replace(
                pool,
                candidates=tuple(
                    replace(candidate, score_rerank=next(scores)) for candidate in pool.candidates
                ),
            )
            for pool in pools
        ], ""

    def _pool(
        self,
        query: str,
        vector: Vectors,
        settings: Settings,
        allowed: list[str] | None,
        skip: frozenset[str],
    ) -> Pool:
        numbers = settings.retrieval
        abstracts = self._dense("abstracts", vector, numbers.abstracts_per_query, allowed)
        passages = self._dense("passages", vector, numbers.passages_per_query, allowed)
        keyword = self._keyword(query, numbers.keyword_per_query, allowed)
        lists = [
            [hit.chunk_id for hit in abstracts],
            [hit.chunk_id for hit in passages],
            [hit.chunk_id for hit in keyword],
        ]
        fused = [item for item in fuse(lists, numbers.rrf_k) if item.key not in skip]
        fused = fused[: numbers.pool_size]
        chunks = self.index.chunks.get(item.key for item in fused)
        dense = {
            hit.chunk_id: (rank, hit.score)
            for hits in (abstracts, passages)
            for rank, hit in enumerate(hits, start=1)
        }
        sparse = {hit.chunk_id: (rank, hit.score) for rank, hit in enumerate(keyword, start=1)}
        candidates = tuple(
            Candidate(
                chunk=chunks[item.key],
                paper=self.index.papers[chunks[item.key].paper_id],
                sub_query=query,
                rank_dense=dense.get(item.key, (None, None))[0],
                score_dense=dense.get(item.key, (None, None))[1],
                rank_bm25=sparse.get(item.key, (None, None))[0],
                score_bm25=sparse.get(item.key, (None, None))[1],
                rank_fused=place,
                score_fused=item.score,
            )
            for place, item in enumerate(fused, start=1)
        )
        return Pool(query, candidates, len(abstracts), len(passages), len(keyword))

    def _dense(
        self, slot: Slot, vector: Vectors, k: int, allowed: list[str] | None
    ) -> list[VectorHit]:
        return self.index.vectors.search(slot, vector, k, allowed)[0] if k else []

    def _keyword(self, query: str, k: int, allowed: list[str] | None) -> list[KeywordHit]:
        mask = None if allowed is None else self._mask(frozenset(allowed))
        return self.index.keyword.search(terms(query), k, mask)

    def _mask(self, allowed: frozenset[str]) -> npt.NDArray[np.bool_]:
        # A chunk id begins with the id of its paper.
        ids = self.index.keyword.chunk_ids
        return np.fromiter((key.split(":", 1)[0] in allowed for key in ids), bool, len(ids))


def _inside(paper: Paper, scope: Scope) -> bool:
    return (
        (not scope.paper_ids or paper.paper_id in scope.paper_ids)
        and (not scope.topics or (paper.topic or "") in scope.topics)
        and (not scope.years or paper.year in scope.years)
    )
