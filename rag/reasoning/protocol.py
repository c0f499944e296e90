"""Reasoner: the four thinking steps behind one protocol, and the shapes they exchange."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rag.errors import CancelledError
from rag.results import TurnRecord


@dataclass(frozen=True)
class QueryPlan:
    """Stand-alone sub-queries (1 to 3). ``question`` is the question without pronouns that
    point into the conversation; equal to what was typed when nothing had to be resolved.
    ``one_subject`` marks a compound question whose parts ask about the same thing."""

    question: str
    sub_queries: tuple[str, ...]
    is_compound: bool = False
    note: str = ""
    one_subject: bool = False

    @property
    def several_papers(self) -> bool:
        """Whether the answer needs more than one paper."""
        return self.is_compound and not self.one_subject


@dataclass(frozen=True)
class Evidence:
    """One passage as grader and writer are given it.

    ``n`` numbers the passages of this request from 1; ``text`` is the passage with its
    neighbours; ``score`` is its relevance in 0..1, None when reranking is off;
    ``sub_query`` is the one that it serves best; ``names`` are what the paper is called by.
    """

    n: int
    chunk_ids: tuple[str, ...]
    paper_id: str
    title: str
    year: int | None
    section: str
    pages: tuple[int, ...]
    text: str
    score: float | None
    sub_query: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class InformationCheck:
    """Does the evidence hold the answer? ``relevant`` are the numbers ``n`` of passages that
    help; ``missing_elements`` are short noun phrases."""

    sufficient: bool
    missing_elements: tuple[str, ...]
    relevant: tuple[int, ...]
    reason: str


@dataclass
class CancelToken:
    """Set once when the visitor stops or leaves; closes what is open upstream."""

    _event: threading.Event = field(default_factory=threading.Event)
    _callbacks: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cancel(self) -> None:
        """Mark as cancelled and run the registered closers once."""
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
            self._event.set()
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when cancelled (at once if that has happened already)."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    @property
    def cancelled(self) -> bool:
        """Whether the visitor is gone."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise ``CancelledError`` when the visitor is gone."""
        if self._event.is_set():
            raise CancelledError("Stopped.")


@dataclass
class CallMeter:
    """Counts model calls and tokens of one question; refuses calls beyond ``max_calls``."""

    max_calls: int
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True)
class Turn:
    """One question as the reasoner sees it: the typed question, the history, and the request's
    own cancel token and meter."""

    question: str
    history: tuple[TurnRecord, ...]
    cancel: CancelToken
    meter: CallMeter
    answer_sentences: int = 6


class Reasoner(Protocol):
    """What the graph needs of a reasoner. Methods may be called from several threads.

    An LLM-backed reasoner raises ``ProviderError`` when its provider fails; unparsable output is
    not a failure but leads to the safe default of each step.
    """

    @property
    def kind(self) -> Literal["extractive", "llm"]:
        """Which of the two it is."""

    @property
    def provider(self) -> str:
        """Name of the provider; "extractive" without one."""

    @property
    def model(self) -> str | None:
        """Name of the model that writes; None without one."""

    def plan(self, turn: Turn) -> QueryPlan:
        """Sub-queries for the first retrieval pass."""

    def grade(
        self, turn: Turn, plan: QueryPlan, evidence: tuple[Evidence, ...]
    ) -> InformationCheck:
        """Whether the evidence holds the answer. The caller applies the evidence floor."""

    def reformulate(
        self,
        turn: Turn,
        plan: QueryPlan,
        check: InformationCheck,
        tried: tuple[str, ...],
        evidence: tuple[Evidence, ...],
    ) -> QueryPlan:
        """New queries aimed at what is missing; those already in ``tried`` are of no use."""

    def write(
        self, turn: Turn, plan: QueryPlan, check: InformationCheck, evidence: tuple[Evidence, ...]
    ) -> Iterator[str]:
        """The answer in pieces, citing passages as ``[n]`` with ``Evidence.n``."""

    def close(self) -> None:
        """Release what the reasoner holds open."""
