"""The extractive answer: whole sentences of the passages, cited."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from rag.errors import ModelUnavailableError
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan
from rag.reasoning.sentence_writer import (
    is_prose,
    score_sentences,
    tidy,
    write_from_sentences,
)
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION

from .rule_bench import lexicon, passage

ENOUGH = InformationCheck(True, (), (1, 2), "")
LORA = passage(
    1,
    "LoRA adapts the attention layers of a large network. It keeps the other weights frozen all the time. "
    "Small matrices are trained for each adapted layer instead.",
    "A",
)
ADAPTERS = passage(
    2,
    "Adapters add small layers behind each attention block [12]. They slow the network down (see Table 3).",
    "B",
)


class WordReranker:
    """Scores a sentence by the words that it shares with the query."""

    name = "words"
    calibration = MINILM_CALIBRATION

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [
            min(
                0.99, 0.01 + 0.3 * len(set(query.casefold().split()) & set(text.casefold().split()))
            )
            for query, text in pairs
        ]


def answer(
    *evidence: Evidence,
    queries: tuple[str, ...] = ("Which attention layers does LoRA adapt",),
    check: InformationCheck = ENOUGH,
    most: int = 6,
    scored: bool = True,
) -> str:
    plan = QueryPlan(queries[0], queries, is_compound=len(queries) > 1)
    reranker = WordReranker() if scored else None
    return "".join(write_from_sentences(plan, check, evidence, lexicon(), reranker, most))


@pytest.mark.parametrize("scored", [True, False])
def test_every_sentence_is_of_its_passage_and_cited(scored: bool) -> None:
    text = answer(LORA, ADAPTERS, scored=scored)
    found = re.findall(r"([^\[]+) \[(\d)\]\.\s*", text)
    assert found
    for sentence, number in found:
        source = {"1": LORA, "2": ADAPTERS}[number]
        assert sentence.strip() in tidy(source.text)
    assert text.startswith("LoRA adapts the attention layers")


def test_the_best_sentence_leads_and_the_rest_follow_the_paper() -> None:
    text = answer(LORA, queries=("small matrices trained for each layer of the frozen network",))
    places = [text.index(part) for part in ("Small matrices", "LoRA adapts", "It keeps")]
    assert places == sorted(places)


def test_no_more_sentences_than_asked_for() -> None:
    assert answer(LORA, ADAPTERS, most=2).count("[") == 2
    assert answer(LORA, ADAPTERS, most=1).count("[") == 1


def test_marks_of_the_paper_itself_are_gone() -> None:
    text = answer(ADAPTERS, queries=("How do adapters slow the network down behind attention",))
    assert "12" not in text and "Table" not in text
    assert set(re.findall(r"\[(.+?)\]", text)) == {"2"}
    odd = passage(3, "The interval [a, b] of LoRA layers is open on both sides here.")
    assert "interval (a, b) of" in answer(odd)


def test_a_comparison_has_a_paragraph_for_each_part() -> None:
    text = answer(
        LORA,
        ADAPTERS,
        queries=("LoRA attention layers network", "Adapters small layers attention block"),
    )
    first, second = text.split("\n\n")[:2]
    assert "[1]" in first and "Adapters" in second
    sentences = [part.strip() for part in re.split(r"\[\d\]\.?", text) if part.strip()]
    assert len(sentences) == len(set(sentences))


def test_two_sentences_that_say_the_same_are_told_once() -> None:
    again = passage(2, "LoRA adapts the attention layers of a large network.", "B")
    text = answer(LORA, again)
    assert text.count("adapts the attention layers") == 1


def test_what_is_missing_is_said_when_the_evidence_is_not_enough() -> None:
    poor = InformationCheck(False, ("ALFWorld", "its depth"), (1,), "")
    assert answer(LORA, check=poor).endswith("\n\nNot in the evidence: ALFWorld, its depth.")
    assert "Not in the evidence" not in answer(LORA, check=ENOUGH)


def test_passages_without_prose_give_nothing() -> None:
    assert answer(passage(1, "Table 1: LoRA 3.4 5.6 7.8\n\nReferences")) == ""
    assert answer() == ""


@pytest.mark.parametrize(
    "text",
    [
        "Too short to stand.",
        "Figure 3. The architecture of the whole network with all of its layers.",
        "x = y + z * 3 / 4 - 5 and a = b + c * 6 / 7.",
        "and so it goes on from the page before without a head.",
        "Smith, J. et al. A study of nets. In Proceedings of the Conference, pp. 3-9.",
        "This sentence has no end because the page ended in the middle",
        "word " * 90 + "end.",
    ],
)
def test_debris_is_no_prose(text: str) -> None:
    assert not is_prose(text)


def test_prose() -> None:
    assert is_prose("The network keeps 3 of its 12 layers frozen during training.")
    assert is_prose("“It keeps the other weights frozen all the time.”")


def test_a_reranker_that_fails_while_sentences_are_chosen_costs_nothing_but_order() -> None:
    class Failing:
        name = "failing"

        def score(self, pairs: object) -> list[float]:
            raise ModelUnavailableError("It is down.")

    evidence = [passage(1, "Widgets turn fast in every way. Gauges measure the widgets well too.")]
    scored = score_sentences("How do gauges measure?", evidence, lexicon(), Failing())  # type: ignore[arg-type]
    assert scored[0].text.startswith("Gauges measure")


def test_a_paragraph_opens_with_a_sentence_that_stands_alone() -> None:
    text = "It keeps gauges gauges gauges. Widgets measure the gauges of a whole factory."
    plan = QueryPlan("How do gauges work?", ("How do gauges work?",))
    answer = "".join(
        write_from_sentences(plan, ENOUGH, [passage(1, text)], lexicon(), WordReranker(), 4)
    )
    assert answer.startswith("Widgets measure") or "It keeps" not in answer
