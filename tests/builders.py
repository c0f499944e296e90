"""Small libraries for tests, built through the public builders.

Whatever depends on a signature of ``rag.indexing`` stands here, so that a change is one edit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from stub_extract import extract_text

from rag.chunks import Chunk, make_chunk_id
from rag.compute import ComputePool
from rag.indexing.builder import BuildSummary, build_index
from rag.indexing.chunk_table import ChunkTable
from rag.indexing.paper_facts import PaperFacts
from rag.indexing.starter import ensure_starter_index, write_starter_vectors
from rag.papers import Library, Paper
from rag.retrieval.embed import BgeSmallEmbedder, Embedder, Vectors
from rag.retrieval.index import OpenIndex, open_index
from rag.retrieval.late_interaction import (
    DIMENSION,
    LateModel,
    Matrix,
    open_late_model,
    quantise,
)
from rag.sections import IndexingSettings
from rag.selection.records import PaperRecord

CORPUS = Path(__file__).parent.parent / "corpus"


class StubEmbedder:
    """Bags of words hashed to a few numbers; remembers which passages it embedded."""

    window = 512

    def __init__(self, name: str = "stub", dimension: int = 16) -> None:
        self.name = name
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return self._vectors(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[0] = 0.01
            for word in re.findall(r"\w+", text.casefold()):
                row[zlib.crc32(word.encode()) % self.dimension] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class StubLate:
    """One token vector for each word, hashed."""

    name = "stub-late"

    def encode_queries(self, texts: Sequence[str]) -> list[Matrix]:
        return [self.encode_query(text) for text in texts]

    def encode_query(self, text: str) -> Matrix:
        words = re.findall(r"\w+", text.casefold()) or [""]
        vectors = np.zeros((len(words), DIMENSION), dtype=np.float32)
        for row, word in zip(vectors, words, strict=True):
            row[zlib.crc32(word.encode()) % DIMENSION] = 1
        return vectors

    def encode_documents(self, texts: Sequence[str]) -> list[Matrix]:
        return [self.encode_query(text) for text in texts]


@lru_cache(maxsize=1)
def real_pool() -> ComputePool:
    return ComputePool()


@lru_cache(maxsize=1)
def real_embedder() -> BgeSmallEmbedder:
    return BgeSmallEmbedder(real_pool())


@lru_cache(maxsize=1)
def real_late() -> LateModel:
    return open_late_model(real_pool(), CORPUS)


def make_chunk(paper_id: str, index: int, text: str, **values: Any) -> Chunk:
    """A chunk with plausible facts; ``values`` replace them."""
    facts: dict[str, Any] = {
        "chunk_type": "passage" if index else "abstract",
        "section": "Methods",
        "page_breaks": ((0, 1),),
        "char_start": 0,
        "char_end": len(text),
        "wordpieces": len(text.split()),
        "tokens": len(text.split()),
    }
    return Chunk(
        make_chunk_id(paper_id, index, text), paper_id, index, text=text, **(facts | values)
    )


def chunk_table(directory: Path, chunks: Sequence[Chunk]) -> ChunkTable:
    """A table of these chunks, with stub vectors, open for reading and writing."""
    table = ChunkTable(directory, create=True)
    for paper_id in dict.fromkeys(chunk.paper_id for chunk in chunks):
        add_paper(
            table,
            Paper(paper_id, f"Title of {paper_id}"),
            [c for c in chunks if c.paper_id == paper_id],
        )
    return table


def add_paper(table: ChunkTable, paper: Paper, chunks: Sequence[Chunk]) -> None:
    texts = [chunk.text for chunk in chunks]
    tokens = quantise(StubLate().encode_query(paper.title))
    table.add_paper(paper, chunks, StubEmbedder().embed_passages(texts), tokens)


def prose(topic: str, sentences: int = 30) -> str:
    """Text about a topic, long enough for several passages, every sentence different."""
    return " ".join(
        f"Sentence {number} tells what the {topic} does with part {number} of the {topic} bench in trial {number * 7}."
        for number in range(1, sentences + 1)
    )


def write_papers(directory: Path, texts: Mapping[str, str]) -> list[Path]:
    """A text file for each name; ``stub_extract`` reads them as papers."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in texts.items():
        path = directory / f"{name}.pdf"
        path.write_text(text, encoding="utf-8")
        files.append(path)
    return files


def build(
    files: list[Path],
    root: Path,
    embedder: Embedder | None = None,
    settings: IndexingSettings | None = None,
    *,
    library: Library | None = None,
    records: Mapping[str, PaperRecord] | None = None,
    **options: Any,
) -> BuildSummary:
    """``build_index`` with stubs for what is not given."""
    return build_index(
        files,
        root,
        PaperFacts(library or Library([]), records or {}),
        embedder or StubEmbedder(),
        StubLate(),
        settings or IndexingSettings(),
        options.pop("extract", extract_text),
        **options,
    )


def opened(root: Path, embedder: Embedder | None = None) -> OpenIndex:
    return open_index(root, embedder or StubEmbedder())


def starter(
    corpus: Path, root: Path, embedder: Embedder | None = None, library: Library | None = None
) -> Path:
    return ensure_starter_index(
        corpus,
        root,
        library or Library([]),
        embedder or StubEmbedder(),
        StubLate(),
        IndexingSettings(),
    )


def starter_vectors(corpus: Path, embedder: Embedder) -> int:
    return write_starter_vectors(corpus, Library([]), embedder, StubLate())
