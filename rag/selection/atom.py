"""Atom: what an answer of the arXiv API holds."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from datetime import UTC, datetime

from rag.papers import split_version
from rag.selection.records import PaperRecord, one_line, says_withdrawn

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
LARGEST_ANSWER = 50_000_000


@dataclass(frozen=True)
class AtomPage:
    """One page of results; ``total`` is how many the whole search has; ``error`` is the
    service's own complaint about the query, with which it answers 200.

    ``empty`` says that the page has no entry at all: one for an unknown id has no facts.
    """

    records: tuple[PaperRecord, ...]
    total: int
    error: str | None = None
    empty: bool = False


def parse_page(text: str) -> AtomPage:
    """Read a page. Raises ``ValueError`` when the text is no Atom feed (cut off, an HTML page)."""
    if len(text) > LARGEST_ANSWER or "<!DOCTYPE" in text[:2000] or "<!ENTITY" in text:
        raise ValueError("not an Atom feed")
    try:
        feed = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError("not an Atom feed") from error
    if feed.tag != f"{_ATOM}feed":
        raise ValueError("not an Atom feed")
    entries = feed.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in (entry.findtext(f"{_ATOM}id") or ""):
            return AtomPage((), 0, one_line(entry.findtext(f"{_ATOM}summary")) or "unknown error")
    records = tuple(record for entry in entries if (record := _record(entry)))
    total = (feed.findtext(f"{_SEARCH}totalResults") or "").strip()
    return AtomPage(records, int(total) if total.isdecimal() else len(records), empty=not entries)


def _record(entry: ElementTree.Element) -> PaperRecord | None:
    parts = split_version(entry.findtext(f"{_ATOM}id") or "")
    title = one_line(entry.findtext(f"{_ATOM}title"))
    if parts is None or not title:
        return None
    primary = entry.find(f"{_ARXIV}primary_category")
    terms = [] if primary is None else [primary.get("term")]
    terms += [category.get("term") for category in entry.findall(f"{_ATOM}category")]
    names = (
        one_line(author.findtext(f"{_ATOM}name")) for author in entry.findall(f"{_ATOM}author")
    )
    abstract = one_line(entry.findtext(f"{_ATOM}summary"))
    return PaperRecord(
        paper_id=parts[0],
        title=title,
        authors=tuple(name for name in names if name),
        published=_day(entry.findtext(f"{_ATOM}published")),
        categories=tuple(dict.fromkeys(term for term in terms if term)),
        abstract=abstract or None,
        version=parts[1],
        withdrawn=says_withdrawn(entry.findtext(f"{_ARXIV}comment"), abstract),
    )


def _day(text: str | None) -> str | None:
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
