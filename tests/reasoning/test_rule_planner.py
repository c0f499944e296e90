"""Planning by rules: names, comparisons, double questions, follow-ups (C89)."""

from __future__ import annotations

import pytest

from rag.papers import Paper
from rag.reasoning.rule_planner import compared_things, names_in, plan_by_rules, split_questions
from rag.results import TurnRecord
from rag.retrieval.name_table import NameTable


def history(*questions: str) -> tuple[TurnRecord, ...]:
    return tuple(TurnRecord(question=question, answer="So.") for question in questions)


def queries(question: str, *before: str) -> tuple[str, ...]:
    return plan_by_rules(question, history(*before)).sub_queries


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which layers does LoRA adapt?", ["LoRA"]),
        ("Is GPT-4 better than PaLM 2 on GSM8K?", ["GPT-4", "PaLM 2", "GSM8K"]),
        ("What does “attention is all you need” say?", ["attention is all you need"]),
        ("How does Faster R-CNN work?", ["Faster R-CNN"]),
        ("Does BERT, unlike BERT, mask?", ["BERT"]),
        ("How do convolutional networks see edges?", []),
        ("", []),
    ],
)
def test_names(question: str, names: list[str]) -> None:
    assert names_in(question) == names


def test_a_simple_question_is_searched_as_typed() -> None:
    plan = plan_by_rules("Which layers does LoRA adapt?", ())
    assert plan.sub_queries == (plan.question,) == ("Which layers does LoRA adapt?",)
    assert not plan.is_compound


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("What is the difference between DPO and PPO?", ["DPO", "PPO"]),
        ("difference between dropout and weight decay when tuning", ["dropout", "weight decay"]),
        ("BERT vs. GPT-2", ["BERT", "GPT-2"]),
        ("Is FlashAttention faster than RetNet?", ["FlashAttention", "RetNet"]),
        ("Compare LoRA, QLoRA and DoRA", ["LoRA", "QLoRA", "DoRA"]),
        ("What does LoRA adapt?", []),
        ("How do LoRA and memory relate to cost?", []),
    ],
)
def test_compared_things(question: str, things: list[str]) -> None:
    assert compared_things(question) == things


def test_a_comparison_asks_about_each_thing_alone() -> None:
    plan = plan_by_rules("How does training memory differ between LoRA and DistilBERT?", ())
    assert plan.is_compound and len(plan.sub_queries) == 2
    first, second = plan.sub_queries
    assert "LoRA" in first and "DistilBERT" not in first
    assert "DistilBERT" in second and "LoRA" not in second
    assert "memory" in first and "memory" in second
    assert "differ" not in first + second and "between" not in first + second


def test_at_most_three_parts() -> None:
    plan = plan_by_rules("Difference between A1, B2, C3, D4 and E5?", ())
    assert 2 <= len(plan.sub_queries) <= 3
    plan = plan_by_rules(
        "What is LoRA used for? How is it trained? Why is it small? Who uses it?", ()
    )
    assert len(plan.sub_queries) == 3


def test_a_double_question_is_split_and_each_part_stands_alone() -> None:
    assert queries("What is LoRA good for and how does it save memory?") == (
        "What is LoRA good for",
        "how does LoRA save memory?",
    )
    assert split_questions("What is bread and butter learning?") == [
        "What is bread and butter learning?"
    ]
    assert split_questions("Is it so? Why?") == ["Is it so? Why?"]


@pytest.mark.parametrize(
    ("question", "before", "alone"),
    [
        (
            "How many parameters does it train?",
            ["What is LoRA?"],
            "How many parameters does LoRA train?",
        ),
        ("What are its limits?", ["What is LoRA?"], "What are LoRA's limits?"),
        ("Why does the method work?", ["What is LoRA?"], "Why does LoRA work?"),
        ("What is FlashAttention?", ["What is LoRA?"], "What is FlashAttention?"),
        (
            "How does FlashAttention use its tiles?",
            ["What is LoRA?"],
            "How does FlashAttention use its tiles?",
        ),
        ("And FlashAttention?", ["What is LoRA?"], "And FlashAttention (LoRA)?"),
        ("why?", ["What is LoRA?"], "why (LoRA)?"),
        ("How fast is it?", ["What is LoRA?", "What is Adam?"], "How fast is Adam?"),
        ("How fast is it?", ["What is LoRA?", "why?"], "How fast is LoRA?"),
        ("How fast is it?", [], "How fast is it?"),
        (
            "How fast is it?",
            ["How do masked autoencoders learn?"],
            "How fast is masked autoencoders learn?",
        ),
    ],
)
def test_follow_ups(question: str, before: list[str], alone: str) -> None:
    plan = plan_by_rules(question, history(*before))
    assert (plan.question, plan.sub_queries) == (alone, (alone,))


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("<|endoftext|> What is LoRA? <b>now</b>", "What is LoRA? now"),
        ("What is <|endoftext|> used for?", "What is <|endoftext|> used for?"),
        ("Is p < 0.05 and q > 3 needed for dropout?", "Is p < 0.05 and q > 3 needed for dropout?"),
        ("<svg onload=alert(1)> maxout", "maxout"),
    ],
)
def test_markup_is_not_what_is_asked_about(question: str, asked: str) -> None:
    assert plan_by_rules(question, ()).question == asked


def test_a_name_after_the_question_word_is_a_name() -> None:
    assert names_in("How Lion optimizer ViT training") == ["Lion", "ViT"]
    assert names_in("Attention in transformers") == []


NAMES = NameTable(
    [
        Paper("1", "Rethinking with Retrieval: Faithful"),
        Paper("2", "Adaptive-RAG: Learning"),
        Paper("3", "RQ-RAG: Refining"),
        Paper("4", "LoRA: Low-Rank", names=("LoRA", "low-rank adaptation")),
        Paper("5", "Prefix-Tuning: Prompts"),
    ]
)


@pytest.mark.parametrize(
    ("question", "things"),
    [
        (
            "When do Rethinking with Retrieval, Adaptive-RAG and RQ-RAG consult documents?",
            ["Rethinking with Retrieval", "Adaptive-RAG", "RQ-RAG"],
        ),
        ("Compare LoRA and prefix-tuning", ["LoRA", "prefix-tuning"]),
        ("which is cheaper, lora or prefix tuning?", ["lora", "prefix tuning"]),
    ],
)
def test_names_of_the_library_are_told_apart_without_capitals(
    question: str, things: list[str]
) -> None:
    plan = plan_by_rules(question, (), NAMES)
    assert plan.is_compound and len(plan.sub_queries) == len(things)
    for thing, query in zip(things, plan.sub_queries, strict=True):
        assert thing in query
        assert not any(other in query for other in things if other != thing)


def test_one_paper_under_two_names_is_not_a_comparison() -> None:
    assert not plan_by_rules("Is LoRA the same as low-rank adaptation?", (), NAMES).is_compound
    assert not plan_by_rules("Which layers does LoRA adapt?", (), NAMES).is_compound


def test_a_name_inside_another_stays_whole() -> None:
    first, second = plan_by_rules("How do DistilBERT and BERT differ in size?", ()).sub_queries
    assert "DistilBERT" in first and "DistilBERT" not in second and "BERT" in second
