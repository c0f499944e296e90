"""Sections, and what a paper lists rather than says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest

from rag.indexing.document import Section
from rag.indexing.paragraphs import Paragraph
from rag.indexing.references import is_entry
from rag.indexing.sections import Outline, divide
from rag.indexing.style import BodyStyle

STYLE = BodyStyle(10.0, 12.0, frozenset({"Times"}))
PROSE = "The widget is turned by hand until the gauge reads the value printed on its side. " * 6
ENTRIES = (
    "[1] A. Ray and B. Lee. A study of gauges. In Proceedings of the Conference on Benches, pages 1–9, 2019.",
    "[2] C. Moss. Widgets at large. arXiv preprint arXiv:1901.00001, 2019.",
    "[3] D. Fern, E. Ash, and F. Oak. Turning by hand. Journal of Trials, 12(3):45–67, 2001.",
    "[4] G. Elm. The book of the bench. Springer, 1999.",
    "[5] H. Yew et al. Numbers of the first trials. Technical report, 2005.",
)


def text(
    words: str, page: int = 1, kind: Literal["text", "note", "table", "caption"] = "text"
) -> Paragraph:
    return Paragraph(kind, words, ((0, page),), 10.0, 0.0, 3, 100.0)


def heading(words: str, page: int = 1, size: float = 12.0, bold: float = 1.0) -> Paragraph:
    return Paragraph("heading", words, ((0, page),), size, bold, 1, 100.0)


def paper(*body: Paragraph) -> list[Paragraph]:
    start = [
        heading("A Title of Widgets", size=17.0),
        text("Ann Ray, Old University"),
        heading("Abstract"),
    ]
    return [*start, text("We study widgets. " * 20), heading("1 Introduction"), text(PROSE), *body]


def divided(paragraphs: Sequence[Paragraph]) -> Outline:
    return divide(paragraphs, STYLE, "A Title of Widgets")


def headings(outline: Outline) -> list[str]:
    return [section.heading for section in outline.sections]


def all_text(outline: Outline) -> str:
    return "\n\n".join(section.text for section in outline.sections)


def test_front_matter_is_no_body() -> None:
    outline = divided(paper(heading("2 Method"), text(PROSE, 2)))
    assert outline.front.abstract is not None and outline.front.abstract.startswith(
        "We study widgets."
    )
    assert outline.front.page == 1
    assert headings(outline) == ["1 Introduction", "2 Method"]
    assert "University" not in all_text(outline)


@pytest.mark.parametrize("label", ["Abstract—", "Abstract. ", "ABSTRACT: ", "Abstract "])
def test_run_in_abstract(label: str) -> None:
    outline = divided(
        [text(label + "We study widgets. " * 20), heading("I. INTRODUCTION"), text(PROSE)]
    )
    assert outline.front.abstract is not None and outline.front.abstract.startswith(
        "We study widgets."
    )
    assert headings(outline) == ["I. INTRODUCTION"]


def test_abstract_without_a_label() -> None:
    outline = divided(
        [text("Ann Ray"), text("We study widgets. " * 30), heading("1 Introduction"), text(PROSE)]
    )
    assert outline.front.abstract is not None


def test_c05_the_cut_begins_at_the_heading_and_ends_with_the_entries() -> None:
    body: list[Paragraph] = [
        heading("Contents"),
        text("1 Introduction ........ 2"),
        text("References ........ 9"),
        text("A Proofs .... 11"),
        heading("2 Related Work", 2),
        text("References to earlier work are in Table 1. " + PROSE, 2),
    ]
    for number in range(3, 9):
        body += [heading(f"{number} Part {number}", number), text(PROSE, number)]
    body += [heading("References", 9), *(text(entry, 9) for entry in ENTRIES)]
    body += [heading("A  Proofs", 11), text("Lemma 7 holds for all widgets. " + PROSE, 11)]
    outline = divided(paper(*body))
    whole = all_text(outline)
    assert headings(outline) == [
        "1 Introduction",
        "2 Related Work",
        *(f"{n} Part {n}" for n in range(3, 9)),
        "A  Proofs",
    ]
    assert "References to earlier work are in Table 1." in whole
    assert "Lemma 7 holds for all widgets." in whole
    assert "Journal" not in whole and "......" not in whole
    assert [section.kind for section in outline.sections][-2:] == ["body", "appendix"]
    assert outline.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "References",
        "REFERENCES",
        "7. References",
        "VII. REFERENCES",
        "References and Notes",
        "Bibliography",
        "Literature Cited",
    ],
)
def test_reference_lists_of_any_name(name: str) -> None:
    outline = divided(paper(heading(name, 3), *(text(entry, 3) for entry in ENTRIES)))
    assert headings(outline) == ["1 Introduction"]


@pytest.mark.parametrize(
    "name",
    [
        "Acknowledgements",
        "Acknowledgments",
        "ACKNOWLEDGEMENT",
        "6 Acknowledgment",
        "Acknowledgments and Disclosure of Funding",
    ],
)
def test_thanks_are_dropped_and_what_follows_is_kept(name: str) -> None:
    outline = divided(
        paper(heading(name), text("We thank the bench."), heading("7 Outlook"), text(PROSE))
    )
    assert headings(outline) == ["1 Introduction", "7 Outlook"]
    assert "We thank" not in all_text(outline)


def test_run_in_thanks() -> None:
    outline = divided(paper(text("Acknowledgements. We thank the bench for standing still.")))
    assert "We thank" not in all_text(outline)


def test_body_after_the_list_is_kept() -> None:
    outline = divided(
        paper(
            heading("References", 2),
            *(text(entry, 2) for entry in ENTRIES),
            heading("2 Method", 3),
            text(PROSE, 3),
        )
    )
    assert [(section.heading, section.kind) for section in outline.sections] == [
        ("1 Introduction", "body"),
        ("2 Method", "body"),
    ]


def test_prose_right_after_the_list_is_kept() -> None:
    after = [text(f"{PROSE} Part {at} of what follows.", 4) for at in range(4)]
    outline = divided(
        paper(heading("References", 2), *(text(entry, 2) for entry in ENTRIES), *after)
    )
    assert "Part 3 of what follows." in all_text(outline)


def test_tables_among_the_entries_are_kept() -> None:
    items = [
        *(text(entry, 2) for entry in ENTRIES[:3]),
        text("Table 4: Readings.", 2, "caption"),
        text(ENTRIES[4], 2),
    ]
    outline = divided(paper(heading("References", 2), *items))
    assert "Table 4: Readings." in all_text(outline)
    assert "first trials" not in all_text(outline)


def test_listings_among_the_entries_are_kept() -> None:
    listing = replace(text("def turn(widget): return widget.turned()", 2, "note"), mono=True)
    items = [*(text(entry, 2) for entry in ENTRIES[:3]), listing, text(ENTRIES[4], 2)]
    outline = divided(paper(heading("References", 2), *items))
    assert "def turn(widget)" in all_text(outline)
    assert "first trials" not in all_text(outline)


def test_a_figure_among_the_front_matter_keeps_its_caption() -> None:
    start = paper(heading("2 Method"), text(PROSE))
    start.insert(2, text("Figure 1: A widget at work.", kind="caption"))
    outline = divided(start)
    assert all_text(outline).startswith("Figure 1: A widget at work.")
    assert outline.front.abstract is not None and "Figure" not in outline.front.abstract
    assert "University" not in all_text(outline)


def test_a_long_ellipsis_is_no_contents_page() -> None:
    outline = divided(paper(text(PROSE[:200] + "and so on" + "." * 300)))
    assert "and so on....." in all_text(outline)


@pytest.mark.parametrize(
    "note",
    ["∗Authors contributed equally.", "†Final author.", "2 School of Gauges, Old City, Oldland."],
)
def test_footnotes_on_the_authors_are_dropped(note: str) -> None:
    small = replace(text(note, kind="note"), size=8.0)
    other = replace(text("1The bench is described at large elsewhere.", kind="note"), size=8.0)
    whole = all_text(divided(paper(small, other)))
    assert note not in whole and "described at large" in whole


def test_a_heading_without_entries_cuts_nothing() -> None:
    outline = divided(paper(heading("References"), text(PROSE), text(PROSE)))
    assert "References" in headings(outline)


def test_c05_guard_against_cutting_most_of_a_paper() -> None:
    outline = divided(paper(heading("References", 2), *(text(entry * 8, 2) for entry in ENTRIES)))
    assert "Springer" in all_text(outline)
    assert len(outline.notes) == 1 and "refused" in outline.notes[0]


def test_numbers_letters_and_looks_give_the_level() -> None:
    outline = divided(
        paper(
            heading("2 Method"), text(PROSE), heading("2.1 Parts", size=10), text(PROSE),
            heading("2.1.1 Screws", size=10), text(PROSE), heading("A Proofs"), text(PROSE),
            heading("A.1 Lemmas", size=10), text(PROSE),
        )
    )  # fmt: skip
    assert [(section.heading, section.level, section.kind) for section in outline.sections] == [
        ("1 Introduction", 1, "body"),
        ("2 Method", 1, "body"),
        ("2.1 Parts", 2, "body"),
        ("2.1.1 Screws", 3, "body"),
        ("A Proofs", 1, "appendix"),
        ("A.1 Lemmas", 2, "appendix"),
    ]


def test_page_breaks_are_offsets_into_the_section() -> None:
    across = Paragraph(
        "text", "begins here and ends there.", ((0, 2), (16, 3)), 10.0, 0.0, 2, 100.0
    )
    section: Section = divided(
        paper(heading("2 Method", 2), text("One.", 2), across, text("Two.", 3))
    ).sections[-1]
    assert section.text == "One.\n\nbegins here and ends there.\n\nTwo."
    assert section.page_breaks == ((0, 2), (6 + 16, 3))


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_are_recognised(entry: str) -> None:
    assert is_entry(entry)


@pytest.mark.parametrize(
    "prose",
    [
        PROSE,
        "Widgets were studied early (Ray et al., 2019; Lee, 2001; Moss and Fern, 1999) and often (Ash, 2005).",
        "As Ray et al. (2019) show, and Lee and Moss (2001) before them, the gauge of the bench is right.",
    ],
)
def test_prose_that_cites_is_no_entry(prose: str) -> None:
    assert not is_entry(prose)
