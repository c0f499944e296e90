"""LibraryTab: the corpus as a table that can be filtered."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import pandas as pd

from rag.papers import Library, Paper
from rag.ui.engine_view import EngineView
from rag.ui.escape import clean, markdown_link, markdown_text, shorten, text

COLUMNS = ("Title", "Authors", "Year", "Topic", "Tier", "Holds")
HOLDINGS = {"full_text": "full text", "digest": "digest", "metadata": "metadata only"}
TIERS = {"hand_picked": "hand-picked", "fill": "fill"}
_AUTHORS_SHOWN = 4
_TITLE_SHOWN = 240


@dataclass(frozen=True)
class PaperFilter:
    """What the visitor narrows the table to; empty fields narrow nothing."""

    words: str = ""
    topics: tuple[str, ...] = ()
    first_year: int | None = None
    last_year: int | None = None
    tier: str = ""


def library_frame(library: Library) -> pd.DataFrame:
    """All papers, newest first, with a hidden ``_text`` of title, authors and id for the filter."""
    rows = [_row(paper) for paper in library]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "_text", "_year"])
    return frame.sort_values("_year", ascending=False, kind="stable", na_position="last")


def _row(paper: Paper) -> tuple[object, ...]:
    return (
        markdown_link(paper.abs_url, shorten(paper.title, _TITLE_SHOWN)),
        authors_line(paper.authors),
        str(paper.year or ""),
        markdown_text(paper.topic or "–"),
        TIERS[paper.tier],
        HOLDINGS[paper.holding],
        clean(" ".join([paper.title, *paper.authors, paper.paper_id])).casefold(),
        paper.year,
    )


def authors_line(authors: tuple[str, ...]) -> str:
    """The first authors and how many follow."""
    names = [shorten(author, 60) for author in authors]
    if not names:
        return "–"
    if len(names) <= _AUTHORS_SHOWN + 1:
        return markdown_text(", ".join(names))
    rest = len(names) - _AUTHORS_SHOWN
    return f"{markdown_text(', '.join(names[:_AUTHORS_SHOWN]))} and {rest} more"


def filter_frame(frame: pd.DataFrame, wanted: PaperFilter) -> pd.DataFrame:
    """The rows that pass; every word must occur somewhere in title, authors or id."""
    keep = pd.Series(True, index=frame.index)
    for word in clean(wanted.words).casefold().split()[:12]:
        keep &= frame["_text"].str.contains(word, regex=False)
    if wanted.topics:
        keep &= frame["Topic"].isin([markdown_text(topic) for topic in wanted.topics])
    if wanted.first_year is not None:
        keep &= frame["_year"] >= wanted.first_year
    if wanted.last_year is not None:
        keep &= frame["_year"] <= wanted.last_year
    if wanted.tier in TIERS:
        keep &= frame["Tier"] == TIERS[wanted.tier]
    return frame[keep]


def render_counts(frame: pd.DataFrame, total: int) -> str:
    """One line: how many are shown, and what the library holds of them."""
    held = frame["Holds"].value_counts()
    parts = [f"{held[name]:,} {name}" for name in HOLDINGS.values() if name in held]
    shown = f"{len(frame):,} of {total:,} papers" if len(frame) != total else f"{total:,} papers"
    picked = int((frame["Tier"] == TIERS["hand_picked"]).sum())
    return (
        f'<p class="counts" role="status"><b>{shown}</b> · {picked:,} hand-picked · '
        f"{text(' · '.join(parts) or 'nothing held')}</p>"
    )


def build_library_tab(engine: EngineView, tab: gr.Tab) -> None:
    """Lay the tab out inside the open Blocks; its rows are sent when it is first looked at."""
    library = engine.library
    years = sorted({paper.year for paper in library if paper.year})
    choices = [("any", 0), *((str(year), year) for year in years)]
    with gr.Column(elem_classes=["card", "library-card"]):
        with gr.Row(elem_classes=["filters"]):
            words = gr.Textbox(
                label="Title, author or arXiv id", placeholder="e.g. LoRA, Vaswani, 1706.03762"
            )
            topics = gr.Dropdown(
                choices=sorted(library.topics()), multiselect=True, label="Topics", value=[]
            )
            first = gr.Dropdown(choices=choices, value=0, label="From year")
            last = gr.Dropdown(choices=choices, value=0, label="To year")
            tier = gr.Dropdown(
                choices=[("all", ""), *((name, key) for key, name in TIERS.items())],
                value="",
                label="Tier",
            )
        counts = gr.HTML("")
        table = gr.Dataframe(
            headers=list(COLUMNS),
            datatype=["markdown", "markdown", "str", "markdown", "str", "str"],
            latex_delimiters=[],
            column_widths=[360, 240, 64, 206, 104, 110],
            interactive=False,
            wrap=True,
            show_label=False,
            buttons=[],
            max_height=620,
            elem_classes=["plain-table", "library-table"],
        )

    def show(
        words: str, topics: list[str], first: int, last: int, tier: str
    ) -> tuple[str, pd.DataFrame]:
        frame = library_frame(engine.library)
        wanted = PaperFilter(
            words or "", tuple(topics or ()), first or None, last or None, tier or ""
        )
        found = filter_frame(frame, wanted)
        return render_counts(found, len(frame)), found[list(COLUMNS)]

    inputs = [words, topics, first, last, tier]
    # Outside the queue: a filter must not wait behind questions that take seconds.
    gr.on(
        [tab.select, words.change, topics.change, first.change, last.change, tier.change],
        show,
        inputs=inputs,
        outputs=[counts, table],
        queue=False,
        show_progress="hidden",
        trigger_mode="always_last",
        api_visibility="private",
    )
