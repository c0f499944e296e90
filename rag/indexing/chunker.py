"""Chunker: sentences of one paper -> passages of about 200 wordpieces, and the abstract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.chunks import Chunk, ChunkType, make_chunk_id, page_at
from rag.indexing.document import PaperText, Section
from rag.indexing.sentences import sentence_spans
from rag.local_models import count_cl100k
from rag.sections import IndexingSettings

CHUNKER_VERSION = "2"
PARAGRAPH = "\n\n"
# Tokenizers make one unknown wordpiece of a word of over 100 letters, so that text without blanks
# would seem short; as many characters as no ordinary wordpiece has count as one.
CHARACTERS_A_WORDPIECE = 16
CountTokens = Callable[[Sequence[str]], list[int]]
Breaks = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Piece:
    """A sentence, or a part of one that alone is too long: offsets and size in wordpieces
    (at least one for every ``CHARACTERS_A_WORDPIECE`` characters)."""

    start: int
    end: int
    wordpieces: int


def chunk_paper(
    paper_id: str,
    paper: PaperText,
    abstract: str | None,
    abstract_page: int | None,
    settings: IndexingSettings,
    count_tokens: CountTokens,
) -> list[Chunk]:
    """All chunks of a paper: the abstract at position 0 where there is one, then passages.

    Passages are slices of the body (the sections' texts joined by blank lines) in its order; no
    sentence is cut unless it alone exceeds ``max_chunk_tokens``; none crosses a section.
    """
    chunks: list[Chunk] = []
    if abstract:
        breaks: Breaks = ((0, abstract_page),) if abstract_page else ()
        chunks += _abstract_chunks(paper_id, abstract, breaks, settings, count_tokens)
    offset = 0
    index = max(1, len(chunks))
    for section in merge_small(paper.sections, settings, count_tokens):
        for chunk in _section_chunks(paper_id, index, offset, section, settings, count_tokens):
            chunks.append(chunk)
            index += 1
        offset += len(section.text) + len(PARAGRAPH)
    return chunks


def _abstract_chunks(
    paper_id: str,
    abstract: str,
    breaks: Breaks,
    settings: IndexingSettings,
    count_tokens: CountTokens,
) -> list[Chunk]:
    """One chunk, or more when the abstract does not fit: the first takes the abstract slot."""
    pieces = split_pieces(abstract, settings.max_chunk_tokens, count_tokens)
    groups = group_pieces(pieces, settings.max_chunk_tokens, settings.max_chunk_tokens, 0, 0)
    return [
        make_chunk(paper_id, index, "abstract", abstract, group, "Abstract", breaks, None)
        for index, group in enumerate(groups)
    ]


def _section_chunks(
    paper_id: str,
    first_index: int,
    offset: int,
    section: Section,
    settings: IndexingSettings,
    count_tokens: CountTokens,
) -> list[Chunk]:
    pieces = split_pieces(section.text, settings.max_chunk_tokens, count_tokens)
    groups = group_pieces(
        pieces,
        settings.chunk_tokens,
        settings.max_chunk_tokens,
        settings.overlap_sentences,
        settings.overlap_tokens,
    )
    kept = [
        group
        for group in groups
        if sum(piece.wordpieces for piece in group) >= settings.min_chunk_tokens
    ]
    return [
        make_chunk(
            paper_id,
            first_index + position,
            "passage",
            section.text,
            group,
            section.heading,
            section.page_breaks,
            offset,
        )
        for position, group in enumerate(kept)
    ]


def make_chunk(
    paper_id: str,
    index: int,
    chunk_type: ChunkType,
    text: str,
    group: Sequence[Piece],
    heading: str,
    breaks: Breaks,
    offset: int | None,
) -> Chunk:
    """The chunk that covers ``group`` of ``text``; ``offset`` is where ``text`` begins in the
    body, None for text outside it."""
    start, end = group[0].start, group[-1].end
    part = text[start:end]
    return Chunk(
        chunk_id=make_chunk_id(paper_id, index, part),
        paper_id=paper_id,
        chunk_index=index,
        chunk_type=chunk_type,
        text=part,
        section=heading,
        page_breaks=slice_breaks(breaks, start, end),
        char_start=0 if offset is None else offset + start,
        char_end=0 if offset is None else offset + end,
        wordpieces=sum(piece.wordpieces for piece in group),
        tokens=count_cl100k(part),
    )


def slice_breaks(breaks: Breaks, start: int, end: int) -> Breaks:
    """Page breaks of ``text[start:end]``, offsets moved to the slice."""
    first = page_at(breaks, start)
    if first is None:
        return ()
    later = tuple((position - start, page) for position, page in breaks if start < position < end)
    return ((0, first), *later)


def split_pieces(text: str, limit: int, count_tokens: CountTokens) -> list[Piece]:
    """Sentences of ``text`` with their sizes; longer ones than ``limit`` are cut at blanks, and
    a single endless word at characters."""
    spans = sentence_spans(text)
    sizes = _sizes([text[start:end] for start, end in spans], count_tokens)
    pieces: list[Piece] = []
    for (start, end), size in zip(spans, sizes, strict=True):
        if size <= limit:
            pieces.append(Piece(start, end, size))
        else:
            pieces += _cut(text, start, end, limit, count_tokens)
    return pieces


def _sizes(texts: Sequence[str], count_tokens: CountTokens) -> list[int]:
    counts = count_tokens(texts)
    return [
        max(count, len(text) // CHARACTERS_A_WORDPIECE)
        for text, count in zip(texts, counts, strict=True)
    ]


def _cut(text: str, start: int, end: int, limit: int, count_tokens: CountTokens) -> list[Piece]:
    """Parts of one long sentence, each at most ``limit`` wordpieces."""
    pieces: list[Piece] = []
    while start < end:
        stop = min(end, start + limit * 4)
        size = _sizes([text[start:stop]], count_tokens)[0]
        while size > limit and stop > start + 1:
            stop = max(start + 1, start + (stop - start) * limit // size - 1)
            size = _sizes([text[start:stop]], count_tokens)[0]
        if stop < end:
            blank = text.rfind(" ", start + 1, stop)
            stop = blank if blank > start else stop
        pieces.append(Piece(start, stop, _sizes([text[start:stop]], count_tokens)[0]))
        start = stop
        while start < end and text[start].isspace():
            start += 1
    return pieces


def group_pieces(
    pieces: Sequence[Piece], target: int, limit: int, overlap_pieces: int, overlap_tokens: int
) -> list[list[Piece]]:
    """Runs of pieces of about ``target`` wordpieces, never above ``limit``.

    Each run after the first begins with up to ``overlap_pieces`` pieces of the one before it, as
    far as they fit ``overlap_tokens``. A short last run joins the one before it when both fit.
    """
    target = min(target, limit)
    groups: list[list[Piece]] = []
    current: list[Piece] = []
    size = 0
    fresh = 0
    for piece in pieces:
        if fresh and size + piece.wordpieces > target:
            groups.append(current)
            current = _tail(current, overlap_pieces, min(overlap_tokens, limit - piece.wordpieces))
            size = sum(item.wordpieces for item in current)
            fresh = 0
        current = [*current, piece]
        size += piece.wordpieces
        fresh += 1
    if current and fresh:
        rest = current[-fresh:]
        rest_size = sum(item.wordpieces for item in rest)
        last = sum(item.wordpieces for item in groups[-1]) if groups else limit
        if groups and rest_size < target // 3 and last + rest_size <= min(limit, target * 3 // 2):
            groups[-1] = [*groups[-1], *rest]
        else:
            groups.append(current)
    return groups


def _tail(pieces: Sequence[Piece], most: int, tokens: int) -> list[Piece]:
    """The last pieces that may be repeated, as many as fit."""
    kept: list[Piece] = []
    for piece in reversed(pieces[1:]):
        tokens -= piece.wordpieces
        if len(kept) == most or tokens < 0:
            break
        kept.insert(0, piece)
    return kept


def merge_small(
    sections: Sequence[Section], settings: IndexingSettings, count_tokens: CountTokens
) -> list[Section]:
    """Sections too small for a passage of their own join the next one of the same kind.

    The joined text keeps both texts in order, separated by a blank line as in the body.
    """
    merged: list[Section] = []
    sizes = count_tokens([section.text for section in sections]) if sections else []
    pending: Section | None = None
    for section, size in zip(sections, sizes, strict=True):
        joined = section
        if pending is not None and pending.kind == section.kind:
            joined = _join(pending, section)
        elif pending is not None:
            merged.append(pending)
        small = size < settings.min_chunk_tokens * 2
        pending = joined if small else None
        if not small:
            merged.append(joined)
    if pending is not None:
        if merged and merged[-1].kind == pending.kind:
            merged[-1] = _join(merged[-1], pending, heading=merged[-1].heading)
        else:
            merged.append(pending)
    return merged


def _join(first: Section, second: Section, heading: str | None = None) -> Section:
    shift = len(first.text) + len(PARAGRAPH)
    later = tuple((position + shift, page) for position, page in second.page_breaks)
    if first.page_breaks and later and later[0][1] == first.page_breaks[-1][1]:
        later = later[1:]
    return Section(
        heading=second.heading if heading is None else heading,
        level=min(first.level, second.level),
        kind=first.kind,
        text=first.text + PARAGRAPH + second.text,
        page_breaks=(*first.page_breaks, *later),
    )


def mean_overlap(chunks: Sequence[Chunk]) -> float:
    """Mean share of a passage that repeats the one before it, 0..1; 0 without neighbours."""
    shares = [
        max(0, before.char_end - after.char_start) / max(1, len(after.text))
        for before, after in itertools.pairwise(chunks)
        if before.paper_id == after.paper_id
        and before.chunk_type == after.chunk_type == "passage"
        and before.section == after.section
    ]
    return sum(shares) / len(shares) if shares else 0.0
