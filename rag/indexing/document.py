"""PaperText: what extraction hands to the chunker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stamp:
    """What the arXiv stamp in the margin of page 1 says; fields are None where unreadable."""

    arxiv_id: str
    version: str | None
    category: str | None
    date: str | None  # ISO, e.g. "2017-06-12"


@dataclass(frozen=True)
class Section:
    """A run of cleaned body text under one heading.

    ``text`` holds paragraphs separated by a blank line (two newlines); inside a paragraph there
    are no line breaks. ``page_breaks`` are ``(offset, page)`` pairs as in ``Chunk``.
    ``kind`` tells prose of the body from an appendix, and from tables and captions that
    were lifted out of the flow so that a sentence around them reads through.
    """

    heading: str
    level: int
    kind: str  # "body" | "appendix"
    text: str
    page_breaks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PaperText:
    """A paper as clean text with page numbers.

    ``abstract`` is None when the PDF shows none; it is then not part of ``sections`` either way.
    ``notes`` are short remarks for the build log (a cut that was refused, a repaired file).
    """

    title: str | None
    abstract: str | None
    abstract_page: int | None
    stamp: Stamp | None
    page_count: int
    sections: tuple[Section, ...]
    notes: tuple[str, ...]

    @property
    def usable_characters(self) -> int:
        """Characters of abstract and body together: what a scan does not have."""
        return len(self.abstract or "") + sum(len(section.text) for section in self.sections)
