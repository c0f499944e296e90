"""Routing: which questions are answered without retrieval, and what the others are scoped to."""

from __future__ import annotations

from dataclasses import dataclass

from rag.agent.catalogue import (
    CatalogueAnswer,
    absent_answer,
    answer_from_catalogue,
    listed_only_answer,
)
from rag.agent.intent import detect_intent
from rag.agent.paper_lookup import absent_ids, named_papers
from rag.papers import Library
from rag.results import AskRequest, Scope


@dataclass(frozen=True)
class Routed:
    """Where a question goes: ``reply`` is set for every route but "answer"."""

    route: str
    scope: Scope
    reply: CatalogueAnswer | None = None


def route_question(question: str, request: AskRequest, library: Library) -> Routed:
    """Small talk, the catalogue, papers that are not held; everything else is researched.

    A question about papers that it names is scoped to them, unless the visitor chose a scope.
    """
    scope = request.scope
    intent = detect_intent(question, has_history=bool(request.history))
    if intent.kind in ("smalltalk", "clarify"):
        return Routed(intent.kind, scope, CatalogueAnswer(intent.answer))
    found = answer_from_catalogue(question, library)
    if found is not None:
        return Routed("catalogue", scope, found)
    if scope.restricted:
        return _within(scope, library)
    named = named_papers(question, library)
    absent = absent_ids(question, library)
    if absent and not named:
        return Routed("catalogue", scope, CatalogueAnswer(absent_answer(absent)))
    searchable = tuple(paper.paper_id for paper in named if paper.searchable)
    if named and not searchable:
        return Routed("catalogue", scope, listed_only_answer(named))
    if searchable:
        scope = scope.model_copy(update={"paper_ids": searchable})
    return Routed("answer", scope)


def _within(scope: Scope, library: Library) -> Routed:
    """A scope of papers none of which has text is answered by saying so."""
    if not scope.paper_ids:
        return Routed("answer", scope)
    papers = [library[paper_id] for paper_id in scope.paper_ids if paper_id in library]
    if any(paper.searchable for paper in papers):
        return Routed("answer", scope)
    if papers:
        return Routed("catalogue", scope, listed_only_answer(papers[:5]))
    return Routed("catalogue", scope, CatalogueAnswer(absent_answer(scope.paper_ids[:5])))
