"""AskRequest and Result: the one JSON shape in and out, for page, API, terminal and evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rag.chunks import ChunkType

Route = Literal[
    "answer", "partial", "refusal", "catalogue", "smalltalk", "clarify", "invalid", "error"
]
Support = Literal["supported", "partly", "not", "none"]


class Contract(BaseModel):
    """Base of the shapes that leave the program: frozen, nothing unknown accepted, and always
    writable as UTF-8: a lone half of a surrogate pair, as browsers and models send it, is "?"."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @field_validator("*")
    @classmethod
    def without_surrogates(cls, value: Any) -> Any:
        """The value with its own text, or that of its items, made encodable."""
        if isinstance(value, str):
            return encodable(value)
        if isinstance(value, tuple) and any(isinstance(item, str) for item in value):
            return tuple(encodable(item) if isinstance(item, str) else item for item in value)
        return value


def encodable(text: str) -> str:
    """Text with "?" for each lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


class TurnRecord(Contract):
    """One earlier exchange of this conversation."""

    question: str
    answer: str


class Scope(Contract):
    """Restricts retrieval; empty lists restrict nothing."""

    paper_ids: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    years: tuple[int, ...] = ()

    @property
    def restricted(self) -> bool:
        """Whether anything is left out."""
        return bool(self.paper_ids or self.topics or self.years)


class AskRequest(Contract):
    """A question with everything that may come with it."""

    question: str
    history: tuple[TurnRecord, ...] = ()
    scope: Scope = Scope()
    settings: dict[str, float | int | bool | str | None] = Field(default_factory=dict)
    reasoner: Literal["", "llm", "extractive"] = ""


class CitationRecord(Contract):
    """One cited paper: ``n`` is its number in the answer, from 1 in order of first use."""

    n: int
    paper_id: str
    title: str
    pages: tuple[int, ...]
    chunk_ids: tuple[str, ...]
    url: str
    authors: str = ""
    year: int | None = None
    chunk_type: ChunkType = "passage"


class ChunkRecord(Contract):
    """One candidate of the pool with its way through every stage.

    Ranks count from 1 within their own list; scores of stages that did not see the chunk are
    None. ``score_rerank`` is the reranker's raw score, ``score_relevance`` the calibrated one that
    the bars judge, ``rank_paper`` the rank of its whole paper for the sub-query. ``context`` is
    what grader and writer were given for it; None when it was dropped.
    """

    chunk_id: str
    paper_id: str
    title: str
    section: str
    page_start: int | None
    page_end: int | None
    chunk_type: ChunkType
    text: str
    context: str | None
    kept: bool
    drop_reason: str | None
    floored: bool
    rank_dense: int | None
    score_dense: float | None
    rank_bm25: int | None
    score_bm25: float | None
    rank_fused: int | None
    score_fused: float | None
    score_rerank: float | None
    sub_query: str
    also_in: tuple[str, ...]
    rank_paper: int | None = None
    score_relevance: float | None = None
    year: int | None = None
    url: str = ""


class EvidenceRecord(Contract):
    """Where in a chunk's context the support of a sentence stands."""

    n: int
    chunk_id: str
    page: int | None
    start: int
    end: int


class SentenceRecord(Contract):
    """One sentence of the answer; offsets are into ``answer``."""

    text: str
    start: int
    end: int
    cites: tuple[int, ...]
    evidence: tuple[EvidenceRecord, ...]
    support: Support
    reason: str = ""


class Degraded(Contract):
    """Why this answer was made with less than was configured."""

    provider: str
    reason: str


class ErrorRecord(Contract):
    """A failure as the user may see it."""

    code: str
    message: str
    retryable: bool


class NearestPaper(Contract):
    """A paper that came closest to a question that was refused."""

    paper_id: str
    title: str
    score: float | None
    topic: str | None = None


class Result(Contract):
    """The outcome of one question."""

    question: str
    answer: str = ""
    route: Route
    is_compound: bool = False
    sub_queries: tuple[str, ...] = ()
    all_sub_queries: tuple[str, ...] = ()
    passes: int = 0
    context_sufficient: bool = False
    missing_elements: tuple[str, ...] = ()
    citations: tuple[CitationRecord, ...] = ()
    chunks: tuple[ChunkRecord, ...] = ()
    sentences: tuple[SentenceRecord, ...] = ()
    reasoner: str = "extractive"
    model: str | None = None
    degraded: Degraded | None = None
    timings_ms: dict[str, float] = Field(default_factory=dict)
    llm_calls: int = 0
    cost_usd: float | None = 0.0
    citation_precision: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    index_fingerprint: str = ""
    settings_hash: str = ""
    error: ErrorRecord | None = None
    invalid_citations: int = 0
    nearest: tuple[NearestPaper, ...] = ()
    reranking: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class LibraryFacts:
    """What the opened index is made of; ``kind`` is "starter" or "built"; ``reasoner_label``
    names who writes answers. ``papers`` can be searched, ``listed`` are known to the catalogue.
    ``degraded`` says why the last question was not reranked."""

    kind: str
    papers: int
    listed: int
    chunks: int
    topics: int
    embedder: str
    reranker: str
    reasoner_label: str
    fingerprint: str
    degraded: str = ""
