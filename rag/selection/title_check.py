"""TitleCheck: whether a hand-picked id is the paper that was meant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rag.papers import fold_title
from rag.selection.records import PaperRecord
from rag.selection.topics import HandPicked

# Share of the words in common from which two titles are one paper's, renamed by a later version.
LEAST_COMMON = 0.5


class TitleFinding(StrEnum):
    """What comparing the meant title with the source's says."""

    SAME = "same"
    RENAMED = "renamed"
    DIFFERENT = "different"
    MISSING = "missing"


@dataclass(frozen=True)
class TitleCheck:
    """One hand-picked paper: the title meant, the source's, and what that says."""

    entry: HandPicked
    finding: TitleFinding
    source_title: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the id is the paper that was meant."""
        return self.finding in {TitleFinding.SAME, TitleFinding.RENAMED}

    def line(self) -> str:
        """One line for the report."""
        if self.finding is TitleFinding.MISSING:
            return f"{self.entry.id}: not in the source (meant “{self.entry.title}”)"
        return (
            f"{self.entry.id}: {self.finding}: meant “{self.entry.title}”, "
            f"the source says “{self.source_title}”"
        )


def check_title(entry: HandPicked, record: PaperRecord | None) -> TitleCheck:
    """Compare titles with case, punctuation and TeX folded.

    A title that shares at least half of all words, or its name before the colon, was renamed by
    a later version; any other is another paper's.
    """
    if record is None:
        return TitleCheck(entry, TitleFinding.MISSING)
    meant, said = fold_title(entry.title), fold_title(record.title)
    if entry.title == record.title or (meant and meant.replace(" ", "") == said.replace(" ", "")):
        finding = TitleFinding.SAME
    else:
        finding = TitleFinding.RENAMED if _akin(entry, record) else TitleFinding.DIFFERENT
    return TitleCheck(entry, finding, record.title)


def _akin(entry: HandPicked, record: PaperRecord) -> bool:
    heads = {fold_title(title.split(":")[0]) for title in (entry.title, record.title)}
    if len(heads) == 1 and ":" in entry.title and ":" in record.title:
        return True
    meant, said = set(fold_title(entry.title).split()), set(fold_title(record.title).split())
    return len(meant & said) >= LEAST_COMMON * len(meant | said) > 0
