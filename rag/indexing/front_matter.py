"""Front matter: title and abstract of a paper, and where its body begins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.indexing.headings import Heading
from rag.indexing.layout import Row
from rag.indexing.paragraphs import Paragraph
from rag.indexing.style import BodyStyle
from rag.text_cleaning import join_hyphenated

_ABSTRACT = re.compile(
    r"(?:A\s?B\s?S\s?T\s?R\s?A\s?C\s?T|Abstract|Summary)\s*[.:—–-]*", re.IGNORECASE
)
_RUN_IN = re.compile(r"(?:ABSTRACT|Abstract)\s*[.:—–-]+\s*(?=\S)|(?:ABSTRACT|Abstract)\s+(?=[A-Z])")
_AFTER_ABSTRACT = re.compile(
    r"(?:Key\s?-?words?|Index Terms|CCS Concepts|Categories and Subject|General Terms"
    r"|ACM Reference|1\.?\s+Introduction|I\.\s+Introduction|Introduction\b|Code (?:is|and)|Date:"
    r"|Correspondence)",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"Key\s?-?words?|Index Terms|CCS Concepts|Categories and|General Terms|ACM Reference",
    re.IGNORECASE,
)
_TITLE_ZONE = 0.5  # of page 1, from the top
_MOST_TITLE = 400  # characters; the longest of arXiv have about 250
_LEAST_ABSTRACT = 300  # characters of an unlabelled paragraph that may be the abstract
_MOST_ABSTRACT = 4000  # characters; longer "abstracts" have run into the text


@dataclass(frozen=True)
class FrontMatter:
    """The abstract with its page, and the index of the first paragraph of the body."""

    abstract: str | None
    page: int | None
    body_start: int


def find_title(
    rows: Sequence[Row], height: float, style: BodyStyle, vocabulary: Mapping[str, int]
) -> str | None:
    """The largest text in the upper half of page 1, over as many lines as have that size.

    None when nothing there is bigger or bolder than the running text.
    """
    top = [
        row.line
        for row in rows
        if row.page == 1 and row.line.baseline < _TITLE_ZONE * height and len(row.line.text) > 3
    ]
    worded = [line for line in top if sum(char.isalpha() for char in line.text) >= 6]
    if not worded:
        return None
    size = max(line.size for line in worded)
    if size < 1.08 * style.size:
        top = [line for line in top if line.bold > 0.85 or line.size > size]
        size = max((line.size for line in top), default=0.0)
    parts: list[str] = []
    last = None
    for line in top:
        same = abs(line.size - size) <= 0.05 * size or (
            # a line of small capitals without a big letter
            bool(parts) and line.text.isupper() and parts[-1].isupper() and line.size >= 0.78 * size
        )
        if not same:
            if parts and last is not None and line.baseline > last + 0.5 * size:
                break
            continue
        if last is not None and line.baseline - last > 2.2 * size:
            break
        parts.append(line.text)
        last = line.baseline
    title = ""
    for part in parts:
        title = join_hyphenated(title, part, vocabulary) if title else part
    return title.strip(" ∗*†‡")[:_MOST_TITLE] or None


def find_front_matter(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], style: BodyStyle
) -> FrontMatter:
    """The abstract (labelled, run-in or unlabelled) and where the body begins after it."""
    early = [at for at, item in enumerate(paragraphs) if item.page <= 2]
    for at in early:
        text = paragraphs[at].text
        if paragraphs[at].rows <= 2 and _ABSTRACT.fullmatch(text):
            return _collect(paragraphs, headings, at + 1, "")
        run_in = _RUN_IN.match(text)
        if run_in and paragraphs[at].kind in ("text", "note"):
            return _collect(paragraphs, headings, at, text[: run_in.end()])
    return _unlabelled(paragraphs, headings)


def _collect(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], start: int, label: str
) -> FrontMatter:
    """The paragraphs of an abstract that begins at ``start``, up to the next heading."""
    parts: list[str] = []
    at = start
    while at < len(paragraphs):
        item = paragraphs[at]
        opening = at == start
        if (at in headings and parts) or (not opening and _AFTER_ABSTRACT.match(item.text)):
            break
        if item.kind == "text" or (item.kind in ("note", "heading") and not parts):
            length = sum(map(len, parts))
            turned = item.page > paragraphs[start].page and length > _LEAST_ABSTRACT
            if parts and (turned or length + len(item.text) > _MOST_ABSTRACT):
                break
            parts.append(item.text[len(label) :] if opening else item.text)
        at += 1
    abstract = " ".join(parts).strip()
    page = paragraphs[start].page if start < len(paragraphs) else 1
    return FrontMatter(
        abstract or None, page if abstract else None, _skip_keywords(paragraphs, headings, at)
    )


def _skip_keywords(
    paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading], at: int
) -> int:
    """Past keywords, subject classes and the publisher's citation, up to the introduction."""
    listed = False
    while at < len(paragraphs) and paragraphs[at].page <= 2:
        if _LISTS.match(paragraphs[at].text):
            listed = True
        elif not listed or at in headings or len(paragraphs[at].text) > 500:
            break
        at += 1
    return at


def _unlabelled(paragraphs: Sequence[Paragraph], headings: Mapping[int, Heading]) -> FrontMatter:
    """Without the word "abstract": the long paragraph between title and introduction."""
    intro = next(
        (at for at in headings if re.search(r"introduction", paragraphs[at].text, re.I)), None
    )
    if intro is None or paragraphs[intro].page > 2:
        return FrontMatter(None, None, 0)
    before = [
        at
        for at in range(intro)
        if paragraphs[at].kind in ("text", "note") and len(paragraphs[at].text) >= _LEAST_ABSTRACT
    ]
    if not before:
        return FrontMatter(None, None, intro)
    return FrontMatter(paragraphs[before[-1]].text, paragraphs[before[-1]].page, intro)
