"""Tolerant parsing of model output."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.reasoning.parsing import (
    GradeReply,
    PlanReply,
    QueriesReply,
    parse_reply,
    read_verdict,
    without_thinking,
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('Sure! ```json {"relevant": true}``` ', True),
        ('<think>hmm</think>{"relevant": true}', True),
        ('{"relevant": "yes"}', True),
        ('{"sufficient": false,}', False),
        ("{'sufficient': True, 'reason': 'it is there'}", True),
        ('The object is {"sufficient": "NO - off topic"} as asked.', False),
        ('first {"a": 1} then {"sufficient": true}', True),
        ('{"sufficient": 0}', False),
        ([{"type": "text", "text": '{"sufficient": true}'}], True),
        ({"sufficient": "Yes, partly"}, True),
    ],
)
def test_verdict_is_found_in_json_of_any_packing(reply: object, expected: bool) -> None:
    """C54: replies 3 to 5 parse to true; fences, prose, thinking, strings, trailing commas."""
    found = parse_reply(reply, GradeReply)
    assert found is not None
    assert found.sufficient is expected


@pytest.mark.parametrize(
    "reply",
    [None, "", "  ", "I think it is relevant.", "Relevant: see {below}", "[]", "{", 5, b"x"],
)
def test_no_verdict_is_made_up(reply: object) -> None:
    """C54: null, emptiness and plain prose are no verdict."""
    assert parse_reply(reply, GradeReply) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("No.", False),
        (" no", False),
        ("NO - off topic", False),
        ("Yes, partly", True),
        ("not relevant", False),
        ("**Yes**", True),
        ("insufficient", False),
        ("None of the passages says so", False),
    ],
)
def test_bare_verdicts_of_a_grader(reply: str, expected: bool) -> None:
    """C62"""
    found = parse_reply(reply, GradeReply)
    assert found is not None
    assert found.sufficient is expected
    assert read_verdict(reply) is expected


@pytest.mark.parametrize(
    "value", ["I think it is relevant", "n-gram models", "Relevant passages: none", "", 2, None, []]
)
def test_a_sentence_that_merely_holds_the_word_is_no_verdict(value: object) -> None:
    """C62"""
    with pytest.raises(ValueError, match="neither"):
        read_verdict(value)


def test_a_grader_that_only_thinks_gives_no_verdict() -> None:
    assert parse_reply('<think>maybe {"sufficient": true}', GradeReply) is None
    assert parse_reply('draft {"sufficient": true}</think>{"sufficient": false}', GradeReply) == (
        GradeReply(sufficient=False)
    )


def test_a_think_tag_inside_json_is_content() -> None:
    reply = '{"question": "What does <think> do?", "sub_queries": ["<think> tokens"]}'
    found = parse_reply(reply, PlanReply)
    assert found is not None
    assert found.sub_queries == ["<think> tokens"]


def test_without_thinking_keeps_what_is_around_closed_blocks() -> None:
    assert without_thinking("a<think>b</think>c <THINKING>d</THINKING>e") == "ac e"


def test_passage_verdicts_and_queries_in_loose_spelling() -> None:
    grade = parse_reply(
        '{"sufficient": "no", "missing_elements": "BLEU score", "passages": '
        '[{"n": "[3]", "helps": "yes"}, {"n": 4, "helps": false}, "junk", {"n": 5}]}',
        GradeReply,
    )
    assert grade is not None
    assert [(item.n, item.helps) for item in grade.passages] == [(3, True), (4, False)]
    assert grade.missing_elements == ["BLEU score"]
    queries = parse_reply('{"sub_queries": [{"query": "a  b"}, "", "c"]}', QueriesReply)
    assert queries is not None
    assert queries.sub_queries == ["a b", "c"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["sufficient", "relevant", "passages", "n", "helps", "sub_queries", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        *["{", "}", "[", "]", '"', "'", ",", ":", "```", "```json\n", "<think>", "</think>", "\\"],
        *['"sufficient"', "true", "yes", "null", "\ud800", "\x00", "1" * 5000, "{{{", "\n", " "],
    ]
)


@settings(max_examples=250, deadline=None)
@given(st.one_of(st.text(), JSON, JSON.map(json.dumps), st.lists(PIECES).map("".join)))
def test_no_output_of_a_model_raises(reply: object) -> None:
    """C54: whatever comes, a shape or None."""
    for shape in (GradeReply, PlanReply, QueriesReply):
        found = parse_reply(reply, shape)
        assert found is None or isinstance(found, shape)


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 50_000,
        "```" + "\n" * 60_000,
        "<think>" * 9_000,
        "[" * 60_000 + "{" * 100,
        ", " * 30_000,
        '{"a":' * 8_000 + "1" + "}" * 8_000,
        "```\n{" * 15_000,
    ],
)
def test_runaway_replies_are_given_up_quickly(reply: str) -> None:
    started = time.perf_counter()
    assert parse_reply(reply, GradeReply) is None
    assert time.perf_counter() - started < 3
