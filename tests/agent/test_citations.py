"""The writer's passage numbers become the reader's paper numbers (C85, C86)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.agent.citations import CitationStream, expand_numbers
from rag.agent.verification import cited_papers
from rag.papers import Library, Paper
from rag.reasoning.protocol import Evidence


def passage(n: int, paper_id: str, page: int = 1) -> Evidence:
    return Evidence(
        n,
        (f"{paper_id}:{n:04}:aaaaaaaa",),
        paper_id,
        f"Title {paper_id}",
        2020,
        "",
        (page,),
        "Text.",
        0.9,
        "q",
    )


THREE = (passage(1, "A"), passage(2, "B"), passage(3, "C"))


def shown(text: str, evidence: tuple[Evidence, ...] = THREE) -> tuple[str, CitationStream]:
    stream = CitationStream(evidence)
    return stream.feed(text) + stream.finish(), stream


def test_invented_repeated_and_odd_citations() -> None:
    """C85: [9] goes, [1, 3] is two, [2][2] is one, 【1】 is [1]."""
    text, stream = shown("X is fast [2]. Y is slow [9]. Z [1, 3] and [2][2]. W 【1】.")
    assert text == "X is fast [1]. Y is slow. Z [2] [3] and [1]. W [2]."
    assert stream.numbers == {"B": 1, "A": 2, "C": 3}
    assert stream.invalid == 1
    assert [(mark.number, mark.passages) for mark in stream.marks] == [
        (1, (2,)),
        (2, (1,)),
        (3, (3,)),
        (1, (2,)),
        (2, (1,)),
    ]


def test_papers_are_numbered_by_first_use_with_their_passages_grouped() -> None:
    """C86: passages P1a, P1b, P2a, P3a; cited are 4, 2, 1."""
    evidence = (passage(1, "P1", 7), passage(2, "P1", 3), passage(3, "P2"), passage(4, "P3", 9))
    text, stream = shown("First [4]. Second [2]. Third [1].", evidence)
    assert text == "First [1]. Second [2]. Third [2]."
    library = Library([Paper("P1", "One", version="v2"), Paper("P3", "Three", holding="digest")])
    three, one = cited_papers(stream, evidence, (), library)
    assert (three.n, three.paper_id, three.pages, three.chunk_type) == (1, "P3", (9,), "digest")
    assert (one.n, one.paper_id, one.pages) == (2, "P1", (3, 7))
    assert one.chunk_ids == ("P1:0002:aaaaaaaa", "P1:0001:aaaaaaaa")
    assert one.url == "https://arxiv.org/pdf/P1v2#page=3"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("A [1-3].", "A [1] [2] [3]."),
        ("A [1–2].", "A [1] [2]."),
        ("A [1 and 3].", "A [1] [2]."),
        ("A [1; 2 & 3].", "A [1] [2] [3]."),
        ("A [^2].", "A [1]."),
        ("A [Passage 2].", "A [1]."),
        ("A [sources 1, 2].", "A [1] [2]."),
        ("A【2†source】.", "A [1]."),
        ("A[2].", "A [1]."),
        ("[2] says A.", "[1] says A."),
        ("A [1] [1] [1].", "A [1]."),
        ("A [2021] [1000].", "A."),
        ("A [0].", "A."),
        ("A [9, 1].", "A [1]."),
        ("A [see below] b.", "A [see below] b."),
        ("A [link](url) [1", "A [link](url) [1"),
        ("- A [1]\n- B [2]\n", "- A [1]\n- B [2]\n"),
        ("A [1]  \n\nB", "A [1]  \n\nB"),
        ("", ""),
        (f"A [{', '.join(['1', '2', '3'] * 8)}].", "A [1] [2] [3]."),
    ],
)
def test_spellings(written: str, expected: str) -> None:
    assert shown(written)[0] == expected


@pytest.mark.parametrize("written", ["A [[9]7].", "A [7[9]].", "A [[9][9]7]", "A [ [8]7]"])
def test_taking_out_a_number_does_not_make_another(written: str) -> None:
    assert re.findall(r"\[\d+\]", shown(written)[0]) == []


def test_text_is_shown_as_soon_as_it_cannot_be_a_citation() -> None:
    stream = CitationStream(THREE)
    assert stream.feed("A claim") == "A claim"
    assert stream.feed(" [") == ""
    assert stream.feed("2]") == ""
    assert stream.feed(". Next") == " [1]. Next"
    assert stream.feed(" [a long bracket") == ""
    assert len(stream.feed("x" * 100)) > 100


PIECES = st.sampled_from(
    [
        "[1]",
        "[2]",
        "[9]",
        "[1, 3]",
        "[",
        "]",
        "【3】",
        " ",
        "\n",
        "word",
        "7",
        "[12",
        ". ",
        "[2-3]",
        "[see",
        "†",
        "[1000]",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 60), max_size=12))
def test_how_the_text_is_cut_changes_nothing(text: str, cuts: list[int]) -> None:
    whole, expected = shown(text)
    stream = CitationStream(THREE)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    streamed = "".join(stream.feed(piece) for piece in pieces) + stream.finish()
    assert streamed == whole == stream.text
    assert stream.marks == expected.marks
    assert (stream.numbers, stream.invalid) == (expected.numbers, expected.invalid)


@given(text=TEXTS)
def test_every_number_shown_is_a_mark(text: str) -> None:
    whole, stream = shown(text)
    assert [match.span() for match in re.finditer(r"\[\d+\]", whole)] == [
        (mark.start, mark.end) for mark in stream.marks
    ]
    numbers = [mark.number for mark in stream.marks]
    assert list(dict.fromkeys(numbers)) == list(range(1, len(stream.numbers) + 1))


@given(text=st.text(alphabet=st.characters(exclude_characters="[]【】"), max_size=80))
def test_text_without_brackets_stays_as_it_is(text: str) -> None:
    assert shown(text)[0] == text


def test_wide_ranges_are_their_two_ends() -> None:
    assert list(expand_numbers("2-4, ^7")) == [2, 3, 4, 7]
    assert list(expand_numbers("1-900")) == [1, 900]
    assert list(expand_numbers("5-2")) == [5, 2]
