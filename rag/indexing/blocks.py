"""Blocks: rows that stand together on a page, and what each block is.

A block is running text, a heading, a caption, the body of a table, a footnote or listing, or a
label of a drawing that is no text at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rag.indexing.layout import Row
from rag.indexing.page import Line
from rag.indexing.patterns import (
    BACK_MATTER,
    CAPTION,
    FULL_STOP,
    NUMBERED,
    RELATION,
    TERMINAL,
    WORD,
    is_cells,
    is_item,
    is_prose,
    is_wordy,
    unfinished,
)
from rag.indexing.style import BodyStyle

Kind = Literal["text", "heading", "caption", "table", "note", "label"]

_GAP = 1.38  # of the usual distance between lines; more white parts blocks
SMALL = 0.94  # of the body's size; captions, footnotes and table text are at most this big


def find_blocks(rows: Sequence[Row], style: BodyStyle) -> list[tuple[Kind, list[Row]]]:
    """The blocks of all pages in reading order, each with what it is."""
    blocks = _group(rows, style)
    kinds = [_block_kind(block, style) for block in blocks]
    loose = [at for at, kind in enumerate(kinds) if kind == "label"]
    claimed = _settle_by_captions(blocks, kinds, style)
    _settle_notes(blocks, kinds, style)
    for at in loose:
        if at not in claimed:
            _keep_sentences(blocks, kinds, at, style)
    return list(zip(kinds, blocks, strict=True))


def _group(rows: Sequence[Row], style: BodyStyle) -> list[list[Row]]:
    """Rows grouped by closeness and look; a new column always begins a new block."""
    blocks: list[list[Row]] = []
    for row in rows:
        if blocks and not _parts(blocks[-1], row, style):
            blocks[-1].append(row)
        else:
            blocks.append([row])
    return blocks


def _parts(block: list[Row], row: Row, style: BodyStyle) -> bool:
    before, line, last = block[-1], row.line, block[-1].line
    if (before.page, before.column) != (row.page, row.column):
        return True
    leading = style.leading * max(last.size, line.size) / style.size
    if line.baseline - last.baseline > _GAP * leading:
        return True
    if is_prose(row) and is_prose(before) and abs(line.size - last.size) > 0.06 * style.size:
        return True
    if _begins_heading(line, last, style, (line.baseline - last.baseline) / leading):
        return True
    if (
        (last.bold > 0.85) != (line.bold > 0.85)
        and len(block) <= 3
        and all(part.line.bold > 0.85 for part in block)
    ):
        return last.x1 < row.right - 0.1 * (row.right - row.left) or line.x0 > last.x0 + 4
    caption = CAPTION.match(line.text)
    if caption and caption["mark"].strip() and not unfinished(before):
        return True
    in_caption = CAPTION.match(block[0].line.text) is not None
    return in_caption and is_cells(row) and not is_prose(row)


def _begins_heading(line: Line, last: Line, style: BodyStyle, gap: float) -> bool:
    """Whether a loud line opens a heading though it stands close below the last one.

    ``gap`` is the distance in usual line distances.
    """
    loud = line.bold > 0.85 or line.size > 1.06 * style.size or line.text.isupper()
    loud_before = last.bold > 0.85 or last.size > 1.06 * style.size or last.text.isupper()
    if not loud:
        words = len(WORD.findall(last.text)) > 0
        return words and last.size > 1.06 * max(line.size, style.size)
    other_size = abs(line.size - last.size) > 0.04 * style.size
    named = bool(BACK_MATTER.fullmatch(line.text))
    numbered = bool(NUMBERED.match(line.text))
    if not loud_before and gap > 1.12 and line.math < 0.5:
        return numbered or (line.size > 1.06 * style.size and line.size > last.size + 0.5)
    return named or (loud_before and (other_size or numbered))


def _block_kind(block: list[Row], style: BodyStyle) -> Kind:
    first = block[0].line
    if CAPTION.match(first.text) and len(first.text) < 400:
        return "caption"
    if _looks_like_heading(block, style):
        return "heading"
    if sum(row.line.mono for row in block) > 0.5 * len(block) and first.size > 0.6 * style.size:
        return "note"
    prose = sum(len(row.line.text) for row in block if is_prose(row))
    total = sum(len(row.line.text) for row in block)
    if prose >= 0.5 * total:
        foreign = not style.owns(first) and first.size < 0.9 * style.size and first.math < 0.3
        return "label" if foreign and total < 80 else "text"
    wordy = sum(len(row.line.text) for row in block if is_wordy(row) or is_item(row))
    if wordy >= 0.6 * total and len(block) > 1 and style.owns(first):
        return "text"
    cells = sum(is_cells(row) for row in block)
    if (
        cells >= 0.5 * len(block)
        and (len(block) > 1 or (cells and first.cells >= 3))
        and first.math < 0.4
    ):
        return "table"
    return "text" if _worth_keeping(block, style) else "label"


def _worth_keeping(block: list[Row], style: BodyStyle) -> bool:
    """A short block without prose: the end of a paragraph or a clean formula, not a label."""
    text = " ".join(row.line.text for row in block)
    words = WORD.findall(text)
    body = block[0].line.size >= SMALL * style.size and (
        style.owns(block[0].line) or block[0].line.math > 0.2
    )
    if not body:
        return False
    if RELATION.search(text) and len(block) <= 2 and len(text) >= 8:
        return True
    letters = sum(len(word) for word in words)
    return len(words) >= 1 and letters >= 0.5 * len(text.replace(" ", "")) and letters >= 4


def _looks_like_heading(block: list[Row], style: BodyStyle) -> bool:
    """Short, alone and louder than the text: bold, bigger, capitals, or numbered."""
    text = " ".join(row.line.text for row in block)
    words = WORD.findall(text)
    if len(block) > 3 or len(text) > 160 or not words or text[-1] in ",;:=" or text[0] in "([•":
        return False
    line = block[0].line
    if line.math > 0.5 or (
        FULL_STOP.search(text) and len(words) > 9 and line.size <= style.size * 1.1
    ):
        return False
    bold = all(row.line.bold > 0.7 for row in block)
    bigger = line.size >= 1.06 * style.size
    capitals = len(words) <= 12 and text.upper() == text and sum(map(len, words)) > 4
    numbered = bool(NUMBERED.match(text))
    named = bool(BACK_MATTER.fullmatch(text))
    # Sans-serif titles of diagrams look like headings; real headings of another family are big.
    foreign = not style.owns(line) and not (bold and line.size >= 1.1 * style.size)
    if foreign and not (numbered or named):
        return False
    smallish = line.size < 0.85 * style.size
    if smallish or (line.cells > 2 and not numbered):
        return False
    return (
        bold
        or bigger
        or named
        or (capitals and line.cells == 1)
        or (numbered and len(words) <= 12 and len(block) <= 2)
    )


def _settle_by_captions(
    blocks: list[list[Row]], kinds: list[Kind], style: BodyStyle
) -> frozenset[int]:
    """Blocks that touch a caption and are no prose belong to its table or figure.

    Cells beside a table's caption are the table; what stands beside a figure's is dropped.
    Changes ``kinds`` in place; returns the blocks so claimed.
    """
    captions = [at for at, kind in enumerate(kinds) if kind == "caption"]
    claimed: dict[int, tuple[float, bool]] = {}
    tables: set[int] = set()  # rows of results below a table's caption, in whatever font
    for at in captions:
        match = CAPTION.match(blocks[at][0].line.text)
        is_table = match is not None and match["what"].lower().startswith(
            ("tab", "alg", "list", "box", "prompt", "suppl")
        )
        for step in (-1, 1):
            near = at + step
            while 0 <= near < len(blocks) and _belongs(blocks, kinds, near, at):
                distance = abs(near - at)
                if near not in claimed or distance < claimed[near][0]:
                    claimed[near] = (distance, is_table)
                near += step
    for near, (_, is_table) in claimed.items():
        tabular = kinds[near] == "table" and _has_results(blocks[near])
        if is_table and tabular:
            tables.add(near)
        drawn = near not in tables and _is_drawing(blocks[near], style)
        kinds[near] = "table" if (is_table or tabular) and not drawn else "label"
    for at in range(len(kinds) - 2, -1, -1):
        last, first = blocks[at][-1], blocks[at + 1][0]
        near = first.line.baseline - last.line.baseline < 1.7 * style.leading
        same = (last.page, last.column) == (first.page, first.column) and near
        quiet = last.line.size <= 1.04 * style.size and not NUMBERED.match(last.line.text)
        if kinds[at] == "heading" and kinds[at + 1] == "table" and same and quiet:
            kinds[at] = "table"  # the head of the table
    for at, kind in enumerate(kinds):
        if kind == "table" and at not in tables and _is_drawing(blocks[at], style):
            kinds[at] = "label"
    return frozenset(claimed)


def _keep_sentences(blocks: list[list[Row]], kinds: list[Kind], at: int, style: BodyStyle) -> None:
    """What a sentence says between the pieces of formulas that its block is taken apart into.

    Changes ``blocks`` and ``kinds`` in place.
    """
    rows = [row for row in blocks[at] if _is_part_of_sentence(row, style)]
    if rows:
        blocks[at], kinds[at] = rows, "text"


def _is_part_of_sentence(row: Row, style: BodyStyle) -> bool:
    """Whether a row of the text's size and font has words enough beside its symbols."""
    words = [word for word in WORD.findall(row.line.text) if len(word) > 2 and word.islower()]
    plain = row.line.cells == 1 or row.line.math > 0.05
    in_style = style.owns(row.line) and row.line.size >= SMALL * style.size
    return len(words) >= 4 and plain and in_style


def _is_drawing(block: list[Row], style: BodyStyle) -> bool:
    """Whether most of a block without prose is set in fonts the text does not use."""
    foreign = sum(not style.owns(row.line) and row.line.math < 0.4 for row in block)
    return foreign > 0.6 * len(block)


def _has_results(block: list[Row]) -> bool:
    """Whether most rows name something and give numbers for it, as no axis does."""
    named = sum(
        bool(WORD.search(row.line.text)) and len(re.findall(r"\d+\.\d|\d\d", row.line.text)) >= 1
        for row in block
    )
    return len(block) >= 2 and named >= 0.5 * len(block)


def _belongs(blocks: list[list[Row]], kinds: list[Kind], near: int, caption: int) -> bool:
    first, anchor = blocks[near][0], blocks[caption][0]
    if first.page != anchor.page or first.column != anchor.column:
        return False
    if kinds[near] in ("table", "label"):
        return True
    text = " ".join(row.line.text for row in blocks[near])
    if kinds[near] not in ("text", "heading") or any(map(is_prose, blocks[near])):
        return False
    if kinds[near] == "heading":
        return not NUMBERED.match(text) and first.line.size < 0.97 * anchor.line.size
    return not TERMINAL.search(text) and first.line.math < 0.4


def _settle_notes(blocks: list[list[Row]], kinds: list[Kind], style: BodyStyle) -> None:
    """Small text at the foot of a column is a footnote. Changes ``kinds`` in place."""
    bottoms: dict[int, float] = {}
    for block in blocks:
        page, baseline = block[-1].page, block[-1].line.baseline
        bottoms[page] = max(bottoms.get(page, 0.0), baseline)
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        place = (block[0].page, block[0].column)
        below = at + 1 < len(blocks) and (blocks[at + 1][0].page, blocks[at + 1][0].column) == place
        small = all(row.line.size <= SMALL * style.size for row in block if is_prose(row))
        formula = any(row.line.math > 0.3 for row in block) and len(block) <= 3
        at_foot = bottoms[block[0].page] - block[-1].line.baseline < 5 * style.leading
        last = (not below and at_foot) or (below and kinds[at + 1] == "note")
        if kinds[at] == "text" and small and not formula and last:
            kinds[at] = "note"
