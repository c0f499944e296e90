"""Pages: a PDF opened safely and read as typed lines with their place and look.

Reader annotations and form fields are not page text and are left out; hidden text is dropped
unless it is the OCR layer of a scanned page; turned pages are set upright.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from rag.errors import UnreadablePaperError
from rag.indexing.page import Line, Page, PdfText
from rag.indexing.spans import (
    has_codes_in_words,
    has_unknown_in_words,
    is_bold,
    is_italic,
    is_math,
    is_mono,
    line_text,
    restore_ligatures,
    with_true_sizes,
)
from rag.indexing.visibility import RawBlock, visible_blocks

_HEAD_BYTES = 1024  # ISO 32000 readers accept "%PDF-" anywhere in the first 1,024 bytes
_FLAGS = (
    pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
)
_ASCENT = 0.75  # share of the size above the baseline: bounding boxes of fonts lie too often


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page as it was drawn: PyMuPDF's blocks of lines, and the size in points."""

    blocks: list[RawBlock]
    width: float
    height: float


def read_pdf(path: Path) -> PdfText:
    """The pages of ``path`` as lines.

    Raises:
        UnreadablePaperError: reason "not a PDF", "encrypted" (a password is needed to read),
            "no pages" or "damaged" (then not a skip but a failure).
    """
    with _opened(path) as (document, notes):
        try:
            pages = _read_pages(document)
        except (RuntimeError, ValueError) as error:
            raise _damaged(path) from error
        empty = sum(not page.lines for page in pages)
        if document.is_repaired or notes:
            remark = f"damaged file repaired; {empty} of {len(pages)} pages hold no text"
            notes = (*notes, remark)
        return PdfText(pages, notes)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, tuple[str, ...]]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _damaged(path) from error
    if b"%PDF-" not in data[:_HEAD_BYTES]:
        raise UnreadablePaperError(f"{path.name} is not a PDF file.", reason="not a PDF")
    _silence()
    document, notes = _open_or_trim(data, path)
    try:
        if document.needs_pass:
            raise UnreadablePaperError(f"{path.name} needs a password.", reason="encrypted")
        if len(document) == 0:
            raise UnreadablePaperError(f"{path.name} has no pages.", reason="no pages")
        yield document, notes
    finally:
        document.close()


def _open_or_trim(data: bytes, path: Path) -> tuple[Any, tuple[str, ...]]:
    """Opens the file, a truncated one without its half-written last object."""
    try:
        return _document(data), ()
    except (RuntimeError, ValueError):
        end = data.rfind(b"endobj")
    try:
        if end < 0:
            raise _damaged(path)
        trimmed = data[: end + len(b"endobj")] + b"\n"
        return _document(trimmed), ("file ends too early",)
    except (RuntimeError, ValueError) as error:
        raise _damaged(path) from error


def _document(data: bytes) -> Any:
    module: Any = pymupdf  # PyMuPDF carries no types
    return module.open(stream=data, filetype="pdf")


def _silence() -> None:
    """MuPDF's remarks on faulty files would go to the terminal; the notes tell what matters."""
    tools: Any = pymupdf.TOOLS
    tools.mupdf_display_errors(False)
    tools.mupdf_display_warnings(False)


def _damaged(path: Path) -> UnreadablePaperError:
    return UnreadablePaperError(
        f"{path.name} is damaged and cannot be read.", reason="damaged", skipped=False
    )


def _read_pages(document: Any) -> tuple[Page, ...]:
    """All pages; those with lost ligatures are made when the words of all have been seen."""
    pages: dict[int, Page] = {}
    coded: dict[int, _Sheet] = {}
    for index in range(len(document)):
        sheet = _read_sheet(document, index)
        if has_codes_in_words(sheet.blocks):
            coded[index + 1] = sheet
        else:
            pages[index + 1] = _make_page(sheet, index + 1)
    text = (line.text for page in pages.values() for line in page.lines)
    restore_ligatures([sheet.blocks for sheet in coded.values()], text)
    pages |= {number: _make_page(sheet, number) for number, sheet in coded.items()}
    return tuple(pages[number] for number in sorted(pages))


def _read_sheet(document: Any, index: int) -> _Sheet:
    """One page; remarks and stamps of readers are taken off before it is read."""
    document.xref_set_key(document.page_xref(index), "Annots", "[]")
    page = document[index]
    found = page.get_text("dict", flags=_FLAGS)
    blocks = _text_blocks(found)
    if has_unknown_in_words(blocks):
        blocks = _with_glyph_codes(page)
    blocks = visible_blocks(page, [with_true_sizes(block) for block in blocks])
    width, height = found["width"], found["height"]
    if page.rotation in (90, 270):
        width, height = page.mediabox.width, page.mediabox.height
    return _Sheet(blocks, width, height)


def _text_blocks(found: dict[str, Any]) -> list[RawBlock]:
    return [block["lines"] for block in found["blocks"] if block.get("type", 0) == 0]


def _with_glyph_codes(page: Any) -> list[RawBlock]:
    """The blocks of a page, each unknown character as the code its font has for it.

    The codes are moved to the private use area: they are no text before a ligature is found.
    """
    coded = page.get_text("rawdict", flags=_FLAGS | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE)
    codes = {
        char["origin"]: char["c"]
        for block in _text_blocks(coded)
        for line in block
        for span in line["spans"]
        for char in span["chars"]
    }
    blocks = _text_blocks(page.get_text("rawdict", flags=_FLAGS))
    for span in (span for block in blocks for line in block for span in line["spans"]):
        span["text"] = "".join(
            _private(codes.get(char["origin"], char["c"])) if char["c"] == "\ufffd" else char["c"]
            for char in span.pop("chars")
        )
    return blocks


def _private(code: str) -> str:
    return code if code == "\ufffd" else chr(0xE000 + ord(code) % 0x1900)


def _make_page(sheet: _Sheet, number: int) -> Page:
    """The page set upright, its lines apart from those that run another way."""
    turn = _main_direction(sheet.blocks)
    width, height = sheet.width, sheet.height
    lines: list[Line] = []
    turned: list[str] = []
    for block_number, block in enumerate(sheet.blocks):
        for raw in block:
            line = _make_line(raw, block_number, turn, width, height)
            if line is None:
                continue
            if _direction(raw) == turn:
                lines.append(line)
            else:
                turned.append(line.text)
    if turn[0] == 0:
        width, height = height, width
    return Page(number, width, height, tuple(lines), tuple(turned))


def _direction(raw: dict[str, Any]) -> tuple[int, int]:
    return round(raw["dir"][0]), round(raw["dir"][1])


def _main_direction(blocks: list[RawBlock]) -> tuple[int, int]:
    """The direction the long lines of the page run in; (1, 0) is left to right.

    Many short turned labels of a figure weigh less than the few lines of its caption.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for block in blocks:
        for raw in block:
            counts[_direction(raw)] += sum(len(span["text"]) for span in raw["spans"]) ** 2
    counts.pop((0, 0), None)
    best = max(counts, key=lambda key: counts[key], default=(1, 0))
    return best if abs(best[0]) + abs(best[1]) == 1 else (1, 0)


def _upright(
    box: tuple[float, ...], turn: tuple[int, int], width: float, height: float
) -> tuple[float, float, float, float]:
    """A box of a page whose text runs along ``turn``, on the page turned upright."""
    x0, y0, x1, y1 = box[0], box[1], box[2], box[3]
    if turn == (0, -1):
        return height - y1, x0, height - y0, x1
    if turn == (0, 1):
        return y0, width - x1, y1, width - x0
    if turn == (-1, 0):
        return width - x1, height - y1, width - x0, height - y0
    return x0, y0, x1, y1


def _make_line(
    raw: dict[str, Any], block: int, turn: tuple[int, int], width: float, height: float
) -> Line | None:
    """A ``Line`` of PyMuPDF's raw one, None when it holds no text."""
    spans = raw["spans"]
    text = line_text(spans)
    if not text:
        return None
    weights = [(span, len(span["text"].strip()) or 0.1) for span in spans]
    total = sum(weight for _, weight in weights)
    main = max(weights, key=lambda pair: pair[1] * pair[0]["size"])[0]
    size = main["size"]
    if text.isupper():  # small capitals are as big as their first letters
        size = max(span["size"] for span in spans if span["text"].strip())
    x0, _, x1, _ = _upright(raw["bbox"], turn, width, height)
    x, y = main["origin"]
    baseline = _upright((x, y, x, y), turn, width, height)[1]
    return Line(
        text=text,
        x0=x0,
        y0=baseline - _ASCENT * size,
        x1=x1,
        y1=baseline + (1 - _ASCENT) * size,
        baseline=baseline,
        size=size,
        bold=sum(weight for span, weight in weights if is_bold(span)) / total,
        italic=is_italic(main),
        mono=is_mono(main),
        math=sum(w for span, w in weights if is_math(span)) / total,
        font=main["font"],
        colour=main["color"],
        block=block,
    )
