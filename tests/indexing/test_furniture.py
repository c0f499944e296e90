"""Headers, page numbers, stamps and line numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn_pdf import FILLER, HEIGHT, add_page, new_document, save, write, write_lines

from rag.indexing.document import Stamp
from rag.indexing.furniture import parse_stamp, strip_furniture
from rag.indexing.pdf import read_pdf

STAMP = "arXiv:2301.00001v2 [cs.LG] 3 Jan 2023"


def kept(path: Path) -> list[list[str]]:
    return [[line.text for line in page.lines] for page in strip_furniture(read_pdf(path).pages)]


def pages_with(path: Path, draw: Any, count: int = 4) -> Path:
    document = new_document()
    for number in range(1, count + 1):
        page = add_page(document)
        draw(page, number)
        write_lines(page, [f"{number} {text}" for text in FILLER * 12], 100)
    return save(document, path)


def expected(count: int = 4) -> list[list[str]]:
    return [[f"{number} {text}" for text in FILLER * 12] for number in range(1, count + 1)]


def test_c04_running_header_and_page_number(tmp_path: Path) -> None:
    def draw(page: Any, number: int) -> None:
        write(page, 200, 50, "A Made-Up Study of Widgets", 9)
        write(page, 300, 760, str(number))

    assert kept(pages_with(tmp_path / "a.pdf", draw, 3)) == expected(3)


@pytest.mark.parametrize("form", ["{}", "- {} -", "Page {} of 4", "{}/4", "[{}]"])
def test_page_numbers_of_many_forms(tmp_path: Path, form: str) -> None:
    draw = lambda page, number: write(page, 290, 765, form.format(number))  # noqa: E731
    assert kept(pages_with(tmp_path / "a.pdf", draw)) == expected()


def test_headers_that_alternate_or_change_with_the_section(tmp_path: Path) -> None:
    names = ("Introduction", "The Method of the Bench", "Trials", "Closing Words")

    def draw(page: Any, number: int) -> None:
        write(page, 72, 50, f"{number}   {names[number - 1]}", 9)

    assert kept(pages_with(tmp_path / "a.pdf", draw)) == expected()


@pytest.mark.parametrize(
    "notice",
    [
        "Published as a conference paper at ICLR 2019",
        "Preprint. Under review.",
        "31st Conference on Neural Information Processing Systems (NIPS 2017), Long Beach, CA, USA.",
        STAMP,
    ],
)
def test_notices_in_the_margin_of_one_page(tmp_path: Path, notice: str) -> None:
    def draw(page: Any, number: int) -> None:
        if number == 1:
            write(page, 72, 760, notice, 9)

    assert kept(pages_with(tmp_path / "a.pdf", draw)) == expected()


def test_an_entry_at_the_edge_of_a_later_page_is_no_notice(tmp_path: Path) -> None:
    entry = "Proceedings of the Conference on Benches, pages 1-9."

    def draw(page: Any, number: int) -> None:
        if number == 3:
            write(page, 72, 60, entry)

    assert kept(pages_with(tmp_path / "a.pdf", draw))[2][0] == entry


def test_c04_a_sentence_that_mentions_an_arxiv_id_stays(tmp_path: Path) -> None:
    document = new_document()
    sentence = "The bench is described in arXiv:2301.00001 and in the book."
    for _ in range(3):
        write_lines(add_page(document), [sentence, *FILLER], 60)
    assert all(page[0] == sentence for page in kept(save(document, tmp_path / "a.pdf")))


def test_repeated_cells_at_the_top_of_pages_stay(tmp_path: Path) -> None:
    document = new_document()
    for _ in range(4):
        page = add_page(document)
        write(page, 72, 60, "widget")
        write(page, 200, 60, "0.5")
        write_lines(page, FILLER * 3, 60 + 12)
    done = kept(save(document, tmp_path / "a.pdf"))
    assert all("0.5" in page for page in done)


def test_line_numbers_of_a_review_version(tmp_path: Path) -> None:
    document = new_document()
    line = 0
    for _ in range(3):
        page = add_page(document)
        for at, text in enumerate(FILLER * 8):
            write(page, 40, 100 + 12 * at, f"{line:03d}", 7)
            write(page, 72, 100 + 12 * at, text)
            line += 1
    assert kept(save(document, tmp_path / "a.pdf")) == [list(FILLER * 8)] * 3


def stamped(path: Path, text: str, turned: bool) -> Path:
    document = new_document()
    page = add_page(document)
    page.insert_text(
        (30, 600) if turned else (72, HEIGHT - 40), text, fontsize=12, rotate=90 if turned else 0
    )
    write_lines(page, FILLER)
    return save(document, path)


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        (STAMP, Stamp("2301.00001", "v2", "cs.LG", "2023-01-03")),
        (
            "arXiv:cs/0112017v1 [cs.CL] 14 Dec 2001",
            Stamp("cs/0112017", "v1", "cs.CL", "2001-12-14"),
        ),
        (
            "arXiv:0706.1234v1 [math.ST] 9 June 2007",
            Stamp("0706.1234", "v1", "math.ST", "2007-06-09"),
        ),
        ("arXiv:2301.00001v2 [cs.LG]", Stamp("2301.00001", "v2", "cs.LG", None)),
        ("arXiv:2301.00001v2 [cs.LG] 3 Foo 2023", Stamp("2301.00001", "v2", "cs.LG", None)),
    ],
)
def test_c04_the_stamp_is_read(tmp_path: Path, text: str, stamp: Stamp, turned: bool) -> None:
    pages = read_pdf(stamped(tmp_path / "a.pdf", text, turned)).pages
    assert parse_stamp(pages) == stamp


def test_no_stamp(tmp_path: Path) -> None:
    document = new_document()
    write_lines(add_page(document), ["As arXiv:2301.00001v2 says, the bench is old.", *FILLER])
    assert parse_stamp(read_pdf(save(document, tmp_path / "a.pdf")).pages) is None
    assert parse_stamp(()) is None
