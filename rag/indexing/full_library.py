"""FullLibrary: a manifest -> abstracts and PDFs from arXiv -> an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag.errors import IndexUnavailableError, InvalidSettingError, SourceUnavailableError
from rag.indexing.build_summary import BuildSummary
from rag.indexing.builder import build_index
from rag.indexing.digests import read_digests
from rag.indexing.downloads import DownloadSummary, Outcome, download_pdfs, is_whole_pdf, pdf_path
from rag.indexing.extraction_pool import Extract
from rag.indexing.paper_facts import PaperFacts
from rag.indexing.short_papers import short_papers
from rag.papers import Library, Paper, is_paper_id, load_papers
from rag.retrieval.embed import Embedder
from rag.retrieval.late_interaction import LateModel
from rag.selection.arxiv_api import CACHE_FOLDER, ArxivApi
from rag.selection.polite_client import PoliteClient
from rag.selection.records import PaperRecord, collect_records
from rag.selection.response_cache import ResponseCache
from rag.selection.snapshot import merge_records
from rag.settings import Settings

PDF_FOLDER = "papers"
Progress = Callable[[str, str], None]


@dataclass(frozen=True)
class LibraryPlan:
    """What is to be built from where.

    ``metadata`` are snapshot files that are read before arXiv is asked; without
    ``abstracts_only`` the PDFs come to ``pdf_dir``. ``offline`` asks arXiv for nothing.
    """

    papers: tuple[Paper, ...]
    pdf_dir: Path
    index: Path
    metadata: tuple[Path, ...] = ()
    abstracts_only: bool = False
    offline: bool = False


@dataclass
class LibrarySummary:
    """The parts of a run; ``problems`` are sentences about what could not be fetched."""

    build: BuildSummary
    downloads: DownloadSummary | None = None
    withdrawn: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to fetch."""
        if self.downloads and (self.downloads.stopped or self.downloads.count(Outcome.BROKEN)):
            return False
        return not self.problems

    def lines(self) -> list[str]:
        """The summary for a terminal."""
        lines = [f"PDFs: {line}" for line in self.downloads.lines()] if self.downloads else []
        return [*lines, *self.build.lines(), *self.problems]


@dataclass(frozen=True)
class Builders:
    """The models that a build needs."""

    embedder: Embedder
    late: LateModel
    extract: Extract


def read_manifest_papers(path: Path) -> tuple[Paper, ...]:
    """The papers of a manifest, each once.

    Raises ``InvalidSettingError`` when it is missing or damaged, or an id is no arXiv id.
    """
    try:
        papers = {paper.paper_id: paper for paper in load_papers(path)}
        known = all(is_paper_id(paper_id) for paper_id in papers)
    except (OSError, ValueError, TypeError, AttributeError):
        raise InvalidSettingError(f"The manifest {path.name} is missing or damaged.") from None
    if not papers:
        raise InvalidSettingError(f"The manifest {path.name} names no paper.")
    if not known:
        raise InvalidSettingError(f"The manifest {path.name} has an entry without an arXiv id.")
    return tuple(papers.values())


def build_library(
    plan: LibraryPlan, settings: Settings, builders: Builders, progress: Progress
) -> LibrarySummary:
    """Fetch what is missing, then index: full text where there is a PDF, else digest or abstract;
    with ``plan.abstracts_only`` the abstract, and the digest where a paper has none.

    Withdrawn papers are left out. What could not be fetched is named in the summary, and the
    index is made of what there is; the same command goes on from there. ``progress`` is called
    with the phase ("abstracts", "PDFs", "index") and a name. Raises ``IndexUnavailableError``
    when there is nothing to index, with why nothing could be fetched.
    """
    client = PoliteClient(settings.fetching)
    try:
        records, problems = _records(plan, settings, client, progress)
        withdrawn = {paper_id for paper_id, record in records.items() if record.withdrawn}
        downloads = None
        if not (plan.abstracts_only or plan.offline):
            downloads = download_pdfs(
                plan.papers,
                plan.pdf_dir,
                client,
                settings.fetching,
                frozenset(withdrawn),
                lambda name: progress("PDFs", name),
            )
    finally:
        client.close()
    kept = [paper for paper in plan.papers if paper.paper_id not in withdrawn]
    try:
        build = _index(plan, kept, records, settings, builders, progress, frozenset(withdrawn))
    except IndexUnavailableError as error:
        stopped = downloads.lines()[1:] if downloads else []
        raise IndexUnavailableError(
            "\n".join([str(error), *(f"PDFs: {line}" for line in stopped), *problems])
        ) from error
    for paper_id in sorted(withdrawn & {paper.paper_id for paper in plan.papers}):
        build.inputs += 1
        build.skip("withdrawn", paper_id)
    return LibrarySummary(build, downloads, sorted(withdrawn), problems)


def _records(
    plan: LibraryPlan, settings: Settings, client: PoliteClient, progress: Progress
) -> tuple[dict[str, PaperRecord], list[str]]:
    """Records with abstracts, from files first; arXiv is asked for what they lack."""
    wanted = {paper.paper_id for paper in plan.papers}
    records = merge_records(plan.metadata, wanted)
    missing = sorted(wanted - {key for key, record in records.items() if record.abstract})
    if plan.offline or not missing:
        return records, []
    cache = ResponseCache(settings.data_dir / CACHE_FOLDER)
    api = ArxivApi(settings.fetching, client, cache)
    try:
        collect_records(_noted(api.by_id(missing), progress), records)
    except SourceUnavailableError as error:
        return records, [f"abstracts: {error}"]
    return records, []


def _noted(records: Iterable[PaperRecord], progress: Progress) -> Iterable[PaperRecord]:
    for record in records:
        progress("abstracts", record.paper_id)
        yield record


def _index(
    plan: LibraryPlan,
    papers: Sequence[Paper],
    records: dict[str, PaperRecord],
    settings: Settings,
    builders: Builders,
    progress: Progress,
    drop: frozenset[str],
) -> BuildSummary:
    paths = {} if plan.abstracts_only else _pdfs(papers, plan.pdf_dir)
    digests = read_digests(settings.corpus_dir / "starter")
    short, missing = short_papers(
        papers,
        {digest.paper_id: digest for digest in digests},
        records,
        builders.embedder,
        settings.indexing,
        prefer="abstract" if plan.abstracts_only else "digest",
    )
    by_id = {found.paper.paper_id: found for found in short}
    summary = build_index(
        sorted(paths.values()),
        plan.index,
        PaperFacts(Library(papers), records),
        builders.embedder,
        builders.late,
        settings.indexing,
        builders.extract,
        lambda name: progress("index", name),
        [found for paper_id, found in by_id.items() if paper_id not in paths],
        {paper_id: found for paper_id, found in by_id.items() if paper_id in paths},
        drop,
    )
    for paper_id in sorted(set(missing) - set(paths)):
        summary.inputs += 1
        summary.skip("neither PDF nor abstract", paper_id)
    return summary


def _pdfs(papers: Sequence[Paper], folder: Path) -> dict[str, Path]:
    found = {paper.paper_id: pdf_path(folder, paper.paper_id) for paper in papers}
    return {paper_id: path for paper_id, path in found.items() if is_whole_pdf(path)}
