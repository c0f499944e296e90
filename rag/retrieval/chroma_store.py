"""Chroma, embedded: two collections, abstracts and passages.

Two collections because a metadata filter costs 20 ms and more where an unfiltered search costs
1-4 ms (DESIGN §5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag.chunks import Chunk
from rag.errors import IndexUnavailableError
from rag.local_models import quiet_libraries
from rag.retrieval.embed import Vectors
from rag.retrieval.vector_store import Slot, VectorHit, slot_of

SLOTS: tuple[Slot, Slot] = ("abstracts", "passages")
# Higher than Chroma's defaults: recall@15 1.00 instead of 0.97, at twice the insert time.
HNSW = {"space": "cosine", "ef_construction": 200, "max_neighbors": 32, "ef_search": 100}


class ChromaStore:
    """Read side of an embedded Chroma directory.

    Raises ``IndexUnavailableError`` with the cause when the directory is missing, is not a
    Chroma store (an LFS pointer, a zeroed file) or lacks a collection.
    """

    def __init__(self, directory: Path) -> None:
        check_sqlite_file(directory / "chroma.sqlite3")
        self._client = open_client(directory)
        self._collections: dict[Slot, Any] = {}
        for slot in SLOTS:
            try:
                self._collections[slot] = self._client.get_collection(slot)
            except Exception as error:
                self.close()
                raise IndexUnavailableError(
                    f"The vector store lacks its collection “{slot}”; build the index again with "
                    "scripts/build_index.py."
                ) from error

    def close(self) -> None:
        """Release the files: Chroma keeps a store open for the whole process otherwise."""
        close_client(self._client)

    def search(
        self, slot: Slot, vectors: Vectors, k: int, paper_ids: Sequence[str] | None = None
    ) -> list[list[VectorHit]]:
        """The ``k`` nearest chunks for each vector, best first."""
        collection = self._collections[slot]
        wanted = min(k, self.count(slot))
        if wanted < 1 or not len(vectors) or (paper_ids is not None and not paper_ids):
            return [[] for _ in vectors]
        where = None if paper_ids is None else {"paper_id": {"$in": list(paper_ids)}}
        try:
            found = collection.query(
                query_embeddings=vectors, n_results=wanted, where=where, include=["distances"]
            )
        except Exception as error:
            raise IndexUnavailableError(
                "Search is unavailable: the vector store could not be read."
            ) from error
        return [
            [
                VectorHit(chunk_id, 1.0 - float(distance))
                for chunk_id, distance in zip(ids, distances, strict=True)
            ]
            for ids, distances in zip(found["ids"], found["distances"], strict=True)
        ]

    def count(self, slot: Slot) -> int:
        """Number of chunks in the collection."""
        return int(self._collections[slot].count())

    def ids(self, slot: Slot) -> set[str]:
        """Ids of all chunks in the collection."""
        return set(self._collections[slot].get(include=[])["ids"])


def write_chroma(directory: Path, batches: Iterator[tuple[Sequence[Chunk], Vectors]]) -> None:
    """Create a Chroma directory from batches of chunks and vectors.

    Slices follow the client's own limit (5,461 here), asked for rather than assumed (C31).
    """
    client = open_client(directory)
    collections = {
        slot: client.create_collection(slot, configuration={"hnsw": HNSW}, embedding_function=None)
        for slot in SLOTS
    }
    limit = client.get_max_batch_size()
    for chunks, vectors in batches:
        for slot in SLOTS:
            rows = [row for row, chunk in enumerate(chunks) if slot_of(chunk) == slot]
            for begin in range(0, len(rows), limit):
                part = rows[begin : begin + limit]
                collections[slot].upsert(
                    ids=[chunks[row].chunk_id for row in part],
                    embeddings=vectors[part],
                    documents=[chunks[row].text for row in part],
                    metadatas=[chunk_metadata(chunks[row]) for row in part],
                )
    close_client(client)


def chunk_metadata(chunk: Chunk) -> dict[str, str | int]:
    """What Chroma stores beside a chunk; absent values are left out, since None is refused."""
    values: dict[str, str | int | None] = {
        "paper_id": chunk.paper_id,
        "chunk_index": chunk.chunk_index,
        "chunk_type": chunk.chunk_type,
        "section": chunk.section,
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
    }
    return {key: value for key, value in values.items() if value is not None}


def open_client(directory: Path) -> Any:
    """A persistent client without telemetry; Chroma is imported late (0.5 s)."""
    quiet_libraries()
    # Chroma asks for a home directory at import; a container user may have none (C77).
    os.environ.setdefault("HOME", str(directory.parent))
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    try:
        return chromadb.PersistentClient(
            path=str(directory), settings=ChromaSettings(anonymized_telemetry=False)
        )
    except Exception as error:
        raise IndexUnavailableError(
            "The vector store could not be opened: its folder is not writable or its files are "
            "damaged; build the index again with scripts/build_index.py."
        ) from error


def close_client(client: Any) -> None:
    """Release the files of a client where this version of Chroma can."""
    close = getattr(client, "close", None)
    if callable(close):
        close()


def check_sqlite_file(path: Path) -> None:
    """Tell a missing, emptied or pointer file apart before Chroma makes an empty store of it."""
    rebuild = "build the index again with scripts/build_index.py"
    if not path.is_file():
        raise IndexUnavailableError(f"The vector store is missing its database; {rebuild}.")
    with path.open("rb") as stream:
        head = stream.read(64)
    if head.startswith(b"version https://git-lfs"):
        raise IndexUnavailableError(
            "The vector store's database is a Git-LFS pointer, not the data; fetch it with "
            f"“git lfs pull” or {rebuild}."
        )
    if not head.startswith(b"SQLite format 3\x00"):
        raise IndexUnavailableError(f"The vector store's database is damaged; {rebuild}.")
