"""PaperScope: the papers that questions are limited to, with the words that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from rag.papers import Paper
from rag.results import Scope
from rag.ui.escape import shorten, text
from rag.ui.library_rows import HOLDINGS, PaperFilter

MOST_PAPERS = 200  # a search limited to more is slower than one over everything, and no sharper
PLACEHOLDER = "Ask about AI and machine learning research"


@dataclass(frozen=True)
class PaperScope:
    """What the Ask tab is limited to; ``label`` names it in the chip."""

    paper_ids: tuple[str, ...]
    label: str
    placeholder: str

    @property
    def scope(self) -> Scope:
        """The scope of a request."""
        return Scope(paper_ids=self.paper_ids)


@dataclass(frozen=True)
class Selection:
    """What "Ask only these" would do with the filtered papers.

    ``paper_ids`` are those that can be searched; ``why_not`` says why nothing can be asked, and
    ``note`` what is left out.
    """

    paper_ids: tuple[str, ...]
    why_not: str = ""
    note: str = ""

    @property
    def button(self) -> str:
        """The words on the button."""
        number = len(self.paper_ids)
        if self.why_not or not number:
            return "Ask only these"
        return "Ask only this paper" if number == 1 else f"Ask only these {number:,} papers"


def select_papers(found: pd.DataFrame, everything: pd.DataFrame) -> Selection:
    """Which of the filtered papers can be asked about, and what to say of the others."""
    searchable = found.loc[found["_holding"] != "metadata", "arXiv"]
    all_searchable = int((everything["_holding"] != "metadata").sum())
    number, left_out = len(searchable), len(found) - len(searchable)
    ids = tuple(map(str, searchable))
    facts = "is listed by its facts only" if left_out == 1 else "are listed by their facts only"
    note = f"{left_out:,} of these {facts} and cannot be asked about." if left_out else ""
    if found.empty:
        return Selection((), "No paper passes the filters.")
    if not number:
        return Selection((), "Only facts are listed of these: there is no text to ask about.")
    if number == all_searchable:
        held = "all of these" if not left_out else f"the {number:,} that hold text"
        return Selection((), f"Nothing is narrowed yet: the Ask tab searches {held}.")
    if number > MOST_PAPERS:
        return Selection(
            (), f"{number:,} papers can be searched: narrow them to {MOST_PAPERS} at most."
        )
    return Selection(ids, note=note)


def one_paper(paper: Paper) -> PaperScope:
    """Questions about this paper only."""
    return _one(paper.paper_id, paper.title)


def filtered_papers(ids: Sequence[str], titles: Sequence[str], wanted: PaperFilter) -> PaperScope:
    """Questions about the filtered papers only."""
    if len(ids) == 1:
        return _one(ids[0], titles[0])
    why = describe_filter(wanted)
    label = f"{len(ids):,} papers" + (f" ({why})" if why else "")
    return PaperScope(tuple(ids), label, f"Ask about these {len(ids):,} papers")


def _one(paper_id: str, title: str) -> PaperScope:
    head = title.split(":")[0]  # "LoRA: Low-Rank ...": what people call it
    return PaperScope((paper_id,), shorten(title, 90), f"Ask about “{shorten(head, 36)}”")


def describe_filter(wanted: PaperFilter) -> str:
    """ "topic: Diffusion, from 2020": a filter as people say it, kept short."""
    parts = [f"“{shorten(wanted.words, 30)}”"] if wanted.words.strip() else []
    if len(wanted.topics) == 1:
        parts.append(f"topic: {shorten(wanted.topics[0], 40)}")
    elif wanted.topics:
        parts.append(f"{len(wanted.topics)} topics")
    years = sorted(year for year in (wanted.first_year, wanted.last_year) if year is not None)
    if len(years) == 2:
        parts.append(str(years[0]) if years[0] == years[1] else f"{years[0]}–{years[1]}")
    elif years:
        parts.append(f"{'from' if wanted.first_year else 'to'} {years[0]}")
    if wanted.tier == "hand_picked":
        parts.append("hand-picked")
    if wanted.holding in HOLDINGS:
        parts.append(HOLDINGS[wanted.holding])
    return ", ".join(parts)


def render_scope(chosen: PaperScope | None) -> str:
    """The words of the chip over the question box; empty without a scope."""
    if chosen is None:
        return ""
    return f'<p class="scope" role="status">Asking only: <b>{text(chosen.label)}</b></p>'
