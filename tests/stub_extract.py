"""Stub extractors for the builder: worker processes import this module by name.

A "PDF" of these tests is a text file; its first word may say how the file misbehaves.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from rag.errors import UnreadablePaperError
from rag.indexing.document import PaperText, Section, Stamp

ABSTRACT = "The abstract of {} says in short what the whole paper says at length. "


def extract_text(path: Path) -> PaperText:
    """The file's text as a paper of one section on page 1, after what its first word orders."""
    text = path.read_text(encoding="utf-8")
    order, _, rest = text.partition(" ")
    if order == "SLEEP":
        time.sleep(600)
    if order == "ABORT":
        os.abort()
    if order == "SCAN":
        raise UnreadablePaperError(f"{path.name} has no text layer.", reason="no text layer")
    if order == "BROKEN":
        raise UnreadablePaperError(f"{path.name} is broken.", reason="damaged", skipped=False)
    if order == "BUG":
        raise RuntimeError("a bug in the extractor")
    stamp = None
    if order.startswith("STAMP="):
        stamp = Stamp(order.removeprefix("STAMP="), "v2", "cs.LG", "2023-01-03")
        text = rest
    return PaperText(
        title=f"Paper {path.stem}",
        abstract=ABSTRACT.format(path.stem) * 3 if text else None,
        abstract_page=1 if text else None,
        stamp=stamp,
        page_count=1,
        sections=(Section("Methods", 1, "body", text, ((0, 1),)),) if text else (),
        notes=(),
    )


def extract_slowly(path: Path) -> PaperText:
    """The same, a quarter of a second later."""
    time.sleep(0.25)
    return extract_text(path)


def extract_unless_scanned(path: Path) -> PaperText:
    """The same for a file that begins as a PDF does; one that holds "SCAN" has no text layer."""
    if "SCAN" in path.read_text(encoding="utf-8"):
        raise UnreadablePaperError(f"{path.name} has no text layer.", reason="no text layer")
    return extract_text(path)
