"""Candidate: one chunk on its way through the stages for one sub-query."""

from __future__ import annotations

from dataclasses import dataclass

from rag.chunks import Chunk
from rag.papers import Paper
from rag.retrieval.paper_match import PaperMatch


@dataclass(frozen=True)
class Candidate:
    """A chunk with its rank and score in each search, fused rank, rerank score and verdict.

    Ranks count from 1; ``rank_dense`` is the rank within the chunk's own list (abstracts or
    passages). ``score_rerank`` is the reranker's raw score; ``score_relevance`` is the calibrated
    score that the bars judge, and a floored chunk keeps both; ``score_evidence`` belongs to the
    whole pool and says whether the library is about the sub-query at all. ``match`` says how well
    the whole paper fits, ``named`` whether the sub-query calls the paper by name. ``drop_reason``
    is a short phrase, None for a kept chunk.
    """

    chunk: Chunk
    paper: Paper
    sub_query: str
    rank_dense: int | None = None
    score_dense: float | None = None
    rank_bm25: int | None = None
    score_bm25: float | None = None
    rank_fused: int | None = None
    score_fused: float | None = None
    score_rerank: float | None = None
    match: PaperMatch | None = None
    named: bool = False
    score_relevance: float | None = None
    score_evidence: float | None = None
    kept: bool = False
    floored: bool = False
    drop_reason: str | None = None
    also_in: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[float, float, int]:
        """Sort key, best first: relevance (fused score without one), then fused rank."""
        return (-(self.score_relevance or 0.0), -(self.score_fused or 0.0), self.rank_fused or 0)


@dataclass(frozen=True)
class Pool:
    """The fused candidates of one sub-query, best first, and how many each search brought."""

    sub_query: str
    candidates: tuple[Candidate, ...]
    abstracts: int
    passages: int
    keyword: int

    @property
    def found_by_both(self) -> int:
        """Candidates that both the dense and the keyword search found."""
        return sum(
            candidate.rank_dense is not None and candidate.rank_bm25 is not None
            for candidate in self.candidates
        )
