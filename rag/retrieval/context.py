"""Context: a kept passage together with its neighbours, merged where they touch.

Small to search, big to read (DESIGN §5): the answer is in what the reader gets more often when a
kept passage brings its neighbours along (0.86 -> 0.90).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag.chunks import Chunk, page_at
from rag.indexing.chunk_table import ChunkTable


@dataclass(frozen=True)
class Context:
    """A run of touching chunks of one paper as one text.

    ``chunk_ids`` are the kept chunks that it serves, best first; ``spans`` are the offsets of
    those chunks in ``text``; ``starts`` are the offsets of all chunks of the run, kept or not;
    ``page_breaks`` as in ``Chunk``.
    """

    paper_id: str
    chunk_ids: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    text: str
    section: str
    page_breaks: tuple[tuple[int, int], ...]
    first_index: int
    last_index: int
    starts: tuple[int, ...]

    @property
    def pages(self) -> tuple[int, ...]:
        """The pages that the text touches, ascending, each once."""
        return tuple(sorted({page for _, page in self.page_breaks}))

    def page_at(self, offset: int) -> int | None:
        """The page on which the character at ``offset`` stands."""
        return page_at(self.page_breaks, offset)


def expand(kept: Sequence[Chunk], table: ChunkTable, size: int) -> list[Context]:
    """The contexts of kept chunks, in their order; a chunk inside an earlier context joins it.

    ``size`` is the aim in wordpieces; 0 means the passage alone.
    """
    contexts: list[Context] = []
    for chunk in kept:
        home = next((place for place, item in enumerate(contexts) if _holds(item, chunk)), None)
        if home is None:
            run = _run_around(chunk, table, size, kept, contexts)
            contexts.append(_join(chunk, run))
        else:
            contexts[home] = _serve(contexts[home], chunk)
    return contexts


def _holds(context: Context, chunk: Chunk) -> bool:
    return (
        context.paper_id == chunk.paper_id
        and context.first_index <= chunk.chunk_index <= context.last_index
    )


def _serve(context: Context, chunk: Chunk) -> Context:
    """The same context, now also for ``chunk``, whose text it holds."""
    start = context.starts[chunk.chunk_index - context.first_index]
    return replace(
        context,
        chunk_ids=(*context.chunk_ids, chunk.chunk_id),
        spans=(*context.spans, (start, start + len(chunk.text))),
    )


def _run_around(
    chunk: Chunk,
    table: ChunkTable,
    size: int,
    kept: Sequence[Chunk],
    contexts: Sequence[Context],
) -> list[Chunk]:
    """The chunk and neighbours of its section, nearest first, until ``size`` is reached.

    Abstracts and digests stand alone; chunks of an earlier context are not repeated.
    """
    if chunk.chunk_type != "passage" or size <= chunk.wordpieces:
        return [chunk]
    around = {
        item.chunk_index: item
        for item in table.neighbours(chunk, 2)
        if item.chunk_type == "passage"
        and item.section == chunk.section
        and not any(_holds(context, item) for context in contexts)
    }
    run = [chunk]
    total = chunk.wordpieces
    for step in (1, -1, 2, -2):
        item = around.get(chunk.chunk_index + step)
        touching = item is not None and (
            item.chunk_index in (run[0].chunk_index - 1, run[-1].chunk_index + 1)
        )
        if item is not None and touching and total + item.wordpieces <= size + 60:
            run = sorted([*run, item], key=lambda entry: entry.chunk_index)
            total += item.wordpieces
    return run


def _join(chunk: Chunk, run: Sequence[Chunk]) -> Context:
    """Concatenate a run without repeating overlaps."""
    text = run[0].text
    breaks = list(run[0].page_breaks)
    starts = [0]
    for before, after in pairwise(run):
        gap = after.char_start - before.char_end
        joint = len(text) + gap if gap < 0 else len(text) + len(separator(gap))
        text = text[:joint] + after.text if gap < 0 else text + separator(gap) + after.text
        starts.append(joint)
        # The overlap is told once: from the joint on, the breaks of the later chunk hold.
        breaks = [(offset, page) for offset, page in breaks if offset < joint]
        for offset, page in after.page_breaks:
            if not breaks or page != breaks[-1][1]:
                breaks.append((joint + offset, page))
    start = starts[run.index(chunk)]
    return Context(
        paper_id=chunk.paper_id,
        chunk_ids=(chunk.chunk_id,),
        spans=((start, start + len(chunk.text)),),
        text=text,
        section=chunk.section,
        page_breaks=tuple(breaks),
        first_index=run[0].chunk_index,
        last_index=run[-1].chunk_index,
        starts=tuple(starts),
    )


def separator(gap: int) -> str:
    """What stood between two neighbouring chunks: a blank, or a paragraph's blank line."""
    return "\n\n" if gap >= 2 else " " * gap
