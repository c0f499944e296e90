"""Gates: why a paper that a search found does not enter the library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rag.papers import fold_title
from rag.selection.records import PaperRecord
from rag.selection.topics import Gates, Topic


class Reason(StrEnum):
    """Why a candidate was rejected; each rejected candidate has exactly one."""

    EXCLUDED = "on the reviewed exclude list"
    WITHDRAWN = "withdrawn"
    NO_ABSTRACT = "no abstract"
    NO_CATEGORY = "no category"
    OUTSIDE_FIELDS = "its first category is outside CS and ML"
    OUTSIDE_TOPIC = "none of its categories belongs to the topic"
    BLOCKED_TITLE = "its title names an applied niche"
    WEAK_MATCH = "the search words occur only in passing"
    DUPLICATE = "its title is in the library already"
    QUOTA = "the quota of its topic is full"


@dataclass(frozen=True)
class Gatekeeper:
    """Applies the gates of a plan and the exclude list to records."""

    gates: Gates
    excluded: Mapping[str, str]
    blocked: re.Pattern[str]

    @classmethod
    def of(cls, gates: Gates, excluded: Mapping[str, str]) -> Gatekeeper:
        """A gatekeeper; blocked words are folded as titles are, and stand as whole words."""
        folded = [fold_title(word) for word in gates.title_blocklist]
        words = [re.escape(word) for word in folded if word]
        pattern = rf"\b(?:{'|'.join(sorted(words))})\b" if words else r"(?!)"
        return cls(gates, excluded, re.compile(pattern))

    def barred(self, record: PaperRecord) -> Reason | None:
        """What bars a paper however it was found: also one picked by hand."""
        if record.paper_id in self.excluded:
            return Reason.EXCLUDED
        return Reason.WITHDRAWN if record.withdrawn else None

    def rejected(self, record: PaperRecord, topic: Topic) -> Reason | None:
        """The first gate that a paper found by keyword does not pass."""
        barred = self.barred(record)
        if barred is not None:
            return barred
        if not record.categories:
            return Reason.NO_CATEGORY
        if record.categories[0] not in self.gates.categories:
            return Reason.OUTSIDE_FIELDS
        if not set(topic.categories) & set(record.categories):
            return Reason.OUTSIDE_TOPIC
        if self.blocked.search(fold_title(record.title)):
            return Reason.BLOCKED_TITLE
        return None if record.abstract else Reason.NO_ABSTRACT
