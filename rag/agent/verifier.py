"""Verifier: the node that checks the answer without the writer."""

from __future__ import annotations

from collections import Counter

from rag.agent.events import VerifyPayload
from rag.agent.refusal import refusal_text
from rag.agent.stages import Run, StageReport, Update, pass_of, stage
from rag.agent.state import AgentState
from rag.agent.verification import verify_answer


def verifier_node(state: AgentState, runtime: Run) -> Update:
    """Check every sentence against the passages that it cites, without the writer."""
    context = runtime.context
    with stage(runtime, "verifier_node", "verify", pass_of(state)) as report:
        if state["route"] == "refusal":
            return _refused(state, report)
        if context.settings.agent.verification == "off":
            report.payload = VerifyPayload(supported=0, partly=0, unsupported=0, sentences=())
            return {"sentences": ()}
        verified = verify_answer(
            answer=state["final_answer"],
            marks=state["marks"],
            evidence=state["cited_evidence"],
            contexts=state["contexts"],
            citations=state["citations"],
            library=context.library,
            rarity=context.searcher.index.keyword.rarity,
            remove=context.settings.agent.verification == "remove",
        )
        if not verified.answer.strip():
            return _refused(state, report)
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


def _refused(state: AgentState, report: StageReport) -> Update:
    """A refusal in our words, in place of a draft that cites nothing or of which nothing held."""
    text = refusal_text(state.get("pool", []), scoped=state["scope"].restricted)
    changed = text if text != state["final_answer"] else None
    report.payload = VerifyPayload(
        supported=0, partly=0, unsupported=0, sentences=(), answer=changed
    )
    return {"route": "refusal", "final_answer": text, "sentences": (), "citations": []}
