"""LlmReasoner against a scripted server over real HTTP: the four steps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stub_llm import Reply

from rag.reasoning.protocol import (
    Evidence,
    InformationCheck,
    Reasoner,
)
from rag.results import TurnRecord

from .llm_bench import PLAN, Make, Start, answer, passages, turn_of


def test_it_is_a_reasoner_and_counts_tokens(stub_llm: Start, make: Make) -> None:
    stub = stub_llm({"write": "LoRA is fast [1]."})
    reasoner: Reasoner = make(stub)
    turn = turn_of()
    plan = reasoner.plan(turn)
    check = reasoner.grade(turn, plan, passages(2))
    pieces = list(reasoner.write(turn, plan, check, passages(2)))
    assert "".join(pieces) == "LoRA is fast [1]."
    assert len(pieces) > 1
    assert stub.steps == ["plan", "grade", "write"]
    assert turn.meter.calls == 3
    sent = sum(len(seen.prompt.split()) for seen in stub.requests)
    assert turn.meter.input_tokens == sent
    assert turn.meter.output_tokens >= 4
    assert turn.meter.cost_usd == 0.0  # a server on this machine


def test_cost_of_an_unlisted_model_is_unknown_not_zero(stub_llm: Start, make: Make) -> None:
    turn = turn_of()
    make(stub_llm(), {"GROQ_API_KEY": "k"}, provider="groq", model="brand-new").plan(turn)
    assert turn.meter.cost_usd is None
    assert turn.meter.input_tokens > 0


def test_tokens_are_estimated_when_the_server_reports_none(stub_llm: Start, make: Make) -> None:
    stub = stub_llm({"write": Reply("word " * 40, usage=False)})
    turn = turn_of()
    answer(make(stub), turn, passages(1))
    assert turn.meter.output_tokens >= 40
    assert turn.meter.input_tokens > 100


def test_only_the_writer_streams_and_its_text_comes_once(stub_llm: Start, make: Make) -> None:
    """C59"""
    stub = stub_llm({"plan": "PLAN-XYZ", "grade": "GRADE-XYZ", "write": "Hello world"})
    reasoner, turn = make(stub), turn_of()
    plan = reasoner.plan(turn)
    check = reasoner.grade(turn, plan, passages(2))
    assert "".join(reasoner.write(turn, plan, check, passages(2))) == "Hello world"
    assert [seen.step for seen in stub.requests if seen.streaming] == ["write"]


def test_hidden_steps_stay_out_of_langgraphs_message_stream(stub_llm: Start, make: Make) -> None:
    """C59: within a graph node, whatever the stream mode."""
    from langgraph.graph import END, START, StateGraph

    stub = stub_llm({"plan": "PLAN-XYZ"})
    reasoner = make(stub)

    def node(_: dict[str, Any]) -> dict[str, Any]:
        return {"x": reasoner.plan(turn_of()).note}

    graph = StateGraph(dict)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    seen = list(graph.compile().stream({"x": ""}, stream_mode=["messages", "updates"]))
    assert [mode for mode, _ in seen] == ["updates"]
    assert "PLAN-XYZ" not in str(seen)
    assert not any(request.streaming for request in stub.requests)


UNREADABLE = [
    Reply(None),
    Reply(""),
    Reply(body={"id": "x", "choices": []}),
    Reply(body={"id": "x", "choices": None}),
    "I think it is relevant.",
]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_unreadable_plan_is_asked_for_once_more_then_the_question_itself(
    reply: Reply | str, stub_llm: Start, make: Make
) -> None:
    """C54, C67"""
    stub = stub_llm({"plan": reply})
    plan = make(stub).plan(turn_of())
    assert plan.sub_queries == ("How fast is LoRA?",)
    assert plan.note
    assert len(stub.requests) == 2


@pytest.mark.parametrize("reply", UNREADABLE)
@pytest.mark.parametrize(("floor", "sufficient"), [(0.5, True), (0.95, False)])
def test_unreadable_grade_is_decided_by_scores(
    floor: float,
    sufficient: bool,
    reply: Reply | str,
    stub_llm: Start,
    make: Make,
) -> None:
    """C54, C62: never an automatic yes."""
    stub = stub_llm({"grade": reply})
    check = make(stub, floor=floor).grade(turn_of(), PLAN, passages(3))
    assert check.sufficient is sufficient
    assert check.relevant == (1, 2, 3)
    assert "scores" in check.reason
    assert len(stub.requests) == 2


def test_without_scores_an_unreadable_grade_is_a_no(stub_llm: Start, make: Make) -> None:
    """C54"""
    unscored = tuple(
        Evidence(item.n, item.chunk_ids, "p", "t", None, "", (), "x", None, "q")
        for item in passages(2)
    )
    assert not make(stub_llm({"grade": ""})).grade(turn_of(), PLAN, unscored).sufficient


@pytest.mark.parametrize(
    "reply",
    [
        'Sure! ```json {"relevant": true}``` ',
        '<think>hm</think>{"relevant": true}',
        '{"relevant": "yes"}',
    ],
)
def test_loosely_packed_verdicts_need_no_repeat(reply: str, stub_llm: Start, make: Make) -> None:
    """C54: 3 to 5."""
    stub = stub_llm({"grade": reply})
    check = make(stub, floor=1.0).grade(turn_of(), PLAN, passages(2))
    assert check.sufficient
    assert check.relevant == (1, 2)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("reply", "sufficient"),
    [
        ("No.", False),
        (" no", False),
        ("NO - off topic", False),
        ("Yes, partly", True),
        ("not relevant", False),
    ],
)
def test_bare_words_of_a_grader(reply: str, sufficient: bool, stub_llm: Start, make: Make) -> None:
    """C62"""
    stub = stub_llm({"grade": reply})
    assert make(stub, floor=0.0).grade(turn_of(), PLAN, passages(2)).sufficient is sufficient
    assert len(stub.requests) == 1


def test_verdicts_per_passage_and_missing_elements(stub_llm: Start, make: Make) -> None:
    reply = {
        "passages": [{"n": 2, "helps": True}, {"n": 1, "helps": False}, {"n": 99, "helps": True}],
        "missing_elements": ["training cost", "none"],
        "sufficient": False,
        "reason": "No cost.",
    }
    stub = stub_llm({"grade": json.dumps(reply)})
    check = make(stub).grade(turn_of(), PLAN, passages(3))
    assert check == InformationCheck(False, ("training cost",), (2,), "No cost.")
    assert stub.requests[0].passages == [1, 2, 3]


def test_sufficient_although_nothing_helps_is_a_no(stub_llm: Start, make: Make) -> None:
    """C62"""
    stub = stub_llm({"grade": '{"passages": [{"n": 1, "helps": false}], "sufficient": true}'})
    assert not make(stub).grade(turn_of(), PLAN, passages(1)).sufficient


def test_grading_nothing_costs_no_call(stub_llm: Start, make: Make) -> None:
    stub = stub_llm()
    assert not make(stub).grade(turn_of(), PLAN, ()).sufficient
    assert stub.requests == []


def test_plans_are_cleaned_and_follow_ups_resolved(stub_llm: Start, make: Make) -> None:
    reply = {
        "question": "How fast is  LoRA?",
        "sub_queries": ["1. LoRA speed", "lora  SPEED!", "LoRA memory", "a", "b"],
        "is_compound": "yes",
    }
    stub = stub_llm({"plan": json.dumps(reply)})
    reasoner = make(stub)
    history = (TurnRecord(question="What is LoRA?", answer="An adapter [1]."),)
    plan = reasoner.plan(turn_of("how fast is it?", history=history))
    assert plan.question == "How fast is LoRA?"
    assert plan.sub_queries == ("LoRA speed", "LoRA memory", "a")
    assert plan.is_compound
    assert "What is LoRA?" in stub.requests[0].prompt
    # Without a history nothing can be resolved: the question stays as typed.
    assert reasoner.plan(turn_of("how fast is it?")).question == "how fast is it?"


def test_a_reformulation_differs_from_all_that_was_tried(stub_llm: Start, make: Make) -> None:
    """C52: repeats are dropped; when nothing is left, the missing elements are searched for."""
    stub = stub_llm(
        {
            "reformulate": [
                '{"sub_queries": ["LoRA Speed?", "adapter latency"]}',
                '{"sub_queries": ["lora speed"]}',
                "no idea",
            ]
        }
    )
    reasoner = make(stub)
    check = InformationCheck(False, ("latency in ms",), (), "")
    arguments = (PLAN, check, ("LoRA speed",), passages(1))
    assert reasoner.reformulate(turn_of(), *arguments).sub_queries == ("adapter latency",)
    for _ in range(2):
        plan = reasoner.reformulate(turn_of(), *arguments)
        assert plan.sub_queries == ("latency in ms fast LoRA",)
        assert plan.note
    tried = ("latency in ms fast LoRA", "latency in ms", "fast LoRA")
    assert "no new query" in reasoner.reformulate(turn_of(), PLAN, check, tried, ()).note
