"""References: what a paper lists rather than says, found so that it can be left out.

The reference list, acknowledgements and the contents page; each ends where its entries end, so
appendices after the list are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rag.indexing.headings import Heading
from rag.indexing.paragraphs import Paragraph

_NUMBERING = r"(?:(?:\d{1,2}|[A-Z]|[IVX]{1,5})[.:]?\s+)?"
_REFERENCES = re.compile(
    _NUMBERING
    + r"(?:(?:selected |additional |appendix |supplementary )?(?:references?|bibliography)"
    r"(?:\s+(?:and|&)\s+notes|\s+cited|\s+list)?|literature(?:\s+cited)?|works\s+cited)\s*[.:]?",
    re.IGNORECASE,
)
_THANKS = re.compile(
    _NUMBERING + r"acknowledge?ments?(?:\s+(?:and|&)\s+[\w\s]{1,40})?\s*[.:]?", re.IGNORECASE
)
_THANKS_RUN_IN = re.compile(r"(?:Acknowledge?ments?|ACKNOWLEDGE?MENTS?)\s*(?:[.:—–-]\s*\S|\s[A-Z])")
_CONTENTS = re.compile(_NUMBERING + r"(?:table\s+of\s+)?contents\s*[.:]?", re.IGNORECASE)
_LEADER = re.compile(r"(?:\s*\.){4,}\s*[\divxlc]{0,4}|…{2,}")
_CONTENTS_LINE = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2})*|[A-Z](?:\.\d{1,2})*)\s+[^\d]{3,80}\s\d{1,3}\b"
)

_ENTRY_START = re.compile(
    r"\[\d{1,3}\]|\[[A-Z][\w+]{1,12}\d{2}[a-z]?\]|\d{1,3}\.\s+[A-Z]"
    r"|\(\d{1,3}\)\s+[A-Z]"
)
_YEAR = re.compile(r"(?<![\d.])(?:19[4-9]|20[0-3])\d[a-z]?\b")
_VENUE = re.compile(
    r"\barXiv\b|\bCoRR\b|\bpreprint\b|\bProc(?:eedings|\.)|\bConference\b|\bJournal\b|\bdoi\b"
    r"|\bAdvances in\b|\bpp?\.\s*\d|\bpages \d|\bhttps?:|\bURL\b|\bAssociation for\b|\bACM\b"
    r"|\bTransactions\b|\bIEEE\b|\bSpringer\b|\bUniversity Press\b|\bvol\.|\bIn [A-Z]{3,}"
    r"|\bWorkshop\b|\bTechnical report\b|\bthesis\b|\d+\(\d+\):\s*\d"
)
_INITIALS = re.compile(
    r"\b[A-Z]\.(?:[\s-]?[A-Z]\.)*,?\s(?:and\s|&\s)?[A-Z]?|\b[A-Z][a-z]+,\s[A-Z]\.|et al\."
)
_NAMES = re.compile(
    r"\b[A-Z][\w’'-]+\s(?:[A-Z]\.?\s)*(?:(?:van|von|de|der|den|la|le|di|da)\s)*[A-Z][\w’'-]+(?=,|\.\s(?:19|20)\d\d)"
)
# Prose cites "(Ray et al., 2019; Li, 2020)" and "Ray et al. (2019)"; entries do not.
_CITATION = re.compile(
    r"[(\[][^()\[\]]{0,400}?[A-Za-z][^()\[\]]{0,60}?(?:19|20)\d\d[a-z]?[^()\[\]]{0,300}[)\]]"
    r"|\b(?:et al\.|[A-Z][a-z]+ (?:and|&) [A-Z][a-z]+),? \((?:19|20)\d\d[a-z]?\)"
)
MAX_CUT = 0.6  # share of a paper's characters above which a cut is more likely a mistake


def is_entry(text: str) -> bool:
    """Whether a paragraph reads like reference entries: years, venues and initials, densely."""
    text = _CITATION.sub("", text)
    per_hundred = 100 / max(len(text), 60)
    years = len(_YEAR.findall(text))
    venues = len(_VENUE.findall(text))
    people = len(_INITIALS.findall(text)) + len(_NAMES.findall(text))
    density = (years + 1.5 * venues + 0.7 * people) * per_hundred
    if _ENTRY_START.match(text):
        return density >= 0.8 and years + venues > 0
    if people * per_hundred > 2.5 and people > 8:
        return True  # nothing but names: an entry of a big team, cut off before its year
    return density >= 1.7 and years + venues > 0 and (venues > 0 or people > 0)


def find_cuts(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading]
) -> tuple[frozenset[int], tuple[str, ...]]:
    """Indices of paragraphs that are no text of the paper, and notes on refused cuts."""
    cut: set[int] = set()
    for at in headings:
        text = paragraphs[at].text
        if _CONTENTS.fullmatch(text):
            cut |= _contents(paragraphs, at)
        elif _THANKS.fullmatch(text):
            cut |= _until_heading(paragraphs, headings, at)
        elif _REFERENCES.fullmatch(text):
            cut |= _reference_list(paragraphs, headings, at)
    for at, item in enumerate(paragraphs):
        if _is_contents(item) or (
            item.kind in ("text", "note") and _THANKS_RUN_IN.match(item.text)
        ):
            cut.add(at)
    total = sum(len(item.text) for item in paragraphs) or 1
    removed = sum(len(paragraphs[at].text) for at in cut)
    if removed > MAX_CUT * total:
        note = f"cut of {100 * removed // total} % refused: references would be most of the paper"
        return frozenset(), (note,)
    return frozenset(cut), ()


def _is_contents(item: Paragraph) -> bool:
    """Whether dots that lead to page numbers fill much of a paragraph; an ellipsis does not."""
    found = list(_LEADER.finditer(item.text))
    leaders = sum(len(match.group()) for match in found)
    numbered = any(match.group()[-1] not in ".…" for match in found)
    return leaders > 0.25 * len(item.text) and (numbered or len(item.text) < 120)


def _contents(paragraphs: Sequence[Paragraph], at: int) -> set[int]:
    """The contents heading and the lines below it that end in page numbers."""
    cut = {at}
    for index in range(at + 1, len(paragraphs)):
        text = paragraphs[index].text
        listed = _is_contents(paragraphs[index]) or re.search(r"\s\d{1,3}$", text)
        inside = len(_CONTENTS_LINE.findall(text)) >= max(1, len(text) // 120)
        if not (listed or inside):
            break
        cut.add(index)
    return cut


def _until_heading(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], at: int
) -> set[int]:
    """A heading and the running text below it, up to the next heading."""
    cut = {at}
    for index in range(at + 1, len(paragraphs)):
        if index in headings or paragraphs[index].page > paragraphs[at].page + 1:
            break
        if paragraphs[index].kind == "text":
            cut.add(index)
    return cut


def _reference_list(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], at: int
) -> set[int]:
    """The list below a heading: entries and what stands between them.

    Empty when nothing that follows soon looks like an entry: then the heading is something else.
    """
    pending: list[int] = []
    cut: set[int] = set()
    prose = 0
    for index in range(at + 1, len(paragraphs)):
        item = paragraphs[index]
        if index in headings and _ends_list(paragraphs, headings, index):
            break
        entry = is_entry(item.text)
        if item.kind in ("caption", "table") or (item.mono and not entry):
            if item.kind == "table" and entry:
                cut.add(index)
            continue
        if entry:
            cut.update(pending)
            cut.add(index)
            pending, prose = [], 0
            continue
        pending.append(index)
        prose += len(item.text)
        if prose > 1200:
            break
    if not cut:
        return set()
    last = max(cut)
    tail = {index for index in pending if index > last and len(paragraphs[index].text) < 160}
    return cut | {at} | (tail if len(tail) <= 2 else set())


def _ends_list(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], index: int
) -> bool:
    """Whether a heading inside a list is a real one: what follows it is no entry.

    An entry's line in bold or capitals is taken for a heading now and then.
    """
    if _REFERENCES.fullmatch(paragraphs[index].text):
        return False
    if headings[index].appendix and not is_entry(paragraphs[index].text):
        return True
    following = [item.text for item in paragraphs[index + 1 : index + 4] if item.kind == "text"]
    return not any(is_entry(text) for text in following[:2])
