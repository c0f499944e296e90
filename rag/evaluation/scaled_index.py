"""ScaledIndex: an index of any size, made of copies of a real one, for measuring growth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from rag.chunks import Chunk, make_chunk_id
from rag.indexing.chunk_table import ChunkTable
from rag.indexing.generation import IndexManifest, current_generation, read_manifest, seal
from rag.retrieval.embed import Vectors

# Copies of a vector lie this far around it (standard deviation of each number before the vector
# is made a unit again): near enough to be of the same subject, far enough to be told apart.
NOISE = 0.02
FIRST_COPY = 9000


def write_scaled_index(source: Path, target: Path, chunks: int, seed: int = 0) -> IndexManifest:
    """Write an index of at least ``chunks`` chunks below ``target`` from that below ``source``.

    Whole papers are copied under ids of their own; texts are the same, vectors are moved a
    little. Raises ``IndexUnavailableError`` when the source cannot be read.
    """
    directory = current_generation(source)
    manifest = read_manifest(directory)
    building = target / "building-scaled"
    building.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    table, copies = ChunkTable(directory), ChunkTable(building, create=True)
    try:
        tokens = dict(table.late_tokens())
        papers = table.papers()
        held, turn = 0, 0
        while held < chunks:
            for place, paper in enumerate(papers):
                if held >= chunks:
                    break
                name = paper.paper_id if turn == 0 else f"{FIRST_COPY + turn}.{place:05d}"
                own = [_renamed(chunk, name) for chunk in table.of_paper(paper.paper_id)]
                vectors = table.vectors_of(paper.paper_id)
                moved = vectors if turn == 0 else _moved(vectors, draw)
                copies.add_paper(replace(paper, paper_id=name), own, moved, tokens[paper.paper_id])
                held += len(own)
            turn += 1
    finally:
        table.close()
        copies.close()
    return seal(
        building,
        target,
        kind="built",
        embedder=manifest.embedder,
        dimension=manifest.dimension,
        settings_key=f"scaled-{chunks}",
    )


def _renamed(chunk: Chunk, paper_id: str) -> Chunk:
    return replace(
        chunk,
        paper_id=paper_id,
        chunk_id=make_chunk_id(paper_id, chunk.chunk_index, chunk.text),
    )


def _moved(vectors: Vectors, draw: np.random.Generator) -> Vectors:
    moved = vectors + draw.normal(0.0, NOISE, vectors.shape).astype(np.float32)
    unit: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit
