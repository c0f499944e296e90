"""Heading: which short lines open a section, and at what depth."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.indexing.paragraphs import Paragraph
from rag.indexing.style import BodyStyle

_NUMBER = re.compile(r"(?:Section\s+)?(\d{1,2}(?:\.\d{1,2}){0,3})[.:]?\s+(?=[^\W\d_]|[“\"'(])")
_LETTER = re.compile(r"(?:Appendix\s+)?([A-Z](?:\.\d{1,2}){0,3})[.:]?\s+(?=[A-Z“\"'(])")
_ROMAN = re.compile(r"([IVX]{1,5})\.\s+(?=[A-Z])")
_APPENDIX = re.compile(
    r"(?:(?:\d{1,2}|[A-Z])[.:]?\s+)?(?:Appendi(?:x|ces)\b|Supplement(?:ary|al)?\b)", re.IGNORECASE
)
_LETTERED_SUBSECTION = re.compile(r"[A-HJ-UWYZ]\.\s+[A-Z]")
_LEAST_ROMAN = 3  # headings with Roman numbers that make it the style of a paper
_THEOREM = re.compile(
    r"(?:Theorem|Lemma|Proof|Proposition|Corollary|Definition|Remark|Example|Claim|Assumption|Step|Algorithm"
    r"|Question|Answer|Input|Output|Q|A|Prompt|Query)\b[\s\d.:()A-Z]*$",
    re.IGNORECASE,
)
_LABELS = re.compile(r"^(?:[A-Z]\s){2}|\([a-z]\)")  # of a drawing or its parts
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Heading:
    """A recognised heading: its text, its depth from 1, and whether it opens an appendix.

    ``number`` is the leading number or letter as printed ("3.2", "A.1"), None without one.
    """

    text: str
    level: int
    number: str | None
    appendix: bool


def find_headings(paragraphs: Sequence[Paragraph], style: BodyStyle) -> dict[int, Heading]:
    """The headings among the paragraphs, by index; candidates that fail are ordinary text."""
    found: dict[int, Heading] = {}
    sizes = _numbered_sizes(paragraphs)
    numbered_paper = sum(sizes.values()) >= 4
    for at, item in enumerate(paragraphs):
        if item.kind != "heading":
            continue
        heading = _numbered(item)
        if heading is None and _stands_out(item, style, numbered_paper):
            heading = Heading(
                item.text, _level_by_size(item, style, sizes), None, _opens_appendix(item)
            )
        if heading is not None:
            found[at] = heading
    return _with_roman_levels(found)


def _with_roman_levels(found: dict[int, Heading]) -> dict[int, Heading]:
    """Under Roman numbers "A." and "B." are subsections, up to the appendix that says so."""
    roman = sum(bool(_ROMAN.match(heading.text)) for heading in found.values())
    if roman < _LEAST_ROMAN:
        return found
    result: dict[int, Heading] = {}
    in_appendix = False
    for at, heading in found.items():
        in_appendix = in_appendix or bool(_APPENDIX.match(heading.text))
        if _LETTERED_SUBSECTION.match(heading.text) and not in_appendix:
            heading = replace(heading, level=2, appendix=False)
        result[at] = heading
    return result


def _numbered_sizes(paragraphs: Sequence[Paragraph]) -> Counter[float]:
    """Sizes of headings that carry a plain number, to tell the depth of those without one."""
    return Counter(
        round(item.size, 1)
        for item in paragraphs
        if item.kind == "heading" and re.match(r"\d{1,2}\.?\s+[A-Z]", item.text)
    )


def _numbered(item: Paragraph) -> Heading | None:
    text = item.text
    if _APPENDIX.match(text):
        number = _LETTER.match(text)
        label = number[1] if number else None
        return Heading(text, 1, label, True)
    match = _NUMBER.match(text)
    if match and _title_like(text[match.end() :]):
        return Heading(text, match[1].count(".") + 1, match[1], False)
    roman = _ROMAN.match(text)
    if roman and _title_like(text[roman.end() :]):
        return Heading(text, 1, roman[1], False)
    letter = _LETTER.match(text)
    loud = item.bold > 0.7 or text.isupper() or (text[1:2] == "." and len(text) < 80)
    if letter and loud and _title_like(text[letter.end() :]) and not _LABELS.search(text):
        return Heading(text, letter[1].count(".") + 1, letter[1], True)
    return None


def _title_like(rest: str) -> bool:
    words = _WORD.findall(rest)
    digits = sum(char.isdigit() for char in rest)
    coded = sum(any(char.isdigit() for char in word) for word in rest.split())
    if coded > 2:
        return False  # the head of a table
    return 1 <= len(words) <= 18 and digits <= 0.35 * len(rest) and not rest.rstrip().endswith(",")


def _opens_appendix(item: Paragraph) -> bool:
    return bool(_APPENDIX.match(item.text))


def _stands_out(item: Paragraph, style: BodyStyle, numbered_paper: bool) -> bool:
    """Whether an unnumbered candidate is loud enough: bold, big or all capitals."""
    text = item.text
    if item.cells > 1 or not _title_like(text) or _THEOREM.match(text) or len(text) > 110:
        return False
    if not text[0].isalpha() or text[0].islower():
        return False
    loud = item.bold > 0.7 or item.size >= 1.1 * style.size or text.upper() == text
    if numbered_paper and item.size < 0.97 * style.size:
        return False
    return loud or bool(re.fullmatch(r"(?:abstract|references|acknowledge?ments?)\W*", text, re.I))


def _level_by_size(item: Paragraph, style: BodyStyle, sizes: Counter[float]) -> int:
    if sizes:
        usual = sizes.most_common(1)[0][0]
        return 1 if item.size >= usual - 0.3 else 2 if item.size > style.size * 1.03 else 3
    return 1 if item.size >= 1.15 * style.size or item.text.upper() == item.text else 2
