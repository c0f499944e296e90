"""Sidebar: a figure or table set beside narrowed text, parted from it.

Without this the labels and the caption of a wrapped figure would run into the sentences that flow
around it, line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag.indexing.page import Line

_LEAST_LINES = 4  # narrowed lines with one common edge; fewer are chance
_LEAST_TEXT = 15  # characters of a narrowed line of text
_NARROWED = 0.17  # share of the column by which the text must give way
_PLAY = 3.0  # points between edges that count as the same


@dataclass(frozen=True)
class Strip:
    """A run of baselines of one column: running text, and what stands beside it (or nothing)."""

    text: list[list[Line]]
    side: list[list[Line]]
    left: float
    right: float


def part_sidebars(clusters: Sequence[list[Line]], left: float, right: float) -> list[Strip]:
    """The baselines of a column, top to bottom, cut where text gives way to a sidebar."""
    edge = _text_edge(clusters, left, right)
    if edge is None:
        return [Strip(list(clusters), [], left, right)]
    at_right, x = edge
    strips: list[Strip] = []
    run: list[list[Line]] = []
    plain: list[list[Line]] = []
    for cluster in [*clusters, []]:
        if cluster and not _crossed(cluster, x):
            run.append(cluster)
            continue
        if _is_wrapped(run, x, at_right, left, right):
            strips.append(Strip(plain, [], left, right))
            strips.append(_split(run, x, at_right, left, right))
            plain = []
        else:
            plain.extend(run)
        run = []
        if cluster:
            plain.append(cluster)
    strips.append(Strip(plain, [], left, right))
    return [strip for strip in strips if strip.text or strip.side]


def _text_edge(
    clusters: Sequence[list[Line]], left: float, right: float
) -> tuple[bool, float] | None:
    """Where narrowed text ends (sidebar at the right: True) or begins (False), in points."""
    give = _NARROWED * (right - left)
    ends: Counter[int] = Counter()
    begins: Counter[int] = Counter()
    for cluster in clusters:
        for line in cluster:
            if len(line.text) < _LEAST_TEXT:
                continue
            if line.x0 < left + 24 and line.x1 < right - give:
                ends[round(line.x1 / 2)] += 1
            if abs(line.x1 - right) < _PLAY and line.x0 > left + give:
                begins[round(line.x0 / 2)] += 1
    best: tuple[int, bool, float] | None = None
    for counts, at_right in ((ends, True), (begins, False)):
        for step, _ in counts.most_common(1):
            count = counts[step - 1] + counts[step] + counts[step + 1]
            if count >= _LEAST_LINES and (best is None or count > best[0]):
                best = (count, at_right, step * 2.0)
    return (best[1], best[2]) if best else None


def _crossed(cluster: list[Line], x: float) -> bool:
    return any(line.x0 < x - 2 * _PLAY and line.x1 > x + 2 * _PLAY for line in cluster)


def _is_wrapped(run: list[list[Line]], x: float, at_right: bool, left: float, right: float) -> bool:
    """Whether a run of baselines holds text up to the edge on one side and more on the other."""
    lines = [line for cluster in run for line in cluster]
    flush = [
        line
        for line in lines
        if len(line.text) >= _LEAST_TEXT
        and (
            abs(line.x1 - x) <= _PLAY and line.x0 < left + 24
            if at_right
            else abs(line.x0 - x) <= _PLAY and line.x1 > right - 24
        )
    ]
    beside = [line for line in lines if (line.x0 > x + _PLAY if at_right else line.x1 < x - _PLAY)]
    return len(flush) >= _LEAST_LINES and bool(beside)


def _split(run: list[list[Line]], x: float, at_right: bool, left: float, right: float) -> Strip:
    first = [[line for line in cluster if (line.x0 + line.x1) / 2 < x] for cluster in run]
    second = [[line for line in cluster if (line.x0 + line.x1) / 2 >= x] for cluster in run]
    lefts = [cluster for cluster in first if cluster]
    rights = [cluster for cluster in second if cluster]
    if at_right:
        return Strip(lefts, rights, left, x)
    return Strip(rights, lefts, x, right)
