"""Keywords: how well a paper matches the search phrases of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.papers import fold_title
from rag.selection.records import PaperRecord
from rag.selection.topics import Topic

IN_TITLE, IN_ABSTRACT = 3, 1
# A phrase in the title, or several phrases in the abstract.
LEAST_SCORE = 3


@dataclass(frozen=True)
class KeywordMatch:
    """The score of a paper for a topic, the phrases that earned it, and the topic's place."""

    topic: Topic
    score: int
    phrases: tuple[str, ...]
    place: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """Sorts the best first; of equal scores the topic that the plan names first."""
        return -self.score, self.place


@dataclass(frozen=True)
class SearchableText:
    """A record's folded title and abstract, folded once for all topics."""

    record: PaperRecord

    @cached_property
    def title(self) -> str:
        """The folded title between blanks."""
        return f" {fold_title(self.record.title)} "

    @cached_property
    def abstract(self) -> str:
        """The folded abstract between blanks."""
        return f" {fold_title(self.record.abstract or '')} "


@dataclass(frozen=True)
class TopicKeywords:
    """The folded phrases of the topic at a place of the plan."""

    topic: Topic
    phrases: tuple[str, ...]
    place: int

    @classmethod
    def of(cls, topic: Topic, place: int) -> TopicKeywords:
        """Fold the queries of a topic once."""
        folded = dict.fromkeys(fold_title(query) for query in topic.queries)
        return cls(topic, tuple(phrase for phrase in folded if phrase), place)

    def match(self, text: SearchableText) -> KeywordMatch | None:
        """The match of a paper; None without any phrase.

        A phrase counts with its plural, and once: in the title, else in the abstract.
        """
        score, found = 0, []
        for phrase in self.phrases:
            if _holds(text.title, phrase):
                score += IN_TITLE
            elif _holds(text.abstract, phrase):
                score += IN_ABSTRACT
            else:
                continue
            found.append(phrase)
        return KeywordMatch(self.topic, score, tuple(found), self.place) if found else None


def _holds(text: str, phrase: str) -> bool:
    return f" {phrase} " in text or f" {phrase}s " in text


def best_matches(record: PaperRecord, topics: Sequence[TopicKeywords]) -> list[KeywordMatch]:
    """The matches of a paper with all topics, best first."""
    text = SearchableText(record)
    matches = [match for keywords in topics if (match := keywords.match(text))]
    return sorted(matches, key=lambda match: match.rank)
