"""PanelState: where one question stands in the pipeline, folded from its events.

``advance`` is pure: the same events give the same state, so that a live run, a test and a
replay of a trace look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from rag.agent.events import (
    AnyPayload,
    CompletePayload,
    ErrorPayload,
    Event,
    GradePayload,
    Payload,
    ReformulatePayload,
    Stage,
    TokenPayload,
)
from rag.ui.escape import milliseconds, shorten, text
from rag.ui.panel_log import LogFacts, render_log

Status = Literal["pending", "running", "done", "skipped", "stopped", "failed"]
Phase = Literal["idle", "running", "done", "stopped", "failed"]
PayloadT = TypeVar("PayloadT", bound=Payload)

PIPELINE: tuple[tuple[Stage, str, str], ...] = (
    ("plan", "Plan", "splits the question"),
    ("retrieve", "Hybrid retrieval", "meaning and words"),
    ("rerank", "Rerank", "reads the best again"),
    ("grade", "Grade", "is it enough?"),
    ("synthesize", "Synthesize", "writes and cites"),
    ("verify", "Verify", "checks every claim"),
)
_ORDER: tuple[Stage, ...] = tuple(stage for stage, _, _ in PIPELINE)
_BUSY: Mapping[str, str] = {
    "plan": "planning…",
    "retrieve": "searching…",
    "rerank": "reading…",
    "grade": "judging…",
    "synthesize": "writing…",
    "verify": "checking…",
}
_SIGNS: Mapping[Status, str] = {
    "running": "●",
    "done": "✓",
    "skipped": "–",
    "stopped": "■",
    "failed": "!",
}


@dataclass(frozen=True)
class StageState:
    """One stage; ``ms`` is summed over finished passes, ``since_ms`` is on the question's clock."""

    status: Status = "pending"
    ms: float | None = None
    since_ms: float | None = None


@dataclass(frozen=True)
class PanelState:
    """Everything that the panel draws; ``payloads`` are the findings with their pass, in order."""

    phase: Phase = "idle"
    now_ms: float = 0.0
    passes: int = 1
    stages: Mapping[Stage, StageState] = field(default_factory=dict)
    payloads: tuple[tuple[int, AnyPayload], ...] = ()
    written: int = 0
    note: str = ""

    def stage(self, name: Stage) -> StageState:
        """The state of one stage; pending when nothing was heard of it."""
        return self.stages.get(name, StageState())

    def found(self, kind: type[PayloadT]) -> list[tuple[int, PayloadT]]:
        """All findings of one kind with their pass."""
        return [(number, item) for number, item in self.payloads if isinstance(item, kind)]

    def shown_ms(self, name: Stage) -> float | None:
        """Finished time of a stage plus what its running pass has taken so far."""
        stage = self.stage(name)
        if stage.status == "running" and stage.since_ms is not None:
            return (stage.ms or 0.0) + max(0.0, self.now_ms - stage.since_ms)
        return stage.ms


def begin() -> PanelState:
    """The state right after a question was sent."""
    return PanelState(phase="running")


def tick(state: PanelState, elapsed_ms: float) -> PanelState:
    """The same state with its clock moved on."""
    return replace(state, now_ms=max(state.now_ms, elapsed_ms))


def stop(state: PanelState) -> PanelState:
    """The state after the user pressed Stop: what ran is stopped, the rest does not come."""
    stages = {
        name: replace(stage, status="stopped", since_ms=None)
        if stage.status == "running"
        else stage
        for name, stage in state.stages.items()
    }
    return replace(_without_pending(replace(state, stages=stages)), phase="stopped")


def advance(state: PanelState, event: Event) -> PanelState:
    """The state after ``event``."""
    state = replace(state, phase="running", passes=max(state.passes, event.pass_))
    if event.type != "finished":  # only there is elapsed_ms a duration and not the clock
        state = tick(state, event.elapsed_ms)
    payload = event.payload
    if isinstance(payload, TokenPayload):
        return replace(state, written=state.written + len(payload.text))
    if isinstance(payload, CompletePayload) and payload.result.route == "invalid":
        return PanelState(note=payload.result.answer)  # nothing ran: the panel is as before
    if isinstance(payload, CompletePayload):
        failed = payload.result.error is not None
        return replace(_without_pending(state), phase="failed" if failed else "done")
    if isinstance(payload, ErrorPayload):
        stages = {
            name: replace(stage, status="failed") if stage.status == "running" else stage
            for name, stage in state.stages.items()
        }
        ended = _without_pending(replace(state, stages=stages))
        return replace(ended, phase="failed", note=payload.error.message)
    if event.stage is None:
        return state
    if event.type == "started":
        return _started(state, event.stage, event.elapsed_ms)
    if event.type == "finished":
        stage = state.stage(event.stage)
        done = StageState("done", (stage.ms or 0.0) + event.elapsed_ms)
        return replace(
            state,
            stages={**state.stages, event.stage: done},
            payloads=(*state.payloads, (event.pass_, payload)),
        )
    return state


def _started(state: PanelState, name: Stage, elapsed_ms: float) -> PanelState:
    stages = {**state.stages}
    stages[name] = StageState("running", state.stage(name).ms, elapsed_ms)
    if name in _ORDER:
        place = _ORDER.index(name)
        for earlier in _ORDER[:place]:
            if state.stage(earlier).status == "pending":
                stages[earlier] = StageState("skipped")
        for later in _ORDER[place + 1 :]:  # a second pass: they come again, their times stay
            if later in stages:
                stages[later] = replace(stages[later], status="pending", since_ms=None)
    return replace(state, stages=stages)


def _without_pending(state: PanelState) -> PanelState:
    stages = {**state.stages}
    for name in _ORDER:
        if state.stage(name).status == "pending":
            stages[name] = replace(state.stage(name), status="skipped")
    return replace(state, stages=stages)


def render_status(state: PanelState) -> str:
    """One short sentence for the polite live region: it changes only when the stage does."""
    sentence = {
        "idle": text(state.note),
        "done": "Answer ready.",
        "stopped": "Stopped.",
        "failed": "The question could not be finished.",
    }.get(state.phase)
    if sentence is None:
        running = [label for name, label, _ in PIPELINE if state.stage(name).status == "running"]
        if state.stage("reformulate").status == "running":
            running = ["Reformulate"]
        sentence = f"{running[0]}, pass {state.passes}." if running else "Working."
    return f'<div role="status" aria-live="polite" class="sr-only">{sentence}</div>'


def render_panel(state: PanelState) -> str:
    """The pipeline and its log as HTML of constant height."""
    nodes = "".join(
        _node(state, place, name, label, hint)
        for place, (name, label, hint) in enumerate(PIPELINE, start=1)
    )
    diagram = f'<ol class="pipe" aria-label="Stages of this answer">{nodes}</ol>{_loop(state)}'
    if state.phase == "idle":
        return f'<section class="panel idle" aria-label="Pipeline">{diagram}</section>'
    facts = LogFacts(
        payloads=state.payloads,
        times={name: state.shown_ms(name) for name in state.stages},
        statuses={name: stage.status for name, stage in state.stages.items()},
        written=state.written,
        ended=state.phase != "running",
        broken=state.phase in {"stopped", "failed"},
    )
    return (
        f'<section class="panel {state.phase}" aria-label="Pipeline">{diagram}'
        f"{render_log(facts, _headline(state))}</section>"
    )


def _headline(state: PanelState) -> str:
    if state.phase == "stopped":
        return "Stopped. What each step had found"
    if state.phase == "failed":
        return "Not finished. What each step had found"
    return "What each step found" if state.phase == "done" else "What each step finds"


def _node(state: PanelState, place: int, name: Stage, label: str, hint: str) -> str:
    stage = state.stage(name)
    status = stage.status
    spent = state.shown_ms(name)
    if state.phase == "idle":
        below = hint
    elif status == "running":
        # The first third of a second says what happens, then the clock says how long it takes.
        below = milliseconds(spent) if spent and spent > 300 else _BUSY[name]
    elif status in {"skipped", "stopped", "failed"} and not stage.ms:
        below = "not needed" if status == "skipped" and state.phase == "done" else status
    else:
        below = milliseconds(spent) if spent is not None else ""
    if status == "skipped" and below == "skipped" and state.phase in {"stopped", "failed"}:
        below = "not reached"
    current = ' aria-current="step"' if status == "running" else ""
    return (
        f'<li class="node {status}"{current}><span class="dot" aria-hidden="true">'
        f"{_SIGNS.get(status, str(place))}</span><b>{label}</b>"
        f'<span class="sr-only">{status}</span><i>{below or "&nbsp;"}</i></li>'
    )


def _loop(state: PanelState) -> str:
    """The way back, drawn only when it was taken."""
    if state.phase == "idle":
        return ""
    tried = [item for _, item in state.found(ReformulatePayload)]
    queries = [query for item in tried for query in item.sub_queries]
    running = state.stage("reformulate").status == "running"
    if not queries and not running:
        return '<div class="loop none" aria-hidden="true"></div>'
    # It lies over the line of the log's heading, so that it takes no room of its own.
    missing = [item for _, item in state.found(GradePayload) if item.next == "reformulate"]
    asked = "; ".join(f"“{shorten(query, 70)}”" for query in queries)
    words = f"searched again for {asked}" if queries else "looking for other words"
    why = "; ".join(part for item in missing for part in item.missing_elements)
    return (
        f'<div class="loop" title="{text("Missing: " + why if why else words)}">'
        '<svg viewBox="0 0 300 18" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<path d="M299 0 V8 Q299 15 292 15 H8 Q1 15 1 8 V5" fill="none" stroke="currentColor" '
        'stroke-width="1.6" stroke-dasharray="5 4" vector-effect="non-scaling-stroke"/></svg>'
        f"<span><b>Reformulate · </b>{text(words)}</span></div>"
    )
