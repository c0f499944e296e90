"""Outcome: the final state of a question -> the one result shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from rag.agent.refusal import nearest_papers
from rag.agent.state import AgentState
from rag.agent.verification import citation_precision
from rag.reasoning.protocol import CallMeter
from rag.reasoning.step_down import StepDown
from rag.results import ChunkRecord, Degraded, ErrorRecord, Result, Route
from rag.retrieval.candidate import Candidate
from rag.retrieval.context import Context
from rag.retrieval.selection import LIMIT


@dataclass(frozen=True)
class Outcome:
    """What the engine knows about a finished question beside its state."""

    question: str
    timings_ms: Mapping[str, float]
    index_fingerprint: str
    settings_hash: str
    reasoner: StepDown | None
    meter: CallMeter | None


def assemble_result(outcome: Outcome, state: AgentState) -> Result:
    """The result of a question that ran to its end."""
    route = as_route(state.get("route", "error"))
    searched = bool(state.get("all_sub_queries"))
    contexts = state.get("contexts", ())
    kept_ids = {key for context in contexts for key in context.chunk_ids}
    chunks = chunk_records(state.get("pool", []), contexts) if searched else ()
    bars = state.get("bars")
    refused = route == "refusal"
    return Result(
        question=outcome.question,
        answer=state.get("final_answer", ""),
        route=route,
        is_compound=state.get("is_compound", False),
        sub_queries=tuple(state["plan"].sub_queries) if "plan" in state else (),
        all_sub_queries=tuple(state.get("all_sub_queries", ())),
        passes=state.get("retry_count", 0) + 1 if searched else 0,
        context_sufficient=state.get("context_sufficient", False),
        missing_elements=tuple(state.get("missing_elements", ())),
        citations=() if refused else tuple(state.get("citations", ())),
        chunks=tuple(record for record in chunks if record.chunk_id in kept_ids)
        + tuple(record for record in chunks if record.chunk_id not in kept_ids),
        sentences=state.get("sentences", ()),
        citation_precision=citation_precision(state.get("sentences", ())),
        invalid_citations=state.get("invalid_citations", 0),
        nearest=nearest_papers(state.get("pool", [])) if refused else (),
        reranking=state.get("reranker", ""),
        bar=bars.bar if bars else None,
        **(_run_facts(outcome) | {"degraded": _degraded(outcome, state)}),
    )


def _degraded(outcome: Outcome, state: AgentState) -> Degraded | None:
    """What was missing: the language model before the reranker."""
    note = state.get("rerank_degraded", "")
    reranking = Degraded(provider="The reranker", reason=note) if note else None
    return (outcome.reasoner.degraded if outcome.reasoner else None) or reranking


def failed_result(outcome: Outcome, error: ErrorRecord, route: str) -> Result:
    """The result of a question that could not be finished, or not even begun."""
    # A refused input may be huge; the record keeps its beginning only.
    facts = _run_facts(outcome)
    answer = error.message if route == "invalid" else ""
    return Result(
        question=outcome.question[:2000], answer=answer, route=as_route(route), error=error, **facts
    )


def _run_facts(outcome: Outcome) -> dict[str, object]:
    reasoner, meter = outcome.reasoner, outcome.meter
    return {
        "reasoner": reasoner.active.kind if reasoner else "extractive",
        "model": reasoner.active.model if reasoner else None,
        "degraded": reasoner.degraded if reasoner else None,
        "llm_calls": meter.calls if meter else 0,
        "cost_usd": meter.cost_usd if meter else 0.0,
        "input_tokens": meter.input_tokens if meter else 0,
        "output_tokens": meter.output_tokens if meter else 0,
        "timings_ms": dict(outcome.timings_ms),
        "index_fingerprint": outcome.index_fingerprint,
        "settings_hash": outcome.settings_hash,
    }


def as_route(name: str) -> Route:
    """``name`` as one of the fixed routes; "error" for anything else."""
    return cast(Route, name if name in get_args(Route) else "error")


def chunk_records(pool: list[Candidate], contexts: tuple[Context, ...]) -> tuple[ChunkRecord, ...]:
    """The whole pool of all passes, kept first, each chunk once.

    A chunk that its own pass kept but that a later pass crowded out is told as dropped.
    """
    context_of = {key: context for context in contexts for key in context.chunk_ids}
    best: dict[str, Candidate] = {}
    for item in pool:
        held = best.get(item.chunk.chunk_id)
        if held is None or item.order < held.order:
            best[item.chunk.chunk_id] = item
    records = [_record(item, context_of.get(key)) for key, item in best.items()]
    return tuple(
        sorted(records, key=lambda record: (not record.kept, -(record.score_relevance or 0)))
    )


def _record(item: Candidate, context: Context | None) -> ChunkRecord:
    kept = context is not None
    reason = None if kept else item.drop_reason or LIMIT
    return ChunkRecord(
        chunk_id=item.chunk.chunk_id,
        paper_id=item.paper.paper_id,
        title=item.paper.title,
        section=item.chunk.section,
        page_start=item.chunk.page_start,
        page_end=item.chunk.page_end,
        chunk_type=item.chunk.chunk_type,
        text=item.chunk.text,
        context=context.text if context else None,
        kept=kept,
        drop_reason=reason,
        floored=item.floored,
        rank_dense=item.rank_dense,
        score_dense=item.score_dense,
        rank_bm25=item.rank_bm25,
        score_bm25=item.score_bm25,
        rank_fused=item.rank_fused,
        score_fused=item.score_fused,
        score_rerank=item.score_rerank,
        sub_query=item.sub_query,
        also_in=item.also_in,
        rank_paper=item.match.rank if item.match else None,
        score_relevance=item.score_relevance,
        year=item.paper.year,
        url=item.paper.pdf_url(item.chunk.page_start),
    )
