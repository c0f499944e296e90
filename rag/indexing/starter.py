"""The starter library as an index: digests with ready vectors, built in seconds, offline."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np

from rag.errors import IndexUnavailableError
from rag.indexing.chunk_table import FILE_NAME, ChunkTable
from rag.indexing.digests import (
    VECTORS_FILE,
    Digest,
    digest_chunks,
    embedding_text,
    load_vectors,
    read_digests,
    save_vectors,
    text_key,
)
from rag.indexing.generation import (
    current_generation,
    read_manifest,
    seal,
    settings_hash,
    writer_lock,
)
from rag.papers import Library, Paper, month_of_id
from rag.retrieval.embed import Embedder, Vectors
from rag.settings import IndexingSettings, short_hash

logger = logging.getLogger(__name__)


def ensure_starter_index(
    corpus_dir: Path, root: Path, library: Library, embedder: Embedder, settings: IndexingSettings
) -> Path:
    """The root of an up-to-date starter index below ``root``, built when absent or outdated.

    Raises ``IndexUnavailableError`` when there are no digests or ``root`` is not writable.
    """
    digests = read_digests(corpus_dir / "starter")
    if not digests:
        raise IndexUnavailableError(
            "The starter library is missing (corpus/starter/digests); get the whole repository, "
            "or set RAG_INDEX to a built index."
        )
    key = starter_key(digests, embedder, settings)
    if not _is_current(root, key):
        with writer_lock(root):
            if not _is_current(root, key):
                logger.info("building the starter index of %d digests", len(digests))
                _build(corpus_dir, root, library, digests, embedder, key)
    return root


def starter_key(digests: list[Digest], embedder: Embedder, settings: IndexingSettings) -> str:
    """Changes when any digest, the embedder or the way of chunking changes."""
    texts = [digest.model_dump(mode="json") for digest in digests]
    return short_hash([texts, settings_hash(settings, embedder.name)])


def _is_current(root: Path, key: str) -> bool:
    try:
        return read_manifest(current_generation(root)).settings_hash == key
    except IndexUnavailableError:
        return False


def _build(
    corpus_dir: Path,
    root: Path,
    library: Library,
    digests: list[Digest],
    embedder: Embedder,
    key: str,
) -> None:
    building = root / f"building-{key}"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    ready = load_vectors(corpus_dir / "starter" / VECTORS_FILE, embedder.name)
    table = ChunkTable(building, create=True)
    for digest in digests:
        paper = paper_of_digest(digest, library)
        chunks = digest_chunks(digest, embedder)
        texts = [embedding_text(paper, chunk) for chunk in chunks]
        table.add_paper(paper, chunks, _vectors(texts, ready, embedder))
    table.close()
    seal(
        building,
        root,
        kind="starter",
        embedder=embedder.name,
        dimension=embedder.dimension,
        settings_key=key,
    )
    assert (current_generation(root) / FILE_NAME).is_file()


def paper_of_digest(digest: Digest, library: Library) -> Paper:
    """The facts of a digest's paper: from the manifest, else from the digest itself."""
    known = library.get(digest.paper_id)
    base = known or Paper(paper_id=digest.paper_id, title=digest.title, tier="hand_picked")
    return Paper(
        paper_id=base.paper_id,
        title=base.title,
        authors=base.authors or digest.authors,
        published=base.published or month_of_id(base.paper_id),
        categories=base.categories,
        topic=base.topic,
        tier=base.tier,
        version=base.version,
        holding="digest",
    )


def _vectors(texts: list[str], ready: dict[str, Vectors], embedder: Embedder) -> Vectors:
    """Ready vectors where the text has one, computed ones else."""
    missing = [text for text in texts if text_key(text) not in ready]
    computed = dict(zip(missing, embedder.embed_passages(missing), strict=True))
    return np.stack([computed[text] if text in computed else ready[text_key(text)] for text in texts])


def write_starter_vectors(corpus_dir: Path, library: Library, embedder: Embedder) -> int:
    """Compute and save the ready vectors of all digests; returns how many."""
    texts: list[str] = []
    for digest in read_digests(corpus_dir / "starter"):
        paper = paper_of_digest(digest, library)
        texts += [embedding_text(paper, chunk) for chunk in digest_chunks(digest, embedder)]
    save_vectors(
        corpus_dir / "starter" / VECTORS_FILE, embedder.name, texts, embedder.embed_passages(texts)
    )
    return len(texts)
