"""MethodTab: how an answer comes about, in plain words, with this index's own numbers."""

from __future__ import annotations

import gradio as gr

from rag.settings import Settings
from rag.ui.answer import reasoner_name
from rag.ui.engine_view import EngineView, LibraryFacts
from rag.ui.escape import text


def render_method(facts: LibraryFacts, settings: Settings) -> str:
    """The whole tab as HTML."""
    numbers = "".join(
        f"<div><b>{text(value)}</b><span>{label}</span></div>"
        for value, label in (
            (f"{facts.papers:,}", "papers"),
            (f"{facts.chunks:,}", "searchable passages"),
            (f"{facts.topics:,}", "topics"),
            (facts.embedder, "turns text into vectors"),
            (facts.reranker or "none", "reads candidates again"),
            (reasoner_name(facts.reasoner_label), "plans, judges and writes"),
        )
    )
    get, agent = settings.retrieval, settings.agent
    steps = "".join(
        f"<li><b>{name}</b><p>{words}</p></li>"
        for name, words in (
            (
                "Plan",
                "A question that asks two things becomes two or three searches. Questions about "
                "the library itself (“how many papers are from 2023?”) are answered from its "
                "catalogue.",
            ),
            (
                "Hybrid retrieval",
                f"Each search looks for meaning ({get.abstracts_per_query} abstracts and "
                f"{get.passages_per_query} passages by vectors) and for words "
                f"({get.keyword_per_query} by BM25). Reciprocal rank fusion makes one list of "
                f"{get.pool_size}, which also takes passages of papers that match as a whole.",
            ),
            (
                "Rerank",
                "A second model reads every candidate next to the question. Its score and those of "
                "the search become one calibrated relevance from 0 to 1. What misses the bar is "
                f"dropped; at most {get.keep} passages go on.",
            ),
            ("Grade", "Do the kept passages hold the answer? On topic is not enough."),
            (
                "Reformulate",
                "If something is missing, other words are tried, at most "
                f"{agent.max_passes} passes in all. This is the adaptive part.",
            ),
            (
                "Synthesize",
                "The answer is written from the passages only, each sentence with its source.",
            ),
            (
                "Verify",
                "Local models, not the writer, compare each sentence with the passage it cites "
                "and mark what is only partly supported or not at all.",
            ),
        )
    )
    digests = (
        "<li>This starter library holds digests: short summaries written for this project, not the "
        "papers themselves. <code>python scripts/build_index.py</code> builds the full library."
        "</li>"
        if facts.kind == "starter"
        else ""
    )
    return (
        f'<article class="method"><div class="numbers">{numbers}</div>'
        "<h2>The way of a question</h2>"
        f'<ol class="steps">{steps}</ol><h2>What it cannot do</h2><ul>{digests}'
        "<li>It knows only the papers in its library. A good paper that is not there is not "
        "found.</li>"
        "<li>“Supported” means that a model found the sentence backed by its passage. It can err, "
        "and the paper itself can be wrong: open the page and read.</li>"
        "<li>Tables, figures and formulas are read as plain text and may be garbled.</li>"
        "<li>Without a language model an answer is put together from the papers’ own "
        "sentences: exact, but not smooth.</li></ul>"
        f'<p class="dim">Index {text(facts.fingerprint)}</p></article>'
    )


def build_method_tab(engine: EngineView, settings: Settings) -> None:
    """Lay the tab out inside the open Blocks."""
    gr.HTML(render_method(engine.facts, settings), elem_classes=["card"])
