"""Terminal: events and results as plain lines."""

from __future__ import annotations

from rag.agent.events import (
    Event,
    GradePayload,
    PlanPayload,
    ReformulatePayload,
    RerankPayload,
    RetrievePayload,
    VerifyPayload,
)
from rag.results import Result


def describe_event(event: Event) -> str:
    """One line for a finished stage; "" for everything else."""
    if event.type != "finished" or event.stage is None:
        return ""
    return f"  {event.stage:<12}{event.elapsed_ms:>7.0f} ms  {_finding(event)}"


def _finding(event: Event) -> str:
    match event.payload:
        case PlanPayload(route="answer") as plan:
            return " | ".join(plan.sub_queries)
        case PlanPayload(route=route):
            return route
        case RetrievePayload(searches=searches):
            return " | ".join(
                f"{item.abstracts} abstracts + {item.passages} passages, {item.keyword} by keyword "
                f"-> {item.fused} ({item.found_by_both} by both)"
                for item in searches
            )
        case RerankPayload() as rerank:
            dropped = ", ".join(f"{count} {reason}" for reason, count in rerank.dropped.items())
            note = f"; {rerank.degraded}" if rerank.degraded else ""
            return f"{rerank.scored} scored, {rerank.kept} kept; dropped: {dropped or 'none'}{note}"
        case GradePayload() as grade:
            verdict = "enough" if grade.sufficient else "not enough"
            missing = (
                f"; missing: {', '.join(grade.missing_elements)}" if grade.missing_elements else ""
            )
            return f"{verdict} -> {grade.next}{missing}"
        case ReformulatePayload() as again:
            return " | ".join(again.sub_queries) or "nothing left to try"
        case VerifyPayload() as checked:
            return (
                f"{checked.supported} supported, {checked.partly} partly, {checked.unsupported} not"
            )
        case _:
            return ""


def describe_result(result: Result) -> str:
    """The answer and its sources."""
    lines = ["", result.answer or (result.error.message if result.error else ""), ""]
    for citation in result.citations:
        pages = ", ".join(str(page) for page in citation.pages)
        where = f" p. {pages}" if pages else ""
        year = f" ({citation.year})" if citation.year else ""
        lines.append(f"[{citation.n}] {citation.title}{year}{where}  {citation.url}")
    if result.nearest:
        lines.append("Nearest papers:")
        lines += [f"  {paper.score or 0:.2f}  {paper.title}" for paper in result.nearest]
    who = result.model or "extractive, no language model"
    lines.append(f"-- {result.route}; {who}; {result.timings_ms.get('total', 0):.0f} ms")
    if result.degraded:
        lines.append(f"-- {result.degraded.reason}")
    return "\n".join(lines).strip()
