"""Reading order: the lines of pages put into the order a person reads them.

Two-column pages are read column by column however they were drawn; whatever spans both columns
(title, wide figures and tables) divides the page into bands that are read one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from rag.indexing.page import Line, Page
from rag.indexing.sidebars import part_sidebars

_COLUMN_WIDTHS = (0.25, 0.56)  # width of a column's line as a share of the text's width
_LEAST_COLUMN_LINES = 5  # full lines on each side before a page counts as two-column
_LONG_LINE = 20  # characters; shorter ones say nothing about columns
_CELL_GAP = 1.25  # sizes of white between two pieces that are cells, not words
_WORD_GAP = 0.13  # sizes of white between two pieces that are two words
_BAND_GAP = 2.4  # sizes of white that part a wide table from the columns below it


@dataclass(frozen=True, slots=True)
class Row:
    """One line of reading: merged pieces of a baseline, with its page and its column.

    ``column`` numbers the runs of rows that are read top to bottom on a page; ``left`` and
    ``right`` are the column's edges in points.
    """

    line: Line
    page: int
    column: int
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the text of a page stands: its edges and the gutter between two columns, if any."""

    left: float
    right: float
    gutter: tuple[float, float] | None

    @property
    def middle(self) -> float:
        assert self.gutter is not None
        return (self.gutter[0] + self.gutter[1]) / 2


def read_in_order(pages: Sequence[Page]) -> list[Row]:
    """All rows of the pages in reading order."""
    frames = [_frame(page) for page in pages]
    known = [frame.gutter for frame in frames if frame.gutter]
    usual = None
    if known:
        usual = (median(low for low, _ in known), median(high for _, high in known))
    rows: list[Row] = []
    for page, frame in zip(pages, frames, strict=True):
        if frame.gutter is None and usual and _fits(page, usual):
            frame = replace(frame, gutter=usual)
        rows.extend(_page_rows(page, frame))
    return rows


def _frame(page: Page) -> _Frame:
    """Text edges and gutter of one page, from its long lines."""
    long_lines = [line for line in page.lines if len(line.text) >= _LONG_LINE]
    if not long_lines:
        return _Frame(0.0, page.width, None)
    left = min(line.x0 for line in long_lines)
    right = max(line.x1 for line in long_lines)
    narrow, wide = (share * (right - left) for share in _COLUMN_WIDTHS)
    middle = (left + right) / 2
    columns = [line for line in long_lines if narrow <= line.width <= wide]
    lefts = [line for line in columns if line.x1 <= middle + 8]
    rights = [line for line in columns if line.x0 >= middle - 8]
    if min(len(lefts), len(rights)) < _LEAST_COLUMN_LINES:
        return _Frame(left, right, None)
    low, low_count = _commonest(line.x1 for line in lefts)
    high, high_count = _commonest(line.x0 for line in rights)
    if high_count >= 0.25 * len(rights):
        high = _first_common(line.x0 for line in rights)
    beside = min(len(lefts), len(rights)) >= 0.15 * len(long_lines)
    aligned = high_count >= 0.25 * len(rights) and low_count >= 2
    if not (beside and aligned and 2 < high - low < 0.15 * page.width):
        return _Frame(left, right, None)
    return _Frame(left, right, (low, high))


def _commonest(values: Iterable[float]) -> tuple[float, int]:
    """The commonest value, in steps of 2 points, and how often it or a neighbour occurs."""
    counts = Counter(round(value / 2) for value in values)
    best = max(counts, key=lambda step: counts[step] + counts[step - 1] + counts[step + 1])
    return best * 2.0, counts[best] + counts[best - 1] + counts[best + 1]


def _first_common(values: Iterable[float]) -> float:
    """The smallest value that several share: hanging indents may be commoner than the edge."""
    counts = Counter(round(value / 2) for value in values)
    least = max(2, 0.12 * sum(counts.values()))
    near = {step: counts[step] + counts[step + 1] for step in counts}
    return 2.0 * min((step for step, count in near.items() if count >= least), default=min(counts))


def _fits(page: Page, gutter: tuple[float, float]) -> bool:
    """Whether hardly a long line of the page crosses the gutter other pages have."""
    long_lines = [line for line in page.lines if len(line.text) >= _LONG_LINE]
    middle = (gutter[0] + gutter[1]) / 2
    crossing = sum(line.x0 < middle - 6 and line.x1 > middle + 6 for line in long_lines)
    return bool(long_lines) and crossing <= 0.3 * len(long_lines)


def _page_rows(page: Page, frame: _Frame) -> list[Row]:
    clusters = _cluster(_with_initials(page.lines))
    if frame.gutter is None:
        return _column(page, 0, clusters, frame.left, frame.right)
    rows: list[Row] = []
    for wide, band in _bands(clusters, frame):
        number = rows[-1].column + 1 if rows else 0
        if wide:
            rows.extend(_column(page, number, band, frame.left, frame.right))
            continue
        lines = [line for cluster in band for line in cluster]
        middle = frame.middle
        left = [line for line in lines if (line.x0 + line.x1) / 2 < middle]
        right = [line for line in lines if (line.x0 + line.x1) / 2 >= middle]
        rows.extend(_column(page, number, _cluster(left), frame.left, frame.gutter[0]))
        number = rows[-1].column + 1 if rows else 0
        rows.extend(_column(page, number, _cluster(right), frame.gutter[1], frame.right))
    return rows


def _with_initials(lines: Sequence[Line]) -> Sequence[Line]:
    """A big first letter that hangs over several lines is put back onto its word."""
    big = [line for line in lines if len(line.text) == 1 and line.text.isupper()]
    done = list(lines)
    for letter in big:
        beside = [
            line
            for line in done
            if line.size < 0.6 * letter.size
            and -1 <= line.x0 - letter.x1 < 8
            and letter.y0 - 3 <= line.baseline <= letter.baseline + 2
            and line.text[0].isalpha()
        ]
        if beside:
            first = min(beside, key=lambda line: line.baseline)
            done[done.index(first)] = replace(first, text=letter.text + first.text, x0=letter.x0)
            done.remove(letter)
    return done


def _column(
    page: Page, number: int, clusters: list[list[Line]], left: float, right: float
) -> list[Row]:
    """Rows of one column; a sidebar follows the text it stands beside, as a column of its own."""
    rows: list[Row] = []
    for strip in part_sidebars(clusters, left, right):
        rows += [
            Row(_merged(cluster), page.number, number, strip.left, strip.right)
            for cluster in strip.text
        ]
        if strip.side:
            side = _cluster([line for cluster in strip.side for line in cluster])
            rows += [
                Row(_merged(cluster), page.number, number + 1, left, right) for cluster in side
            ]
            number += 2
    return rows


def _cluster(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines grouped by baseline, top to bottom, each group left to right.

    A raised or lowered small piece belongs to the line it is attached to.
    """
    clusters: list[list[Line]] = []
    for line in sorted(lines, key=lambda item: (item.baseline, item.x0)):
        if clusters and _same_row(clusters[-1], line):
            clusters[-1].append(line)
        else:
            clusters.append([line])
    return [sorted(cluster, key=lambda item: item.x0) for cluster in clusters]


def _same_row(cluster: list[Line], line: Line) -> bool:
    main = max(cluster, key=lambda item: (item.size, item.width))
    apart = abs(line.baseline - main.baseline)
    if apart <= 0.25 * max(line.size, main.size):
        return True
    small, big = sorted((line, main), key=lambda item: item.size)
    scripts = small.size <= 0.8 * big.size and len(small.text) <= 6
    return scripts and apart <= 0.55 * big.size


def _bands(clusters: list[list[Line]], frame: _Frame) -> list[tuple[bool, list[list[Line]]]]:
    """Runs of rows that cross the gutter (True) or stand in columns (False)."""
    wide = [any(_crosses(line, frame) for line in cluster) for cluster in clusters]
    prose = [any(_fills_column(line, frame) for line in cluster) for cluster in clusters]
    _widen(clusters, wide, prose, frame)
    bands: list[tuple[bool, list[list[Line]]]] = []
    for cluster, is_wide in zip(clusters, wide, strict=True):
        if bands and bands[-1][0] == is_wide:
            bands[-1][1].append(cluster)
        else:
            bands.append((is_wide, [cluster]))
    return bands


def _widen(clusters: list[list[Line]], wide: list[bool], prose: list[bool], frame: _Frame) -> None:
    """Marks rows of wide tables and figures whose cells happen not to cross the gutter.

    From each crossing row outwards, downwards and then upwards, until a line of running column
    text or a clear gap is met. Changes ``wide`` in place.
    """
    order = range(1, len(clusters))
    for step, indices in ((-1, order), (1, [len(clusters) - 1 - at for at in order])):
        for at in indices:
            near = at + step
            gap = abs(clusters[at][0].baseline - clusters[near][0].baseline)
            if step == -1 and wide[near] and _goes_on(clusters[near], clusters[at]):
                wide[at] = True
            if wide[near] and not wide[at] and not prose[at]:
                alone = (len(clusters[at]) == 1 and step == 1) or _are_headings(clusters[at], frame)
                wide[at] = not alone and gap < _BAND_GAP * clusters[at][0].size


def _are_headings(cluster: list[Line], frame: _Frame) -> bool:
    """Whether the row holds bold headings that open columns, side by side or one alone."""
    assert frame.gutter is not None
    left = [line.x0 for line in cluster if line.x1 <= frame.middle]
    right = [line.x0 for line in cluster if line.x0 >= frame.middle]
    return (
        all(line.bold > 0.85 for line in cluster)
        and (not left or abs(min(left) - frame.left) < 2)
        and (not right or abs(min(right) - frame.gutter[1]) < 2)
    )


def _goes_on(above: list[Line], below: list[Line]) -> bool:
    """Whether the row below is the short last line of the wide paragraph above it."""
    first, last = above[0], below[0]
    return (
        len(above) <= 2
        and last.baseline - first.baseline < 1.35 * first.size
        and abs(last.x0 - first.x0) < 3
        and abs(last.size - first.size) < 0.3
    )


def _crosses(line: Line, frame: _Frame) -> bool:
    assert frame.gutter is not None
    low, high = frame.gutter
    return line.x0 < low - 6 and line.x1 > high + 6


def _fills_column(line: Line, frame: _Frame) -> bool:
    """Whether the line runs from edge to edge of one column, as running text does."""
    assert frame.gutter is not None
    low, high = frame.gutter
    left, right = (frame.left, low) if line.x1 <= high + 4 else (high, frame.right)
    return len(line.text) >= _LONG_LINE and line.width >= 0.7 * (right - left)


def _merged(cluster: list[Line]) -> Line:
    """The pieces of one baseline as one line; overprinted copies (fake bold) count once."""
    if len(cluster) == 1:
        return cluster[0]
    pieces = [cluster[0]]
    for line in cluster[1:]:
        copy = line.text == pieces[-1].text and abs(line.x0 - pieces[-1].x0) < 0.2 * line.size
        if not copy:
            pieces.append(line)
    main = max(pieces, key=lambda item: len(item.text) * item.size)
    text, cells = pieces[0].text, 1
    for before, line in pairwise(pieces):
        gap = line.x0 - before.x1
        cells += gap > _CELL_GAP * main.size
        text += (" " if gap > _WORD_GAP * main.size else "") + line.text
    letters = sum(len(piece.text) for piece in pieces)
    return replace(
        main,
        text=text,
        x0=pieces[0].x0,
        x1=max(piece.x1 for piece in pieces),
        bold=sum(piece.bold * len(piece.text) for piece in pieces) / letters,
        math=sum(piece.math * len(piece.text) for piece in pieces) / letters,
        cells=cells,
    )
