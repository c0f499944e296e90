"""OpenIndex: one generation, opened and checked: its parts must belong together."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rag.errors import IndexUnavailableError
from rag.indexing.chunk_table import ChunkTable
from rag.indexing.generation import (
    ACRONYM_FILE,
    CHROMA_FOLDER,
    KEYWORD_FILE,
    IndexManifest,
    current_generation,
    read_manifest,
)
from rag.papers import Library
from rag.retrieval.chroma_store import ChromaStore
from rag.retrieval.embed import Embedder
from rag.retrieval.keyword import KeywordIndex, load_keyword_index
from rag.retrieval.late_interaction import PaperTokens, paper_tokens
from rag.retrieval.vector_store import VectorStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OpenIndex:
    """The searchable parts of one generation and the papers that it holds."""

    manifest: IndexManifest
    chunks: ChunkTable
    vectors: VectorStore
    keyword: KeywordIndex
    papers: Library
    acronyms: dict[str, str]
    tokens: PaperTokens

    def close(self) -> None:
        """Close the files."""
        self.chunks.close()
        self.vectors.close()


def open_index(root: Path, embedder: Embedder) -> OpenIndex:
    """Open the live generation below ``root``.

    Raises ``IndexUnavailableError`` with one sentence when it is missing, half-written, damaged,
    made with another embedder, or its parts hold different chunks.
    """
    directory = current_generation(root)
    manifest = read_manifest(directory)
    check_embedder(manifest, embedder)
    with ExitStack() as opened:
        chunks = ChunkTable(directory)
        opened.callback(chunks.close)
        keyword = load_keyword_index(directory / KEYWORD_FILE)
        vectors = ChromaStore(directory / CHROMA_FOLDER)
        opened.callback(vectors.close)
        check_parts(manifest, chunks, keyword, vectors)
        index = OpenIndex(
            manifest=manifest,
            chunks=chunks,
            vectors=vectors,
            keyword=keyword,
            papers=Library(chunks.papers()),
            acronyms=_read_acronyms(directory / ACRONYM_FILE),
            tokens=paper_tokens(chunks.late_tokens()),
        )
        opened.pop_all()
    return index


def whole_manifest(root: Path, embedder: Embedder) -> IndexManifest | None:
    """``index.json`` of the live generation; None when any part of it cannot be used."""
    try:
        index = open_index(root, embedder)
    except IndexUnavailableError:
        return None
    index.close()
    return index.manifest


def check_embedder(manifest: IndexManifest, embedder: Embedder) -> None:
    """Refuse vectors of another model: their distances would mean nothing."""
    if (manifest.embedder, manifest.dimension) != (embedder.name, embedder.dimension):
        raise IndexUnavailableError(
            f"The index was made with {manifest.embedder} ({manifest.dimension} numbers a vector) "
            f"but {embedder.name} ({embedder.dimension}) is configured; build the index again "
            "with scripts/build_index.py, or set RAG_INDEXING__EMBEDDER back."
        )


def check_parts(
    manifest: IndexManifest, chunks: ChunkTable, keyword: KeywordIndex, vectors: VectorStore
) -> None:
    """Compare the counts and the content hash of all parts."""
    stored = vectors.count("abstracts") + vectors.count("passages")
    counts = {"chunk table": chunks.count(), "keyword index": len(keyword), "vector store": stored}
    wrong = {name: count for name, count in counts.items() if count != manifest.chunks}
    if wrong or keyword.content_hash != manifest.content_hash:
        name, count = next(iter(wrong.items()), ("keyword index", len(keyword)))
        raise IndexUnavailableError(
            f"The parts of the index do not belong together ({name}: {count} chunks, index.json: "
            f"{manifest.chunks}); build the index again with scripts/build_index.py."
        )


def _read_acronyms(path: Path) -> dict[str, str]:
    try:
        pairs = json.loads(path.read_text(encoding="utf-8")).items()
    except (OSError, ValueError, AttributeError):
        logger.warning("the index has no acronym list; reformulation works without it")
        return {}
    return {str(short): str(long) for short, long in pairs}
