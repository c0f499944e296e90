"""How text becomes search terms."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrieval.keyword import build_keyword_index
from rag.retrieval.terms import STOP_WORDS, fold, stem, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Retrieval Augmented Generation", ["retrieval", "augmented", "generation"]),
        ("GPT-4", ["gpt4", "gpt", "4"]),
        ("GPT4 gpt 4", ["gpt4", "gpt", "4"]),
        ("k-NN, C++ and C#", ["knn", "nn", "c++", "c#"]),
        ("F1-score of 81", ["f1score", "f1", "score", "81"]),
        ("x = c + d", []),
        ("1,000,000 and 3.14", ["1000000", "3.14"]),
        ("Gödel’s naïve café", ["godel", "naive", "cafe"]),
        ("the model's", ["model"]),
        ("eﬃcient ﬁne-tuning", ["efficient", "finetuning", "fine", "tuning"]),
        ("what is the", []),
        ("!!! ???", []),
        ("", []),
        ("state-of-the-art", ["stateoftheart", "state", "art"]),
        ("中文 模型", ["中文", "模型"]),
        ("snake_case", ["snakecase", "snake", "case"]),
    ],
)
def test_terms_of_a_text(text, expected):
    assert terms(text) == expected


CHUNKS = [
    "We tune Qwen. It works.",
    "(GPT-4) leads",
    "F1-score of 81",
    "k-NN, C++ and C# code",
    "the letter c in c = a + b",
]


@pytest.mark.parametrize(
    ("query", "rank_1"),
    [
        ("qwen", 0),
        ("gpt-4", 1),
        ("GPT4", 1),
        ("gpt 4", 1),
        ("f1 score", 2),
        ("knn", 3),
        ("k-nn", 3),
        ("c++", 3),
        ("C#", 3),
    ],
)
def test_each_query_finds_its_chunk_first(query, rank_1):
    index = build_keyword_index(
        [str(number) for number in range(5)], [terms(text) for text in CHUNKS]
    )
    hits = index.search(terms(query), 5)
    assert hits[0].chunk_id == str(rank_1)
    assert "4" not in {hit.chunk_id for hit in hits}


@given(st.text(max_size=200))
def test_terms_are_searchable_whatever_the_text(text):
    found = terms(text)
    assert all(term and not any(char.isspace() for char in term) for term in found)
    assert not STOP_WORDS & set(found)
    assert terms(text.upper()) == terms(text.upper().lower()) or not text.isascii()


@given(st.lists(st.sampled_from(["gpt-4", "C++", "naïve", "3.14", "the", "Model's"]), max_size=8))
def test_terms_of_words_are_the_terms_of_their_text(words):
    assert terms(" ; ".join(words)) == [term for word in words for term in terms(word)]


@pytest.mark.parametrize(
    "text",
    ["-" * 100_000, "a-" * 50_000, "1,000" * 20_000, "a." * 50_000, "x" * 200_000, "’'" * 50_000],
)
def test_no_text_takes_long(text):
    started = time.perf_counter()
    terms(text)
    assert time.perf_counter() - started < 2


def test_fold_and_stem():
    assert fold("ÉÀß ﬁ") == "eass fi"
    assert (stem("training"), stem("trained"), stem("gpt4"), stem("naïve")) == (
        "train",
        "train",
        "gpt4",
        "naïve",
    )
