"""Extraction: from a PDF file to a ``PaperText``."""

from __future__ import annotations

from pathlib import Path

from rag.errors import UnreadablePaperError
from rag.indexing.document import PaperText
from rag.indexing.front_matter import find_title
from rag.indexing.furniture import parse_stamp, strip_furniture
from rag.indexing.layout import read_in_order
from rag.indexing.paragraphs import build_paragraphs
from rag.indexing.pdf import read_pdf
from rag.indexing.sections import divide
from rag.indexing.style import body_style
from rag.text_cleaning import count_words

_LEAST_CHARACTERS = 100  # fewer are no text layer: a scan may carry a stamp or a watermark
_SAMPLE = 20_000  # characters that are enough to tell words from codes of glyphs
_ASCII_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LEAST_LATIN = 200  # letters; fewer say nothing about the share of vowels
_LEAST_VOWELS = 0.25  # of the Latin letters; papers have 0.36 to 0.40, shifted codes below 0.2


def extract_paper(path: Path) -> PaperText:
    """The clean text of the paper in ``path``, with its pages.

    Pure but for reading the file; needs about 10 ms a page. PyMuPDF is not thread-safe and may
    hang or crash on a bad file: call it in a worker process with a time limit.

    Raises:
        UnreadablePaperError: reason "not a PDF", "encrypted", "no pages", "damaged" (these from
            ``read_pdf``) or "no text layer".
    """
    raw = read_pdf(path)
    stamp = parse_stamp(raw.pages)
    pages = strip_furniture(raw.pages)
    rows = read_in_order(pages)
    style = body_style(rows)
    vocabulary = count_words(row.line.text for row in rows)
    title = find_title(rows, pages[0].height, style, vocabulary)
    outline = divide(build_paragraphs(rows, style, vocabulary), style, title)
    paper = PaperText(
        title=title,
        abstract=outline.front.abstract,
        abstract_page=outline.front.page,
        stamp=stamp,
        page_count=len(pages),
        sections=outline.sections,
        notes=(*raw.notes, *outline.notes),
    )
    if paper.usable_characters < _LEAST_CHARACTERS or not _is_legible(paper):
        raise UnreadablePaperError(f"{path.name} has no text layer.", reason="no text layer")
    return paper


def _is_legible(paper: PaperText) -> bool:
    """Whether the text is of letters, and those of words: fonts may say shifted codes instead."""
    whole = " ".join([paper.abstract or "", *(section.text for section in paper.sections)])
    sample = whole[:_SAMPLE].lower()
    letters = sum(map(str.isalpha, sample))
    latin = sum(sample.count(letter) for letter in _ASCII_LETTERS)
    vowels = sum(sample.count(letter) for letter in "aeiou")
    of_words = latin < max(_LEAST_LATIN, 0.5 * letters) or vowels >= _LEAST_VOWELS * latin
    return letters >= 0.2 * len(sample) and of_words
