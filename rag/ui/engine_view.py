"""EngineView: what the page needs of an engine, so that page and engine meet only here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from rag.agent.events import Event
from rag.papers import Library
from rag.results import AskRequest, LibraryFacts

__all__ = ["EngineView", "LibraryFacts"]


class EngineView(Protocol):
    """The engine as the page sees it."""

    @property
    def library(self) -> Library:
        """All papers, whether indexed or only known by name."""
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
