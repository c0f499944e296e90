"""Claims with known verdicts about passages of real papers; the passages stay in the papers.

A line of ``claims.jsonl`` says where its passage stands: paper, page, and start and length in the
page's letters and digits (see ``Letters``), with the SHA-256 of those. So nothing of a paper is in
the repository, and neither spaces, hyphens, ligatures nor our own extraction move a passage.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pymupdf
from pydantic import BaseModel, ConfigDict, ValidationError

from rag.agent.support import Rarity, judge_claim
from rag.errors import InvalidSettingError
from rag.evaluation.retrieval_run import Estimate, estimate
from rag.results import Support
from rag.text_cleaning import clean_text

Kind = Literal["plain", "number", "name", "negation"]
# The rows of the table: which wrong claims are to be found, among all supported ones.
GROUPS: dict[str, tuple[Kind, ...]] = {
    "number": ("number",),
    "name": ("name",),
    "number and name": ("number", "name"),
    "negation": ("negation",),
}
# What counts as found: "not" alone (what removal removes), or whatever is flagged.
READINGS: dict[str, tuple[Support, ...]] = {"not": ("not",), "flagged": ("not", "partly")}
_PAGE_FLAGS = pymupdf.TEXTFLAGS_TEXT | pymupdf.TEXT_DEHYPHENATE


class Claim(BaseModel):
    """A sentence in our own words about a passage; ``kind`` says what was made wrong in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    paper_id: str
    page: int
    start: int
    length: int
    passage_hash: str
    claim: str
    label: Literal["supported", "wrong"]
    kind: Kind
    split: Literal["tune", "report"]


@dataclass(frozen=True)
class Letters:
    """The lower-case letters and digits of a text, each with its offset in it."""

    text: str
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Letters:
        """The letters and digits of ``text``; ligatures are taken apart."""
        found = [
            (letter, offset)
            for offset, char in enumerate(text)
            for letter in unicodedata.normalize("NFKC", char).casefold()
            if letter.isalnum()
        ]
        return cls("".join(letter for letter, _ in found), tuple(place for _, place in found))

    def digest(self, start: int, length: int) -> str:
        """SHA-256 of a window, in hexadecimal digits."""
        return hashlib.sha256(self.text[start : start + length].encode()).hexdigest()

    def find(self, start: int, length: int, digest: str) -> int | None:
        """Where the window with this hash begins: at ``start``, or wherever else it is."""
        places: Iterable[int] = (start, *range(len(self.text) - length + 1))
        return next((at for at in places if self.digest(at, length) == digest), None)


def read_claims(path: Path, split: str = "all") -> list[Claim]:
    """The claims of one half, or "all"; raises ``InvalidSettingError`` naming a bad line."""
    claims: list[Claim] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            claim = Claim.model_validate_json(line)
        except ValidationError as error:
            raise InvalidSettingError(f"Line {number} of {path.name} is no claim.") from error
        if split in ("all", claim.split):
            claims.append(claim)
    return claims


def page_text(papers: Path, paper_id: str, page: int) -> str:
    """The text of a page (from 1) of a paper, as PyMuPDF reads it, words at line ends joined."""
    try:
        document = pymupdf.open(papers / f"{paper_id}.pdf")  # type: ignore[no-untyped-call]
        with document:
            read = document[page - 1].get_text(flags=_PAGE_FLAGS)  # type: ignore[no-untyped-call]
            return str(read)
    except (OSError, RuntimeError, IndexError):
        raise InvalidSettingError(f"Page {page} of {paper_id}.pdf could not be read.") from None


def passage_of(claim: Claim, text: str) -> str:
    """The claim's passage in the text of its page; raises ``InvalidSettingError`` without it."""
    letters = Letters.of(text)
    start = letters.find(claim.start, claim.length, claim.passage_hash)
    if start is None:
        raise InvalidSettingError(f"The passage of claim {claim.id} is not on its page.")
    first, last = letters.offsets[start], letters.offsets[start + claim.length - 1]
    # The closing stop of the last sentence is no letter.
    return " ".join(clean_text(text[first : last + 2]).split())


def read_passages(claims: Sequence[Claim], papers: Path) -> list[str]:
    """The passage of each claim, read from the folder of PDFs."""
    return [passage_of(claim, page_text(papers, claim.paper_id, claim.page)) for claim in claims]


@dataclass(frozen=True)
class ClaimRow:
    """A claim with the verdict of the verifier and its reason."""

    claim: Claim
    support: Support
    reason: str


def judge_all(claims: Sequence[Claim], passages: Sequence[str], rarity: Rarity) -> list[ClaimRow]:
    """Each claim against its own passage, as the verifier checks a sentence that cites one."""
    verdicts = [
        judge_claim(claim.claim, (passage,), rarity)
        for claim, passage in zip(claims, passages, strict=True)
    ]
    return [
        ClaimRow(claim, verdict.support, verdict.reason)
        for claim, verdict in zip(claims, verdicts, strict=True)
    ]


@dataclass(frozen=True)
class Detection:
    """How well wrong claims are found: of them, the share that is found (recall); of what is
    found, the share that is wrong (precision); None where there is nothing to divide by."""

    recall: Estimate | None
    precision: Estimate | None


def detect(rows: Sequence[ClaimRow], group: str, reading: str) -> Detection:
    """Recall and precision for one group of wrong claims among all supported ones."""
    kinds, found = GROUPS[group], READINGS[reading]
    wrong = [row for row in rows if row.claim.kind in kinds]
    right = [row for row in rows if row.claim.label == "supported"]
    caught = [row for row in (*wrong, *right) if row.support in found]
    return Detection(
        recall=estimate([float(row.support in found) for row in wrong]),
        precision=estimate([float(row.claim.label == "wrong") for row in caught]),
    )


def false_alarms(rows: Sequence[ClaimRow], reading: str) -> Estimate | None:
    """Share of the supported claims that are found wrong."""
    right = [row for row in rows if row.claim.label == "supported"]
    return estimate([float(row.support in READINGS[reading]) for row in right])
