"""Furniture: what surrounds the text of a page without being part of it.

Running headers and footers, page numbers, the arXiv stamp, notices of conferences, and the line
numbers of review versions. A sentence of the body that mentions such things stays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rag.indexing.document import Stamp
from rag.indexing.page import Line, Page

_MARGIN = 0.13  # of the page height: where headers and footers stand
_EDGE = 0.08  # of the page height: where only a page number stands alone
_LEAST_LINE_NUMBERS = 12  # a column of fewer consecutive numbers may be a table's
_MOST_HEADER_ROWS = 3  # lines of a header or footer
_HEADER_GAP = 1.45  # sizes of white that part it from the text; running text has about 1.2
_NOTICE_PAGES = 2  # later, "Proceedings of ..." at the edge of a page is an entry of the list
_SAME_PLACE = 4.0  # points of vertical play between pages
_STAMP = re.compile(
    r"arXiv:\s*(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})\s*(?P<version>v\d+)?"
    r"(?:\s*\[(?P<category>[A-Za-z-]+(?:\.[A-Za-z-]+)?)\])?(?:\s*(?P<date>\d{1,2}\s+[A-Za-z]{3,9}\s+\d{4}))?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PAGE_NUMBER = re.compile(
    r"[-–—|\[\s]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6}|[A-Z]?[-–.]?\d{1,3})(?:\s*(?:of|/)\s*\d{1,4})?[-–—|\]\s]*",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"^(?:Published as a (?:conference|workshop) paper|Under review|Preprint\b|Submitted to"
    r"|Accepted (?:at|to|for|as|by)\b|To appear (?:in|at)|Workshop track|Work in progress"
    r"|A preprint"
    r"|Technical report|Journal of |Transactions on |Proceedings of |Published in |In Proceedings"
    r"|\d+(?:st|nd|rd|th) (?:Conference|International|Annual|Workshop)|(?:Copyright )?©|Copyright "
    r"|This (?:work|article) (?:is licensed|has been accepted)|Manuscript |Correspondence to:"
    r"|(?:IEEE|ACM|AAAI|NeurIPS|NIPS|ICML|ICLR|CVPR|KDD|EMNLP|ACL|NAACL|SIGIR|WWW)\b.{0,40}"
    r"\b(?:19|20)\d\d\b)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")


def parse_stamp(pages: Sequence[Page]) -> Stamp | None:
    """The arXiv stamp of page 1: turned text in the margin, or a line that holds nothing else."""
    if not pages:
        return None
    turned = " ".join(pages[0].turned)
    match = _STAMP.search(turned) or _STAMP.search(turned[::-1])
    if match is None:
        alone = (_stamp_line(line.text) for line in pages[0].lines)
        match = next((found for found in alone if found), None)
    if match is None:
        return None
    return Stamp(match["id"], match["version"], match["category"], _iso_date(match["date"]))


def _stamp_line(text: str) -> re.Match[str] | None:
    match = _STAMP.fullmatch(text.strip())
    return match if match and (match["category"] or match["date"]) else None


def _iso_date(text: str | None) -> str | None:
    if text is None:
        return None
    day, month, year = text.split()
    key = month[:3].lower()
    return f"{year}-{_MONTHS.index(key) + 1:02d}-{int(day):02d}" if key in _MONTHS else None


def strip_furniture(pages: Sequence[Page]) -> tuple[Page, ...]:
    """The pages without headers, footers, page numbers, stamps, notices and line numbers."""
    pages = [replace(page, lines=_without_line_numbers(page)) for page in pages]
    repeated = _repeated(pages)
    top, bottom = _body_edges(pages, repeated)
    lanes = _lanes(pages, top, bottom)
    return tuple(_stripped(page, repeated, lanes, (top, bottom)) for page in pages)


def _key(line: Line) -> str:
    """What stays the same of a running header while page and section numbers change."""
    return re.sub(r"[\W_]+", " ", _DIGITS.sub("#", line.text.lower())).strip()


def _in_margin(page: Page, line: Line) -> bool:
    return line.y1 < _MARGIN * page.height or line.y0 > (1 - _MARGIN) * page.height


def _repeated(pages: Sequence[Page]) -> dict[str, list[float]]:
    """Keys of margin lines that stand at the same height on several pages, with that height.

    Numbers alone are no evidence: cells of tables at the top of pages repeat too.
    """
    places: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for page in pages:
        for line in page.lines:
            if _in_margin(page, line):
                places[_key(line)].append((line.baseline, page.number))
    least = 2 if len(pages) <= 3 else 3
    found: dict[str, list[float]] = {}
    for key, seen in places.items():
        heights = _common_heights(seen, least) if re.search(r"[^\W\d_]", key) else []
        if heights:
            found[key] = heights
    return found


def _common_heights(seen: list[tuple[float, int]], least: int) -> list[float]:
    """Heights at which at least ``least`` different pages have the line."""
    heights = []
    for height, _ in seen:
        near = {number for other, number in seen if abs(other - height) <= _SAME_PLACE}
        if len(near) >= least:
            heights.append(height)
    return heights


def _body_edges(pages: Sequence[Page], repeated: Mapping[str, list[float]]) -> tuple[float, float]:
    """Baselines of the first and the last line of running text on a usual page."""
    tops, bottoms = [], []
    for page in pages:
        above, below = _detached(page)
        heights = [
            line.baseline
            for line in page.lines
            if line.width > 0.3 * page.width
            and not (
                (line.baseline <= above or line.baseline >= below)
                and _at(repeated.get(_key(line), ()), line)
            )
        ]
        if heights:
            tops.append(min(heights))
            bottoms.append(max(heights))
    if not tops:
        return 0.0, float("inf")
    quarter = len(tops) // 4
    return sorted(tops)[quarter], sorted(bottoms)[len(bottoms) - 1 - quarter]


def _lanes(pages: Sequence[Page], top: float, bottom: float) -> list[float]:
    """Heights outside the body where most pages have a line: headers whose words change."""
    seen = [
        (line.baseline, page.number)
        for page in pages
        for line in page.lines
        if _in_margin(page, line)
        and (line.baseline < top - 1.5 * line.size or line.baseline > bottom + 1.5 * line.size)
    ]
    return _common_heights(seen, max(3, len(pages) // 2))


def _at(heights: Iterable[float], line: Line) -> bool:
    return any(abs(height - line.baseline) <= _SAME_PLACE for height in heights)


def _stripped(
    page: Page,
    repeated: Mapping[str, list[float]],
    lanes: list[float],
    body: tuple[float, float],
) -> Page:
    above, below = _detached(page)
    lowest = max((line.baseline for line in page.lines), default=0.0)
    kept = []
    for line in page.lines:
        outside = line.baseline < body[0] - 2 or line.baseline > body[1] + 2
        apart = line.baseline <= above or line.baseline >= below
        running = outside and (_at(repeated.get(_key(line), ()), line) or _at(lanes, line))
        # A notice may stand right below the footnotes of page 1.
        apart = apart or (page.number == 1 and line.baseline >= lowest)
        opening = page.number <= _NOTICE_PAGES and bool(_NOTICE.match(line.text))
        notice = opening or _stamp_line(line.text) is not None
        if not (_in_margin(page, line) and apart and (running or notice)):
            kept.append(line)
    edges = _edge_numbers(page, kept)
    return replace(page, lines=tuple(line for line in kept if id(line) not in edges))


def _detached(page: Page) -> tuple[float, float]:
    """Baselines down to which and from which lines stand apart from the text of the page.

    A header or footer has few lines and white space towards the text; a first line of text that
    happens to be the same on several pages goes on below it.
    """
    ordered = sorted(page.lines, key=lambda line: line.baseline)
    return (
        _edge_of_group(ordered, float("-inf")),
        _edge_of_group(ordered[::-1], float("inf")),
    )


def _edge_of_group(ordered: Sequence[Line], none: float) -> float:
    """The innermost baseline of the outermost lines, ``none`` where these are too many."""
    rows = 0
    for line, inner in pairwise(ordered):
        step = abs(inner.baseline - line.baseline)
        rows += step > 0.3 * line.size
        if rows > _MOST_HEADER_ROWS:
            return none
        if step > _HEADER_GAP * min(line.size, inner.size):
            return line.baseline
    return none


def _edge_numbers(page: Page, lines: Iterable[Line]) -> set[int]:
    """The outermost lines of a page, when they are nothing but a page number."""
    ordered = sorted(lines, key=lambda line: line.baseline)
    found: set[int] = set()
    for line in ordered[:1] + ordered[-1:]:
        near = line.y1 < _EDGE * page.height or line.y0 > (1 - _MARGIN) * page.height
        alone = sum(abs(line.baseline - other.baseline) < line.size for other in ordered) == 1
        if near and alone and _PAGE_NUMBER.fullmatch(line.text):
            found.add(id(line))
    return found


def _without_line_numbers(page: Page) -> tuple[Line, ...]:
    """Lines without the columns of ascending numbers beside the text of review versions."""
    numbers = [line for line in page.lines if re.fullmatch(r"\d{1,4}", line.text)]
    columns: Counter[int] = Counter(round(line.x1 / 6) for line in numbers)
    drop: set[int] = set()
    for place, count in columns.items():
        if count < _LEAST_LINE_NUMBERS:
            continue
        column = sorted(
            (line for line in numbers if abs(round(line.x1 / 6) - place) <= 1),
            key=lambda line: line.baseline,
        )
        values = [int(line.text) for line in column]
        steps = sum(later == earlier + 1 for earlier, later in pairwise(values))
        if steps >= 0.9 * (len(values) - 1):
            drop.update(id(line) for line in column)
    return tuple(line for line in page.lines if id(line) not in drop)
