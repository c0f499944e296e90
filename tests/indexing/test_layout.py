"""Reading order, and paragraphs that read through what stands between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn_pdf import FILLER, LEADING, add_page, new_document, save, wrapped, write, write_lines

from rag.indexing.layout import read_in_order
from rag.indexing.paragraphs import Paragraph, build_paragraphs
from rag.indexing.pdf import read_pdf
from rag.indexing.style import body_style
from rag.text_cleaning import count_words

LEFT, RIGHT = 54.0, 315.0
COLUMN = "the widget of row {} is turned until the gauge reads"


def rows_of(path: Path) -> list[str]:
    return [row.line.text for row in read_in_order(read_pdf(path).pages)]


def paragraphs_of(path: Path) -> list[Paragraph]:
    rows = read_in_order(read_pdf(path).pages)
    vocabulary = count_words(row.line.text for row in rows)
    return build_paragraphs(rows, body_style(rows), vocabulary)


def two_columns(page: Any, lefts: list[str], rights: list[str], y: float, by_rows: bool) -> None:
    cells = [(LEFT, y + LEADING * at, text) for at, text in enumerate(lefts)]
    cells += [(RIGHT, y + LEADING * at, text) for at, text in enumerate(rights)]
    if by_rows:
        cells.sort(key=lambda cell: (cell[1], cell[0]))
    for x, at, text in cells:
        write(page, x, at, text)


@pytest.mark.parametrize("by_rows", [False, True], ids=["column by column", "row by row"])
def test_c03_two_columns_under_a_wide_title(tmp_path: Path, by_rows: bool) -> None:
    lefts = [f"L{at} " + COLUMN.format(at) for at in range(1, 7)]
    rights = [f"R{at} " + COLUMN.format(at) for at in range(1, 7)]
    document = new_document()
    page = add_page(document)
    title = "A Made-Up Study of Widgets That Spans Both Columns"
    write(page, 90, 80, title, size=16, bold=True)
    two_columns(page, lefts, rights, 120, by_rows)
    assert rows_of(save(document, tmp_path / "a.pdf")) == [title, *lefts, *rights]


@pytest.mark.parametrize("by_rows", [False, True])
def test_c03_a_wide_table_between_columns_divides_the_page(tmp_path: Path, by_rows: bool) -> None:
    document = new_document()
    page = add_page(document)
    rows = [[f"{side}{at} " + COLUMN.format(at) for at in range(8)] for side in "LRMS"]
    two_columns(page, rows[0], rows[1], 80, by_rows)
    write(
        page,
        100,
        220,
        "Table 1: All the widgets of the two trials, with the readings of their gauges.",
        9,
    )
    for at in range(3):
        for x, cell in ((110, f"widget {at}"), (250, "0.5"), (350, "0.7"), (450, "0.9")):
            write(page, x, 240 + 11 * at, cell, 9)
    two_columns(page, rows[2], rows[3], 310, by_rows)
    texts = rows_of(save(document, tmp_path / "a.pdf"))
    table = [f"widget {at} 0.5 0.7 0.9" for at in range(3)]
    assert texts == [*rows[0], *rows[1], texts[16], *table, *rows[2], *rows[3]]


def test_single_column_with_a_figure_beside_the_text(tmp_path: Path) -> None:
    narrow = [f"line {at} of the text that gives way to the figur" for at in range(6)]
    document = new_document()
    page = add_page(document)
    y = write_lines(page, FILLER, 90)
    for at, text in enumerate(narrow):
        write(page, 72, y + LEADING * at, text)
    write(page, 340, y + 20, "axis", 7)
    write(page, 340, y + 40, "Figure 1: A gauge.", 9)
    write_lines(page, FILLER, y + LEADING * len(narrow))
    texts = rows_of(save(document, tmp_path / "a.pdf"))
    at = texts.index(narrow[0])
    assert texts[at : at + 6] == narrow
    assert "Figure 1: A gauge." in texts


def test_paragraphs_end_at_short_lines_and_indents(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    first = wrapped(" ".join(FILLER[:2]) + " That was the end.")
    y = write_lines(page, first, 90)
    write(
        page,
        88,
        y,
        "Another paragraph begins here and is set in, and it goes on to the next line of",
    )
    write_lines(page, ["text, where it ends."], y + LEADING)
    texts = [item.text for item in paragraphs_of(save(document, tmp_path / "a.pdf"))]
    assert len(texts) == 2
    assert texts[0].endswith("That was the end.")
    assert texts[1].endswith("to the next line of text, where it ends.")


def test_a_sentence_reads_through_a_float_and_a_page_break(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    y = write_lines(
        page,
        [
            *FILLER,
            *FILLER,
            "and the last sentence of the page does not end before the bottom of the",
        ],
        90,
    )
    page = add_page(document)
    y = 90.0
    for at in range(3):
        for x, cell in ((110, f"widget {at}"), (250, "0.5"), (350, "0.7"), (450, "0.9")):
            write(page, x, y + 11 * at, cell, 9)
    write(page, 110, y + 44, "Table 3: The readings of the gauges.", 9)
    write_lines(page, ["sheet but on the next one, below the table.", *FILLER], y + 80)
    done = paragraphs_of(save(document, tmp_path / "a.pdf"))
    text = next(item for item in done if item.kind == "text" and "last sentence" in item.text)
    assert "before the bottom of the sheet but on the next one, below the table." in text.text
    assert text.breaks == ((0, 1), (text.text.index("sheet"), 2))
    tables = [item.text for item in done if item.kind in ("table", "caption")]
    assert tables == [
        "widget 0 0.5 0.7 0.9; widget 1 0.5 0.7 0.9; widget 2 0.5 0.7 0.9",
        "Table 3: The readings of the gauges.",
    ]


def test_labels_of_figures_are_dropped_and_footnotes_lifted(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    for at in range(5):
        write(page, 120 + 50 * at, 100 + 13 * at, str(10 * at), 6)
    write(page, 200, 190, "epochs", 6)
    write(page, 110, 215, "Figure 2: Readings over time.", 9)
    write_lines(page, [*FILLER, "A last line of the text of this page that goes on and does"], 250)
    write(page, 72, 720, "The gauge was built by hand in the first year of the trials.", 8)
    page = add_page(document)
    write_lines(page, ["not end until here.", *FILLER], 90)
    done = paragraphs_of(save(document, tmp_path / "a.pdf"))
    kinds = [item.kind for item in done]
    assert kinds.count("note") == 1 and kinds.count("caption") == 1
    assert not any("epochs" in item.text or item.text.startswith("0 10") for item in done)
    assert any("goes on and does not end until here." in item.text for item in done)


def test_split_words_are_put_together(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    x = 72.0
    for piece in ("net", "w", "orks"):
        write(page, x, 100, piece)
        x += {"net": 13.9, "w": 7.3, "orks": 0}[piece]
    assert rows_of(save(document, tmp_path / "a.pdf")) == ["networks"]


def test_pages_never_run_backwards(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write_lines(
        page, [*FILLER, "a sentence that goes on to the next page where it comes to the"], 90
    )
    write(page, 110, 500, "Table 1: What the page ends with.", 9)
    write_lines(add_page(document), ["end of it.", *FILLER], 90)
    done = paragraphs_of(save(document, tmp_path / "a.pdf"))
    pages = [number for item in done for _, number in item.breaks]
    assert pages == sorted(pages)


def test_footnotes_are_parted_at_their_marks(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    write_lines(page, [*FILLER, *FILLER], 90)
    notes = ("1The gauge was built by hand.", "2Nobody has seen the book.", "that lay beside it.")
    for at, text in enumerate(notes):
        write(page, 72, 700 + 10 * at, text, 8)
    done = paragraphs_of(save(document, tmp_path / "a.pdf"))
    assert [item.text for item in done if item.kind == "note"] == [
        notes[0],
        f"{notes[1]} {notes[2]}",
    ]


def test_a_sentence_between_pieces_of_formulas_is_kept(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    y = write_lines(page, [*FILLER, *FILLER], 90) + 30
    write(page, 90, y, "k", 6)
    write(page, 72, y + 8, "We can now use (7) of the last part to simplify the sum,")
    for at in range(8):
        write(page, 150, y + 19 + 9 * at, f"|Q| + |R|({at}) = 2 |S|{at} - |T|({at})")
    write_lines(page, FILLER, y + 130)
    texts = [item.text for item in paragraphs_of(save(document, tmp_path / "a.pdf"))]
    assert any("We can now use (7) of the last part" in text for text in texts)
    assert not any("|S|3" in text for text in texts)


def test_a_short_list_in_small_print_is_text(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    y = write_lines(page, [*FILLER, *FILLER], 90) + 30
    items = ["- small screws", "- springs of gauges", "- brass and glass", "- some paint"]
    write_lines(page, items, y, size=9)
    write_lines(page, [*FILLER, *FILLER], y + 80)
    texts = " ".join(item.text for item in paragraphs_of(save(document, tmp_path / "a.pdf")))
    assert "small screws" in texts and "some paint" in texts


def test_a_table_in_a_font_of_its_own_is_kept(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    for at in range(4):
        for x, cell in ((110, f"widget {at}"), (250, "0.5"), (350, "0.7"), (450, "0.9")):
            page.insert_text((x, 100 + 11 * at), cell, fontsize=9, fontname="tiro")
    write(page, 110, 160, "Table 3: The readings of the gauges.", 9)
    write_lines(page, FILLER * 8, 200)
    done = paragraphs_of(save(document, tmp_path / "a.pdf"))
    assert any(item.kind == "table" and "widget 3 0.5 0.7 0.9" in item.text for item in done)
