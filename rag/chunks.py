"""Chunk: the unit of search, and the only form in which paper text leaves indexing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

ChunkType = Literal["abstract", "passage", "digest", "upload", "web"]


@dataclass(frozen=True)
class Chunk:
    """One searchable piece of one paper.

    ``char_start``/``char_end`` are offsets into the paper's cleaned body; passages of one paper
    are slices of that body, so ``previous.char_end - char_start`` (when positive) is the overlap.
    An abstract lies outside the body and has offsets 0 and 0.
    ``page_breaks`` are ``(offset, page)`` pairs with offsets into ``text``: from that offset on,
    the text stands on that page (1-based); the first pair has offset 0. Empty without pages.
    ``wordpieces`` counts tokens of the embedder's own tokenizer without the title prefix and
    special tokens; ``tokens`` counts cl100k tokens, for cost and display.
    """

    chunk_id: str
    paper_id: str
    chunk_index: int
    chunk_type: ChunkType
    text: str
    section: str
    page_breaks: tuple[tuple[int, int], ...]
    char_start: int
    char_end: int
    wordpieces: int
    tokens: int

    @property
    def page_start(self) -> int | None:
        """The page of the first character, 1-based; None where the source has no pages."""
        return self.page_breaks[0][1] if self.page_breaks else None

    @property
    def page_end(self) -> int | None:
        """The page of the last character, 1-based; None where the source has no pages."""
        return self.page_breaks[-1][1] if self.page_breaks else None

    def page_at(self, offset: int) -> int | None:
        """The page on which the character at ``offset`` of ``text`` stands."""
        return page_at(self.page_breaks, offset)


def page_at(page_breaks: tuple[tuple[int, int], ...], offset: int) -> int | None:
    """The page at a text offset, given ``(offset, page)`` pairs in ascending order."""
    page = None
    for start, number in page_breaks:
        if start > offset:
            break
        page = number
    return page


def make_chunk_id(paper_id: str, chunk_index: int, text: str) -> str:
    """The one id of a chunk everywhere: paper, position and a short hash of its content.

    The position keeps identical paragraphs apart; the hash makes a changed text a new id.
    """
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    return f"{paper_id}:{chunk_index:04d}:{digest}"


def paper_of(chunk_id: str) -> str:
    """The paper of a chunk: its id begins with the paper's."""
    return chunk_id.split(":", 1)[0]
