"""Records of papers from files: the Kaggle-format arXiv snapshot, and ``papers.jsonl``.

Both are read as a stream: the public snapshot has more than two million lines.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from rag.errors import UnreadablePaperError
from rag.indexing.text_cleaning import clean_text
from rag.papers import split_version


@dataclass(frozen=True)
class PaperRecord:
    """What a source says about one paper; absent facts are None or empty, never invented.

    ``published`` is the date of the first version, as precise as the source is.
    """

    paper_id: str
    title: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    categories: tuple[str, ...] = ()
    abstract: str | None = None
    version: str | None = None
    withdrawn: bool = False


def read_records(path: Path) -> Iterator[PaperRecord]:
    """The records of one file, plain or gzipped, in either format; unusable lines are skipped.

    Raises ``UnreadablePaperError`` when the file cannot be read or none of its lines is a record.
    """
    found = False
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                record = parse_record(line)
                if record is not None:
                    found = True
                    yield record
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadablePaperError(
            f"The metadata file {path.name} could not be read.", reason="unreadable metadata"
        ) from error
    if not found:
        raise UnreadablePaperError(
            f"The metadata file {path.name} holds no arXiv record.", reason="unreadable metadata"
        )


def parse_record(line: str) -> PaperRecord | None:
    """One line of a snapshot or of ``papers.jsonl``; None when it is neither."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(data, dict):
        return None
    parts = split_version(str(data.get("id") or data.get("arxiv_id") or ""))
    title = one_line(data.get("title"))
    if parts is None or not title:
        return None
    listed = data.get("versions")
    versions: list[Any] = listed if isinstance(listed, list) else []
    return PaperRecord(
        paper_id=parts[0],
        title=title,
        authors=_authors(data),
        published=_first_date(versions),
        categories=_categories(data),
        abstract=one_line(data.get("abstract")) or None,
        version=_last_version(versions) or one_line(data.get("stamp_version")) or parts[1],
        withdrawn="withdrawn" in str(data.get("comments") or "").casefold(),
    )


def merge_records(paths: Iterable[Path], wanted: set[str]) -> dict[str, PaperRecord]:
    """The records of the wanted papers; earlier records win, later ones fill what is absent.

    Categories are joined, and the newest version is kept.
    """
    merged: dict[str, PaperRecord] = {}
    for path in paths:
        for record in read_records(path):
            if record.paper_id not in wanted:
                continue
            earlier = merged.get(record.paper_id)
            merged[record.paper_id] = _filled(earlier, record) if earlier else record
    return merged


def _filled(first: PaperRecord, second: PaperRecord) -> PaperRecord:
    return PaperRecord(
        paper_id=first.paper_id,
        title=first.title,
        authors=first.authors or second.authors,
        published=first.published or second.published,
        categories=tuple(dict.fromkeys((*first.categories, *second.categories))),
        abstract=first.abstract or second.abstract,
        version=max(first.version, second.version, key=_version_number),
        withdrawn=first.withdrawn or second.withdrawn,
    )


def _version_number(version: str | None) -> int:
    return int(version[1:]) if version and version[1:].isdecimal() else 0


def one_line(value: object) -> str:
    """Text of a source as one clean line: line breaks and runs of blanks become one blank."""
    return re.sub(r"\s+", " ", clean_text(value)).strip() if isinstance(value, str) else ""


def _authors(data: dict[str, Any]) -> tuple[str, ...]:
    parsed = data.get("authors_parsed")
    if isinstance(parsed, list):
        names = [_name(entry) for entry in parsed if isinstance(entry, list)]
        return tuple(name for name in names if name)
    return ()


def _name(entry: list[object]) -> str:
    family, given, *rest = [one_line(part) for part in (*entry, "", "")][:3]
    return " ".join(part for part in (given, family, *rest) if part)


def _categories(data: dict[str, Any]) -> tuple[str, ...]:
    value = data.get("categories") or data.get("arxiv_stamp_category") or ""
    return tuple(str(value).split())


def _first_date(versions: list[Any]) -> str | None:
    if not versions or not isinstance(versions[0], dict):
        return None
    try:
        created: datetime = parsedate_to_datetime(str(versions[0].get("created")))
    except (TypeError, ValueError):
        return None
    day = created.astimezone(UTC).date() if created.tzinfo else created.date()
    # Dates on the first of a month at midnight are month-precise in this format.
    month_only = day.day == 1 and (created.hour, created.minute, created.second) == (0, 0, 0)
    return day.strftime("%Y-%m") if month_only else day.isoformat()


def _last_version(versions: list[Any]) -> str | None:
    if versions and isinstance(versions[-1], dict):
        return one_line(versions[-1].get("version")) or None
    return None
