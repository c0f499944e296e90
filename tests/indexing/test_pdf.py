"""Opening PDFs safely and reading their lines."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from drawn_pdf import FILLER, add_page, new_document, save, write, write_lines

from rag.errors import UnreadablePaperError
from rag.indexing.pdf import read_pdf


def texts(path: Path) -> list[str]:
    return [line.text for page in read_pdf(path).pages for line in page.lines]


def one_page(path: Path, **more: object) -> Path:
    document = new_document()
    write_lines(add_page(document), FILLER)
    return save(document, path, **more)


@pytest.mark.parametrize(
    "content",
    [
        b"<html><title>Rate exceeded</title><body>Please complete the check</body></html>",
        b"",
        b"x" * 2_000 + b"%PDF-1.5",
    ],
)
def test_c11_what_is_no_pdf_is_refused_before_parsing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "2301.00002.pdf"
    path.write_bytes(content)
    with pytest.raises(UnreadablePaperError) as caught:
        read_pdf(path)
    assert (caught.value.reason, caught.value.skipped) == ("not a PDF", True)
    assert str(tmp_path) not in str(caught.value)


def test_c10a_a_password_to_open_is_encrypted(tmp_path: Path) -> None:
    aes = pymupdf.PDF_ENCRYPT_AES_256
    path = one_page(tmp_path / "a.pdf", encryption=aes, owner_pw="o", user_pw="u")
    with pytest.raises(UnreadablePaperError) as caught:
        read_pdf(path)
    assert (caught.value.reason, caught.value.skipped) == ("encrypted", True)


def test_c10b_an_owner_password_alone_is_fine(tmp_path: Path) -> None:
    path = one_page(tmp_path / "b.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o")
    assert texts(path) == list(FILLER)


@pytest.mark.parametrize("content", [b"%PDF-1.5\nnothing", b"%PDF-1.5" + b"junk " * 500])
def test_damaged_beyond_repair_is_a_failure(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(UnreadablePaperError) as caught:
        read_pdf(path)
    assert (caught.value.reason, caught.value.skipped) == ("damaged", False)


def test_a_missing_file_is_damaged_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(UnreadablePaperError):
        read_pdf(tmp_path / "none.pdf")


def test_truncated_file_is_used_with_a_note(tmp_path: Path) -> None:
    document = new_document()
    for _ in range(6):
        write_lines(add_page(document), FILLER)
    path = save(document, tmp_path / "a.pdf")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * 0.8)])
    result = read_pdf(path)
    assert result.notes
    assert any(page.lines for page in result.pages)


def test_hidden_text_is_dropped(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write(page, 72, 100, "seen text")
    write(page, 72, 120, "invisible", render_mode=3)
    write(page, 72, 140, "white", color=(1, 1, 1))
    write(page, 72, 160, "transparent", fill_opacity=0, stroke_opacity=0)
    write(page, 72, 180, "tiny", size=1)
    assert texts(save(document, tmp_path / "a.pdf")) == ["seen text"]


def test_white_text_on_a_dark_box_is_seen(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    page.draw_rect((60, 80, 300, 110), fill=(0, 0, 0.4))
    write(page, 72, 100, "title bar", color=(1, 1, 1))
    assert texts(save(document, tmp_path / "a.pdf")) == ["title bar"]


def test_ocr_layer_of_a_scan_is_kept(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    page.insert_image(page.rect, pixmap=pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 60, 80), False))
    write(page, 72, 100, "read by a machine", render_mode=3)
    assert texts(save(document, tmp_path / "a.pdf")) == ["read by a machine"]


def test_remarks_of_readers_are_no_text(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write(page, 72, 100, "printed")
    page.add_freetext_annot((72, 200, 300, 240), "a remark of a reader")
    page.add_stamp_annot((72, 300, 200, 340))
    assert texts(save(document, tmp_path / "a.pdf")) == ["printed"]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("drawn", [0, 90, 180, 270])
def test_turned_pages_are_set_upright(tmp_path: Path, rotate: int, drawn: int) -> None:
    document = new_document()
    page = add_page(document)
    starts = {0: (100, 200), 90: (200, 700), 180: (500, 500), 270: (400, 100)}
    steps = {0: (0, 14), 90: (14, 0), 180: (0, -14), 270: (-14, 0)}
    x, y = starts[drawn]
    for number, text in enumerate(FILLER):
        dx, dy = steps[drawn]
        page.insert_text((x + number * dx, y + number * dy), text, fontsize=10, rotate=drawn)
    page.set_rotation(rotate)
    page = read_pdf(save(document, tmp_path / "a.pdf")).pages[0]
    ordered = sorted(page.lines, key=lambda line: line.baseline)
    assert [line.text for line in ordered] == list(FILLER)
    assert all(line.x0 < line.x1 and line.y0 < line.baseline < line.y1 for line in ordered)


def test_turned_labels_of_a_figure_do_not_turn_the_page(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    for at in range(60):
        page.insert_text((80 + 7 * at, 300), "perfect label", fontsize=6, rotate=90)
    write_lines(page, FILLER[:2], 330)
    result = read_pdf(save(document, tmp_path / "a.pdf")).pages[0]
    assert [line.text for line in result.lines] == list(FILLER[:2])


def test_turned_margin_text_is_kept_apart(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write_lines(page, FILLER)
    page.insert_text((30, 500), "a stamp", fontsize=20, rotate=90)
    result = read_pdf(save(document, tmp_path / "a.pdf")).pages[0]
    assert result.turned == ("a stamp",)
    assert len(result.lines) == len(FILLER)


def test_exponents_stay_exponents_and_footnote_marks_go(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write(page, 72, 100, "a rate of 10")
    width = pymupdf.get_text_length("a rate of 10", "helv", 10)
    write(page, 72 + width, 96, "-3", size=6)
    write(page, 72, 140, "the gauge")
    width = pymupdf.get_text_length("the gauge", "helv", 10)
    write(page, 72 + width, 136, "7", size=6)
    assert texts(save(document, tmp_path / "a.pdf")) == ["a rate of 10⁻³", "the gauge"]


def test_lines_tell_their_look(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write(page, 72, 100, "bold and big", size=16, bold=True)
    line = read_pdf(save(document, tmp_path / "a.pdf")).pages[0].lines[0]
    assert (line.size, line.bold, round(line.x0), round(line.baseline)) == (16, 1.0, 72, 100)
