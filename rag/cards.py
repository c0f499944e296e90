"""PaperCard: everything the library knows about one paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag.chunks import Chunk
from rag.indexing.digests import Digest, read_digest
from rag.papers import Library, Paper
from rag.retrieval.index import OpenIndex


@dataclass(frozen=True)
class SimilarPaper:
    """A paper near another; ``score`` is the cosine of their first passages, -1..1."""

    paper: Paper
    score: float


@dataclass(frozen=True)
class PaperCard:
    """One paper: its facts, its digest, its chunks in order, and the papers nearest to it.

    ``digest`` is None where none was written; ``chunks`` and ``similar`` are empty for a paper of
    which nothing is indexed. ``abstract`` is the indexed abstract.
    """

    paper: Paper
    digest: Digest | None
    abstract: str | None
    chunks: tuple[Chunk, ...]
    similar: tuple[SimilarPaper, ...]


def make_card(
    paper_id: str, catalogue: Library, index: OpenIndex, corpus_dir: Path, *, similar: int = 5
) -> PaperCard | None:
    """The card of a paper; None when the library does not list it."""
    paper = catalogue.get(paper_id)
    if paper is None:
        return None
    chunks = tuple(index.chunks.of_paper(paper_id)) if paper_id in index.papers else ()
    abstract = next((chunk.text for chunk in chunks if chunk.chunk_type == "abstract"), None)
    return PaperCard(
        paper=paper,
        digest=read_digest(corpus_dir / "starter", paper_id),
        abstract=abstract,
        chunks=chunks,
        similar=tuple(similar_papers(paper_id, index, similar)) if chunks else (),
    )


def similar_papers(paper_id: str, index: OpenIndex, count: int) -> list[SimilarPaper]:
    """The papers whose first passages (abstract or summary) are nearest by cosine."""
    vector = index.chunks.first_vector(paper_id)
    if vector is None:
        return []
    hits = index.vectors.search("abstracts", np.asarray(vector)[None, :], count + 1)[0]
    owners = index.chunks.get(hit.chunk_id for hit in hits)
    found = [
        SimilarPaper(index.papers[owners[hit.chunk_id].paper_id], hit.score)
        for hit in hits
        if hit.chunk_id in owners and owners[hit.chunk_id].paper_id != paper_id
    ]
    return found[:count]


def merged_catalogue(known: Library, index: Library) -> Library:
    """All listed papers: what is indexed as the index holds it, the others as metadata only."""
    return known.with_papers(index)
