"""LibraryLayout: the components of the Library tab and where they stand."""

from __future__ import annotations

import gradio as gr

from rag.papers import Library
from rag.ui.library_rows import ASKABLE, COLUMNS, HOLDINGS, SORTS, TIERS

# A button inside the card says which paper to open; the server looks the id up again.
_OPEN_PAPER = """element.addEventListener("click", (event) => {
  const near = event.target.closest?.("[data-paper]");
  if (near) trigger("click", { paper: near.dataset.paper });
});"""


class LibraryLayout:
    """The components of the tab; built once with the page, holds nothing of a visitor."""

    def __init__(self, catalogue: Library) -> None:
        with gr.Column(elem_classes=["card", "library-card"]):
            self._filters(catalogue)
            self.plots = gr.HTML("", elem_classes=["plots-block"])
            with gr.Row(elem_classes=["count-row"]):
                self.counts = gr.HTML("")
                self.ask_these = gr.Button(
                    "Ask only these", interactive=False, elem_id="ask-these", min_width=0
                )
            self.table = gr.Dataframe(
                headers=list(COLUMNS),
                datatype="str",
                column_widths=[340, 170, 56, 106, 200, 106, 106],
                interactive=False,
                wrap=True,
                show_label=False,
                buttons=[],
                max_height=620,
                elem_classes=["plain-table", "library-table"],
            )
        # Shown by the style sheet while it holds a card: a sheet that lies over the page, so that
        # the table keeps its place under it.
        with gr.Column(elem_classes=["drawer"]):
            with gr.Row(elem_classes=["drawer-bar"]):
                self.close = gr.Button("← Back", elem_id="close-card", min_width=0)
                self.ask_about = gr.Button(
                    "Ask about this paper", variant="primary", elem_id="ask-about", min_width=0
                )
            self.card = gr.HTML("", elem_classes=["drawer-card"], js_on_load=_OPEN_PAPER)

    def _filters(self, catalogue: Library) -> None:
        years = sorted({paper.year for paper in catalogue if paper.year}, reverse=True)
        choices = [("any", 0), *((str(year), year) for year in years)]
        with gr.Row(elem_classes=["filters"]):
            self.words = gr.Textbox(
                label="Title, method, author or arXiv id",
                placeholder="e.g. LoRA, Schölkopf, 1706.03762",
            )
            self.topics = gr.Dropdown(
                choices=sorted(catalogue.topics()), multiselect=True, label="Topics", value=[]
            )
            self.first = gr.Dropdown(choices=choices, value=0, label="From year")
            self.last = gr.Dropdown(choices=choices, value=0, label="To year")
            self.tier = gr.Dropdown(
                choices=[("all", ""), *((name, key) for key, name in TIERS.items())],
                value="",
                label="Tier",
            )
            self.holding = gr.Dropdown(
                choices=[
                    ("anything", ""),
                    ("can be asked", ASKABLE),
                    *((name, key) for key, name in HOLDINGS.items()),
                ],
                value="",
                label="Holds",
            )
            self.sort = gr.Dropdown(
                choices=[(name, key) for key, name in SORTS.items()], value="newest", label="Sort"
            )
