"""PaperRecord: what a source says about one paper, and how two sources are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag.text_cleaning import clean_text

_WITHDRAWN = re.compile(r"\bwithdrawn\b", re.IGNORECASE)
_WITHDRAWS_ITSELF = re.compile(
    r"\s*(?:this|the)\s+(?:paper|submission|article|manuscript|work)\b"
    r"(?:(?:(?!\.\s)[\s\S]){0,60}\s(?:been|is|was)(?:\s+\w+ly|\s+now)?)?\s+withdrawn\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PaperRecord:
    """What a source says about one paper; absent facts are None or empty, never invented.

    ``published`` is the date of the first version, as precise as the source is; ``version`` the
    newest version known; the first of ``categories`` is the primary one.
    """

    paper_id: str
    title: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    categories: tuple[str, ...] = ()
    abstract: str | None = None
    version: str | None = None
    withdrawn: bool = False

    @property
    def version_number(self) -> int:
        """3 for "v3"; 0 when unknown."""
        return int(self.version[1:]) if self.version and self.version[1:].isdecimal() else 0


def join_records(first: PaperRecord, second: PaperRecord) -> PaperRecord:
    """One record of two: the newest version's facts, gaps filled from the other.

    Categories are joined in order; a withdrawal said by either stands.
    """
    newer, older = (
        (second, first) if second.version_number > first.version_number else (first, second)
    )
    return PaperRecord(
        paper_id=newer.paper_id,
        title=newer.title,
        authors=newer.authors or older.authors,
        published=newer.published or older.published,
        categories=tuple(dict.fromkeys((*newer.categories, *older.categories))),
        abstract=newer.abstract or older.abstract,
        version=newer.version or older.version,
        withdrawn=newer.withdrawn or older.withdrawn,
    )


def collect_records(
    records: Iterable[PaperRecord], into: dict[str, PaperRecord]
) -> dict[str, PaperRecord]:
    """Add records to those known by id, joining several of one paper (versions, cross-lists)."""
    for record in records:
        known = into.get(record.paper_id)
        into[record.paper_id] = join_records(known, record) if known else record
    return into


def one_line(value: object) -> str:
    """Text of a source as one clean line: line breaks and runs of blanks become one blank."""
    return re.sub(r"\s+", " ", clean_text(value)).strip() if isinstance(value, str) else ""


def says_withdrawn(*texts: object) -> bool:
    """Whether a comment or an abstract says that the paper was withdrawn.

    An abstract says so at its start ("This paper has been withdrawn ..."); later in it the word
    may belong to the subject.
    """
    comment, *abstracts = (text if isinstance(text, str) else "" for text in (*texts, ""))
    return bool(_WITHDRAWN.search(comment)) or any(
        _WITHDRAWS_ITSELF.match(text) for text in abstracts
    )
