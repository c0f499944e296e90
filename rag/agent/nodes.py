"""The nodes that plan, respond and reformulate; each a pure function of state and runtime."""

from __future__ import annotations

from dataclasses import replace

from rag.agent.citations import CitationStream
from rag.agent.events import PlanPayload, ReformulatePayload, RespondPayload, TokenPayload
from rag.agent.paper_lookup import with_titles
from rag.agent.routing import route_question
from rag.agent.stages import Run, Update, pass_of, stage
from rag.agent.state import AgentState
from rag.agent.verification import cited_papers
from rag.reasoning.protocol import Evidence


def planner_node(state: AgentState, runtime: Run) -> Update:
    """Decide the route and the sub-queries of the first pass."""
    context = runtime.context
    question = state["original_query"]
    with stage(runtime, "planner_node", "plan", 1) as report:
        routed = route_question(question, context.request, context.library)
        if routed.reply is not None:
            report.payload = PlanPayload(
                route=routed.route, is_compound=False, sub_queries=(), question=question
            )
            return {"route": routed.route, "reply": routed.reply, "scope": routed.scope}
        asked = with_titles(question, context.library)
        plan = context.reasoner.plan(replace(context.turn, question=asked))
        report.payload = PlanPayload(
            route=routed.route,
            is_compound=plan.is_compound,
            sub_queries=plan.sub_queries,
            question=plan.question,
            note=plan.note,
        )
    return {
        "route": routed.route,
        "plan": plan,
        "scope": routed.scope,
        "is_compound": plan.is_compound,
        "sub_queries": list(plan.sub_queries),
        "all_sub_queries": list(plan.sub_queries),
    }


def responder_node(state: AgentState, runtime: Run) -> Update:
    """Answer with what the planner found ready: the catalogue's facts, or a sentence."""
    context = runtime.context
    reply = state["reply"]
    with stage(runtime, "responder_node", "respond", 1) as report:
        evidence = tuple(
            Evidence(n, (), paper.paper_id, paper.title, paper.year, "", (), "", None, "")
            for n, paper in enumerate(reply.papers, start=1)
        )
        stream = CitationStream(evidence)
        report.emit(TokenPayload(text=stream.feed(reply.text) + stream.finish()))
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
