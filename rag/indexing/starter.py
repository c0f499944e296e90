"""The starter library as an index: digests with ready vectors, built in seconds, offline."""

from __future__ import annotations

import logging
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np

from rag.compute import ComputePool
from rag.errors import IndexUnavailableError
from rag.indexing.chunk_table import FILE_NAME, ChunkTable
from rag.indexing.digests import (
    VECTORS_FILE,
    Digest,
    ReadyVectors,
    digest_chunks,
    load_vectors,
    read_digests,
    save_vectors,
    text_key,
)
from rag.indexing.generation import (
    current_generation,
    seal,
    settings_hash,
    writer_lock,
)
from rag.indexing.search_texts import embedding_text, late_text
from rag.indexing.short_papers import paper_of_digest
from rag.papers import Library
from rag.retrieval.embed import Embedder, Vectors
from rag.retrieval.index import whole_manifest
from rag.retrieval.late_interaction import (
    PROJECTION_FILE,
    LateInteractionModel,
    LateModel,
    Quantised,
    fit_projection,
    quantise,
    save_projection,
)
from rag.sections import IndexingSettings
from rag.settings import short_hash

logger = logging.getLogger(__name__)


def ensure_starter_index(
    corpus_dir: Path,
    root: Path,
    library: Library,
    embedder: Embedder,
    late: LateModel,
    settings: IndexingSettings,
) -> Path:
    """The root of an up-to-date starter index below ``root``, built when absent, outdated or
    damaged.

    Raises ``IndexUnavailableError`` when there are no digests or ``root`` is not writable.
    """
    digests = read_digests(corpus_dir / "starter")
    if not digests:
        raise IndexUnavailableError(
            "The starter library is missing (corpus/starter/digests); get the whole repository, "
            "or set RAG_INDEX to a built index."
        )
    key = starter_key(digests, library, embedder, settings)
    if not _is_current(root, key, embedder):
        with writer_lock(root):
            if not _is_current(root, key, embedder):
                logger.info("building the starter index of %d digests", len(digests))
                _build(corpus_dir, root, library, digests, embedder, late, key)
    return root


def starter_key(
    digests: list[Digest], library: Library, embedder: Embedder, settings: IndexingSettings
) -> str:
    """Changes when any digest, a fact of its paper, the embedder or the way of chunking changes."""
    texts = [digest.model_dump(mode="json") for digest in digests]
    facts = [asdict(paper_of_digest(digest, library)) for digest in digests]
    return short_hash([texts, facts, settings_hash(settings, embedder.name)])


def _is_current(root: Path, key: str, embedder: Embedder) -> bool:
    manifest = whole_manifest(root, embedder)
    return manifest is not None and manifest.settings_hash == key


def _build(
    corpus_dir: Path,
    root: Path,
    library: Library,
    digests: list[Digest],
    embedder: Embedder,
    late: LateModel,
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
        tokens = _late_tokens(late_text(paper, chunks[0]), ready, late)
        table.add_paper(paper, chunks, _vectors(texts, ready, embedder), tokens)
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


def _vectors(texts: list[str], ready: ReadyVectors, embedder: Embedder) -> Vectors:
    """Ready vectors where the text has one, computed ones else."""
    held = ready.passages
    missing = [text for text in texts if text_key(text) not in held]
    computed = dict(zip(missing, embedder.embed_passages(missing), strict=True))
    return np.stack(
        [computed[text] if text in computed else held[text_key(text)] for text in texts]
    )


def _late_tokens(text: str, ready: ReadyVectors, late: LateModel) -> Quantised:
    held = ready.late.get(text_key(text))
    return quantise(late.encode_documents([text])[0]) if held is None else held


def write_starter_vectors(
    corpus_dir: Path, library: Library, embedder: Embedder, late: LateModel
) -> int:
    """Compute and save the ready vectors of all digests; returns how many passages there are."""
    texts: list[str] = []
    late_texts: list[str] = []
    for digest in read_digests(corpus_dir / "starter"):
        paper = paper_of_digest(digest, library)
        chunks = digest_chunks(digest, embedder)
        texts += [embedding_text(paper, chunk) for chunk in chunks]
        late_texts.append(late_text(paper, chunks[0]))
    save_vectors(
        corpus_dir / "starter" / VECTORS_FILE,
        embedder.name,
        dict(zip(texts, embedder.embed_passages(texts), strict=True)),
        {
            text: quantise(tokens)
            for text, tokens in zip(late_texts, late.encode_documents(late_texts), strict=True)
        },
    )
    return len(texts)


def write_late_projection(corpus_dir: Path, pool: ComputePool) -> None:
    """Fit the projection of late interaction on the digests and save it."""
    unprojected = LateInteractionModel(pool, np.eye(384, dtype=np.float32))
    texts = [
        paragraph.text
        for digest in read_digests(corpus_dir / "starter")
        for paragraph in digest.paragraphs
    ]
    projection = fit_projection(unprojected.hidden_states(texts))
    save_projection(corpus_dir / PROJECTION_FILE, projection)
