"""Generations: an index is written aside, sealed, and swapped in with one rename.

``DIR/CURRENT`` holds the name of the live generation, ``DIR/<fingerprint>/``. A build works in
``DIR/building-<settings hash>/`` and may be killed at any time: a reader sees the old index or
the new one, never half.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from rag.chunks import Chunk
from rag.errors import IndexUnavailableError
from rag.indexing.acronyms import mine_acronyms
from rag.indexing.chunk_table import ChunkTable
from rag.indexing.chunker import CHUNKER_VERSION
from rag.indexing.search_texts import keyword_terms
from rag.retrieval.chroma_store import write_chroma
from rag.retrieval.keyword import build_keyword_index, save_keyword_index
from rag.sections import IndexingSettings
from rag.settings import short_hash

CURRENT = "CURRENT"
MANIFEST = "index.json"
KEYWORD_FILE = "keyword.npz"
ACRONYM_FILE = "acronyms.json"
CHROMA_FOLDER = "chroma"
FORMAT = 3
KEPT_GENERATIONS = 2


class IndexManifest(BaseModel):
    """``index.json``: what made this generation and what it holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    kind: str  # "built" or "starter"
    fingerprint: str
    content_hash: str
    embedder: str
    dimension: int
    chunker: str
    settings_hash: str
    papers: int
    chunks: int
    abstracts: int
    passages: int
    created: str


def settings_hash(settings: IndexingSettings, embedder: str) -> str:
    """What must be equal for two chunks to belong in one index."""
    relevant = settings.model_dump(exclude={"workers", "seconds_per_file"})
    return short_hash(
        {**relevant, "embedder": embedder, "chunker": CHUNKER_VERSION, "format": FORMAT}
    )


@contextlib.contextmanager
def writer_lock(root: Path) -> Iterator[None]:
    """Hold the only right to write below ``root``.

    Raises ``IndexUnavailableError`` when another process holds it, or the folder is not writable.
    """
    lock = FileLock(root / ".writer.lock", timeout=0)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise IndexUnavailableError(
            "Another process is writing this index; wait until it has finished."
        ) from None
    except (OSError, NotImplementedError):  # filelock's word for a file system without locks
        raise IndexUnavailableError(
            "The index folder is not writable; choose another one with --index or RAG_DATA_DIR."
        ) from None
    try:
        yield
    finally:
        lock.release()


def seal(
    building: Path, root: Path, *, kind: str, embedder: str, dimension: int, settings_key: str
) -> IndexManifest:
    """Make Chroma, keyword index and ``index.json`` from the chunk table, then swap it in."""
    table = ChunkTable(building)
    try:
        content_hash = table.content_hash()
        manifest = _write_parts(
            building, table, content_hash, kind, embedder, dimension, settings_key
        )
    finally:
        table.close()
    target = root / manifest.fingerprint
    if target.exists():
        shutil.rmtree(target)
    building.rename(target)
    set_current(root, manifest.fingerprint)
    remove_old_generations(root)
    return manifest


def _write_parts(
    building: Path,
    table: ChunkTable,
    content_hash: str,
    kind: str,
    embedder: str,
    dimension: int,
    settings_key: str,
) -> IndexManifest:
    chroma = building / CHROMA_FOLDER
    shutil.rmtree(chroma, ignore_errors=True)
    chunks: list[Chunk] = []
    for batch, _ in table.batches(2000):
        chunks += batch
    write_chroma(chroma, table.batches(5000))
    papers = {paper.paper_id: paper for paper in table.papers()}
    keyword = build_keyword_index(
        [chunk.chunk_id for chunk in chunks],
        [keyword_terms(papers[chunk.paper_id], chunk) for chunk in chunks],
        content_hash,
    )
    save_keyword_index(keyword, building / KEYWORD_FILE)
    acronyms = mine_acronyms(chunk.text for chunk in chunks)
    write_atomically(building / ACRONYM_FILE, json.dumps(acronyms, ensure_ascii=False, indent=0))
    abstracts = sum(chunk.chunk_index == 0 for chunk in chunks)
    manifest = IndexManifest(
        format=FORMAT,
        kind=kind,
        fingerprint=short_hash([FORMAT, content_hash, embedder, settings_key, kind]),
        content_hash=content_hash,
        embedder=embedder,
        dimension=dimension,
        chunker=CHUNKER_VERSION,
        settings_hash=settings_key,
        papers=len(papers),
        chunks=len(chunks),
        abstracts=abstracts,
        passages=len(chunks) - abstracts,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_atomically(building / MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


def current_generation(root: Path) -> Path:
    """The directory of the live generation; raises ``IndexUnavailableError`` when there is none."""
    build = f"run: python scripts/build_index.py --pdf-dir PDFS --index {root.name}"
    try:
        name = (root / CURRENT).read_text(encoding="utf-8").strip()
    except OSError:
        unfinished = any(root.glob("building-*")) if root.is_dir() else False
        state = "only half-written" if unfinished else "not there"
        raise IndexUnavailableError(f"The index “{root.name}” is {state}; {build}.") from None
    directory = root / name
    if not name or "/" in name or not directory.is_dir():
        raise IndexUnavailableError(
            f"The index “{root.name}” names a generation that is not there; {build}."
        )
    return directory


def read_manifest(directory: Path) -> IndexManifest:
    """``index.json`` of a generation; raises ``IndexUnavailableError`` when unusable."""
    try:
        manifest = IndexManifest.model_validate_json((directory / MANIFEST).read_text("utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        raise IndexUnavailableError(
            "The index's index.json is missing or damaged; build the index again with "
            "scripts/build_index.py."
        ) from None
    if manifest.format != FORMAT:
        raise IndexUnavailableError(
            "The index was made by another version of this program; build it again with "
            "scripts/build_index.py."
        )
    return manifest


def set_current(root: Path, name: str) -> None:
    """Make a generation the live one, atomically."""
    write_atomically(root / CURRENT, name + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(path)


def remove_old_generations(root: Path) -> None:
    """Keep the newest generations; an open reader may still use the one before the live one."""
    generations = sorted(
        (path.parent for path in root.glob(f"*/{MANIFEST}")),
        key=lambda path: (path / MANIFEST).stat().st_mtime,
        reverse=True,
    )
    for path in generations[KEPT_GENERATIONS:]:
        shutil.rmtree(path, ignore_errors=True)
