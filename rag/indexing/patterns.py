"""Patterns: what single rows of a paper look like, by their characters."""

from __future__ import annotations

import re

from rag.indexing.layout import Row

CAPTION = re.compile(
    r"(?P<what>Fig(?:ure|\.)?|Tab(?:le|\.)?|Algorithm|Listing|Scheme|Chart|Exhibit|Box|Prompt"
    r"|Supplementary (?:Figure|Table)|Extended Data (?:Figure|Fig\.|Table))"
    r"\s*(?:S?[A-Z]?\.?\d{1,3}|[IVX]{1,5}\b)(?:\.\d+|[a-z]\b)?"
    r"(?P<mark>\s*[:.|—–]|\s*$|\s+(?=[A-Z(]))",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_]{2,}")
LIST_ITEM = re.compile(
    r"(?:[•◦▪‣●○■–*✓]|-(?=\s)|\(?\d{1,2}[.)](?=\s)|\([a-z]\)|[a-z]\)(?=\s))\s*\S"
)
TERMINAL = re.compile(r"[.!?:;…][\"'”’)\]]*$")
FULL_STOP = re.compile(r"[.!?…][\"'”’)\]]*$")
RELATION = re.compile(r"[=≈≤≥<>∼:→←∝∈]")
NUMBERED = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z](?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.)\s+[A-Z]"
)
BACK_MATTER = re.compile(
    r"(?:abstract|references|bibliography|acknowledge?ments?)\W*", re.IGNORECASE
)
_NUMBER_CELL = re.compile(r"[±+−-]?\d[\d.,%±()kKMB×/−-]*|[-–—✓✗×]")


def is_prose(row: Row) -> bool:
    """Whether the row reads like words in a sentence rather than cells, labels or a formula."""
    text = row.line.text
    words = WORD.findall(text)
    letters = sum(len(word) for word in words)
    lower = sum(word.islower() for word in words)
    return (
        len(words) >= 4
        and lower >= 2
        and letters >= 0.55 * len(text.replace(" ", ""))
        and row.line.cells <= 2
    )


def is_wordy(row: Row) -> bool:
    """Like prose, but names in capitals count too: reference entries read so."""
    words = WORD.findall(row.line.text)
    letters = sum(map(len, words))
    return len(words) >= 4 and letters >= 0.5 * len(row.line.text) and row.line.cells <= 2


def is_item(row: Row) -> bool:
    """Whether the row is an item of a list, however short."""
    text = row.line.text
    return bool(LIST_ITEM.match(text)) and len(WORD.findall(text)) >= 2 and row.line.cells == 1


def is_cells(row: Row) -> bool:
    """Whether the row is a row of a table: pieces with wide gaps, or numbers mostly."""
    words = row.line.text.split()
    numbers = sum(bool(_NUMBER_CELL.fullmatch(word)) for word in words)
    return (
        row.line.cells >= 3
        or (row.line.cells == 2 and not is_prose(row))
        or (len(words) >= 3 and numbers >= 0.5 * len(words))
    )


def unfinished(row: Row) -> bool:
    """Whether a sentence runs on past the end of the row."""
    return is_prose(row) and not TERMINAL.search(row.line.text)
