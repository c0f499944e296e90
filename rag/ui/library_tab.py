"""LibraryTab: every listed paper in a table that can be filtered, with a card for each."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pandas as pd

from rag.ui.ask_tab import AskTab
from rag.ui.engine_view import EngineView
from rag.ui.escape import text
from rag.ui.library_card import render_card
from rag.ui.library_layout import LibraryLayout
from rag.ui.library_plots import render_plots
from rag.ui.library_rows import COLUMNS, HOLDINGS, ID_COLUMN, TIERS, LibraryRows, PaperFilter
from rag.ui.library_scope import PaperScope, Selection, filtered_papers, one_paper, select_papers

Update = dict[Any, Any]

# Outside the queue: a filter must not wait behind questions that take seconds.
_QUIET: dict[str, Any] = {
    "queue": False,
    "show_progress": "hidden",
    "api_visibility": "private",
}


def render_counts(found: pd.DataFrame, total: int, selection: Selection) -> str:
    """How many are shown, what the library holds of them, and what can be asked of them."""
    held = found["Holds"].value_counts()
    parts = [f"{held[name]:,} {name}" for name in HOLDINGS.values() if name in held]
    shown = f"{len(found):,} of {total:,} papers" if len(found) != total else f"{total:,} papers"
    picked = int((found["Tier"] == TIERS["hand_picked"]).sum())
    facts = [f"{picked:,} hand-picked", *parts] if len(found) else []
    line = " · ".join([f"<b>{shown}</b>", *map(text, facts)])
    hint = selection.why_not or selection.note
    return (
        f'<div class="counts" role="status"><p>{line}</p>'
        f'<p class="hint">{text(hint) or "Choose a row to open its card."}</p></div>'
    )


def make_filter(
    words: str | None,
    topics: list[str] | None,
    first: int | None,
    last: int | None,
    tier: str | None,
    holding: str | None,
    sort: str | None,
) -> PaperFilter:
    """A filter from what the components send; anything may be missing."""
    return PaperFilter(
        words or "",
        tuple(topics or ()),
        first or None,
        last or None,
        tier or "",
        holding or "",
        sort or "newest",
    )


class LibraryTab:
    """What the tab's events do; one for all sessions, so it keeps nothing but the rows."""

    def __init__(self, engine: EngineView, ui: LibraryLayout, ask: AskTab, tabs: gr.Tabs) -> None:
        self._engine, self._ui, self._ask, self._tabs = engine, ui, ask, tabs
        self._rows = LibraryRows(engine)

    def show(self, *values: Any) -> Update:
        """The table, its counts and its plots for the filters."""
        ui, everything = self._ui, self._rows.frame
        found = self._rows.find(make_filter(*values))
        selection = select_papers(found, everything)
        return {
            ui.counts: render_counts(found, len(everything), selection),
            ui.plots: render_plots(found, everything),
            ui.table: found[list(COLUMNS)],
            ui.ask_these: gr.Button(selection.button, interactive=bool(selection.paper_ids)),
        }

    def open_row(self, event: gr.SelectData) -> tuple[object, ...]:
        """The card of the chosen row, which is known by the id that stands in it.

        Its number would be wrong after sorting in the browser.
        """
        row = event.row_value
        return self.open(row[ID_COLUMN] if isinstance(row, list) and len(row) > ID_COLUMN else "")

    def open_similar(self, event: gr.EventData) -> tuple[object, ...]:
        """The card of a paper that another card names."""
        return self.open((event._data or {}).get("paper"))

    def open(self, paper_id: object) -> tuple[object, ...]:
        """Which paper is open, its card, and whether it can be asked about."""
        card = self._engine.card(paper_id) if isinstance(paper_id, str) else None
        searchable = card is not None and card.paper.searchable
        return (
            card.paper.paper_id if card else "",
            render_card(card),
            gr.Button("Ask about this paper", interactive=searchable),
        )

    def ask_about(self, paper_id: str) -> Update:
        """The Ask tab, limited to the open paper."""
        paper = self._engine.catalogue.get(paper_id)
        return self._go(one_paper(paper) if paper and paper.searchable else None)

    def ask_these(self, *values: Any) -> Update:
        """The Ask tab, limited to the papers that pass the filters."""
        wanted = make_filter(*values)
        found = self._rows.find(wanted)
        ids = select_papers(found, self._rows.frame).paper_ids
        titles = found.loc[found["arXiv"].isin(ids), "Title"].tolist()
        return self._go(filtered_papers(ids, titles, wanted) if ids else None)

    def _go(self, chosen: PaperScope | None) -> Update:
        if chosen is None:  # the buttons are off then, but an endpoint answers anybody
            return {self._tabs: gr.skip()}
        return {self._tabs: gr.Tabs(selected="ask"), **self._ask.limited_to(chosen)}


def build_library_tab(engine: EngineView, tab: gr.Tab, ask: AskTab, tabs: gr.Tabs) -> None:
    """Lay the tab out inside the open Blocks; its rows are sent when it is first looked at."""
    ui = LibraryLayout(engine.catalogue)
    library = LibraryTab(engine, ui, ask, tabs)
    opened, looked_at = gr.State(""), gr.State(False)
    inputs: list[Any] = [ui.words, ui.topics, ui.first, ui.last, ui.tier, ui.holding, ui.sort]
    shown = [ui.counts, ui.plots, ui.table, ui.ask_these]

    def first_look(seen: bool, *values: Any) -> Update:
        return {looked_at: True} if seen else {looked_at: True, **library.show(*values)}

    tab.select(first_look, [looked_at, *inputs], [looked_at, *shown], **_QUIET)
    gr.on(
        [item.change for item in inputs],
        library.show,
        inputs=inputs,
        outputs=shown,
        trigger_mode="always_last",
        **_QUIET,
    )
    card = [opened, ui.card, ui.ask_about]
    focus_card = {"js": "() => window.focusSoon('.drawer .title')", "api_visibility": "private"}
    ui.table.select(library.open_row, None, card, **_QUIET).then(None, **focus_card)
    ui.card.click(library.open_similar, None, card, **_QUIET).then(None, **focus_card)
    ui.close.click(lambda: ("", ""), None, [opened, ui.card], **_QUIET)
    focus_box = {"js": "() => window.focusSoon('#question textarea')", "api_visibility": "private"}
    target = [tabs, *ask.limited_outputs]
    ui.ask_about.click(library.ask_about, [opened], target, **_QUIET).then(None, **focus_box)
    ui.ask_these.click(library.ask_these, inputs, target, **_QUIET).then(None, **focus_box)
