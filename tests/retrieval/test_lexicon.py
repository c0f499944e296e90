"""Rarity, acronyms and coverage."""

from __future__ import annotations

import pytest

from rag.retrieval.lexicon import Lexicon

RARITY = {"lora": 5.0, "train": 1.0, "memory": 2.0}
WORDS = Lexicon(lambda term: RARITY.get(term, 3.0), {"rag": "retrieval augmented generation"})


def test_content_terms_leave_out_how_something_is_asked() -> None:
    question = "What is the main difference between training and trained adapters in the paper?"
    assert WORDS.content_terms(question) == ["training", "adapters"]
    assert WORDS.content_terms("How does it work?") == []


@pytest.mark.parametrize(
    ("wanted", "text", "share"),
    [
        (["lora", "memory"], "LoRA saves memory.", 1.0),
        (["lora", "memory"], "LoRA only.", 5.1 / 7.2),
        (["lora", "memory"], "Nothing of it.", 0.0),
        ([], "Anything.", 1.0),
        (["training"], "It trains well.", 1.0),
        (["rag"], "We use retrieval-augmented generation.", 1.0),
        (["rag"], "We use augmented retrieval.", 0.0),
        (["rag"], "Storage is fragmented.", 0.0),
        (["lora", "lora"], "LoRA.", 1.0),
    ],
)
def test_coverage_weighs_rare_terms_more(wanted: list[str], text: str, share: float) -> None:
    assert WORDS.coverage(wanted, text) == pytest.approx(share)


def test_covered_names_the_terms() -> None:
    assert WORDS.covered(["lora", "memory", "rag"], "RAG saves memory") == {"memory", "rag"}
    assert WORDS.forms("rag") == {"rag", "retriev augment generat"}


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("LoRA memory", True),
        ("how does the memory of LoRA work", True),
        ("RAG retrieval augmented generation", True),
        ("LoRA adapters", False),
        ("", True),
    ],
)
def test_a_query_that_adds_nothing_to_the_question(query: str, same: bool) -> None:
    assert WORDS.adds_nothing(query, "Why does LoRA with RAG save memory?") == same


def test_a_long_form_may_be_shortened() -> None:
    assert WORDS.adds_nothing("What is RAG", "What is retrieval augmented generation?")
