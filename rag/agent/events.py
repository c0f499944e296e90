"""Event: the one typed stream that page, API, terminal, traces and evaluation read."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag.results import Contract, ErrorRecord, Result, SentenceRecord

EventType = Literal["started", "progress", "finished", "token", "complete", "error"]
Stage = Literal[
    "plan", "retrieve", "rerank", "grade", "reformulate", "synthesize", "verify", "respond"
]


class Payload(Contract):
    """Base of the payloads; an empty one for ``started`` and keep-alive ``progress``."""


class PlanPayload(Payload):
    """What the planner decided."""

    route: str
    is_compound: bool
    sub_queries: tuple[str, ...]
    question: str  # the stand-alone question that is worked on
    note: str = ""


class SearchCounts(Contract):
    """How many candidates each search brought for one sub-query."""

    sub_query: str
    abstracts: int
    passages: int
    keyword: int
    fused: int
    found_by_both: int


class RetrievePayload(Payload):
    """Candidates per search."""

    searches: tuple[SearchCounts, ...]
    new_chunks: int


class RankedChunk(Contract):
    """One candidate as the panel's detail shows it."""

    chunk_id: str
    paper_id: str
    title: str
    section: str
    page_start: int | None
    rank_dense: int | None
    rank_bm25: int | None
    rank_fused: int | None
    score_rerank: float | None
    score_relevance: float | None
    kept: bool
    floored: bool
    drop_reason: str | None


class RerankPayload(Payload):
    """What reranking kept and dropped, and why."""

    reranker: str  # "" when reranking is off
    scored: int
    kept: int
    dropped: dict[str, int]  # reason -> count
    floored: int
    bar: float | None
    strict_bar: float | None
    chunks: tuple[RankedChunk, ...]
    degraded: str = ""


class GradePayload(Payload):
    """The verdict and where the graph goes next."""

    sufficient: bool
    missing_elements: tuple[str, ...]
    reason: str
    relevant: int
    irrelevant: int
    best_score: float | None
    next: Literal["synthesize", "reformulate"]


class ReformulatePayload(Payload):
    """The new queries; empty when no query that was not tried is left."""

    sub_queries: tuple[str, ...]
    note: str = ""


class TokenPayload(Payload):
    """A piece of the answer, in order; citation numbers are final."""

    text: str


class SynthesizePayload(Payload):
    """The draft is complete."""

    route: str
    sentences: int
    papers_cited: int
    invalid_citations: int


class VerifyPayload(Payload):
    """The checked sentences; ``answer`` only when the text or a citation changed."""

    supported: int
    partly: int
    unsupported: int
    sentences: tuple[SentenceRecord, ...]
    answer: str | None = None


class RespondPayload(Payload):
    """An answer without retrieval."""

    route: str


class CompletePayload(Payload):
    """The whole result."""

    result: Result


class ErrorPayload(Payload):
    """The question could not be finished."""

    error: ErrorRecord
    result: Result


AnyPayload = (
    PlanPayload
    | RetrievePayload
    | RerankPayload
    | GradePayload
    | ReformulatePayload
    | TokenPayload
    | SynthesizePayload
    | VerifyPayload
    | RespondPayload
    | CompletePayload
    | ErrorPayload
    | Payload
)


class Event(Contract):
    """One step of one question. ``elapsed_ms`` counts from the question for ``started``,
    ``progress``, ``token``, ``complete`` and ``error``, and is the stage's own duration for
    ``finished``. ``pass`` is the retrieval pass, from 1."""

    seq: int
    type: EventType
    node: str
    stage: Stage | None
    pass_: int = Field(default=1, alias="pass")
    elapsed_ms: float
    payload: AnyPayload

    def as_json(self) -> str:
        """The event as one line of JSON with the key ``pass``."""
        return self.model_dump_json(by_alias=True)
