"""Builder: PDFs, digests and abstracts -> a sealed generation, resumable, a process a file."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag.chunks import Chunk
from rag.errors import IndexUnavailableError, UnreadablePaperError
from rag.indexing.build_summary import BuildSummary
from rag.indexing.chunk_table import FILE_NAME, ChunkTable
from rag.indexing.chunker import chunk_paper, mean_overlap
from rag.indexing.document import PaperText
from rag.indexing.extraction_pool import Extract, extract_all
from rag.indexing.generation import (
    IndexManifest,
    current_generation,
    read_manifest,
    seal,
    settings_hash,
    writer_lock,
)
from rag.indexing.paper_facts import PaperFacts, paper_of_pdf
from rag.indexing.search_texts import embedding_text, late_text
from rag.indexing.short_papers import ShortPaper
from rag.papers import Paper, split_version
from rag.retrieval.embed import Embedder
from rag.retrieval.index import whole_manifest
from rag.retrieval.late_interaction import LateModel, quantise
from rag.sections import IndexingSettings

logger = logging.getLogger(__name__)
Progress = Callable[[str], None]


def build_index(
    files: list[Path],
    root: Path,
    facts: PaperFacts,
    embedder: Embedder,
    late: LateModel,
    settings: IndexingSettings,
    extract: Extract,
    progress: Progress = lambda name: None,
    short_papers: Sequence[ShortPaper] = (),
    fallbacks: Mapping[str, ShortPaper] | None = None,
    drop: frozenset[str] = frozenset(),
) -> BuildSummary:
    """Index ``files`` below ``root`` and make the result the live generation.

    A paper that the live or an interrupted generation already holds is skipped; full text takes
    the place of a digest or an abstract. ``extract`` runs in a process of its own for each file
    and is ended after ``settings.seconds_per_file``; ``progress`` is called with the name of each
    finished file. ``short_papers`` stand for papers of which there is no PDF, ``fallbacks`` for
    papers whose PDF turns out to be unreadable; ``drop`` are papers to remove.
    Raises ``IndexUnavailableError`` when another process writes ``root`` or nothing was indexed.
    """
    started = time.monotonic()
    key = settings_hash(settings, embedder.name)
    with writer_lock(root):
        building = _open_building(root, key)
        table = ChunkTable(building, create=True)
        try:
            summary = BuildSummary(inputs=len(files) + len(short_papers))
            summary.removed = table.remove_papers(drop)
            todo = _unfinished(files, _in_full(table), summary)
            _index_files(todo, table, facts, embedder, late, settings, extract, progress, summary)
            stand_ins = _stand_ins(fallbacks or {}, files, table, summary)
            _index_short([*short_papers, *stand_ins], table, embedder, late, progress, summary)
            summary.chunks = table.count()
            summary.overlap = _overlap(table)
        finally:
            table.close()
        summary.manifest = _seal_if_changed(building, root, key, embedder, summary)
    summary.seconds = time.monotonic() - started
    return summary


def _open_building(root: Path, key: str) -> Path:
    """The working directory: continued when one is there, else begun from the live generation.

    A damaged chunk table is not gone on with: building again must mend an index.
    """
    building = root / f"building-{key}"
    if (building / FILE_NAME).is_file() and _readable(building, create=True):
        logger.info("continuing an interrupted build")
        return building
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        live = current_generation(root)
        manifest = read_manifest(live)
    except IndexUnavailableError:
        return building
    if manifest.settings_hash == key and _readable(live):
        shutil.copy2(live / FILE_NAME, building / FILE_NAME)
    return building


def _readable(directory: Path, *, create: bool = False) -> bool:
    """Whether the chunk table opens; ``create`` lets SQLite undo what a killed build began."""
    try:
        ChunkTable(directory, create=create).close()
    except IndexUnavailableError:
        logger.warning("the chunk table in %s is damaged and made again", directory.name)
        return False
    return True


def _unfinished(files: list[Path], held: set[str], summary: BuildSummary) -> list[Path]:
    """Files that are not in yet; several versions of one paper leave only the newest."""
    newest: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: (_version_number(path), path.name)):
        paper_id = file_paper_id(path)
        if paper_id in newest:
            summary.skip("another version of the same paper", newest[paper_id].name)
        newest[paper_id] = path
    todo: list[Path] = []
    for paper_id, path in sorted(newest.items()):
        if paper_id in held:
            summary.skip("already in the index", path.name)
        else:
            todo.append(path)
    return todo


def _version_number(path: Path) -> int:
    parts = split_version(path.stem)
    return int(parts[1][1:]) if parts and parts[1] else 0


def file_paper_id(path: Path) -> str:
    """The id of a PDF file: the arXiv id of its name, else its name in safe characters."""
    parts = split_version(path.stem)
    if parts is not None:
        return parts[0]
    safe = "".join(char if char.isalnum() or char in "-._" else "-" for char in path.stem)
    return safe.strip("-.")[:80].casefold() or "paper"


def _index_files(
    files: list[Path],
    table: ChunkTable,
    facts: PaperFacts,
    embedder: Embedder,
    late: LateModel,
    settings: IndexingSettings,
    extract: Extract,
    progress: Progress,
    summary: BuildSummary,
) -> None:
    held = _in_full(table)
    for path, outcome in extract_all(files, settings, extract):
        if isinstance(outcome, UnreadablePaperError):
            note = summary.skip if outcome.skipped else summary.fail
            note(outcome.reason, path.name)
        else:
            paper, chunks = _paper_and_chunks(path, outcome, facts, embedder, settings)
            if not chunks:
                summary.skip("no usable text", path.name)
            elif paper.paper_id in held:
                summary.skip("another version of the same paper", path.name)
            else:
                _add(paper, chunks, table, embedder, late)
                held.add(paper.paper_id)
                summary.indexed += 1
                summary.notes += [f"{path.name}: {note}" for note in outcome.notes]
        progress(path.name)


def _in_full(table: ChunkTable) -> set[str]:
    return {paper.paper_id for paper in table.papers() if paper.holding == "full_text"}


def _stand_ins(
    fallbacks: Mapping[str, ShortPaper],
    files: Sequence[Path],
    table: ChunkTable,
    summary: BuildSummary,
) -> list[ShortPaper]:
    """The digests or abstracts of papers whose file did not become a paper."""
    lost = sorted({file_paper_id(path) for path in files} - _in_full(table))
    found = [fallbacks[paper_id] for paper_id in lost if paper_id in fallbacks]
    summary.inputs += len(found)
    summary.notes += [
        f"{short.paper.paper_id}: its {short.paper.holding} stands in for an unreadable PDF"
        for short in found
    ]
    return found


def _index_short(
    short_papers: Sequence[ShortPaper],
    table: ChunkTable,
    embedder: Embedder,
    late: LateModel,
    progress: Progress,
    summary: BuildSummary,
) -> None:
    """Add digests and abstracts; one that says what the table says already is skipped."""
    held = {paper.paper_id: paper for paper in table.papers()}
    for short in short_papers:
        paper = short.paper
        known = held.get(paper.paper_id)
        chunks = list(short.chunks)
        if known and (known.holding == "full_text" or table.of_paper(paper.paper_id) == chunks):
            summary.skip("already in the index", paper.paper_id)
        else:
            _add(paper, chunks, table, embedder, late)
            summary.indexed += 1
        progress(paper.paper_id)


def _add(
    paper: Paper, chunks: list[Chunk], table: ChunkTable, embedder: Embedder, late: LateModel
) -> None:
    texts = [embedding_text(paper, chunk) for chunk in chunks]
    tokens = quantise(late.encode_documents([late_text(paper, chunks[0])])[0])
    table.add_paper(paper, chunks, embedder.embed_passages(texts), tokens)


def _paper_and_chunks(
    path: Path,
    text: PaperText,
    facts: PaperFacts,
    embedder: Embedder,
    settings: IndexingSettings,
) -> tuple[Paper, list[Chunk]]:
    paper, abstract, abstract_page = paper_of_pdf(file_paper_id(path), text, facts)
    chunks = chunk_paper(
        paper.paper_id, text, abstract, abstract_page, settings, embedder.count_tokens
    )
    named = split_version(path.stem)
    if paper.version is None and named is not None and named[0] == paper.paper_id:
        paper = replace(paper, version=named[1])
    room = embedder.window - 2 - settings.max_chunk_tokens
    return replace(paper, title=_cut_title(paper.title, room, embedder)), chunks


def _cut_title(title: str, room: int, embedder: Embedder) -> str:
    """An extreme title would push the end of a long passage out of the embedder's window."""
    while (size := embedder.count_tokens([title])[0]) > room:
        title = title[: len(title) * room // size].rstrip()
    return title


def _overlap(table: ChunkTable) -> float:
    values = [mean_overlap(table.of_paper(paper_id)) for paper_id in sorted(table.paper_ids())]
    return sum(values) / len(values) if values else 0.0


def _seal_if_changed(
    building: Path, root: Path, key: str, embedder: Embedder, summary: BuildSummary
) -> IndexManifest:
    """Seal the work, or throw it away when nothing came in beside what is live."""
    if not summary.indexed and not summary.removed:
        manifest = whole_manifest(root, embedder)
        if manifest and (manifest.settings_hash, manifest.chunks) == (key, summary.chunks):
            shutil.rmtree(building, ignore_errors=True)
            return manifest
    if not summary.chunks:
        shutil.rmtree(building, ignore_errors=True)
        raise IndexUnavailableError(
            "No file became a paper, so no index was made:\n" + "\n".join(summary.lines()[:-1])
        )
    return seal(
        building,
        root,
        kind="built",
        embedder=embedder.name,
        dimension=embedder.dimension,
        settings_key=key,
    )


def pdf_files(directory: Path) -> list[Path]:
    """The PDFs of a folder (not of its sub-folders), by name.

    Raises ``IndexUnavailableError`` when the folder is missing or holds none.
    """
    if not directory.is_dir():
        raise IndexUnavailableError(f"The folder “{directory.name}” does not exist.")
    files = sorted(
        path for path in directory.iterdir() if path.suffix.casefold() == ".pdf" and path.is_file()
    )
    if not files:
        raise IndexUnavailableError(f"The folder “{directory.name}” holds no PDF.")
    return files


def records_wanted(files: list[Path]) -> Mapping[str, Path]:
    """Paper id -> file, for looking up metadata records."""
    return {file_paper_id(path): path for path in files}
