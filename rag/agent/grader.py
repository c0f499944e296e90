"""Grader: the node that says whether the evidence holds the answer."""

from __future__ import annotations

from dataclasses import replace

from rag.agent.events import GradePayload
from rag.agent.stages import Run, Update, pass_of, stage
from rag.agent.state import AgentContext, AgentState
from rag.reasoning.protocol import Evidence, InformationCheck
from rag.retrieval.candidate import Candidate
from rag.retrieval.context import Context, expand
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.selection import choose, room_for

NOTHING_FOUND = InformationCheck(False, (), (), "no passage cleared its bar")


def grader_node(state: AgentState, runtime: Run) -> Update:
    """Does the evidence hold the answer? Says where the graph goes next."""
    context = runtime.context
    pass_ = pass_of(state)
    with stage(runtime, "grader_node", "grade", pass_) as report:
        contexts, evidence = gather_evidence(state, context)
        check = NOTHING_FOUND
        if evidence:
            check = context.reasoner.grade(context.turn, state["plan"], evidence)
        best = evidence_score(state, context.searcher.lexicon)
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


def gather_evidence(
    state: AgentState, context: AgentContext
) -> tuple[tuple[Context, ...], tuple[Evidence, ...]]:
    """The best kept passages of all passes with their neighbours, numbered from 1."""
    gathered = state["accumulated_context"]
    room = room_for(gathered, state["plan"].several_papers, context.settings.retrieval)
    kept = choose(gathered, room)
    chosen = {item.chunk.chunk_id: item for item in kept if item.kept}
    contexts = expand(
        [item.chunk for item in chosen.values()],
        context.searcher.index.chunks,
        room.context_tokens,
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
        names=best.paper.names,
    )


def evidence_score(state: AgentState, lexicon: Lexicon) -> float | None:
    """How surely the library is about the question: the best evidence score of any query.

    A reformulated query counts only when it adds no term to the question: one that drifts into
    the library's subjects would open the floor for any question. None when nothing was kept but
    what was raised to its bar.
    """
    if all(item.floored for item in state["accumulated_context"]):
        return None
    plan = state["plan"]
    counting = {
        query
        for query in state["all_sub_queries"]
        if query in plan.sub_queries or lexicon.adds_nothing(query, plan.question)
    }
    scores = [
        item.score_evidence
        for item in state["pool"]
        if item.score_evidence is not None and item.sub_query in counting
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
