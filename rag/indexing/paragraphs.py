"""Paragraphs: rows in reading order put together to what an author wrote.

Captions, tables and footnotes are lifted out of the flow, so that the sentence around them reads
through; labels inside figures, loose pieces of formulas and garbage are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.indexing.blocks import Kind, find_blocks
from rag.indexing.layout import Row
from rag.indexing.patterns import FULL_STOP, LIST_ITEM, RELATION, TERMINAL, WORD
from rag.indexing.style import BodyStyle
from rag.text_cleaning import join_hyphenated

_INDENT = (0.7, 4.5)  # sizes by which the first line of a paragraph is set in
_NOTE_MARK = re.compile(r"(?:[∗*†‡§¶]{1,2}|\d{1,2}) ?(?=[A-Z“])")  # opens a footnote
_SHORT = 0.88  # of the column's width; a shorter last line ends a paragraph


@dataclass(frozen=True)
class Paragraph:
    """A piece of text with the pages it stands on: ``breaks`` are (offset, page) pairs.

    ``size`` is that of most characters, ``bold`` and ``math`` the share of them in such fonts,
    ``rows`` the length in lines, ``top`` the first baseline in points.
    """

    kind: Kind
    text: str
    breaks: tuple[tuple[int, int], ...]
    size: float
    bold: float
    rows: int
    top: float
    column: int = 0
    indented: bool = False
    mono: bool = False
    cells: int = 1
    math: float = 0.0

    @property
    def page(self) -> int:
        """The page it begins on, 1-based."""
        return self.breaks[0][1]


def build_paragraphs(
    rows: Sequence[Row], style: BodyStyle, vocabulary: Mapping[str, int]
) -> list[Paragraph]:
    """All paragraphs in reading order; what was lifted follows the paragraph it stood in."""
    paragraphs: list[Paragraph] = []
    for kind, block in find_blocks(rows, style):
        if kind == "label":
            continue
        parts = _split_block(block, kind, style) if kind in ("text", "note") else [block]
        paragraphs.extend(_paragraph(part, kind, vocabulary) for part in parts)
    return _join_flow([item for item in paragraphs if item.text], vocabulary)


def _split_block(block: list[Row], kind: Kind, style: BodyStyle) -> list[list[Row]]:
    """The paragraphs of a block: after a short last line, at an indent, a list or note mark."""
    left = _edge([row.line.x0 for row in block])
    right = max(row.line.x1 for row in block)
    parts = [[block[0]]]
    for row in block[1:]:
        last = parts[-1][-1]
        indent = (row.line.x0 - left) / style.size
        closed = bool(TERMINAL.search(last.line.text))
        short = last.line.x1 - left < _SHORT * (right - left)
        set_in = _INDENT[0] <= indent <= _INDENT[1] and last.line.x0 < row.line.x0 - 2
        if kind == "note" and _NOTE_MARK.match(row.line.text):
            parts.append([row])
            continue
        new = closed and (
            (set_in and row.line.text[0].isupper()) or (short and row.line.text[0].isupper())
        )
        if (new and row.line.math < 0.5) or (LIST_ITEM.match(row.line.text) and (closed or short)):
            parts.append([row])
        else:
            parts[-1].append(row)
    return parts


def _edge(values: list[float]) -> float:
    counts = Counter(round(value) for value in values)
    most = counts.most_common(1)[0][1]
    return float(min(value for value, count in counts.items() if count >= 0.5 * most))


def _paragraph(rows: list[Row], kind: Kind, vocabulary: Mapping[str, int]) -> Paragraph:
    text, breaks = "", [(0, rows[0].page)]
    for row in rows:
        piece = row.line.text
        if kind == "text" and len(rows) > 1 and _is_debris(row):
            continue
        if kind == "table" and text:
            text = f"{text}; {piece}"
        else:
            text = join_hyphenated(text, piece, vocabulary) if text else piece
    first = rows[0]
    letters = sum(len(row.line.text) for row in rows)
    return Paragraph(
        kind=kind,
        text=text.strip().rstrip("\u00ad"),
        breaks=tuple(breaks),
        size=_main_size(rows),
        bold=sum(row.line.bold * len(row.line.text) for row in rows) / letters,
        rows=len(rows),
        top=first.line.baseline,
        column=first.column,
        indented=first.line.x0 > first.left + _INDENT[0] * first.line.size,
        mono=first.line.mono,
        cells=max(row.line.cells for row in rows),
        math=sum(row.line.math * len(row.line.text) for row in rows) / letters,
    )


def _main_size(rows: Sequence[Row]) -> float:
    sizes: Counter[float] = Counter()
    for row in rows:
        sizes[round(row.line.size, 1)] += len(row.line.text)
    return sizes.most_common(1)[0][0]


def _is_debris(row: Row) -> bool:
    """A loose piece of a formula: limits of sums, radicals, lone indices."""
    text = row.line.text
    if WORD.search(text) and row.line.math < 0.5:
        return len(text) < 3
    if row.line.math < 0.3 and re.fullmatch(r"[\w.,;:%()\[\]±+–-]+", text) and row.line.size > 8.5:
        return False
    return not (RELATION.search(text) and len(text) >= 8)


def _join_flow(paragraphs: list[Paragraph], vocabulary: Mapping[str, int]) -> list[Paragraph]:
    """Joins a paragraph with its continuation after a column, page, float or formula.

    What was lifted out between the two follows the joined paragraph, unless it stands on an
    earlier page than its end: then it goes before it, so that pages never run backwards.
    """
    done: list[Paragraph] = []
    open_at: int | None = None
    for item in paragraphs:
        if item.kind == "text" and open_at is not None and _continues(done[open_at], item):
            whole = _joined(done[open_at], item, vocabulary)
            between = done[open_at + 1 :]
            before = [lifted for lifted in between if lifted.page < item.page]
            after = [lifted for lifted in between if lifted.page >= item.page]
            done[open_at:] = [*before, whole, *after]
            open_at += len(before)
            continue
        if done and _same_float(done[-1], item):
            done[-1] = replace(
                done[-1], text=f"{done[-1].text}{'; ' if item.kind == 'table' else ' '}{item.text}"
            )
            continue
        done.append(item)
        if item.kind == "text":
            open_at = len(done) - 1
        elif item.kind == "heading":
            open_at = None
    return done


def _same_float(first: Paragraph, second: Paragraph) -> bool:
    """Whether two pieces are parts of one table or one listing."""
    place = (first.page, first.column, first.kind) == (second.page, second.column, second.kind)
    return place and (first.kind == "table" or (first.mono and second.mono))


def _continues(first: Paragraph, second: Paragraph) -> bool:
    """Whether ``second`` goes on with the sentence ``first`` broke off."""
    text, start = first.text, second.text[0]
    formula = max(first.math, second.math) > 0.3
    if abs(first.size - second.size) > 0.05 * max(first.size, second.size) and not formula:
        return False
    if text.endswith(("-", "\u00ad")) and start.isalnum():
        return True
    if LIST_ITEM.match(second.text) and not start.islower():
        return False
    if start.islower() or start in ",;)=.":
        return not FULL_STOP.search(text) or text.endswith(("e.g.", "i.e.", "al.", "vs."))
    if TERMINAL.search(text):
        return False
    moved = (first.breaks[-1][1], first.column) != (second.page, second.column)
    return (moved or bool(RELATION.search(text[-30:]))) and not second.indented


def _joined(first: Paragraph, second: Paragraph, vocabulary: Mapping[str, int]) -> Paragraph:
    text = join_hyphenated(first.text, second.text, vocabulary)
    shift = len(text) - len(second.text)
    last_page = first.breaks[-1][1]
    moved = tuple(
        (max(0, offset + shift), page) for offset, page in second.breaks if page != last_page
    )
    return replace(
        first,
        text=text,
        breaks=first.breaks + moved,
        rows=first.rows + second.rows,
        column=second.column,
    )
