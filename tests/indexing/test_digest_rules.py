"""The rules of a digest: length, parts, pages, numbers and wording."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.indexing.digest_rules import (
    LEAST_WORDS,
    MOST_WORDS,
    SourceText,
    digest_faults,
    number_faults,
    numbers_in,
    page_faults,
    scales_named_in,
    shape_faults,
    wording_faults,
)
from rag.indexing.digests import SECTION_NAMES, Digest

FILLER = " That is what a visitor of the bench would see and hear."


def digest(
    *texts: str,
    title: str = "Widgets",
    terms: Sequence[str] = (),
    pages: Sequence[int] = (),
    kinds: Sequence[str] = tuple(SECTION_NAMES),
) -> Digest:
    """A digest of these paragraphs, each made long enough by words that no test looks for."""
    return Digest.model_validate(
        {
            "paper_id": "2301.00001",
            "title": title,
            "authors": ["Ann Ray"],
            "paragraphs": [
                {"kind": kind, "pages": pages, "text": text + FILLER}
                for kind, text in zip(kinds, texts, strict=False)
            ],
            "search_terms": terms,
        }
    )


# Numbers.


def refused(text: str, source: str, **values) -> list[str]:
    """The numbers of a digest that the source does not hold, as written."""
    faults = list(number_faults(digest(text, **values), source))
    for fault in faults:
        assert fault.startswith("the number '")
        assert fault.endswith("' is not in its source")
    return [fault.split("'")[1] for fault in faults]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,000 and 1000", [1000, 1000]),
        ("1,234,567.5 parts", ["1234567.5"]),
        ("one thousand", [1000]),
        ("175B, 175 billion and 175-billion", [175 * 10**9] * 3),
        ("2.5K 3M 1T", [2500, 3 * 10**6, 10**12]),
        ("a gain of .5, or 0.50", ["0.5", "0.5"]),
        ("GPT-3, CIFAR-10, H2O and word2vec", [3, 10, 2, 2]),
        ("3D and 7Bit and 4Kelvin", [3, 7, 4]),
        ("40% to 60%, 2016–2019", [40, 60, 2016, 2019]),
        ("1.2.3", ["1.2", 3]),
        ("twenty-five", [25]),
        ("Two hundred and five thousand", [205_000]),
        ("one hundred twenty-three million", [123 * 10**6]),
        ("two and three", [2, 3]),
        ("two three-part sets", [2, 3]),
        ("twenty twelve", [20, 12]),
        ("two dozen, twice", [2, 12, 2]),
        ("seventeen", [17]),
        ("zero-shot", [0]),
        ("hundreds, a million, thousands", []),
        ("someone often attends weighted tones", []),
        ("x² and 10⁻³", [10]),
        ("", []),
    ],
)
def test_numbers_are_read_in_figures_and_in_words(text, values):
    found = [number.value for number in numbers_in(text)]
    assert sorted(found) == sorted(Decimal(str(value)) for value in values)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It has 1,000 parts.", "with 1000 parts"),
        ("It has 1000 parts.", "with 1,000 parts"),
        ("It has one thousand parts.", "with 1,000 parts"),
        ("It has 1,000 parts.", "with one thousand parts"),
        ("It has 1 thousand parts.", "with 1K parts"),
        ("It has 175 billion parts.", "with 175B parts"),
        ("It has 175B parts.", "with 175,000,000,000 parts"),
        ("It has seven billion parts.", "a 7B model"),
        ("It has twenty-five parts.", "with 25 parts"),
        ("It has 25 parts.", "with twenty five parts"),
        ("It gains 0.5 points.", "a gain of .5 points"),
        ("It gains .5 points.", "a gain of 0.50 points"),
        ("GPT-3 reads it.", "as the third version, GPT-3, does"),
        ("The largest has 175 in its name.", "the 175B model"),
        ("Both two and three parts.", "of 2 or 3 parts"),
        ("It needs one.", "no figure at all"),
        ("One is enough.", "no figure at all"),
        ("It turns twice.", "with 2 turns"),
        ("Hundreds of thousands of parts, about a million.", "no figure at all"),
    ],
)
def test_a_number_that_the_source_holds_however_written(text, source):
    assert refused(text, source) == []


@pytest.mark.parametrize(
    ("text", "source", "numbers"),
    [
        ("It has 175B parts.", "with 175 million parts", ["175B"]),
        ("It has 175B parts.", "with 175 parts", ["175B"]),
        ("It has 175 million parts.", "a 175B model", ["175 million"]),
        ("It has 1,001 parts.", "with 1,000 parts", ["1,001"]),
        ("It has 10,000 parts.", "with 1,000 parts, 10 of them", ["10,000"]),
        ("It has one thousand parts.", "with 100 parts", ["one thousand"]),
        ("It has one hundred parts.", "no figure at all", ["one hundred"]),
        ("It has seven parts.", "with 8 parts", ["seven"]),
        ("It gains .5 points.", "a gain of 5 points", [".5"]),
        ("It gains 0.51 points.", "a gain of .5 points", ["0.51"]),
        ("GPT-4 reads it.", "as GPT-3 does", ["4"]),
        ("GPT-3 reads it.", "as that model does", ["3"]),
        ("It takes 3 and 4 and 3.", "no figure at all", ["3", "4", "3"]),
        ("Both two and three parts.", "of 5 parts", ["two", "three"]),
        ("It turns twice.", "with turns", ["twice"]),
    ],
)
def test_a_number_that_the_source_does_not_hold(text, source, numbers):
    assert refused(text, source) == numbers


@pytest.mark.parametrize(
    ("text", "source", "numbers"),
    [
        # The heading names the scale once; the rows do not.
        ("It has 4.2 million parts.", "Million parameters\nours\n4.2", []),
        ("It has 4.2 million parts.", "Parts (M)\nours\n4.2", []),
        ("It has 4.2M parts.", "#M parts\n4.2", []),
        ("It has 4.2 billion parts.", "Parts (M)\nours\n4.2", ["4.2 billion"]),
        ("It has 4.3 million parts.", "Parts (M)\nours\n4.2", ["4.3 million"]),
        ("It has 4.2 million parts.", "ours\n4.2", ["4.2 million"]),
        ("It has 175 million parts.", "Parts (M)\nthe 175B model", ["175 million"]),
        ("It has 12 billion parts.", "See Appendix B on page 12.", ["12 billion"]),
    ],
)
def test_a_table_names_its_scale_in_its_heading(text, source, numbers):
    assert refused(text, source) == numbers


@pytest.mark.parametrize(
    ("text", "scales"),
    [
        ("Millions of parts", {10**6}),
        ("in thousand, and in BILLIONS", {10**3, 10**9}),
        ("Parts (K), Cost [T], #B", {10**3, 10**12, 10**9}),
        ("Appendix B, K-means, model M, millionaire, (Ms)", set()),
    ],
)
def test_scales_that_a_text_names_by_themselves(text, scales):
    assert scales_named_in(text) == scales


def test_numbers_of_the_title_may_be_used_and_search_terms_are_checked():
    source = "no figure at all"
    assert refused("It is GPT-3.", source, title="On GPT-3") == []
    assert refused("No figure.", source, terms=("gauge 7", "dial")) == ["7"]
    assert refused("No figure.", "of 7 gauges", terms=("gauge 7", "dial")) == []


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_a_number_is_held_exactly_when_it_is_the_same(first, second):
    assert refused(f"It has {first:,} parts.", f"with {first} parts") == []
    expected = [] if first == second else [f"{first:,}"]
    assert refused(f"It has {first:,} parts.", f"with {second} parts") == expected


# Wording.

SOURCE = "The brass widget turns slowly until its gauge reads nine, and then it stops."
EIGHT = "brass widget turns slowly until its gauge reads"


def shared(text: str, source: str = SOURCE, **values) -> list[str]:
    """The runs of words that a digest shares with its source."""
    faults = list(wording_faults(digest(text, **values), source))
    for fault in faults:
        assert " shares wording with its source: “" in fault
    return [fault.split("“")[1].rstrip("”") for fault in faults]


@pytest.mark.parametrize(
    "text",
    [
        f"We saw a {EIGHT} well.",
        f"{EIGHT.upper()}.",
        "Brass widget – turns (slowly), until its “gauge” reads!",
        "A brass-widget turns\nslowly until its gauge\u00a0reads that.",
        "brass widget turns slowly until its gauge reads",
    ],
)
def test_eight_words_in_a_row_are_too_many_whatever_case_and_punctuation(text):
    assert shared(text) == [EIGHT]


@pytest.mark.parametrize(
    "text",
    [
        "The brass widget turns slowly until its gauge shows that.",  # eight, but from "the": seven
        "Brass widget turns slowly until its dial reads nine and then it stops.",
        "Its gauge reads nine until the brass widget turns slowly.",
        "",
    ],
)
def test_fewer_words_or_another_order_are_not(text):
    source = SOURCE.removeprefix("The ")
    assert shared(text, source) == []


def test_a_longer_run_is_named_by_its_eights():
    text = f"{EIGHT} nine and then it stops"
    assert shared(text) == [EIGHT]
    assert shared(text, f"{text} that is what is meant") == [
        EIGHT,
        "nine and then it stops that is what",
    ]


def test_each_paragraph_is_looked_at_and_named():
    found = list(wording_faults(digest("Nothing.", f"A {EIGHT}."), SOURCE))
    assert found == [f"method shares wording with its source: “{EIGHT}”"]
    split = "brass widget turns slowly", "until its gauge reads"
    assert list(wording_faults(digest(*split), SOURCE)) == []


@pytest.mark.parametrize(
    "source",
    [
        "the brass wid-\nget turns slowly until its gauge reads",
        "the brass widget turns slow-  \n  ly until its gauge reads",
        "the brass wid\u00ad\nget turns slowly until its gauge reads",
        "the brass wid\u2010\nget turns slowly until its gauge reads",
        "the brass widget\nturns slowly\n\nuntil its gauge reads",
        "the bra-\nss wid-\nget turns slowly until its gauge reads",
    ],
)
def test_line_breaks_of_the_source_hide_nothing(source):
    assert shared(f"A {EIGHT}.", source) == [EIGHT]


def test_a_hyphen_at_a_line_end_may_belong_to_the_word():
    source = "the brass well-\nmade widget turns slowly until then"
    run = "brass well made widget turns slowly until then"
    assert shared("Our brass well-made widget turns slowly until then.", source) == [run]


def test_one_run_may_hold_hyphens_of_both_kinds():
    source = "the brass well-\nmade wid-\nget turns slowly until then"
    run = "brass well made widget turns slowly until then"
    assert shared("Our brass well-made widget turns slowly until then.", source) == [run]


def test_the_words_of_the_title_are_exempt_and_only_they():
    title = "Brass Widget Turns Slowly Until Its Gauge Reads Nine"
    assert shared(f"In “{title}” we see more.", title=title) == []
    longer = "widget turns slowly until its gauge reads nine and then"
    assert shared(longer, title=title) == ["turns slowly until its gauge reads nine and"]
    assert shared(f"A {EIGHT}.", title="Brass Widget") == [EIGHT]


# Pages.


@pytest.mark.parametrize(
    ("pages", "count", "faults"),
    [
        ((), 0, []),
        ((), 9, []),
        ((1,), 1, []),
        ((1, 5, 9), 9, []),
        ((10,), 9, ["summary names a page outside 1 to 9"]),
        ((0, 1), 9, ["summary names a page outside 1 to 9"]),
        ((-1,), 9, ["summary names a page outside 1 to 9"]),
        ((1,), 0, ["summary names pages, and there is no PDF to check them"]),
    ],
)
def test_pages_need_a_pdf_that_has_them(pages, count, faults):
    assert list(page_faults(digest("Text.", pages=pages), count)) == faults


# Shape.

TERMS = ("dial", "gauge", "press", "bench")


def words(count: int) -> list[str]:
    """Five texts of so many words in all, the filler included."""
    filler = len(FILLER.split())
    sizes = [36 - filler] * 4
    sizes.append(count - sum(sizes) - 5 * filler)
    return [" ".join(["word"] * size) for size in sizes]


@pytest.mark.parametrize(
    ("count", "fits"),
    [(LEAST_WORDS - 1, False), (LEAST_WORDS, True), (MOST_WORDS, True), (MOST_WORDS + 1, False)],
)
def test_the_length_of_a_digest_counts_all_paragraphs(count, fits):
    faults = list(shape_faults(digest(*words(count), terms=TERMS)))
    assert faults == ([] if fits else [f"{count} words, not 180 to 300"])


@pytest.mark.parametrize(
    "kinds",
    [
        ("summary", "method", "findings", "limits"),
        ("method", "summary", "findings", "limits", "known_for"),
        ("summary", "method", "findings", "limits", "limits"),
    ],
)
def test_the_five_parts_come_once_each_and_in_order(kinds):
    texts = ["word " * 60] * len(kinds)
    (fault,) = [
        fault
        for fault in shape_faults(digest(*texts, terms=TERMS, kinds=kinds))
        if "words" not in fault
    ]
    assert fault == (
        f"its parts are {', '.join(kinds)}, not summary, method, findings, limits, known_for"
    )


@pytest.mark.parametrize(
    ("terms", "enough"),
    [
        (TERMS, True),
        ((*TERMS, "Dial"), True),
        (TERMS[:3], False),
        ((*TERMS[:3], "DIAL"), False),
        ((), False),
    ],
)
def test_four_different_search_terms_are_needed(terms, enough):
    faults = list(shape_faults(digest(*words(200), terms=terms)))
    assert faults == ([] if enough else ["fewer than 4 search terms"])


# All of them.


def test_a_good_digest_has_no_fault_and_a_bad_one_has_each():
    good = digest(*words(200), terms=TERMS, pages=(1, 2))
    assert digest_faults(good, SourceText("Nothing in common.", page_count=2)) == []
    bad = digest(f"A {EIGHT} 7.", terms=(), pages=(3,))
    assert digest_faults(bad, SourceText(SOURCE, page_count=2)) == [
        "22 words, not 180 to 300",
        "its parts are summary, not summary, method, findings, limits, known_for",
        "fewer than 4 search terms",
        "summary names a page outside 1 to 2",
        "the number '7' is not in its source",
        f"summary shares wording with its source: “{EIGHT}”",
    ]
