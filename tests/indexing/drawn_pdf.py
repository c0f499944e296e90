"""Small PDFs drawn for the tests: every text in them is made up here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pymupdf

WIDTH, HEIGHT = 612.0, 792.0
LEADING = 12.0
FILLER = (
    "The widget is turned by hand until the gauge reads the value that the maker has printed on",
    "its side, and the reading is then written down in the book that lies on the bench beside it.",
    "Nobody who saw the bench in those years would have thought that the book could be of use to",
    "anyone, but the numbers in it were later found to be the only record of the first trials.",
)


def new_document() -> Any:
    return pymupdf.open()


def add_page(document: Any) -> Any:
    return document.new_page(width=WIDTH, height=HEIGHT)


def write(
    page: Any, x: float, y: float, text: str, size: float = 10, bold: bool = False, **more: Any
) -> None:
    page.insert_text((x, y), text, fontsize=size, fontname="hebo" if bold else "helv", **more)


def write_lines(
    page: Any, lines: Iterable[str], y: float = 100, x: float = 72, size: float = 10
) -> float:
    """Lines below each other; the y after the last one."""
    for line in lines:
        write(page, x, y, line, size)
        y += LEADING * size / 10
    return y


def paragraphs(page: Any, texts: Sequence[str], y: float, x: float = 72) -> float:
    """Each text as a paragraph of its own, set apart by white space."""
    for text in texts:
        y = write_lines(page, wrapped(text), y, x) + LEADING
    return y


def wrapped(text: str, columns: int = 92) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > columns:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line]


def save(document: Any, path: Path, **more: Any) -> Path:
    document.save(str(path), **more)
    document.close()
    return path
