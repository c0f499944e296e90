"""The nodes of the graph: each a pure function of state and runtime to a partial update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from rag.agent.catalogue import absent_answer, answer_from_catalogue
from rag.agent.citations import CitationStream
from rag.agent.events import (
    GradePayload,
    PlanPayload,
    RankedChunk,
    ReformulatePayload,
    RerankPayload,
    RespondPayload,
    RetrievePayload,
    SearchCounts,
    SynthesizePayload,
    TokenPayload,
    VerifyPayload,
)
from rag.agent.intent import detect_intent
from rag.agent.paper_lookup import absent_ids, held_ids
from rag.agent.refusal import refusal_text
from rag.agent.stages import pass_of, stage
from rag.agent.state import AgentContext, AgentState
from rag.agent.verification import cited_papers, verify_answer
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.context import Context, expand
from rag.retrieval.search import Judged
from rag.retrieval.selection import choose, papers_cap

Run = Runtime[AgentContext]
Update = dict[str, Any]


def planner_node(state: AgentState, runtime: Run) -> Update:
    """Decide the route and the sub-queries of the first pass."""
    context = runtime.context
    question = state["original_query"]
    with stage(runtime, "planner_node", "plan", 1) as report:
        route, answer, scope = _route(context, question)
        if route != "answer":
            report.payload = PlanPayload(
                route=route, is_compound=False, sub_queries=(), question=question
            )
            return {"route": route, "final_answer": answer, "scope": scope}
        plan = context.reasoner.plan(context.turn)
        report.payload = PlanPayload(
            route=route,
            is_compound=plan.is_compound,
            sub_queries=plan.sub_queries,
            question=plan.question,
            note=plan.note,
        )
    return {
        "route": route,
        "plan": plan,
        "scope": scope,
        "is_compound": plan.is_compound,
        "sub_queries": list(plan.sub_queries),
        "all_sub_queries": list(plan.sub_queries),
    }


def _route(context: AgentContext, question: str) -> tuple[str, str, Any]:
    """Where the question goes, with a ready answer where no look-up is needed."""
    scope = context.request.scope
    intent = detect_intent(question, has_history=bool(context.request.history))
    if intent.kind in ("smalltalk", "clarify"):
        return intent.kind, intent.answer, scope
    if answer_from_catalogue(question, context.library) is not None:
        return "catalogue", "", scope
    held = held_ids(question, context.library)
    absent = absent_ids(question, context.library)
    if absent and not held:
        return "catalogue", absent_answer(absent), scope
    if held and not scope.restricted:
        scope = scope.model_copy(update={"paper_ids": tuple(held)})
    return "answer", "", scope


def responder_node(state: AgentState, runtime: Run) -> Update:
    """Answer from the catalogue, or with a ready sentence."""
    context = runtime.context
    with stage(runtime, "responder_node", "respond", 1) as report:
        text = state.get("final_answer", "")
        evidence: tuple[Evidence, ...] = ()
        if not text:
            found = answer_from_catalogue(state["original_query"], context.library)
            assert found is not None
            text = found.text
            evidence = tuple(
                Evidence(n, (), paper.paper_id, paper.title, paper.year, "", (), "", None, "")
                for n, paper in enumerate(found.papers, start=1)
            )
        stream = CitationStream(evidence)
        report.emit(TokenPayload(text=stream.feed(text) + stream.finish()))
        report.payload = RespondPayload(route=state["route"])
    return {
        "final_answer": stream.text,
        "citations": cited_papers(stream, evidence, (), context.library),
        "marks": tuple(stream.marks),
    }


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
        several = state.get("is_compound", False)
        judged = context.searcher.judge(pools, context.settings, several=several)
        report.payload = _rerank_payload(judged)
    return {
        "accumulated_context": list(judged.kept),
        "pool": list(judged.candidates),
        "bars": judged.bars,
        "reranker": judged.reranker,
        "rerank_degraded": judged.degraded,
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


def grader_node(state: AgentState, runtime: Run) -> Update:
    """Does the evidence hold the answer? Says where the graph goes next."""
    context = runtime.context
    pass_ = pass_of(state)
    with stage(runtime, "grader_node", "grade", pass_) as report:
        contexts, evidence = gather_evidence(state, context)
        check = NOTHING_FOUND
        if evidence:
            check = context.reasoner.grade(context.turn, state["plan"], evidence)
        best = best_unaided(state["accumulated_context"])
        check = apply_evidence_floor(check, best, state["bars"].evidence_floor)
        last = pass_ >= context.settings.agent.max_passes
        report.payload = GradePayload(
            sufficient=check.sufficient,
            missing_elements=check.missing_elements,
            reason=check.reason,
            relevant=len(check.relevant),
            irrelevant=len(evidence) - len(check.relevant),
            best_score=best,
            next="synthesize" if check.sufficient or last else "reformulate",
        )
    return {
        "check": check,
        "evidence": evidence,
        "contexts": contexts,
        "context_sufficient": check.sufficient,
        "missing_elements": list(check.missing_elements),
    }


NOTHING_FOUND = InformationCheck(False, (), (), "no passage cleared its bar")


def gather_evidence(
    state: AgentState, context: AgentContext
) -> tuple[tuple[Context, ...], tuple[Evidence, ...]]:
    """The best kept passages of all passes with their neighbours, numbered from 1."""
    numbers = context.settings.retrieval
    gathered = state["accumulated_context"]
    cap = papers_cap(gathered, state.get("is_compound", False), numbers)
    kept = choose(gathered, numbers.keep, cap)
    chosen = {item.chunk.chunk_id: item for item in kept if item.kept}
    contexts = expand(
        [item.chunk for item in chosen.values()],
        context.searcher.index.chunks,
        numbers.context_tokens,
    )
    evidence = tuple(
        _evidence(n, found, chosen[found.chunk_ids[0]]) for n, found in enumerate(contexts, start=1)
    )
    return tuple(contexts), evidence


def _evidence(n: int, found: Context, best: Candidate) -> Evidence:
    return Evidence(
        n=n,
        chunk_ids=found.chunk_ids,
        paper_id=best.paper.paper_id,
        title=best.paper.title,
        year=best.paper.year,
        section=found.section,
        pages=found.pages,
        text=found.text,
        score=best.score_relevance,
        sub_query=best.sub_query,
    )


def best_unaided(kept: Sequence[Candidate]) -> float | None:
    """The best evidence score behind a kept chunk that was not raised to its bar."""
    scores = [
        item.score_evidence for item in kept if item.score_evidence is not None and not item.floored
    ]
    return max(scores, default=None)


def apply_evidence_floor(
    check: InformationCheck, best: float | None, floor: float | None
) -> InformationCheck:
    """No grader may call evidence sufficient, or relevant, whose best evidence score is below
    the floor; without a reranker there is no floor."""
    if floor is None or (best is not None and best >= floor):
        return check
    reason = f"the evidence scores {best or 0:.2f}, below the floor of {floor:.2f}"
    return replace(check, sufficient=False, relevant=(), reason=reason)


def after_grader(state: AgentState, runtime: Run) -> str:
    """The edge out of the grader."""
    if state["check"].sufficient or pass_of(state) >= runtime.context.settings.agent.max_passes:
        return "synthesizer_node"
    return "reformulator_node"


def reformulator_node(state: AgentState, runtime: Run) -> Update:
    """New queries aimed at what is missing; a query that was tried is never tried again."""
    context = runtime.context
    tried = tuple(state["all_sub_queries"])
    with stage(runtime, "reformulator_node", "reformulate", pass_of(state)) as report:
        plan = context.reasoner.reformulate(
            context.turn, state["plan"], state["check"], tried, state["evidence"]
        )
        known = {fold_query(query) for query in tried}
        fresh = [query for query in plan.sub_queries if fold_query(query) not in known][:3]
        report.payload = ReformulatePayload(sub_queries=tuple(fresh), note=plan.note)
    return {
        "sub_queries": fresh,
        "all_sub_queries": fresh,
        "retry_count": state.get("retry_count", 0) + bool(fresh),
    }


def fold_query(query: str) -> str:
    """A query without case and punctuation, for telling whether it was tried."""
    return " ".join("".join(c if c.isalnum() else " " for c in query.casefold()).split())


def after_reformulator(state: AgentState) -> str:
    """Search again only when there is something new to search for."""
    return "retriever_node" if state["sub_queries"] else "synthesizer_node"


def synthesizer_node(state: AgentState, runtime: Run) -> Update:
    """Write the answer from the relevant evidence, or refuse when there is none."""
    context = runtime.context
    check = state["check"]
    with stage(runtime, "synthesizer_node", "synthesize", pass_of(state)) as report:
        evidence = tuple(item for item in state["evidence"] if item.n in check.relevant)
        if not evidence and check.sufficient:
            evidence = state["evidence"]
        stream = CitationStream(evidence)
        route = "answer" if check.sufficient else "partial"
        if not evidence:
            route = "refusal"
            text = refusal_text(state.get("pool", []))
            report.emit(TokenPayload(text=stream.feed(text) + stream.finish()))
        else:
            _write(state["plan"], check, evidence, stream, context, report.emit)
            if not stream.marks and not check.sufficient:
                route = "refusal"
        report.payload = SynthesizePayload(
            route=route,
            sentences=stream.text.count(". ") + 1,
            papers_cited=len(stream.numbers),
            invalid_citations=stream.invalid,
        )
    return {
        "route": route,
        "final_answer": stream.text,
        "marks": tuple(stream.marks),
        "cited_evidence": evidence,
        "invalid_citations": stream.invalid,
        "citations": cited_papers(stream, evidence, state["contexts"], context.library),
    }


def _write(
    plan: QueryPlan,
    check: InformationCheck,
    evidence: tuple[Evidence, ...],
    stream: CitationStream,
    context: AgentContext,
    emit: Any,
) -> None:
    for piece in context.reasoner.write(context.turn, plan, check, evidence):
        context.cancel.check()
        shown = stream.feed(piece)
        if shown:
            emit(TokenPayload(text=shown))
    rest = stream.finish()
    if rest:
        emit(TokenPayload(text=rest))


def verifier_node(state: AgentState, runtime: Run) -> Update:
    """Check every sentence against the passages that it cites, without the writer."""
    context = runtime.context
    with stage(runtime, "verifier_node", "verify", pass_of(state)) as report:
        if state["route"] == "refusal" or context.settings.agent.verification == "off":
            report.payload = VerifyPayload(supported=0, partly=0, unsupported=0, sentences=())
            return {"sentences": ()}
        verified = verify_answer(
            answer=state["final_answer"],
            marks=state["marks"],
            evidence=state["cited_evidence"],
            contexts=state["contexts"],
            citations=state["citations"],
            rarity=context.searcher.index.keyword.rarity,
            remove=context.settings.agent.verification == "remove",
        )
        supports = Counter(sentence.support for sentence in verified.sentences)
        changed = verified.answer if verified.answer != state["final_answer"] else None
        report.payload = VerifyPayload(
            supported=supports["supported"],
            partly=supports["partly"],
            unsupported=supports["not"],
            sentences=verified.sentences,
            answer=changed,
        )
    return {
        "sentences": verified.sentences,
        "final_answer": verified.answer,
        "citations": list(verified.citations),
    }
