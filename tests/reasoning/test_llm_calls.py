"""LlmReasoner: refused features, retries, time-outs and the ceiling of calls."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest
from stub_llm import Reply, Seen, error_reply

from rag.errors import ProviderError
from rag.reasoning import calls
from rag.reasoning.llm import make_llm_reasoner
from rag.sections import ReasoningSettings
from rag.settings import Settings

from .llm_bench import PLAN, Make, Start, answer, passages, turn_of


def refusing(*features: str) -> Callable[[Seen], Reply | str]:
    """A server that answers 400 to whatever of ``features`` a request holds."""
    messages = {
        "response_format": "response_format json_schema unsupported",
        "tools": "tool_choice is not supported by this model",
        "temperature": "Unsupported value: 'temperature' does not support 0.2 with this model",
        "stream_options": "Unknown parameter: stream_options",
        "reasoning_effort": "Unsupported parameter: reasoning_effort",
    }

    def reply(seen: Seen) -> Reply | str:
        for feature in features:
            if feature in seen.body:
                return error_reply(400, messages[feature])
        return '{"sub_queries": ["a"], "sufficient": true}' if seen.step != "write" else "Fine [1]."

    return reply


def test_ladder_steps_down_and_remembers(stub_llm: Start, make: Make) -> None:
    """C57: json_schema, then function calling, then words; later calls start where it works."""
    stub = stub_llm(refusing("response_format", "tools", "temperature"))
    reasoner = make(stub, temperature=0.2)
    turn = turn_of()
    assert reasoner.plan(turn).sub_queries == ("a",)
    forms = [(seen.form, "temperature" in seen.body) for seen in stub.requests]
    assert forms == [("json_schema", True), ("tools", True), ("plain", True), ("plain", False)]
    assert turn.meter.calls == 4
    stub.requests.clear()
    assert reasoner.grade(turn, PLAN, passages(1)).sufficient
    assert [(seen.form, "temperature" in seen.body) for seen in stub.requests] == [("plain", False)]


def test_refusals_are_remembered_per_model(stub_llm: Start, make: Make) -> None:
    """C57"""

    def reply(seen: Seen) -> Reply | str:
        return refusing("response_format")(seen) if seen.body["model"] == "small" else "Fine [1]."

    reasoner = make(stub_llm(reply), small_model="small", model="big")
    reasoner.plan(turn_of())
    assert reasoner._upstream.refused("small") == {"json_schema"}
    assert reasoner._upstream.refused("big") == frozenset()


def test_function_calls_are_read(stub_llm: Start, make: Make) -> None:
    """C57: also arguments that are not quite JSON."""

    def reply(seen: Seen) -> Reply:
        if seen.form == "json_schema":
            return error_reply(400, "json_schema unsupported")
        return Reply(None, tool_arguments='{"sub_queries": ["from a call",],}')

    stub = stub_llm(reply)
    assert make(stub).plan(turn_of()).sub_queries == ("from a call",)
    assert [seen.form for seen in stub.requests] == ["json_schema", "tools"]


def test_other_bad_requests_do_not_loop(stub_llm: Start, make: Make) -> None:
    """C57"""
    stub = stub_llm(lambda seen: error_reply(400, "invalid model"))
    reasoner = make(stub, temperature=0.2)
    with pytest.raises(ProviderError) as caught:
        reasoner.plan(turn_of())
    assert caught.value.kind == "bad_request"
    assert len(stub.requests) == 1
    assert reasoner._upstream.refused(reasoner.model) == frozenset()


def test_a_server_that_refuses_for_ever_is_left(stub_llm: Start, make: Make) -> None:
    """C57: each feature is dropped once at most."""
    stub = stub_llm(
        lambda seen: error_reply(400, "response_format, tools, temperature unsupported")
    )
    with pytest.raises(ProviderError):
        make(stub, temperature=0.2).plan(turn_of(max_calls=30))
    assert len(stub.requests) <= 5


def test_a_server_that_crashes_on_a_schema(stub_llm: Start, make: Make) -> None:
    """C57: llama_cpp.server answers 500."""

    def reply(seen: Seen) -> Reply | str:
        return error_reply(500, "?") if seen.form == "json_schema" else '{"sub_queries": ["a"]}'

    stub = stub_llm(reply)
    assert make(stub).plan(turn_of()).sub_queries == ("a",)
    assert [seen.form for seen in stub.requests] == ["json_schema", "tools"]


def test_the_writer_drops_what_is_refused(stub_llm: Start, make: Make) -> None:
    """C57"""
    stub = stub_llm(refusing("stream_options", "reasoning_effort"))
    environ = {"OPENAI_API_KEY": "k"}
    reasoner = make(stub, environ, provider="openai")
    assert answer(reasoner, turn_of(), passages(1)) == "Fine [1]."
    assert answer(reasoner, turn_of(), passages(1)) == "Fine [1]."
    assert len(stub.requests) == 4


def test_no_retry_without_credit(stub_llm: Start, make: Make) -> None:
    """C65"""
    stub = stub_llm(lambda seen: error_reply(429, "x", "insufficient_quota"))
    with pytest.raises(ProviderError, match="credit") as caught:
        make(stub).plan(turn_of())
    assert (caught.value.kind, caught.value.retryable) == ("quota", False)
    assert len(stub.requests) == 1


def test_retry_after_is_waited_for_once(stub_llm: Start, make: Make) -> None:
    """C65: one wait, success."""
    busy = error_reply(429, "x", "rate_limit_exceeded", headers={"retry-after": "1"})
    stub = stub_llm({"write": [busy, "Fine [1]."]})
    started = time.monotonic()
    turn = turn_of()
    assert answer(make(stub), turn, passages(1)) == "Fine [1]."
    assert 1.0 <= time.monotonic() - started < 6.0
    assert turn.meter.calls == 2


def test_a_long_pause_is_not_waited_for(stub_llm: Start, make: Make) -> None:
    """C65"""
    stub = stub_llm(lambda seen: error_reply(429, "x", headers={"retry-after": "3600"}))
    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        make(stub).plan(turn_of())
    assert caught.value.kind == "rate" and caught.value.retryable
    assert time.monotonic() - started < 2
    assert len(stub.requests) == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_server_errors_are_repeated_as_often_as_set(
    retries: int, stub_llm: Start, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_FIRST_PAUSE_SECONDS", 0.01)
    stub = stub_llm(lambda seen: error_reply(503, "x"))
    with pytest.raises(ProviderError) as caught:
        make(stub, max_retries=retries).plan(turn_of())
    assert caught.value.kind == "server"
    assert len(stub.requests) == 1 + retries


def test_calls_have_a_ceiling(stub_llm: Start, make: Make) -> None:
    """C65: planner, graders and writer together."""
    stub = stub_llm()
    reasoner, turn = make(stub), turn_of(max_calls=2)
    reasoner.plan(turn)
    reasoner.grade(turn, PLAN, passages(1))
    with pytest.raises(ProviderError) as caught:
        answer(reasoner, turn, passages(1))
    assert caught.value.kind == "budget"
    assert len(stub.requests) == turn.meter.calls == 2


def test_a_repeat_does_not_take_the_writers_call(stub_llm: Start, make: Make) -> None:
    """C65"""
    stub = stub_llm({"grade": "hm", "write": "Fine [1]."})
    reasoner, turn = make(stub), turn_of(max_calls=2)
    reasoner.grade(turn, PLAN, passages(1))
    assert answer(reasoner, turn, passages(1)) == "Fine [1]."


def test_nobody_listening_is_a_connection_error(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_FIRST_PAUSE_SECONDS", 0.01)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ReasoningSettings(base_url=f"127.0.0.1:{port}", max_retries=1)
    reasoner = make_llm_reasoner(Settings(reasoning=settings), {})
    assert reasoner is not None
    turn = turn_of()
    with reasoner, pytest.raises(ProviderError) as caught:
        reasoner.plan(turn)
    assert caught.value.kind == "connection"
    assert turn.meter.calls == 2


@pytest.mark.parametrize("step", ["plan", "write"])
def test_a_silent_server_is_a_timeout_and_not_repeated(
    step: str, stub_llm: Start, make: Make
) -> None:
    stub = stub_llm(lambda seen: Reply("x", delay=5))
    reasoner = make(stub, timeout_seconds=1)
    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        if step == "plan":
            reasoner.plan(turn_of())
        else:
            answer(reasoner, turn_of(), passages(1))
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 4
    assert len(stub.requests) == 1
