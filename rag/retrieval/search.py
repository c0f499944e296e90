"""Searcher: sub-queries -> pools -> reranked and judged candidates."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from rag.chunks import paper_of
from rag.errors import ModelUnavailableError
from rag.papers import Paper
from rag.results import Scope
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.embed import Embedder, Vectors
from rag.retrieval.fusion import fuse, seat_papers
from rag.retrieval.index import OpenIndex
from rag.retrieval.keyword import KeywordHit
from rag.retrieval.late_interaction import LateModel
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.name_table import NameTable, text_for_query
from rag.retrieval.paper_match import (
    DEEP_ABSTRACTS,
    DEEP_KEYWORD,
    DEEP_PASSAGES,
    match_papers,
    representatives,
)
from rag.retrieval.relevance import Signs, evidence, relevance
from rag.retrieval.reranker import Calibration, Reranker
from rag.retrieval.selection import Bars, apply_bars, bars_for, choose, merge_pools, room_for
from rag.retrieval.terms import terms
from rag.retrieval.vector_store import VectorHit
from rag.settings import Settings

logger = logging.getLogger(__name__)
MOST_NAMED = 3


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


@dataclass(frozen=True)
class DeepLists:
    """What the searches found for one sub-query, best first; ``late`` is the late-interaction
    score by paper, ``vector`` the query's, shape ``(1, dimension)``."""

    query: str
    vector: Vectors
    abstracts: list[VectorHit]
    passages: list[VectorHit]
    keyword: list[KeywordHit]
    late: dict[str, float]


class Searcher:
    """Hybrid search over one open index. Safe to use from several threads."""

    def __init__(
        self, index: OpenIndex, embedder: Embedder, late: LateModel, reranker: Reranker | None
    ) -> None:
        self.index = index
        self.embedder = embedder
        self.late = late
        self.reranker = reranker
        self.names = NameTable(index.papers)
        # Why the last question was not reranked; what the app says of its own state.
        self.degraded = ""
        self.lexicon = Lexicon(index.keyword.rarity, index.acronyms)

    def retrieve(
        self, sub_queries: Sequence[str], settings: Settings, scope: Scope, skip: frozenset[str]
    ) -> list[Pool]:
        """One pool a sub-query; the models and the vector store are called once for all.

        ``skip`` are ids that earlier passes brought; they are left out of the pools.
        """
        if not sub_queries:
            return []
        allowed = self.papers_in(scope)
        return [
            self._pool(found, settings, allowed, skip) for found in self._deep(sub_queries, allowed)
        ]

    def _deep(self, queries: Sequence[str], allowed: list[str] | None) -> list[DeepLists]:
        """What each search finds, read deeper than a pool needs: whole papers are judged by it."""
        vectors = self.embedder.embed_queries(queries)
        tokens = self.late.encode_queries(queries)
        store = self.index.vectors
        abstracts = store.search("abstracts", vectors, DEEP_ABSTRACTS, allowed)
        passages = store.search("passages", vectors, DEEP_PASSAGES, allowed)
        return [
            DeepLists(
                query=query,
                vector=vectors[row : row + 1],
                abstracts=abstracts[row],
                passages=passages[row],
                keyword=self._keyword(query, DEEP_KEYWORD, allowed),
                late=self.index.tokens.scores(tokens[row]),
            )
            for row, query in enumerate(queries)
        ]

    def judge(self, pools: Sequence[Pool], settings: Settings, *, several: bool) -> Judged:
        """Rerank all pools, apply the bars, merge and choose what is kept.

        ``several`` says that the question is about several papers.
        """
        scored, degraded = self._rerank(pools, settings)
        if settings.reranking.name != "none":
            self.degraded = degraded
        active = None if degraded or self.reranker is None else self.reranker
        if settings.reranking.name == "none":
            active = None
        bars = bars_for(settings.reranking, self._calibration(active))
        judged = [apply_bars(pool, bars, settings.reranking) for pool in scored]
        merged = merge_pools(judged)
        chosen = choose(merged, room_for(merged, several, settings.retrieval))
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
        if settings.reranking.name == "none":
            return list(pools), ""
        if self.reranker is None:
            return list(pools), "Reranking is off: its model is not usable (see the log)."
        pairs = [
            (
                pool.sub_query,
                text_for_query(pool.sub_query, candidate.paper.names, candidate.chunk.text),
            )
            for pool in pools
            for candidate in pool.candidates
        ]
        try:
            scores = [plain(score) for score in self.reranker.score(pairs)]
        except ModelUnavailableError as error:
            logger.warning("reranking is off: %s", error)
            return list(pools), f"Reranking is off: {error}"
        calibration = self.reranker.calibration.for_embedder(self.embedder.name)
        scored: list[Pool] = []
        for pool in pools:
            own, scores = scores[: len(pool.candidates)], scores[len(pool.candidates) :]
            scored.append(self._weighed(pool, own, calibration))
        return scored, ""

    def _calibration(self, reranker: Reranker | None) -> Calibration | None:
        return reranker.calibration.for_embedder(self.embedder.name) if reranker else None

    def _weighed(self, pool: Pool, scores: Sequence[float], calibration: Calibration) -> Pool:
        """The pool with reranker scores, and what follows from all signs together."""
        signs = [
            signs_of(candidate, score)
            for candidate, score in zip(pool.candidates, scores, strict=True)
        ]
        whole = evidence(signs, calibration.evidence)
        return replace(
            pool,
            candidates=tuple(
                replace(
                    candidate,
                    score_rerank=sign.rerank,
                    score_relevance=relevance(sign, calibration.relevance),
                    score_evidence=whole,
                )
                for candidate, sign in zip(pool.candidates, signs, strict=True)
            ),
        )

    def _pool(
        self,
        deep: DeepLists,
        settings: Settings,
        allowed: list[str] | None,
        skip: frozenset[str],
    ) -> Pool:
        numbers, query = settings.retrieval, deep.query
        matches = match_papers(
            deep.abstracts,
            deep.passages,
            deep.keyword,
            deep.late,
            None if allowed is None else frozenset(allowed),
        )
        abstracts = deep.abstracts[: numbers.abstracts_per_query]
        passages = deep.passages[: numbers.passages_per_query]
        keyword = deep.keyword[: numbers.keyword_per_query]
        stand_ins = representatives(
            matches, deep.abstracts, deep.passages, numbers.papers_per_query
        )
        named = self.names.papers_named(query)
        called = self._of_named(named, numbers.named_per_query, deep, allowed)
        lists = [
            [hit.chunk_id for hit in abstracts],
            [hit.chunk_id for hit in passages],
            [hit.chunk_id for hit in keyword],
            stand_ins,
            *called,
        ]
        by_paper = {match.paper_id: match for match in matches}
        fused = [item for item in fuse(lists, numbers.rrf_k) if item.key not in skip]
        seated = [*(key for ids in called for key in ids), *stand_ins]
        fused = seat_papers(fused, seated, numbers.pool_size)
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
                match=by_paper.get(chunks[item.key].paper_id),
                named=bool(called) and chunks[item.key].paper_id in named,
            )
            for place, item in enumerate(fused, start=1)
        )
        return Pool(query, candidates, len(abstracts), len(passages), len(keyword))

    def _of_named(
        self, named: Sequence[str], count: int, deep: DeepLists, allowed: list[str] | None
    ) -> list[list[str]]:
        """The nearest chunks of each paper that the query calls by name, a list a paper.

        A paper that the deep searches do not reach is searched on its own.
        """
        lists: list[list[str]] = []
        for paper_id in named[: MOST_NAMED if count else 0]:
            if allowed is not None and paper_id not in allowed:
                continue
            near = [hit.chunk_id for hit in deep.passages if paper_of(hit.chunk_id) == paper_id]
            words = [hit.chunk_id for hit in deep.keyword if paper_of(hit.chunk_id) == paper_id]
            if len(near) < count:
                found = self.index.vectors.search("passages", deep.vector, count, [paper_id])
                near = [hit.chunk_id for hit in found[0]]
            both = [key for pair in zip_longest(near, words) for key in pair if key]
            lists.append(list(dict.fromkeys(both))[:count])
        return lists

    def _keyword(self, query: str, k: int, allowed: list[str] | None) -> list[KeywordHit]:
        mask = None if allowed is None else self._mask(frozenset(allowed))
        return self.index.keyword.search(terms(query), k, mask)

    def _mask(self, allowed: frozenset[str]) -> npt.NDArray[np.bool_]:
        ids = self.index.keyword.chunk_ids
        return np.fromiter((paper_of(key) in allowed for key in ids), bool, len(ids))


def plain(score: float) -> float:
    """A score as a plain finite number: rerankers may return numpy's, or NaN (C49)."""
    return float(score) if math.isfinite(score) else 0.0


def signs_of(candidate: Candidate, score: float) -> Signs:
    """The signs of a candidate with its reranker score."""
    match = candidate.match
    return Signs(
        rerank=score,
        abstract=match.abstract if match else 0.0,
        late=match.late if match else 0.0,
        keyword=match.keyword if match else 0.0,
        named=float(candidate.named),
    )


def _inside(paper: Paper, scope: Scope) -> bool:
    return (
        (not scope.paper_ids or paper.paper_id in scope.paper_ids)
        and (not scope.topics or (paper.topic or "") in scope.topics)
        and (not scope.years or paper.year in scope.years)
    )
