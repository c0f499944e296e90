"""PaperFilter: which papers the words after "papers" select, and how that is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rag.papers import Paper, fold_title
from rag.retrieval.terms import terms

# What a paper is called in a question about the library, as a part of a pattern.
PAPERS = r"(?:papers?|articles?|publications?|works?|preprints?|documents?|studies)"
_LIBRARY = r"(?:the|your|this) (?:library|corpus|collection|database|index)"
_YEAR = re.compile(r"\b(19[89]\d|20[0-4]\d)\b")
_SPAN = re.compile(rf"(?:between|from)?\s*{_YEAR.pattern}\s*(?:and|to|-|–|until)\s*{_YEAR.pattern}")
# Words that select nothing.
_NOISE = re.compile(
    r"\b(?:do you (?:have|hold|know)|are there|is there"
    rf"|in {_LIBRARY}|{_LIBRARY}"
    rf"|published|written|released|have|has|{PAPERS}"
    r"|in total|altogether|in all|please|from the year|the year"
    r"|contain|contains|hold|you|are|were|was|there|does|do)\b"
)
_RELATION = re.compile(
    r"^(?:(?:published|written) )?"
    r"(?:on|about|from|in|of|by|regarding|related to|dealing with|cover|covering)\b"
)


@dataclass(frozen=True)
class PaperFilter:
    """Which papers are meant, and how that is said; an empty ``phrase`` means all of them."""

    accept: Callable[[Paper], bool]
    phrase: str


def filter_from_words(rest: str) -> PaperFilter | None:
    """The papers that the words after "papers" select; None when they do not fit a catalogue."""
    span = _SPAN.search(rest)
    if span:
        low, high = sorted((int(span[1]), int(span[2])))
        return PaperFilter(lambda paper: low <= (paper.year or 0) <= high, f"from {low} to {high}")
    year = _YEAR.search(rest)
    if year:
        return _year_filter(rest, int(year[1]))
    if re.search(r"\bdid\b", rest):
        # "how many papers on X did the survey review": somebody else's papers.
        return None
    words = " ".join(_NOISE.sub(" ", rest).split())
    by = re.match(r"^by\s+(.+)$", words)
    if by:
        return _author_filter(by[1])
    if not words:
        return PaperFilter(lambda paper: True, "")
    subject = _RELATION.sub("", words).strip(" :,")
    return subject_filter(subject) if subject and subject != words else None


def _year_filter(rest: str, year: int) -> PaperFilter:
    if re.search(r"\b(since|after)\b", rest):
        least = year + 1 if "after" in rest else year
        return PaperFilter(lambda paper: (paper.year or 0) >= least, f"from {least} or later")
    if re.search(r"\bbefore\b", rest):
        return PaperFilter(lambda paper: 0 < (paper.year or 0) < year, f"from before {year}")
    return PaperFilter(lambda paper: paper.year == year, f"from {year}")


def _author_filter(name: str) -> PaperFilter:
    wanted = set(fold_title(name).split())

    def wrote(paper: Paper) -> bool:
        return any(wanted <= set(fold_title(author).split()) for author in paper.authors)

    return PaperFilter(wrote, f"by {name.title()}")


def subject_filter(words: str) -> PaperFilter:
    """Papers whose title or topic holds all the words."""
    wanted = {_stem(term) for term in terms(words)}

    def about(paper: Paper) -> bool:
        held = {_stem(term) for term in terms(f"{paper.title} {paper.topic or ''}")}
        return bool(wanted) and wanted <= held

    return PaperFilter(about, f"on {words}")


def _stem(term: str) -> str:
    return term[:-1] if len(term) > 3 and term.endswith("s") and not term.endswith("ss") else term
