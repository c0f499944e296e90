"""Questions with known answers: the one question file that every evaluation reads."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from rag.errors import InvalidSettingError
from rag.papers import Library

Category = Literal[
    "fact", "paraphrase", "number", "short", "comparison", "near_miss", "out_of_scope",
    "catalogue", "injection",
]  # fmt: skip
SINGLE_PAPER: frozenset[Category] = frozenset({"fact", "paraphrase", "number", "short"})
ANSWERABLE: frozenset[Category] = SINGLE_PAPER | {"comparison"}
# What must be refused: the library has nothing on it.
UNANSWERABLE: frozenset[Category] = frozenset({"near_miss", "out_of_scope"})
# What retrieval is measured and calibrated on; the rest is answered without it, or attacks.
RESEARCH: frozenset[Category] = ANSWERABLE | UNANSWERABLE
ALL: frozenset[Category] = RESEARCH | {"catalogue", "injection"}
# As many authors as the catalogue names.
AUTHORS_NAMED = 20


class Expect(BaseModel):
    """What the catalogue must say; exactly one rule. All but ``text`` are worked out from the
    library of the run, since the right count depends on the index.

    The counts are of listed papers; ``count_on`` takes those whose title or topic has the word.
    ``newest_from`` is a year: a paper of its last month must be named. ``authors_of``, ``date_of``
    and ``holds`` take an arXiv id, ``lacks`` a title. ``text`` holds strings that must all occur.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    count_all: Literal[True] | None = None
    count_from_year: int | None = None
    count_since_year: int | None = None
    count_before_year: int | None = None
    count_by_author: str | None = None
    count_on: str | None = None
    newest_from: int | None = None
    authors_of: str | None = None
    date_of: str | None = None
    holds: str | None = None
    lacks: str | None = None
    topics: Literal[True] | None = None
    text: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Expect:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("exactly one rule is needed")
        return self


class Question(BaseModel):
    """One question: gold papers with the pages that answer it, and facts a right answer holds.

    ``facts`` are groups of accepted spellings: one of each group must occur. ``split`` keeps the
    half used for tuning apart from the half that is reported. ``expect`` is what the catalogue
    must say, ``forbidden`` what the answer to an attack must not hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    category: Category
    split: Literal["tune", "report"]
    papers: tuple[str, ...] = ()
    pages: dict[str, tuple[int, ...]] = {}
    facts: tuple[tuple[str, ...], ...] = ()
    answer: str = ""
    expect: Expect | None = None
    forbidden: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _fits_its_category(self) -> Question:
        if (self.category == "catalogue") != (self.expect is not None):
            raise ValueError("a catalogue question, and no other, says what to expect")
        if (self.category == "injection") != bool(self.forbidden):
            raise ValueError("an injection, and no other question, forbids strings")
        return self

    @property
    def answerable(self) -> bool:
        """Whether some paper of the library answers it."""
        return self.category in ANSWERABLE


def read_questions(
    path: Path, split: str = "all", categories: Collection[Category] = RESEARCH
) -> list[Question]:
    """The questions of one half, or "all", and of some categories.

    Raises ``InvalidSettingError`` naming a bad line.
    """
    questions: list[Question] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            raise InvalidSettingError(f"Line {number} of {path.name} is no question.") from error
        if split in ("all", question.split) and question.category in categories:
            questions.append(question)
    return questions


def expected_groups(expect: Expect, library: Library) -> list[tuple[str, ...]]:
    """What an answer must hold, one spelling of each group, worked out from the library."""
    if expect.text is not None:
        return [(item,) for item in expect.text]
    if expect.topics:
        return [(name,) for name in library.topics()] or [("no topics",)]
    if expect.lacks is not None:
        return [("no paper", "does not hold")]
    if expect.newest_from is not None:
        papers = [paper for paper in library if paper.year == expect.newest_from]
        last = max((paper.month for paper in papers), default="")
        return [tuple(p.title for p in papers if p.month == last) or ("no paper",)]
    about = expect.authors_of or expect.date_of or expect.holds
    if about is None:
        return [_count_spellings(_count(expect, library))]
    paper = library.get(about)
    if paper is None:
        return [("no paper", "does not hold")]
    if expect.authors_of:
        return [(name,) for name in paper.authors[:AUTHORS_NAMED]] or [("not recorded",)]
    if expect.date_of:
        return [(paper.date_words or "unknown",)]
    return [("Yes",) if paper.searchable else ("only by its facts",)]


def _count(expect: Expect, library: Library) -> int:
    author = (expect.count_by_author or "").casefold()
    word = re.compile(rf"\b{re.escape(expect.count_on or '')}s?\b", re.I)
    years = [paper.year for paper in library if paper.year is not None]
    if expect.count_from_year is not None:
        return years.count(expect.count_from_year)
    if expect.count_since_year is not None:
        return sum(year >= expect.count_since_year for year in years)
    if expect.count_before_year is not None:
        return sum(year < expect.count_before_year for year in years)
    if author:
        # "Percy S. Liang" is Percy Liang.
        wanted = set(author.split())
        return sum(
            any(wanted <= set(name.casefold().split()) for name in paper.authors)
            for paper in library
        )
    if expect.count_on is not None:
        return sum(bool(word.search(f"{p.title} {p.topic or ''}")) for p in library)
    return len(library)


def _count_spellings(count: int) -> tuple[str, ...]:
    return (f"{count} paper",) if count else ("no paper", "0 papers")
