"""Synthesizer: the node that writes the answer, or refuses."""

from __future__ import annotations

from typing import Any

from rag.agent.citations import CitationStream
from rag.agent.events import SynthesizePayload, TokenPayload
from rag.agent.refusal import refusal_text
from rag.agent.stages import Run, Update, pass_of, stage
from rag.agent.state import AgentContext, AgentState
from rag.agent.verification import cited_papers
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan


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
            text = refusal_text(state.get("pool", []), scoped=state["scope"].restricted)
            report.emit(TokenPayload(text=stream.feed(text) + stream.finish()))
        else:
            _write(state["plan"], check, evidence, stream, context, report.emit)
            if not stream.text.strip() or (not stream.marks and not check.sufficient):
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
