"""AskLayout: the components of the Ask tab and where they stand."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from rag.settings import Settings
from rag.ui.answer import render_answer
from rag.ui.knobs import KnobInput, build_knobs
from rag.ui.library_scope import PLACEHOLDER
from rag.ui.panel import render_panel, render_status
from rag.ui.run import LiveRun
from rag.ui.sources import COLUMNS, render_sources

EXAMPLES = (
    "What is RAG, and why not just ask a model?",
    "Which weight matrices does LoRA adapt?",
    "How do BERT and RoBERTa differ in pre-training?",
    "How can a big network teach a small one?",
    "How many papers are from 2023?",
    "Best pizza dough hydration?",
)


class AskLayout:
    """The components that a run writes to; built once with the page, holds no conversation."""

    def __init__(self, settings: Settings, examples: Sequence[str]) -> None:
        with gr.Column(elem_classes=["card", "ask-card"]):
            with gr.Row(visible=False, elem_classes=["scope-row"]) as self.scope_row:
                self.scope_chip = gr.HTML("")
                self.unlimit = gr.Button(
                    "Remove: ask all papers", elem_id="unlimit", size="sm", min_width=0
                )
            with gr.Row(elem_classes=["ask-row"]):
                self.question = gr.Textbox(
                    label="Your question",
                    show_label=False,
                    container=False,
                    lines=1,
                    max_lines=5,
                    placeholder=PLACEHOLDER,
                    elem_id="question",
                    html_attributes=gr.InputHTMLAttributes(enterkeyhint="search"),
                )
                self.ask = gr.Button("Ask", variant="primary", elem_id="ask", min_width=0)
                self.stop = gr.Button("Stop", interactive=False, elem_id="stop", min_width=0)
            self.examples = gr.Dataset(
                components=[gr.Textbox(visible=False, render=False)],
                samples=[[example] for example in examples],
                show_label=False,
                container=False,
                samples_per_page=len(examples),
                elem_classes=["chips"],
            )
            with gr.Accordion(
                "Advanced: settings of the next question",
                open=False,
                visible=False,
                elem_classes=["advanced"],
            ) as self.advanced:
                self.knobs: list[KnobInput] = build_knobs(settings)
        self.status = gr.HTML(render_status(LiveRun().panel), elem_classes=["unseen"])
        self.panel = gr.HTML(render_panel(LiveRun().panel), elem_classes=["card", "panel-card"])
        with gr.Row(elem_classes=["two"]):
            with gr.Column(elem_classes=["answer-col"]):
                self.answer = gr.HTML(render_answer("", None), elem_classes=["card", "answer-card"])
                # Under the answer, where its coming moves nothing that is being read.
                with gr.Row(visible=False, elem_classes=["history-row"]) as self.history_row:
                    self.history = gr.HTML("")
                    self.fresh = gr.Button(
                        "New conversation", elem_id="fresh", size="sm", min_width=0
                    )
            self.sources = gr.HTML(render_sources(None), elem_classes=["bare", "sources-col"])
        # Shown by the style sheet once there are cards: a table that is mounted together with
        # its first rows sometimes stays empty.
        with gr.Column(elem_classes=["card", "table-card"]):
            gr.HTML('<h2 class="small">The passages as a table</h2>')
            self.table = gr.Dataframe(
                headers=list(COLUMNS),
                datatype=["number", "markdown", "str", "str", "markdown", "str", "str"],
                latex_delimiters=[],
                column_widths=[48, 340, 64, 92, 200, 96, 244],
                interactive=False,
                wrap=True,
                show_label=False,
                buttons=[],
                max_height=420,
                elem_classes=["plain-table"],
            )
