"""Downloads: the PDFs of a manifest, fetched politely, each kept once it is whole."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import httpx

from rag.errors import SourceUnavailableError
from rag.papers import Paper, is_paper_id
from rag.sections import FetchingSettings
from rag.selection.polite_client import NonsenseError, PoliteClient

logger = logging.getLogger(__name__)
Progress = Callable[[str], None]
_MARK = b"%PDF-"
_HEAD = 1024  # readers of PDFs accept the mark anywhere in the first 1,024 bytes
_PART = ".part"
MOST_BROKEN = 3


class Outcome(StrEnum):
    """What became of one paper's PDF."""

    FETCHED = "downloaded"
    HELD = "already there"
    WITHDRAWN = "withdrawn"
    MISSING = "no PDF on arXiv"
    TOO_LARGE = "larger than the limit"
    BROKEN = "not a usable PDF"


@dataclass
class DownloadSummary:
    """Paper ids by outcome, and why the run stopped before its end, if it did."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    wanted: int = 0
    stopped: str = ""

    @property
    def left(self) -> int:
        """Papers that were not reached."""
        return self.wanted - len(self.outcomes)

    def count(self, outcome: Outcome) -> int:
        """How many papers had this outcome."""
        return sum(1 for found in self.outcomes.values() if found is outcome)

    def lines(self) -> list[str]:
        """The summary for a terminal; the counts add up."""
        parts = [f"{self.count(o)} {o}" for o in Outcome if self.count(o)]
        if self.left:
            parts.append(f"{self.left} not reached")
        lines = [f"{' + '.join(parts) or '0'} = {self.wanted} papers"]
        return [*lines, f"stopped: {self.stopped}"] if self.stopped else lines


def pdf_path(folder: Path, paper_id: str) -> Path:
    """Where a paper's PDF lies; the slash of an old-style id is an underscore.

    Raises ``ValueError`` for what is no arXiv id: a path cannot be smuggled in.
    """
    if not is_paper_id(paper_id):
        raise ValueError("not an arXiv id")
    return folder / f"{paper_id.replace('/', '_')}.pdf"


def download_pdfs(
    papers: Iterable[Paper],
    folder: Path,
    client: PoliteClient,
    settings: FetchingSettings,
    withdrawn: frozenset[str] = frozenset(),
    progress: Progress = lambda paper_id: None,
) -> DownloadSummary:
    """Fetch what is not in ``folder`` yet.

    A withdrawn paper is skipped and not asked for. A paper whose answer stays unusable is counted
    and left for the next run; three of them in a row mean the host. The run stops, with the
    reason in the summary, when the host refuses (403, a page instead of a PDF) or stays down; the
    next run goes on from there, since whole files are never fetched again.
    """
    wanted = list(papers)
    summary = DownloadSummary(wanted=len(wanted))
    broken = 0
    for paper in wanted:
        path = pdf_path(folder, paper.paper_id)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if paper.paper_id in withdrawn:
                outcome = Outcome.WITHDRAWN
            elif is_whole_pdf(path):
                outcome = Outcome.HELD
            else:
                outcome = _fetch(paper, path, client, settings)
        except SourceUnavailableError as error:
            broken += 1
            if not isinstance(error.__cause__, NonsenseError) or broken == MOST_BROKEN:
                summary.stopped = str(error)
                break
            outcome = Outcome.BROKEN
        except OSError as error:
            summary.stopped = f"The folder for PDFs cannot be written ({error.strerror})."
            break
        if outcome is Outcome.FETCHED:
            broken = 0
        summary.outcomes[paper.paper_id] = outcome
        progress(paper.paper_id)
    return summary


def is_whole_pdf(path: Path) -> bool:
    """Whether a finished download lies there; unfinished ones have another name."""
    try:
        with path.open("rb") as stream:
            return _MARK in stream.read(_HEAD)
    except OSError:
        return False


def _fetch(paper: Paper, path: Path, client: PoliteClient, settings: FetchingSettings) -> Outcome:
    url = f"{settings.pdf_url.rstrip('/')}/{paper.versioned_id}"
    largest = settings.largest_pdf_megabytes * 1_000_000

    def read(response: httpx.Response) -> Outcome:
        if response.status_code == 404:
            return Outcome.MISSING
        if response.status_code >= 400:
            raise SourceUnavailableError(
                f"arXiv refused a PDF (HTTP {response.status_code} at {paper.paper_id}). Wait "
                "some hours and run the same command again; it goes on at this paper."
            )
        return _store(response, path, largest, paper.paper_id)

    return client.fetch(url, read)


def _store(response: httpx.Response, path: Path, largest: int, paper_id: str) -> Outcome:
    """Write the body beside its final place and move it there once it is whole."""
    part = path.with_suffix(_PART)
    promised = response.headers.get("Content-Length", "")
    if promised.isdecimal() and int(promised) > largest:
        return Outcome.TOO_LARGE
    size, head = 0, b""
    try:
        with part.open("wb") as stream:
            for block in response.iter_bytes():
                head += block[: _HEAD - len(head)]
                size += len(block)
                if size > largest:
                    return Outcome.TOO_LARGE
                stream.write(block)
        _check(response, head, size, paper_id)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return Outcome.FETCHED


def _check(response: httpx.Response, head: bytes, size: int, paper_id: str) -> None:
    """A PDF of the promised length; anything else is refused before it can be indexed."""
    kind = response.headers.get("Content-Type", "")
    markup = re.match(rb"\s*<", head)
    if markup or _MARK not in head:
        if markup or "html" in kind:
            raise SourceUnavailableError(
                f"arXiv sent a web page instead of the PDF of {paper_id} (a check for robots, or "
                "a notice). Wait some hours and run the same command again; it goes on there."
            )
        raise NonsenseError("the answer is not a PDF")
    promised = response.headers.get("Content-Length", "")
    encoded = response.headers.get("Content-Encoding", "identity") != "identity"
    if promised.isdecimal() and not encoded and int(promised) != size:
        raise NonsenseError(f"{size} of {promised} bytes came")
