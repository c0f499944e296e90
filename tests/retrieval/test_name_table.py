"""Names of papers in questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.papers import Paper
from rag.retrieval.name_table import NameTable, names_of, names_spelled, text_for_query

PAPERS = [
    Paper("01", "LoRA: Low-Rank Adaptation of Large Language Models", names=("LoRA",)),
    Paper("02", "Prefix-Tuning: Optimizing Continuous Prompts", names=("prefix-tuning",)),
    Paper("03", "Exploring the Limits", names=("T5", "C4")),
    Paper("04", "Adam: A Method", names=("Adam",)),
    Paper("05", "Measuring Mathematical Problem Solving", names=("MATH",)),
    Paper("06", "Rethinking with Retrieval: Faithful Inference"),
    Paper("07", "BERT: Pre-training", names=("BERT",)),
    Paper("08", "DistilBERT, a distilled version of BERT", names=("DistilBERT",)),
    Paper("09", "Schrödinger Bridges: A Tour", names=("Schrödinger bridge",)),
    Paper("10", "Scaling laws A", names=("scaling laws",)),
    Paper("11", "Scaling laws B", names=("scaling laws",)),
    Paper("12", "Scaling laws C", names=("scaling laws",)),
    Paper("13", "A Title of Many Words Before the Colon: And After"),
]
TABLE = NameTable(PAPERS)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Which layers does LoRA adapt?", ["01"]),
        ("which layers does lora adapt", ["01"]),
        ("Compare LoRA and prefix tuning", ["01", "02"]),
        ("How do Prefix-Tuning's vectors work?", ["02"]),
        ("How big are T5 models?", ["03"]),
        ("Does Adam converge?", ["04"]),
        ("does adam smith converge?", []),
        ("What is the MATH benchmark?", ["05"]),
        ("Is math hard?", []),
        ("When does rethinking with retrieval ask?", ["06"]),
        ("How much smaller is DistilBERT than BERT?", ["08", "07"]),
        ("How do BERTs differ?", ["07"]),
        ("schrodinger bridges?", ["09"]),
        ("What do scaling laws say?", []),
        ("What does the 5T model do?", []),
        ("", []),
    ],
)
def test_papers_that_a_question_calls_by_name(question: str, named: list[str]) -> None:
    assert TABLE.papers_named(question) == named


def test_a_mention_tells_where_it_stands() -> None:
    question = "How do LoRA and prefix-tuning differ?"
    found = TABLE.mentions(question)
    assert [question[mention.start : mention.end] for mention in found] == ["LoRA", "prefix-tuning"]
    assert [mention.typed for mention in found] == ["LoRA", "prefix-tuning"]


def test_a_short_head_of_a_title_is_a_name_and_a_long_one_is_not() -> None:
    assert names_of(PAPERS[5]) == ["Rethinking with Retrieval"]
    assert names_of(PAPERS[12]) == []
    assert names_of(Paper("1", "No Colon Here")) == []


def test_the_reranker_reads_the_name_that_was_asked_for() -> None:
    assert text_for_query("What is T5?", ("T5", "C4"), "It reads text.") == "T5: It reads text."
    assert text_for_query("What is T5?", ("T5",), "T5 reads text.") == "T5 reads text."
    assert text_for_query("What is BERT?", ("T5",), "It reads.") == "It reads."
    assert text_for_query("What is T5?", (), "It reads.") == "It reads."
    assert names_spelled("T5-large and xT5", ("T5",)) == []


@given(st.text(max_size=80))
def test_any_text_is_read_and_mentions_are_in_order(text: str) -> None:
    found = TABLE.mentions(text)
    places = [place for mention in found for place in (mention.start, mention.end)]
    assert places == sorted(places)
    assert all(text[mention.start : mention.end] == mention.typed for mention in found)
