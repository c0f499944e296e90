"""NameTable: the names that the library's papers are called by, found in a question.

People ask for "T5" or "Adaptive-RAG", not for titles. A paper is called by its recorded names and
by the part of its title before the colon. A question that calls a paper by name gets that paper
searched on its own beside all others, and its passages weigh more (docs/decisions.md).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag.papers import Paper, fold_title

LONGEST_HEAD = 4
_WORD = re.compile(r"[^\W_]+")
_UNMISTAKABLE = re.compile(r"\d|[a-z][A-Z]|[A-Z][a-z]+[A-Z]")
# More papers than this and a name is a subject ("scaling laws"), not a paper.
MOST_OWNERS = 2


@dataclass(frozen=True)
class Mention:
    """A name as it was typed, where it stands in the question, and the papers called by it."""

    typed: str
    start: int
    end: int
    paper_ids: tuple[str, ...]


@dataclass(frozen=True)
class _Name:
    spelled: str
    words: tuple[str, ...]
    paper_ids: tuple[str, ...]


class NameTable:
    """The names of all papers. Immutable; safe to read from several threads."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        owners: dict[str, list[str]] = defaultdict(list)
        spelled: dict[str, str] = {}
        for paper in papers:
            for name in names_of(paper):
                key = fold_title(name)
                if paper.paper_id not in owners[key]:
                    owners[key].append(paper.paper_id)
                spelled.setdefault(key, name)
        self._by_first: dict[str, list[_Name]] = defaultdict(list)
        for key, ids in owners.items():
            words = tuple(key.split())
            if words and len(ids) <= MOST_OWNERS:
                self._by_first[words[0]].append(_Name(spelled[key], words, tuple(ids)))
        for names in self._by_first.values():
            names.sort(key=lambda name: -len(name.words))

    def mentions(self, text: str) -> list[Mention]:
        """The names in a text in order, the longest at each place, none inside another."""
        words = list(_WORD.finditer(text))
        folded = [fold_title(word.group()).replace(" ", "") for word in words]
        found: list[Mention] = []
        place = 0
        while place < len(words):
            name = self._name_at(place, words, folded, text)
            if name is None:
                place += 1
                continue
            last = place + len(name.words) - 1
            start, end = words[place].start(), words[last].end()
            found.append(Mention(text[start:end], start, end, name.paper_ids))
            place = last + 1
        return found

    def _name_at(
        self, place: int, words: Sequence[re.Match[str]], folded: Sequence[str], text: str
    ) -> _Name | None:
        first = folded[place]
        keys = dict.fromkeys((first, first.removesuffix("s")))
        known = [name for key in keys for name in self._by_first.get(key, ())]
        for name in known:
            here = tuple(folded[place : place + len(name.words)])
            plural = (*here[:-1], here[-1].removesuffix("s"))
            if name.words not in (here, plural):
                continue
            last = place + len(name.words) - 1
            typed = text[words[place].start() : words[last].end()]
            if _as_spelled(typed, name.spelled):
                return name
        return None

    def papers_named(self, text: str) -> list[str]:
        """Ids of the papers that a text calls by name, in order, each once."""
        return list(dict.fromkeys(i for found in self.mentions(text) for i in found.paper_ids))


def names_of(paper: Paper) -> list[str]:
    """What a paper is called: its recorded names, and a short head of its title."""
    head, colon, _ = paper.title.partition(":")
    short = colon and len(fold_title(head).split()) <= LONGEST_HEAD
    return [*paper.names, *([head.strip()] if short else [])]


def _as_spelled(typed: str, spelled: str) -> bool:
    """Whether a one-word name that could be an ordinary word is written as a name.

    "Adam", "Transformer" and "MATH" need their capitals; "lora", "gpt-4" and "prefix-tuning"
    cannot be anything else.
    """
    if len(fold_title(spelled).split()) > 1 or _UNMISTAKABLE.search(spelled):
        return True
    if spelled.isupper():
        return typed.removesuffix("s") == spelled
    return typed[:1].isupper() if spelled[:1].isupper() else len(spelled) > 3


def names_spelled(text: str, names: Sequence[str]) -> list[str]:
    """The names that a text spells as whole words, whatever their case."""
    return [name for name in names if _pattern(name).search(text)]


def text_for_query(query: str, names: Sequence[str], text: str) -> str:
    """A text of a paper as the reranker reads it: behind the name that the query calls the paper
    by, unless the text spells it itself."""
    called = [name for name in names_spelled(query, names) if not names_spelled(text, [name])]
    return f"{called[0]}: {text}" if called else text


@lru_cache(maxsize=4096)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}s?(?![\w-])", re.IGNORECASE)
