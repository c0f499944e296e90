"""LibraryRows: the catalogue as a frame that is made once, and the filters over it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from rag.papers import Library, Paper, fold_title, split_version
from rag.ui.engine_view import EngineView
from rag.ui.escape import clean, shorten

COLUMNS = ("Title", "Authors", "Year", "arXiv", "Topic", "Tier", "Holds")
ID_COLUMN = COLUMNS.index("arXiv")
HOLDINGS = {
    "full_text": "full text",
    "digest": "digest",
    "abstract": "abstract",
    "metadata": "metadata only",
}
ASKABLE = "askable"
TIERS = {"hand_picked": "hand-picked", "fill": "fill"}
SORTS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "title": "title A–Z",
    "author": "first author A–Z",
}
_AUTHORS_SHOWN = 2
_TITLE_SHOWN = 240
_WORDS_USED = 12


@dataclass(frozen=True)
class PaperFilter:
    """What the visitor narrows the table to; empty fields narrow nothing.

    ``holding`` is one of ``HOLDINGS``, or ``ASKABLE`` for whatever can be searched.
    """

    words: str = ""
    topics: tuple[str, ...] = ()
    first_year: int | None = None
    last_year: int | None = None
    tier: str = ""
    holding: str = ""
    sort: str = "newest"


class LibraryRows:
    """The frame of an engine's catalogue, made anew only when the catalogue is another object."""

    def __init__(self, engine: EngineView) -> None:
        self._engine = engine
        self._made: tuple[Library, pd.DataFrame] | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """All listed papers, newest first."""
        catalogue = self._engine.catalogue
        made = self._made
        if made is None or made[0] is not catalogue:
            made = self._made = (catalogue, library_frame(catalogue))
        return made[1]

    def find(self, wanted: PaperFilter) -> pd.DataFrame:
        """The rows that pass, in the order that is wanted."""
        return filter_frame(self.frame, wanted)


def library_frame(library: Library) -> pd.DataFrame:
    """All papers, newest first: the columns that are shown and, with a leading ``_``, those that
    are searched and sorted by."""
    rows = [_row(paper) for paper in library]
    hidden = ("_folded", "_raw", "_exact", "_author", "_date", "_year", "_topic", "_holding")
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *hidden])
    return frame.sort_values("_date", ascending=False, kind="stable").reset_index(drop=True)


def _row(paper: Paper) -> tuple[object, ...]:
    called = [paper.title, *paper.names, *paper.search_terms]
    everything = " ".join([*called, *paper.authors, paper.paper_id])
    family = paper.authors[0].split()[-1:] if paper.authors else []
    return (
        shorten(paper.title, _TITLE_SHOWN),
        authors_line(paper.authors),
        str(paper.year or ""),
        paper.paper_id,
        shorten(paper.topic or "–", 90),
        TIERS[paper.tier],
        HOLDINGS[paper.holding],
        f" {fold_title(everything)}",
        clean(everything).casefold(),
        frozenset(fold_title(name) for name in (paper.title, *paper.names)),
        fold_title(" ".join(family)) or "~",
        paper.published or "",
        paper.year,
        paper.topic,
        paper.holding,
    )


def authors_line(authors: tuple[str, ...]) -> str:
    """The first authors and how many follow."""
    names = [shorten(author, 60) for author in authors]
    if not names:
        return "–"
    if len(names) <= _AUTHORS_SHOWN + 1:
        return ", ".join(names)
    rest = len(names) - _AUTHORS_SHOWN
    return f"{', '.join(names[:_AUTHORS_SHOWN])} and {rest:,} more"


def filter_frame(frame: pd.DataFrame, wanted: PaperFilter) -> pd.DataFrame:
    """The rows that pass, sorted; a paper that is called what was typed comes first."""
    keep = _holds_words(frame, wanted.words)
    if wanted.topics:
        keep &= frame["_topic"].isin(wanted.topics)
    first, last = wanted.first_year, wanted.last_year
    if first is not None and last is not None and first > last:
        first, last = last, first
    if first is not None:
        keep &= frame["_year"] >= first
    if last is not None:
        keep &= frame["_year"] <= last
    if wanted.tier in TIERS:
        keep &= frame["Tier"] == TIERS[wanted.tier]
    if wanted.holding in HOLDINGS:
        keep &= frame["_holding"] == wanted.holding
    elif wanted.holding == ASKABLE:
        keep &= frame["_holding"] != "metadata"
    return _named_first(_sorted(frame[keep], wanted.sort), wanted.words)


def _holds_words(frame: pd.DataFrame, words: str) -> pd.Series[bool]:
    """A word of title, names, search terms, authors or id must begin with every word typed,
    however accented: "lora" is not meant to find "Exploratory"."""
    pasted = split_version(words)
    if pasted is not None:  # an address on arXiv or an id, of which a digit may be to come
        return frame["arXiv"].str.startswith(pasted[0])
    keep = pd.Series(True, index=frame.index)
    for word in clean(words).casefold().split()[:_WORDS_USED]:
        parts = fold_title(word).split()
        # What folds to nothing (another script, a mark) is looked for as it was typed.
        column = "_folded" if parts else "_raw"
        for part in [f" {part}" for part in parts] or [word]:
            keep &= frame[column].str.contains(part, regex=False)
    return keep


def _sorted(frame: pd.DataFrame, sort: str) -> pd.DataFrame:
    if sort == "oldest":
        # Unknown dates are last in every order.
        order = frame["_date"].where(frame["_date"] != "", "~")
        return frame.loc[order.sort_values(kind="stable").index]
    if sort == "title":
        return frame.sort_values("_folded", kind="stable")
    if sort == "author":
        return frame.sort_values("_author", kind="stable")
    return frame


def _named_first(frame: pd.DataFrame, words: str) -> pd.DataFrame:
    folded = fold_title(words)
    if not folded or frame.empty:
        return frame
    named = frame["_exact"].map(lambda names: folded in names)
    return pd.concat([frame[named], frame[~named]]) if named.any() else frame
