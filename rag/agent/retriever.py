"""Retriever: the node that searches, reranks, judges and chooses."""

from __future__ import annotations

from collections import Counter

from rag.agent.events import RankedChunk, RerankPayload, RetrievePayload, SearchCounts
from rag.agent.stages import Run, Update, pass_of, stage
from rag.agent.state import AgentState
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.search import Judged


def retriever_node(state: AgentState, runtime: Run) -> Update:
    """Search all sub-queries, then rerank, judge and choose."""
    context = runtime.context
    pass_ = pass_of(state)
    seen = frozenset(item.chunk.chunk_id for item in state.get("pool", []))
    with stage(runtime, "retriever_node", "retrieve", pass_) as report:
        pools = context.searcher.retrieve(
            state["sub_queries"], context.settings, state["scope"], seen
        )
        report.payload = RetrievePayload(
            searches=tuple(_counts(pool) for pool in pools),
            new_chunks=len({item.chunk.chunk_id for pool in pools for item in pool.candidates}),
        )
    context.cancel.check()
    with stage(runtime, "retriever_node", "rerank", pass_) as report:
        several = state["plan"].several_papers
        judged = context.searcher.judge(pools, context.settings, several=several)
        report.payload = _rerank_payload(judged)
    return {
        "accumulated_context": list(judged.kept),
        "pool": list(judged.candidates),
        "bars": judged.bars,
        "reranker": judged.reranker,
        "rerank_degraded": judged.degraded or state.get("rerank_degraded", ""),
    }


def _counts(pool: Pool) -> SearchCounts:
    return SearchCounts(
        sub_query=pool.sub_query,
        abstracts=pool.abstracts,
        passages=pool.passages,
        keyword=pool.keyword,
        fused=len(pool.candidates),
        found_by_both=pool.found_by_both,
    )


def _rerank_payload(judged: Judged) -> RerankPayload:
    dropped = Counter(item.drop_reason or "" for item in judged.candidates if not item.kept)
    return RerankPayload(
        reranker=judged.reranker,
        scored=judged.scored,
        kept=len(judged.kept),
        dropped=dict(dropped),
        floored=sum(item.floored for item in judged.kept),
        bar=judged.bars.bar,
        strict_bar=judged.bars.strict_bar,
        chunks=tuple(_ranked(item) for item in judged.candidates),
        degraded=judged.degraded,
    )


def _ranked(item: Candidate) -> RankedChunk:
    return RankedChunk(
        chunk_id=item.chunk.chunk_id,
        paper_id=item.paper.paper_id,
        title=item.paper.title,
        section=item.chunk.section,
        page_start=item.chunk.page_start,
        rank_dense=item.rank_dense,
        rank_bm25=item.rank_bm25,
        rank_fused=item.rank_fused,
        score_rerank=item.score_rerank,
        score_relevance=item.score_relevance,
        kept=item.kept,
        floored=item.floored,
        drop_reason=item.drop_reason,
    )
