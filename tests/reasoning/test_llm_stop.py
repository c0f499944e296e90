"""LlmReasoner: Stop ends the work upstream."""

from __future__ import annotations

import threading
import time

import pytest
from stub_llm import Reply, StubLlm, error_reply

from rag.errors import CancelledError
from rag.reasoning.protocol import (
    Turn,
)

from .llm_bench import ENOUGH, PLAN, Make, Start, answer, passages, turn_of


class Stopper:
    """Presses Stop ``seconds`` after the first request has reached the server."""

    def __init__(self, seconds: float, turn: Turn, stub: StubLlm) -> None:
        self.pressed_at = 0.0
        self._arguments = (seconds, turn, stub)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        seconds, turn, stub = self._arguments
        while not stub.requests:
            time.sleep(0.005)
        time.sleep(seconds)
        self.pressed_at = time.monotonic()
        turn.cancel.cancel()

    def seconds_since(self) -> float:
        self._thread.join()
        return time.monotonic() - self.pressed_at


def test_stop_closes_the_stream_upstream(stub_llm: Start, make: Make) -> None:
    """C71: 200 tokens at 10 a second, stopped after 1 s."""
    stub = stub_llm({"write": Reply("word " * 200, tokens_per_second=10)})
    reasoner, turn = make(stub), turn_of()
    stopper = Stopper(1.0, turn, stub)
    with pytest.raises(CancelledError):
        answer(reasoner, turn, passages(1))
    assert stopper.seconds_since() < 1.5
    seen = stub.requests[0]
    assert seen.finished.wait(2)
    assert seen.client_closed
    assert 5 <= seen.tokens_sent <= 30
    # The next question starts at once, on a fresh connection.
    stub.script = {"write": "Fine [1]."}
    assert answer(reasoner, turn_of(), passages(1)) == "Fine [1]."
    assert turn.meter.output_tokens > 0


@pytest.mark.parametrize("step", ["plan", "write"])
def test_stop_wakes_a_read_that_blocks(step: str, stub_llm: Start, make: Make) -> None:
    """C71: before any byte of the reply has come."""
    stub = stub_llm(lambda seen: Reply("x", delay=20))
    reasoner, turn = make(stub), turn_of()
    stopper = Stopper(0.3, turn, stub)
    with pytest.raises(CancelledError):
        if step == "plan":
            reasoner.plan(turn)
        else:
            answer(reasoner, turn, passages(1))
    assert stopper.seconds_since() < 1.5
    assert stub.requests[0].finished.wait(2)
    assert stub.requests[0].client_closed
    assert len(stub.requests) == 1


def test_stop_ends_a_pause_between_retries(stub_llm: Start, make: Make) -> None:
    """C71"""
    stub = stub_llm(lambda seen: error_reply(429, "x", headers={"retry-after": "10"}))
    turn = turn_of()
    stopper = Stopper(0.2, turn, stub)
    with pytest.raises(CancelledError):
        make(stub).plan(turn)
    assert stopper.seconds_since() < 1.5


def test_closing_the_iterator_closes_the_stream_upstream(stub_llm: Start, make: Make) -> None:
    """C71: the consumer went away without cancelling."""
    stub = stub_llm({"write": Reply("word " * 200, tokens_per_second=20)})
    pieces = make(stub).write(turn_of(), PLAN, ENOUGH, passages(1))
    assert next(pieces).strip() == "word"
    pieces.close()
    assert stub.requests[0].finished.wait(2)
    assert stub.requests[0].client_closed
    assert stub.requests[0].tokens_sent < 10


def test_a_cancelled_turn_makes_no_call(stub_llm: Start, make: Make) -> None:
    """C71"""
    stub = stub_llm()
    turn = turn_of()
    turn.cancel.cancel()
    with pytest.raises(CancelledError):
        answer(make(stub), turn, passages(1))
    assert stub.requests == []
    assert turn.meter.calls == 0


def test_a_late_stop_does_not_hit_another_visitor(stub_llm: Start, make: Make) -> None:
    """C71, C72: connections are shared after a call, its Stop is not."""
    stub = stub_llm({"write": Reply("one two three four five", tokens_per_second=20)})
    reasoner, first = make(stub), turn_of()
    reasoner.plan(first)
    pieces = reasoner.write(turn_of(), PLAN, ENOUGH, passages(1))
    text = next(pieces)
    first.cancel.cancel()
    assert text + "".join(pieces) == "one two three four five"


def test_connections_are_used_again(stub_llm: Start, make: Make) -> None:
    stub = stub_llm()
    reasoner, turn = make(stub), turn_of()
    for _ in range(3):
        reasoner.plan(turn)
    assert len(stub._connections) == 1
