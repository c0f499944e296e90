"""Clean text and words broken over lines."""

from __future__ import annotations

import json
import unicodedata
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text_cleaning import clean_text, count_words, join_hyphenated


def test_c01_ligatures_are_expanded_and_exponents_kept() -> None:
    text = clean_text("eﬃcient ﬁne-tuning of ﬂows, σ=10⁻³, x²")
    assert text == "efficient fine-tuning of flows, σ=10⁻³, x²"


def test_c01_all_latin_ligatures() -> None:
    assert clean_text("ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ") == "ff fi fl ffi ffl st st"


def test_c13_surrogates_and_nul() -> None:
    text = clean_text("score \ud835 \ud835\udf0e \x00 ok")
    assert text == "score 𝜎 ok"
    assert clean_text("A\ud800 Title\x00") == "A Title"
    json.dumps(text).encode("utf-8")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("na¨ıve", "naïve"),
        ("Erd˝os", "Erdős"),
        ("Sch ¨olkopf", "Schölkopf"),
        ("Fran¸cois", "François"),
        ("Poincar´e", "Poincaré"),
        ("e\u0301t\u0065\u0301", "été"),
        ("ˆy = 2", "ŷ = 2"),
        ("˜ x̸", "˜ x̸"),
        ("a\u00a0b\u2009c\u3000d\te", "a b c d e"),
        ("soft\u00adhyphen", "softhyphen"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("glyph \ue001\uf0b7 gone\ufffd", "glyph gone"),
    ],
)
def test_accents_spaces_and_invisible_codes(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


_ANY = st.text(
    alphabet=st.one_of(
        st.sampled_from(list("aeıouc ¨´ˆ˜˝¸˚ﬁﬀ\u0301\u00ad\x00\ud835\udf0e\n\t")),
        st.characters(blacklist_categories=()),
    ),
    max_size=60,
)


@given(_ANY)
def test_cleaning_is_idempotent_and_valid(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once
    once.encode("utf-8")
    assert "\x00" not in once and "\u00ad" not in once
    assert unicodedata.is_normalized("NFC", once)


def joined(lines: list[str], elsewhere: str = "") -> str:
    vocabulary = count_words([elsewhere, *lines])
    return reduce(lambda first, second: join_hyphenated(first, second, vocabulary), lines)


def test_c02_broken_words_are_joined_and_real_hyphens_kept() -> None:
    text = joined(
        ["we improve gener-", "alisation on low-", "resource and state-of-the-", "art tasks"]
    )
    assert text == "we improve generalisation on low-resource and state-of-the-art tasks"


@pytest.mark.parametrize(
    ("first", "second", "elsewhere", "whole"),
    [
        ("a pre-", "trained model", "pre-trained and pre-trained", "a pre-trained model"),
        ("a pre-", "trained model", "pretrained weights", "a pretrained model"),
        ("the k-", "NN graph", "", "the k-NN graph"),
        ("the GPT-", "4 model", "", "the GPT-4 model"),
        ("a fixed-", "size window", "a fixed length", "a fixed-size window"),
        ("a decoder-", "only model", "the decoder", "a decoder-only model"),
        ("a label-", "classification task", "a label", "a label-classification task"),
        ("a multi-", "scale model", "multi and scale", "a multiscale model"),
        ("we com-", "monly see", "", "we commonly see"),
        ("one-", "shot", "", "one-shot"),
        ("a repre-", "sentation", "", "a representation"),
        ("no break", "here", "", "no break here"),
        ("a soft\u00ad", "hyphen", "", "a softhyphen"),
        ("range 3-", "5 points", "", "range 3-5 points"),
        ("pre-train-", "ing data", "training is pre-training", "pre-training data"),
        ("a dash -", "and more", "", "a dash - and more"),
    ],
)
def test_c02_the_papers_own_words_decide(
    first: str, second: str, elsewhere: str, whole: str
) -> None:
    assert joined([first, second], elsewhere) == whole


def test_broken_words_are_no_evidence() -> None:
    words = count_words(["an over-", "fitting model is over-fitting"])
    assert words["over-fitting"] == 1
    assert "over" in words and words["an"] == 1
