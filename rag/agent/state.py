"""AgentState: what travels through the graph; resources travel in ``AgentContext``."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

from rag.agent.catalogue import CatalogueAnswer
from rag.agent.citations import Mark
from rag.agent.events import EventType, Payload, Stage
from rag.papers import Library
from rag.reasoning.protocol import (
    CallMeter,
    CancelToken,
    Evidence,
    InformationCheck,
    QueryPlan,
    Turn,
)
from rag.reasoning.step_down import StepDown
from rag.results import AskRequest, CitationRecord, Scope, SentenceRecord
from rag.retrieval.candidate import Candidate
from rag.retrieval.context import Context
from rag.retrieval.search import Searcher
from rag.retrieval.selection import Bars
from rag.settings import Settings


class AgentState(TypedDict, total=False):
    """The first ten names are fixed (DESIGN §3); the two lists with a reducer add up over passes,
    the rest overwrite. A fresh state is made for every question."""

    original_query: str
    is_compound: bool
    sub_queries: list[str]
    all_sub_queries: Annotated[list[str], operator.add]
    accumulated_context: Annotated[list[Candidate], operator.add]
    context_sufficient: bool
    missing_elements: list[str]
    retry_count: int
    final_answer: str
    citations: list[CitationRecord]
    # added
    route: str
    reply: CatalogueAnswer
    plan: QueryPlan
    pool: Annotated[list[Candidate], operator.add]
    evidence: tuple[Evidence, ...]
    contexts: tuple[Context, ...]
    check: InformationCheck
    bars: Bars
    reranker: str
    rerank_degraded: str
    marks: tuple[Mark, ...]
    cited_evidence: tuple[Evidence, ...]
    sentences: tuple[SentenceRecord, ...]
    invalid_citations: int
    scope: Scope


@dataclass(frozen=True)
class Emission:
    """What a node tells the stream; the engine adds sequence number and time."""

    type: EventType
    node: str
    stage: Stage | None
    pass_: int
    payload: Payload
    duration_ms: float = 0.0


@dataclass(frozen=True)
class AgentContext:
    """The resources and limits of one question."""

    request: AskRequest
    question: str
    settings: Settings
    library: Library
    searcher: Searcher
    reasoner: StepDown
    cancel: CancelToken
    meter: CallMeter
    clock: Callable[[], float] = field(default=time.perf_counter)

    @property
    def turn(self) -> Turn:
        """The question as the reasoner sees it."""
        turns = self.settings.agent.history_turns
        history = self.request.history[-turns:] if turns else ()
        return Turn(
            self.question, history, self.cancel, self.meter, self.settings.agent.answer_sentences
        )
