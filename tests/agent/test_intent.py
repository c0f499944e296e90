"""Which questions never enter retrieval (C93)."""

from __future__ import annotations

import pytest

from rag.agent.intent import clean_question, detect_intent
from rag.errors import InvalidQuestionError


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", "\x00", "\u200b", None, 7, ["q"], b"q"])
def test_input_without_text_is_refused_in_one_line(text: object) -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        clean_question(text, 2000)
    assert str(caught.value).startswith("Please") and "\n" not in str(caught.value)


def test_the_longest_question_is_accepted_and_the_next_is_not() -> None:
    assert clean_question("a" * 50, 50) == "a" * 50
    with pytest.raises(InvalidQuestionError, match="at most 50 characters, this has 51"):
        clean_question("a" * 51, 50)


def test_a_question_becomes_one_clean_line() -> None:
    assert clean_question("  What\x00 is\n\tLoRA?\u200b ", 100) == "What is LoRA?"


@pytest.mark.parametrize("text", ["🔥🔥🔥", "???", "…", "a", "why?", "and how so?", "tell me more"])
def test_input_without_a_question_asks_for_one(text: str) -> None:
    intent = detect_intent(text, has_history=False)
    assert intent.kind == "clarify"
    assert intent.answer.endswith(".")


@pytest.mark.parametrize("text", ["why?", "tell me more", "How so?"])
def test_empty_talk_after_an_answer_is_a_follow_up(text: str) -> None:
    assert detect_intent(text, has_history=True).kind == "research"


@pytest.mark.parametrize("text", ["🔥", "?", "a", "ok"])
def test_no_history_makes_these_a_question(text: str) -> None:
    assert detect_intent(text, has_history=True).kind in {"clarify", "smalltalk"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Hello!", "Ask a question"),
        ("good morning", "Ask a question"),
        ("Who are you?", "library of arXiv papers"),
        ("what can you do", "library of arXiv papers"),
        ("Thanks a lot!", "welcome"),
    ],
)
def test_small_talk(text: str, part: str) -> None:
    intent = detect_intent(text, has_history=False)
    assert intent.kind == "smalltalk"
    assert part in intent.answer


@pytest.mark.parametrize(
    "text",
    [
        "What is LoRA?",
        "Who are you quoting in the attention paper?",
        "How does dropout work?",
        "hello world in Toolformer",
        "What does this loss do to gradients?",
        "Is help from a teacher model needed?",
        "注意力机制是什么？",
    ],
)
def test_research_questions_pass(text: str) -> None:
    assert detect_intent(text, has_history=False).kind == "research"
