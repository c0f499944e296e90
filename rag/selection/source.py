"""PaperSource: where candidates come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from rag.selection.records import PaperRecord
from rag.selection.topics import Topic


class PaperSource(Protocol):
    """A source of paper records.

    ``records`` yields at least the hand-picked papers that the source knows and every paper that
    a query of a topic finds; it may yield more, and one paper several times. The order does not
    matter: the selector ranks by its own rules, so that two sources that know the same choose
    the same.
    """

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    @property
    def once(self) -> bool:
        """Whether each paper comes once: what matches nothing need not be remembered then, which
        is most of a file of two million records."""
        ...

    def close(self) -> None:
        """Release the connection, if there is one."""
        ...

    def records(self, topics: Sequence[Topic]) -> Iterator[PaperRecord]:
        """The records."""
        ...
