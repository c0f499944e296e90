"""From a PDF file to the text of a paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from drawn_pdf import FILLER, add_page, new_document, paragraphs, save, write, write_lines

from rag.errors import UnreadablePaperError
from rag.indexing.document import PaperText, Stamp
from rag.indexing.extract import extract_paper

TITLE = "A Made-Up Study of Widgets"
ENTRIES = [
    "[1] A. Ray and B. Lee. A study of gauges. In Proceedings of the Conference on Benches, pages 1-9, 2019.",
    "[2] C. Moss. Widgets at large. arXiv preprint arXiv:1901.00001, 2019.",
    "[3] D. Fern, E. Ash, and F. Oak. Turning by hand. Journal of Trials, 12(3):45-67, 2001.",
    "[4] G. Elm. The book of the bench. Springer, 1999.",
    "[5] H. Yew et al. Numbers of the first trials. Technical report, 2005.",
]


def filler(number: int) -> list[str]:
    return [f"In trial {number} all went well. " + " ".join(FILLER), " ".join(reversed(FILLER))]


def page_of(document: Any, number: int, stamp: bool = False) -> Any:
    page = add_page(document)
    write(page, 220, 50, TITLE, 9)
    write(page, 300, 760, str(number))
    if stamp:
        page.insert_text((30, 600), "arXiv:2301.00001v2 [cs.LG] 3 Jan 2023", fontsize=20, rotate=90)
    return page


def made_up_paper(path: Path) -> Path:
    """Contents, sections, a sentence over a page break, references and an appendix."""
    document = new_document()
    page = page_of(document, 1, stamp=True)
    write(page, 150, 100, TITLE, 17, bold=True)
    write(page, 250, 130, "Ann Ray")
    write(page, 200, 144, "Old University, ann@old.example")
    write(page, 280, 180, "Abstract", 12, bold=True)
    y = paragraphs(page, ["We study widgets and find that they turn. " * 5], 200)
    write(page, 72, y, "Contents", 12, bold=True)
    y = write_lines(
        page,
        [
            "1 Introduction " + ". " * 40 + "2",
            "References " + ". " * 40 + "4",
            "A Proofs " + ". " * 40 + "5",
        ],
        y + 18,
    )
    write(page, 72, y + 12, "1  Introduction", 12, bold=True)
    y = paragraphs(page, filler(1), y + 36)
    write_lines(
        page,
        [
            "Widgets are known since arXiv:2301.00001 was written. The last sentence of the page does not"
        ],
        y,
    )
    page = page_of(document, 2)
    y = write_lines(page, ["end before the next one."], 100)
    write(page, 72, y + 12, "2  Method", 12, bold=True)
    paragraphs(
        page,
        ["References to earlier work are in Table 1. " + filler(2)[0], *filler(3), *filler(4)],
        y + 36,
    )
    page = page_of(document, 3)
    paragraphs(page, [*filler(5), *filler(6), *filler(7), *filler(8)], 100)
    page = page_of(document, 4)
    write(page, 72, 100, "References", 12, bold=True)
    paragraphs(page, ENTRIES, 124)
    page = page_of(document, 5)
    write(page, 72, 100, "A  Proofs", 12, bold=True)
    paragraphs(page, ["Lemma 7 holds for all widgets. " + filler(9)[0]], 124)
    return save(document, path)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> PaperText:
    return extract_paper(made_up_paper(tmp_path_factory.mktemp("papers") / "2301.00001.pdf"))


def whole(paper: PaperText) -> str:
    return "\n\n".join(section.text for section in paper.sections)


def test_c04_title_stamp_and_abstract(paper: PaperText) -> None:
    assert paper.title == TITLE
    assert paper.stamp == Stamp("2301.00001", "v2", "cs.LG", "2023-01-03")
    assert paper.abstract is not None and paper.abstract.startswith("We study widgets")
    assert (paper.abstract_page, paper.page_count, paper.notes) == (1, 5, ())


def test_c04_no_furniture_and_the_sentence_reads_through(paper: PaperText) -> None:
    text = whole(paper)
    assert TITLE not in text and "[cs.LG]" not in text and "Old University" not in text
    assert "The last sentence of the page does not end before the next one." in text
    assert "Widgets are known since arXiv:2301.00001 was written." in text
    assert not any(part.strip().isdigit() for part in text.split("\n\n"))


def test_c05_contents_and_references_go_and_the_appendix_stays(paper: PaperText) -> None:
    assert [(s.heading, s.kind, s.level) for s in paper.sections] == [
        ("1 Introduction", "body", 1),
        ("2 Method", "body", 1),
        ("A Proofs", "appendix", 1),
    ]
    text = whole(paper)
    assert "References to earlier work are in Table 1." in text
    assert "Lemma 7 holds for all widgets." in text
    assert "Journal of Trials" not in text and ". . . ." not in text
    assert all(f"In trial {number} all went well." in text for number in range(1, 10))


def test_pages_are_right(paper: PaperText) -> None:
    first, second, last = paper.sections
    assert first.page_breaks == ((0, 1), (first.text.index("end before the next"), 2))
    assert [page for _, page in second.page_breaks] == [2, 3]
    assert last.page_breaks == ((0, 5),)


def test_paragraphs_hold_no_line_breaks(paper: PaperText) -> None:
    for section in paper.sections:
        assert "\n" not in section.text.replace("\n\n", "")
        assert section.text == section.text.strip()


def test_c13_text_is_valid_utf8(paper: PaperText) -> None:
    text = json.dumps([paper.title, paper.abstract, whole(paper)], ensure_ascii=False)
    assert "\x00" not in text
    text.encode("utf-8")


def test_c08_pages_of_images_have_no_text_layer(tmp_path: Path) -> None:
    source = new_document()
    write_lines(add_page(source), FILLER)
    picture = source[0].get_pixmap(dpi=50)
    document = new_document()
    for _ in range(2):
        page = add_page(document)
        page.insert_image(page.rect, pixmap=picture)
    with pytest.raises(UnreadablePaperError) as caught:
        extract_paper(save(document, tmp_path / "scan.pdf"))
    assert (caught.value.reason, caught.value.skipped) == ("no text layer", True)


def test_c08_a_stamp_alone_is_no_text_layer(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    page.insert_text((30, 600), "arXiv:2301.00001v2 [cs.LG] 3 Jan 2023", fontsize=20, rotate=90)
    with pytest.raises(UnreadablePaperError) as caught:
        extract_paper(save(document, tmp_path / "a.pdf"))
    assert caught.value.reason == "no text layer"


@pytest.mark.parametrize(
    "code",
    [
        lambda char: chr(max(33, ord(char) - 29)) if char != " " else char,  # shifted codes
        lambda char: "!#$%&+-/"[ord(char) % 8],  # signs
        lambda char: chr(1 + ord(char) % 8),  # control codes
    ],
    ids=["shifted", "signs", "control codes"],
)
def test_a_garbage_text_layer_is_no_text_layer(tmp_path: Path, code: Any) -> None:
    document = new_document()
    page = add_page(document)
    write_lines(page, ["".join(map(code, text)) for text in FILLER * 4])
    with pytest.raises(UnreadablePaperError) as caught:
        extract_paper(save(document, tmp_path / "a.pdf"))
    assert (caught.value.reason, caught.value.skipped) == ("no text layer", True)


def test_c08_an_ocr_layer_is_text(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    page.insert_image(page.rect, pixmap=pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 60, 80), False))
    for at, text in enumerate(FILLER):
        write(page, 72, 100 + 12 * at, text, render_mode=3)
    assert extract_paper(save(document, tmp_path / "a.pdf")).usable_characters > 200


def test_c01_ligatures_in_a_pdf(tmp_path: Path) -> None:
    document = new_document()
    page = add_page(document)
    font = pymupdf.Font("tiro")
    writer = pymupdf.TextWriter(page.rect)
    for at, text in enumerate(
        ["eﬃcient ﬁne-tuning of flows at 10³ times the cost, where x² is small.", *FILLER]
    ):
        writer.append((72, 100 + 12 * at), text, font=font, fontsize=9)
    writer.write_text(page)
    text = whole(extract_paper(save(document, tmp_path / "a.pdf")))
    assert text.startswith(
        "efficient fine-tuning of flows at 10³ times the cost, where x² is small."
    )


def test_c02_words_broken_over_lines(tmp_path: Path) -> None:
    document = new_document()
    lines = [
        "we improve gener-",
        "alisation on low-",
        "resource and state-of-the-",
        "art tasks of the many kinds that the bench of the first trials has had to bear in its time.",
        *FILLER,
    ]
    write_lines(add_page(document), lines)
    text = whole(extract_paper(save(document, tmp_path / "a.pdf")))
    assert text.startswith(
        "we improve generalisation on low-resource and state-of-the-art tasks of the many"
    )


def test_a_paper_without_any_heading_is_one_section(tmp_path: Path) -> None:
    document = new_document()
    paragraphs(add_page(document), [*filler(1), *filler(2)], 100)
    paper = extract_paper(save(document, tmp_path / "a.pdf"))
    assert [(s.heading, s.kind) for s in paper.sections] == [("", "body")]
    assert paper.abstract is None
