"""LiveRun: one question on its way to the page, thinned so that a phone keeps up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rag.agent.events import CompletePayload, ErrorPayload, Event, TokenPayload, VerifyPayload
from rag.results import AskRequest, Result
from rag.ui.engine_view import EngineView
from rag.ui.panel import PanelState, advance, begin, tick

FRAMES_PER_SECOND = 15.0


@dataclass(frozen=True)
class LiveRun:
    """What the page shows of a question at one moment."""

    panel: PanelState = field(default_factory=PanelState)
    text: str = ""
    result: Result | None = None
    key: float = 0.0  # when it was asked, to tell a late frame from a new question

    @property
    def over(self) -> bool:
        """Whether the whole result is there."""
        return self.result is not None


def receive(run: LiveRun, event: Event) -> LiveRun:
    """The run after one event; pure."""
    run = replace(run, panel=advance(run.panel, event))
    payload = event.payload
    if isinstance(payload, TokenPayload):
        return replace(run, text=run.text + payload.text)
    if isinstance(payload, VerifyPayload) and payload.answer is not None:
        return replace(run, text=payload.answer)
    if isinstance(payload, CompletePayload | ErrorPayload):
        return replace(run, result=payload.result)
    return run


def follow(
    engine: EngineView, request: AskRequest, clock: Callable[[], float] = time.monotonic
) -> Iterator[LiveRun]:
    """The run as it goes on; tokens are thinned, stages and ticks are not.

    Closing this generator closes the engine's, which stops the work. Every tick is passed on,
    because a generator can only be closed where it yields.
    """
    start = clock()
    last = float("-inf")
    run = LiveRun(panel=begin(), key=start)
    yield run
    stream = engine.stream(request)
    try:
        for event in stream:
            now = clock()
            if event is None:
                run = replace(run, panel=tick(run.panel, (now - start) * 1000))
            else:
                run = receive(run, event)
            thin = event is not None and event.type in {"token", "progress"}
            if thin and now - last < 1 / FRAMES_PER_SECOND:
                continue
            last = now
            yield run
    finally:
        close = getattr(stream, "close", None)
        if close is not None:
            close()
