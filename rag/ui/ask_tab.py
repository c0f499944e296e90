"""AskTab: question in, pipeline, answer and sources out, for one session at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from rag.errors import RagError
from rag.results import AskRequest, Scope, TurnRecord
from rag.settings import Settings
from rag.ui.answer import render_answer, render_problem
from rag.ui.ask_layout import EXAMPLES, AskLayout
from rag.ui.engine_view import EngineView
from rag.ui.history import remember, render_history
from rag.ui.knobs import changed_settings
from rag.ui.library_scope import PLACEHOLDER, PaperScope, render_scope
from rag.ui.panel import begin, render_panel, render_status, stop
from rag.ui.run import LiveRun, follow
from rag.ui.sources import render_sources, sources_frame

_FLUSH_SECONDS = 0.3
_SETTLE_SECONDS = 1.0
_LOG = logging.getLogger(__name__)

Update = dict[Any, Any]


@dataclass(frozen=True)
class AskTab:
    """The components that the page wires up on load, and those that other tabs limit."""

    question: gr.Textbox
    advanced: gr.Accordion
    layout: AskLayout
    scope: gr.State

    @property
    def limited_outputs(self) -> list[Any]:
        """What ``limited_to`` writes to."""
        ui = self.layout
        return [self.scope, ui.scope_row, ui.scope_chip, ui.question]

    def limited_to(self, chosen: PaperScope | None) -> Update:
        """Questions are limited to these papers, or to none, and the tab says so."""
        ui = self.layout
        return {
            self.scope: chosen,
            ui.scope_row: gr.Row(visible=chosen is not None),
            ui.scope_chip: render_scope(chosen),
            ui.question: gr.Textbox(placeholder=chosen.placeholder if chosen else PLACEHOLDER),
        }


def build_ask_tab(
    engine: EngineView, settings: Settings, examples: Sequence[str] = EXAMPLES
) -> AskTab:
    """Lay the tab out inside the open Blocks and wire its events."""
    ui = AskLayout(settings, examples)
    # Outside the queue, so that Stop and the first sign of life never wait in it.
    quiet: dict[str, Any] = {
        "queue": False,
        "show_progress": "hidden",
        "api_visibility": "private",
    }
    turns = gr.State([])
    live = gr.State(LiveRun())
    halted = gr.State(-1.0)
    tab = AskTab(ui.question, ui.advanced, ui, gr.State(None))

    def run(
        question: str, history: list[TurnRecord], chosen: PaperScope | None, *values: object
    ) -> Iterator[Update]:
        request = AskRequest(
            question=question or "",
            history=_recent(history, settings),
            scope=chosen.scope if chosen else Scope(),
            settings=changed_settings(ui.knobs, values),
        )
        yield from _answer(engine, settings, ui, turns, live, request, history)

    def waiting(run_so_far: LiveRun) -> Update:
        return _waiting(ui, live, run_so_far)

    def busy(run_so_far: LiveRun) -> Update:
        return _busy(ui, live, run_so_far)

    def stopped(run_so_far: LiveRun) -> Update:
        time.sleep(_FLUSH_SECONDS)
        return {halted: run_so_far.key, **_stopped(ui, live, run_so_far)}

    def confirm(run_so_far: LiveRun, key: float) -> Update:
        if run_so_far.key != key or run_so_far.panel.phase not in {"running", "stopped"}:
            return {ui.status: gr.skip()}  # something else was asked meanwhile
        running = replace(run_so_far, panel=replace(run_so_far.panel, phase="running"))
        return _stopped(ui, live, running)

    def forget() -> Update:
        return {
            turns: [],
            live: LiveRun(),
            **tab.limited_to(None),
            ui.question: gr.Textbox("", placeholder=PLACEHOLDER),
            **_cleared(ui, LiveRun()),
            **_history_update(ui, []),
        }

    everything = [
        ui.status, ui.panel, ui.answer, ui.sources, ui.table, ui.ask, ui.stop,
        ui.history, ui.history_row, turns, live,
    ]  # fmt: skip
    # First a frame at once, so that a question that has to wait says so, then the run itself.
    asking = gr.on(
        [ui.ask.click, ui.question.submit],
        waiting,
        inputs=[live],
        outputs=everything,
        **quiet,
    ).then(
        run,
        inputs=[ui.question, turns, tab.scope, *(item.component for item in ui.knobs)],
        outputs=everything,
        concurrency_limit=settings.serving.concurrency,
        concurrency_id="ask",
        show_progress="hidden",
        api_visibility="private",
        trigger_mode="once",
    )
    asking.failure(
        busy,
        inputs=[live],
        outputs=everything,
        **quiet,
    )
    # cancels closes the generator on the server, whose finally stops the engine. A frame
    # that was on its way may still arrive after the one that says so: hence a second look.
    ui.stop.click(
        stopped,
        inputs=[live],
        outputs=[*everything, halted],
        cancels=[asking],
        **quiet,
    ).then(_pause, **quiet).then(confirm, inputs=[live, halted], outputs=everything, **quiet)
    ui.fresh.click(
        forget,
        outputs=[*everything, *tab.limited_outputs],
        cancels=[asking],
        **quiet,
    )
    # A chip fills the box and presses Ask, so that there is one way to ask and one to stop.
    ui.examples.click(
        lambda sample: sample[0],
        inputs=[ui.examples],
        outputs=[ui.question],
        **quiet,
    ).then(None, js="() => document.querySelector('#ask')?.click()", api_visibility="private")
    ui.unlimit.click(lambda: tab.limited_to(None), outputs=tab.limited_outputs, **quiet).then(
        None, js="() => window.focusSoon('#question textarea')", api_visibility="private"
    )
    return tab


def _recent(history: list[TurnRecord], settings: Settings) -> tuple[TurnRecord, ...]:
    turns = settings.agent.history_turns
    return tuple(history[-turns:]) if turns else ()


def _answer(
    engine: EngineView,
    settings: Settings,
    ui: AskLayout,
    turns: gr.State,
    live: gr.State,
    request: AskRequest,
    history: list[TurnRecord],
) -> Iterator[Update]:
    shown = LiveRun()
    try:
        for now in follow(engine, request):
            yield {live: now, **_difference(ui, shown, now, engine)}
            shown = now
    except RagError as error:
        yield {ui.answer: render_problem(str(error)), **_failed(ui, live, shown)}
        return
    except Exception:
        # The stack trace is for the log; the page gets one sentence that tells nothing of it.
        _LOG.exception("a question failed")
        yield {
            ui.answer: render_problem("Something went wrong here. You can ask again."),
            **_failed(ui, live, shown),
        }
        return
    kept = remember(history, shown.result, settings.agent.history_turns)
    yield {turns: kept, **_history_update(ui, kept), **_buttons(ui)}


def _difference(ui: AskLayout, before: LiveRun, now: LiveRun, engine: EngineView) -> Update:
    """Only what changed, so that a token does not send the panel again."""
    update: Update = {}
    status = render_status(now.panel)
    if status != render_status(before.panel):
        update[ui.status] = status
    if _drawn(now) != _drawn(before):
        update[ui.panel] = render_panel(now.panel)
    if (
        now.text != before.text
        or now.result is not before.result
        or now.panel.phase != before.panel.phase
    ):
        update[ui.answer] = render_answer(now.text, now.result, running=True)
    if now.result is not None:
        update[ui.sources] = render_sources(now.result, topics=engine.library.topics())
        update[ui.table] = sources_frame(now.result)
    return update


def _drawn(run: LiveRun) -> object:
    """What of a run the panel draws; the count of written characters moves with the ticks."""
    return replace(run.panel, written=0)


def _cleared(ui: AskLayout, run: LiveRun) -> Update:
    return {
        ui.status: render_status(run.panel),
        ui.panel: render_panel(run.panel),
        ui.answer: render_answer("", None),
        ui.sources: render_sources(None),
        **_buttons(ui),
    }


def _buttons(ui: AskLayout) -> Update:
    return {ui.ask: gr.Button(interactive=True), ui.stop: gr.Button(interactive=False)}


def _failed(ui: AskLayout, live: gr.State, run: LiveRun) -> Update:
    panel = replace(stop(run.panel), phase="failed")
    return {
        live: replace(run, panel=panel),
        ui.panel: render_panel(panel),
        ui.status: render_status(panel),
        ui.sources: render_sources(None),
        **_buttons(ui),
    }


def _pause() -> None:
    time.sleep(_SETTLE_SECONDS)


def _waiting(ui: AskLayout, live: gr.State, run: LiveRun) -> Update:
    if run.panel.phase == "running":  # Enter pressed again: the first question goes on
        return {ui.ask: gr.Button(interactive=False)}
    begun = LiveRun(panel=begin(), key=time.monotonic())
    return {
        **_cleared(ui, begun),
        live: begun,
        ui.answer: render_answer("", None, waiting=True),
        ui.sources: render_sources(None, running=True),
        ui.ask: gr.Button(interactive=False),
        ui.stop: gr.Button(interactive=True),
    }


def _busy(ui: AskLayout, live: gr.State, run: LiveRun) -> Update:
    """The queue was full. Gradio reports a cancelled run as failed too: that one has begun."""
    if run.panel.phase != "running" or run.panel.stages:
        return _buttons(ui)
    words = "Many people are asking right now. Please ask again in a moment."
    return {**_cleared(ui, LiveRun()), live: LiveRun(), ui.answer: render_problem(words)}


def _stopped(ui: AskLayout, live: gr.State, run: LiveRun) -> Update:
    if run.over or run.panel.phase != "running":
        return _buttons(ui)
    ended = replace(run, panel=stop(run.panel))
    return {
        live: ended,
        ui.status: render_status(ended.panel),
        ui.panel: render_panel(ended.panel),
        ui.answer: render_answer(ended.text, None, stopped=True),
        ui.sources: render_sources(None),
        **_buttons(ui),
    }


def _history_update(ui: AskLayout, history: list[TurnRecord]) -> Update:
    return {ui.history: render_history(history), ui.history_row: gr.Row(visible=bool(history))}
