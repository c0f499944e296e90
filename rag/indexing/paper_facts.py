"""PaperFacts: what is known about each paper before its PDF is read, and how both are joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.indexing.document import PaperText, Stamp
from rag.papers import Library, Paper, is_paper_id, month_of_id
from rag.selection.records import PaperRecord

# Shorter "abstracts" found in a PDF are a misread heading more often than an abstract.
LEAST_ABSTRACT = 200


@dataclass(frozen=True)
class PaperFacts:
    """Sources of facts, best first: the manifest, then the metadata records."""

    library: Library
    records: Mapping[str, PaperRecord] = field(default_factory=dict)


def paper_of_pdf(
    file_id: str, text: PaperText, facts: PaperFacts
) -> tuple[Paper, str | None, int | None]:
    """The paper, its abstract and the abstract's page.

    The title comes from manifest or record, else from page 1, else from the file's name; the
    year from the record, else the id, else the stamp; authors only from a source, never guessed.
    The PDF's own abstract is preferred since it has a page.
    """
    paper_id = _paper_id(file_id, text.stamp)
    known = facts.library.get(paper_id)
    record = facts.records.get(paper_id)
    title = (known.title if known else "") or (record.title if record else "")
    paper = Paper(
        paper_id=paper_id,
        title=title or text.title or file_id,
        authors=(known.authors if known else ()) or (record.authors if record else ()),
        published=_published(paper_id, known, record, text.stamp),
        categories=_categories(known, record, text.stamp),
        topic=known.topic if known else None,
        tier=known.tier if known else "fill",
        version=text.stamp.version if text.stamp and text.stamp.arxiv_id == paper_id else None,
        names=known.names if known else (),
        holding="full_text",
    )
    abstract, page = text.abstract, text.abstract_page
    if (abstract is None or len(abstract) < LEAST_ABSTRACT) and record and record.abstract:
        abstract, page = record.abstract, None
    return paper, abstract, page


def _paper_id(file_id: str, stamp: Stamp | None) -> str:
    """The stamp names a paper whose file does not carry its id."""
    if not is_paper_id(file_id) and stamp is not None and is_paper_id(stamp.arxiv_id):
        return stamp.arxiv_id
    return file_id


def _published(
    paper_id: str, known: Paper | None, record: PaperRecord | None, stamp: Stamp | None
) -> str | None:
    date = (known.published if known else None) or (record.published if record else None)
    if date:
        return date
    return month_of_id(paper_id) or (stamp.date if stamp else None)


def _categories(
    known: Paper | None, record: PaperRecord | None, stamp: Stamp | None
) -> tuple[str, ...]:
    stamped = (stamp.category,) if stamp and stamp.category else ()
    return (known.categories if known else ()) or (record.categories if record else ()) or stamped
