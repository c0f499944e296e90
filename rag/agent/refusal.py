"""Refusal: saying plainly that the library does not hold the answer."""

from __future__ import annotations

from collections.abc import Sequence

from rag.results import NearestPaper
from rag.retrieval.candidate import Candidate

NOT_COVERED = "The library does not cover this."
NOT_IN_SCOPE = "The selected papers do not cover this."


def refusal_text(pool: Sequence[Candidate], *, scoped: bool) -> str:
    """One or two sentences: not covered, and the nearest topic that the library does hold.

    ``scoped`` says that only some papers were searched: then nothing is said of the others.
    """
    near = nearest_papers(pool, most=1)
    if scoped:
        return NOT_IN_SCOPE
    if not near:
        return NOT_COVERED
    topic = near[0].topic
    subject = f"the topic “{topic}”" if topic else f"the paper “{near[0].title}”"
    return f"{NOT_COVERED} The nearest that it holds is {subject}."


def nearest_papers(pool: Sequence[Candidate], most: int = 3) -> tuple[NearestPaper, ...]:
    """The papers that came closest, best first, with their best relevance."""
    best: dict[str, Candidate] = {}
    for item in sorted(pool, key=lambda candidate: candidate.order):
        best.setdefault(item.paper.paper_id, item)
    return tuple(
        NearestPaper(
            paper_id=item.paper.paper_id,
            title=item.paper.title,
            score=item.score_relevance,
            topic=item.paper.topic,
        )
        for item in list(best.values())[:most]
    )
