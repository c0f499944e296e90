"""Sections: the paragraphs of a paper under their headings, as the chunker takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.indexing.document import Section
from rag.indexing.front_matter import FrontMatter, find_front_matter
from rag.indexing.headings import Heading, find_headings
from rag.indexing.paragraphs import Paragraph
from rag.indexing.references import find_cuts
from rag.indexing.style import BodyStyle

_CONTACT = re.compile(
    r"@|equal contribution|contribut\w+ equally|corresponding author|correspondence to"
    r"|permission to make digital|^\W{0,3}(?:final|senior|first|primary) author"
    r"|^[\W\d]{0,4}(?:school|institute|[^.]{0,60} (?:university|institute)) of [^.]{3,90}\.?$"
    r"|work (?:was )?done (?:while|during|when|at)|acm isbn|acm reference format|copyright"
    r"|^in proceedings of|^\W{0,3}(?:university|department|google|microsoft|meta )",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Outline:
    """A paper divided: abstract and its page, sections in order, notes on refused cuts."""

    front: FrontMatter
    sections: tuple[Section, ...]
    notes: tuple[str, ...]


def divide(paragraphs: Sequence[Paragraph], style: BodyStyle, title: str | None) -> Outline:
    """Divides a paper into sections, without front matter, references and thanks."""
    headings = find_headings(paragraphs, style)
    headings = {at: item for at, item in headings.items() if not _same_text(item.text, title)}
    front = find_front_matter(paragraphs, headings, style)
    cut, notes = find_cuts(paragraphs, headings)
    kept = [
        at
        for at in range(len(paragraphs))
        if (at >= front.body_start or paragraphs[at].kind == "caption")
        and at not in cut
        and not _is_contact(paragraphs[at])
        and not _same_text(paragraphs[at].text, title)
    ]
    first_reference = min(
        (
            at
            for at in cut
            if re.search(r"referen|bibliogr", paragraphs[at].text, re.I) and at in headings
        ),
        default=len(paragraphs),
    )
    sections = _assemble(paragraphs, headings, kept, first_reference)
    return Outline(front, sections, notes)


def _same_text(text: str, title: str | None) -> bool:
    def folded(value: str) -> str:
        return re.sub(r"\W+", "", value).casefold()

    return title is not None and folded(text) == folded(title)


def _is_contact(item: Paragraph) -> bool:
    """Footnotes of page 1 that tell who the authors are, and notices of publishers."""
    if item.page == 1 and item.text.startswith("Preprint submitted to"):
        return True
    return (
        item.page == 1
        and item.kind in ("note", "text")
        and len(item.text) < 900
        and bool(_CONTACT.search(item.text))
        and item.size < 9.6
    )


def _assemble(
    paragraphs: Sequence[Paragraph],
    headings: Mapping[int, Heading],
    kept: Sequence[int],
    first_reference: int,
) -> tuple[Section, ...]:
    sections: list[Section] = []
    heading = Heading("", 1, None, False)
    appendix = past_list = False
    last_number = 0
    group: list[Paragraph] = []
    for at in kept:
        found = headings.get(at)
        if found is None:
            group.append(paragraphs[at])
            continue
        if group:
            sections.append(_section(heading, appendix, group))
        heading, group = found, []
        main = int(found.number) if found.number and found.number.isdigit() else 0
        resumes = main == last_number + 1 and main > 1
        if at > first_reference and not past_list:
            appendix, past_list = not resumes, True
        elif found.appendix and _plausible_appendix(found, last_number):
            appendix = True
        elif resumes and main:
            appendix = False
        last_number = main or last_number
    if group:
        sections.append(_section(heading, appendix, group))
    return tuple(sections)


def _plausible_appendix(heading: Heading, last_number: int) -> bool:
    """A lettered heading opens the appendix only after some numbered sections."""
    return heading.number is None or last_number >= 2 or "ppendix" in heading.text.lower()


def _section(heading: Heading, appendix: bool, group: Sequence[Paragraph]) -> Section:
    text = ""
    breaks: list[tuple[int, int]] = []
    for item in group:
        start = len(text) + 2 if text else 0
        text = f"{text}\n\n{item.text}" if text else item.text
        for offset, page in item.breaks:
            if not breaks or breaks[-1][1] != page:
                breaks.append((start + offset, page))
    kind = "appendix" if appendix else "body"
    return Section(heading.text, heading.level, kind, text, tuple(breaks))
