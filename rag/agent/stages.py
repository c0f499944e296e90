"""Stages: how a node tells the stream that it has begun, how far it is, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from rag.agent.events import Payload, Stage
from rag.agent.state import AgentContext, AgentState, Emission

Run = Runtime[AgentContext]
Update = dict[str, Any]


@dataclass
class StageReport:
    """Handed to the body of a stage: what is set as ``payload`` closes the stage."""

    emit: Callable[[Payload], None]
    payload: Payload


@contextmanager
def stage(runtime: Run, node: str, name: Stage, pass_: int) -> Iterator[StageReport]:
    """Emit ``started`` now and ``finished`` with duration and payload when the body ends.

    Nothing is emitted as finished when the body raises. A visitor who left ends the work here.
    """
    context = runtime.context
    context.cancel.check()
    write = runtime.stream_writer
    begun = context.clock()
    write(Emission("started", node, name, pass_, Payload()))

    def emit(payload: Payload) -> None:
        write(Emission("token", node, name, pass_, payload))

    report = StageReport(emit, Payload())
    yield report
    duration = (context.clock() - begun) * 1000
    write(Emission("finished", node, name, pass_, report.payload, duration))


def pass_of(state: AgentState) -> int:
    """The retrieval pass that is running, from 1."""
    return state.get("retry_count", 0) + 1
