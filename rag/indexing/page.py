"""Page: the lines of a PDF's page with their place and look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on one baseline; lengths in points, y downwards from the page's top.

    ``baseline`` is the y of the writing line, ``size`` that of most characters, ``math`` and
    ``bold`` the share of characters in such fonts (0 to 1), ``cells`` how many pieces with wide
    gaps between them it was put together from (1 in running text).
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    bold: float = 0.0
    italic: bool = False
    mono: bool = False
    math: float = 0.0
    font: str = ""
    colour: int = 0
    block: int = 0
    cells: int = 1

    @property
    def width(self) -> float:
        """Width in points."""
        return self.x1 - self.x0


@dataclass(frozen=True)
class Page:
    """One upright page: its horizontal lines, and those that run another way (margin stamps)."""

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    turned: tuple[str, ...] = ()


@dataclass(frozen=True)
class PdfText:
    """All pages of a file, with remarks for the build log (a repaired file)."""

    pages: tuple[Page, ...]
    notes: tuple[str, ...] = ()
