"""Records of papers from files: the Kaggle-format arXiv snapshot, and ``papers.jsonl``.

Both are read as a stream: the public snapshot has more than two million lines.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from rag.errors import UnreadablePaperError
from rag.papers import split_version
from rag.selection.records import PaperRecord, collect_records, one_line, says_withdrawn
from rag.selection.topics import Topic


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
    except (ValueError, RecursionError):  # a number or a nesting too long for Python, too
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
        withdrawn=says_withdrawn(data.get("comments"), data.get("abstract")),
    )


def merge_records(paths: Iterable[Path], wanted: set[str]) -> dict[str, PaperRecord]:
    """The records of the wanted papers from several files, joined by paper."""
    merged: dict[str, PaperRecord] = {}
    for path in paths:
        collect_records((r for r in read_records(path) if r.paper_id in wanted), merged)
    return merged


class SnapshotSource:
    """A metadata file as a source of candidates: every record of it, in one pass."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"the snapshot {path.name}"
        self.once = True

    def close(self) -> None:
        """Nothing stays open."""

    def records(self, topics: Sequence[Topic]) -> Iterator[PaperRecord]:
        """All records; the selector looks for what the topics want."""
        return read_records(self.path)


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
