"""The nodes that plan, respond and reformulate; each a pure function of state and runtime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rag.agent.catalogue import absent_answer, answer_from_catalogue
from rag.agent.citations import CitationStream
from rag.agent.events import PlanPayload, ReformulatePayload, RespondPayload, TokenPayload
from rag.agent.intent import detect_intent
from rag.agent.paper_lookup import absent_ids, held_ids, with_titles
from rag.agent.stages import Run, Update, pass_of, stage
from rag.agent.state import AgentContext, AgentState
from rag.agent.verification import cited_papers
from rag.reasoning.protocol import Evidence


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
        asked = with_titles(question, context.library)
        plan = context.reasoner.plan(replace(context.turn, question=asked))
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
