"""Acronyms mined from the library."""

from __future__ import annotations

import time

import pytest

from rag.indexing.acronyms import long_form_of, mine_acronyms

RAG = "We study retrieval-augmented generation (RAG) at length."


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        (RAG, "rag", "retrieval-augmented generation"),
        ("So-called Large Language Models (LLMs) are large.", "llm", "large language models"),
        ("the area under the curve (AUC) is", "auc", "area under the curve"),
        ("a mixture of experts (MoE) layer", "moe", "mixture of experts"),
        ("self-attention with key-value (KV) caches", "kv", "key-value"),
    ],
)
def test_a_long_form_is_found_before_its_short_form(text, short, long):
    assert mine_acronyms([text, text]) == {short: long}


def test_once_is_too_seldom_and_the_most_frequent_form_wins():
    other = "Some rag and generation or random access grammar (RAG) here."
    assert mine_acronyms([RAG]) == {}
    assert mine_acronyms([other, RAG, other, RAG, RAG]) == {"rag": "retrieval-augmented generation"}
    assert mine_acronyms([other, RAG, other, RAG]) == {
        "rag": "random access grammar"
    }  # a tie: by name
    assert mine_acronyms([RAG], least=1) == {"rag": "retrieval-augmented generation"}


@pytest.mark.parametrize(
    ("before", "short"),
    [
        ("a wholly different thing", "RAG"),
        ("retrieval augmented generation", "Rag"),
        ("", "RAG"),
        ("generation", "G"),
        ("in 2021", "A2"),
    ],
)
def test_what_is_no_long_form(before, short):
    assert long_form_of(before, short) is None


@pytest.mark.parametrize(
    "text",
    [
        "-" * 20_000 + " x",
        "a-" * 20_000,
        "word " * 20_000 + "(",
        "'’-_ " * 20_000 + "(AB)",
        "(" * 50_000,
        " (AB)" * 20_000,
    ],
)
def test_no_text_takes_long(text):
    started = time.perf_counter()
    mine_acronyms([text])
    assert time.perf_counter() - started < 2
