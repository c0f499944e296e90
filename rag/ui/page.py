"""Page: header, tabs and footer around one engine."""

from __future__ import annotations

from typing import Any

import gradio as gr

from rag.settings import Settings
from rag.ui.answer import reasoner_name
from rag.ui.ask_tab import build_ask_tab
from rag.ui.engine_view import EngineView, LibraryFacts
from rag.ui.escape import text
from rag.ui.library_tab import build_library_tab
from rag.ui.method_tab import build_method_tab
from rag.ui.theme import page_css, page_head, page_theme

__all__ = ["build_page", "mount_options", "page_css", "page_head", "page_theme"]

TITLE = "Adaptive RAG"
_PREFILL_CHARACTERS = 2000


def build_page(engine: EngineView, settings: Settings) -> gr.Blocks:
    """The whole page; conversations live in the sessions, never here."""
    facts = engine.facts
    page = gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True)
    with page:
        gr.HTML(_header(facts), elem_classes=["bare"])
        with gr.Tabs(elem_classes=["main-tabs"]) as tabs:
            with gr.Tab("Ask", id="ask"):
                ask = build_ask_tab(engine, settings)
            with gr.Tab("Library", id="library") as library_tab:
                build_library_tab(engine, library_tab, ask, tabs)
            with gr.Tab("How it works", id="method"):
                build_method_tab(engine, settings)
        gr.HTML(_footer(facts), elem_classes=["bare"])

        def prefill(request: gr.Request) -> tuple[Any, Any]:
            query = request.query_params
            question = str(query.get("q", ""))[:_PREFILL_CHARACTERS]
            # Without ?q= the box is left alone: a fast reader may have typed by now.
            shown = question if question else gr.skip()
            return shown, gr.Accordion(visible=query.get("advanced") == "1")

        page.load(
            prefill,
            outputs=[ask.question, ask.advanced],
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
    page.queue(max_size=settings.serving.queue_size)
    return page


def mount_options() -> dict[str, Any]:
    """Everything that ``gr.mount_gradio_app`` must be told beside app, page and path.

    ``run_history`` is off because Gradio would keep every question in the visitor's browser.
    """
    return {
        "theme": page_theme(),
        "css": page_css(),
        "head": page_head(),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "show_error": False,
    }


def _header(facts: LibraryFacts) -> str:
    banner, shown = "", "Every claim shows its page."
    if facts.kind == "starter":
        # A digest tells which pages a paragraph reports on, and not every paragraph has some.
        shown = "Every claim shows its source."
        banner = (
            f'<p class="banner"><b>Starter library.</b> Answers come from digests of '
            f"{facts.papers:,} papers; all {facts.listed:,} are listed in the Library tab. To ask "
            "about the full texts: <code>python scripts/build_index.py</code></p>"
        )
    return (
        f'<header class="top"><h1>{TITLE}</h1><span class="sub">Ask {facts.papers:,} AI and ML '
        f"papers. {shown}</span></header>{banner}"
    )


def _footer(facts: LibraryFacts) -> str:
    return (
        '<footer class="foot"><span>Questions are not stored.</span> <span>Apache-2.0; PyMuPDF is '
        f"AGPL.</span> <span>{text(reasoner_name(facts.reasoner_label))}</span></footer>"
    )
