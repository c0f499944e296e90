"""EngineView: what the page needs of an engine, so that page and engine meet only here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from rag.agent.events import Event
from rag.cards import PaperCard
from rag.papers import Library
from rag.results import AskRequest, LibraryFacts

__all__ = ["EngineView", "LibraryFacts"]


class EngineView(Protocol):
    """The engine as the page sees it."""

    @property
    def library(self) -> Library:
        """All papers that can be searched."""
        ...

    @property
    def catalogue(self) -> Library:
        """All listed papers: the searchable ones and those known by their facts only."""
        ...

    def card(self, paper_id: str) -> PaperCard | None:
        """Everything known about one listed paper; None when it is not listed."""
        ...

    @property
    def facts(self) -> LibraryFacts:
        """Live numbers of the opened index."""
        ...

    def stream(self, request: AskRequest) -> Iterator[Event | None]:
        """Events of one question; None is a tick (about every 0.25 s) so that clocks can move.

        Closing the generator stops the work.
        """
        ...
