"""ChunkTable: the chunks of one generation with their texts and vectors, in SQLite.

It is the source from which Chroma and the keyword index are made, so that neither embeds
anything twice, and it answers "which text has this id" and "what stands beside it" in
microseconds. One transaction a paper: a killed build leaves each paper wholly in or wholly out.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rag.chunks import Chunk
from rag.errors import IndexUnavailableError
from rag.papers import Paper, paper_from_record
from rag.retrieval.embed import Vectors
from rag.retrieval.late_interaction import DIMENSION, Quantised

FILE_NAME = "chunks.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS papers (
    paper_id TEXT PRIMARY KEY, record TEXT NOT NULL, late_tokens BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS chunks (
    chunk_id TEXT PRIMARY KEY, paper_id TEXT NOT NULL, chunk_index INTEGER NOT NULL,
    chunk_type TEXT NOT NULL, text TEXT NOT NULL, section TEXT NOT NULL,
    page_breaks TEXT NOT NULL, char_start INTEGER NOT NULL, char_end INTEGER NOT NULL,
    wordpieces INTEGER NOT NULL, tokens INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS chunk_order ON chunks (paper_id, chunk_index);
"""
_COLUMNS = (
    "chunk_id, paper_id, chunk_index, chunk_type, text, section, page_breaks, char_start, "
    "char_end, wordpieces, tokens"
)


class ChunkTable:
    """One open table; reading and writing from several threads is safe.

    Raises ``IndexUnavailableError`` when the file is missing (unless ``create``) or damaged.
    """

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        path = directory / FILE_NAME
        if not create and not path.is_file():
            raise IndexUnavailableError(
                "The index lacks its chunk table; build it again with scripts/build_index.py."
            )
        self._lock = threading.Lock()
        mode = "rwc" if create else "ro"
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={mode}", uri=True, check_same_thread=False
            )
            if create:
                self._connection.executescript(_SCHEMA)
            self._connection.execute("SELECT count(*) FROM chunks").fetchone()
        except sqlite3.DatabaseError as error:
            raise IndexUnavailableError(
                "The index's chunk table is damaged; build it again with scripts/build_index.py."
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add_paper(
        self, paper: Paper, chunks: Sequence[Chunk], vectors: Vectors, late_tokens: Quantised
    ) -> None:
        """Store a paper with all its chunks in one transaction, replacing an earlier one.

        ``late_tokens`` are its token vectors for late interaction, shape ``(tokens, 96)``, int8.
        """
        rows = [
            (*_row(chunk), np.asarray(vector, dtype=np.float32).tobytes())
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]
        record = json.dumps(asdict(paper), ensure_ascii=False)
        with self._lock, self._connection:
            self._connection.execute("DELETE FROM chunks WHERE paper_id = ?", (paper.paper_id,))
            self._connection.execute(
                "INSERT OR REPLACE INTO papers VALUES (?, ?, ?)",
                (paper.paper_id, record, late_tokens.tobytes()),
            )
            self._connection.executemany(
                f"INSERT INTO chunks ({_COLUMNS}, vector) VALUES ({', '.join('?' * 12)})", rows
            )

    def remove_papers(self, paper_ids: Iterable[str]) -> int:
        """Remove papers with all their chunks; returns how many were held."""
        removed = 0
        with self._lock, self._connection:
            for paper_id in paper_ids:
                self._connection.execute("DELETE FROM chunks WHERE paper_id = ?", (paper_id,))
                found = self._connection.execute(
                    "DELETE FROM papers WHERE paper_id = ?", (paper_id,)
                )
                removed += found.rowcount
        return removed

    def papers(self) -> list[Paper]:
        """All papers, ordered by id."""
        rows = self._all("SELECT record FROM papers ORDER BY paper_id")
        return [paper_from_record(json.loads(row[0])) for row in rows]

    def late_tokens(self) -> list[tuple[str, Quantised]]:
        """The token vectors of all papers, ordered by id."""
        rows = self._all("SELECT paper_id, late_tokens FROM papers ORDER BY paper_id")
        return [
            (paper_id, np.frombuffer(blob, dtype=np.int8).reshape(-1, DIMENSION))
            for paper_id, blob in rows
        ]

    def paper_ids(self) -> set[str]:
        """Ids of all papers."""
        return {row[0] for row in self._all("SELECT paper_id FROM papers")}

    def count(self) -> int:
        """Number of chunks."""
        return int(self._all("SELECT count(*) FROM chunks")[0][0])

    def get(self, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
        """The chunks with these ids; unknown ids are absent."""
        wanted = list(chunk_ids)
        found: dict[str, Chunk] = {}
        for begin in range(0, len(wanted), 500):
            part = wanted[begin : begin + 500]
            marks = ", ".join("?" * len(part))
            for row in self._all(
                f"SELECT {_COLUMNS} FROM chunks WHERE chunk_id IN ({marks})", part
            ):
                found[row[0]] = _chunk(row)
        return found

    def of_paper(self, paper_id: str) -> list[Chunk]:
        """The chunks of one paper in order."""
        query = f"SELECT {_COLUMNS} FROM chunks WHERE paper_id = ? ORDER BY chunk_index"
        return [_chunk(row) for row in self._all(query, [paper_id])]

    def first_vector(self, paper_id: str) -> Vectors | None:
        """The vector of a paper's first chunk, shape ``(dimension,)``; None for an unknown id."""
        rows = self._all(
            "SELECT vector FROM chunks WHERE paper_id = ? ORDER BY chunk_index LIMIT 1", [paper_id]
        )
        return np.frombuffer(rows[0][0], dtype=np.float32) if rows else None

    def vectors_of(self, paper_id: str) -> Vectors:
        """The vectors of a paper's chunks in order, shape ``(chunks, dimension)``."""
        rows = self._all(
            "SELECT vector FROM chunks WHERE paper_id = ? ORDER BY chunk_index", [paper_id]
        )
        return np.stack([np.frombuffer(row[0], dtype=np.float32) for row in rows])

    def neighbours(self, chunk: Chunk, reach: int) -> list[Chunk]:
        """The chunks of the same paper at most ``reach`` positions away, itself included."""
        query = (
            f"SELECT {_COLUMNS} FROM chunks WHERE paper_id = ? AND chunk_index BETWEEN ? AND ? "
            "ORDER BY chunk_index"
        )
        low, high = chunk.chunk_index - reach, chunk.chunk_index + reach
        return [_chunk(row) for row in self._all(query, [chunk.paper_id, low, high])]

    def batches(self, size: int) -> Iterator[tuple[list[Chunk], Vectors]]:
        """All chunks with their vectors, in corpus order, ``size`` at a time."""
        query = f"SELECT {_COLUMNS}, vector FROM chunks ORDER BY paper_id, chunk_index"
        with closing(self._connection.execute(query)) as cursor:
            while rows := cursor.fetchmany(size):
                vectors = [np.frombuffer(row[11], dtype=np.float32) for row in rows]
                yield [_chunk(row) for row in rows], np.stack(vectors)

    def content_hash(self) -> str:
        """SHA-256 over all ids and texts in corpus order: what ties the stores together."""
        digest = hashlib.sha256()
        query = "SELECT chunk_id, text FROM chunks ORDER BY paper_id, chunk_index"
        with self._lock, closing(self._connection.execute(query)) as cursor:
            for chunk_id, text in cursor:
                digest.update(chunk_id.encode("utf-8") + b"\0" + text.encode("utf-8") + b"\0")
        return digest.hexdigest()

    def _all(self, query: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock, closing(self._connection.execute(query, values)) as cursor:
                return cursor.fetchall()
        except sqlite3.DatabaseError as error:
            raise IndexUnavailableError(
                "Search is unavailable: the chunk table could not be read."
            ) from error


def _row(chunk: Chunk) -> tuple[str | int, ...]:
    return (
        chunk.chunk_id,
        chunk.paper_id,
        chunk.chunk_index,
        chunk.chunk_type,
        chunk.text,
        chunk.section,
        json.dumps(chunk.page_breaks),
        chunk.char_start,
        chunk.char_end,
        chunk.wordpieces,
        chunk.tokens,
    )


def _chunk(row: Sequence[Any]) -> Chunk:
    (chunk_id, paper_id, index, chunk_type, text, section, packed, start, end, pieces, tokens) = (
        row[:11]
    )
    return Chunk(
        chunk_id=chunk_id,
        paper_id=paper_id,
        chunk_index=index,
        chunk_type=chunk_type,
        text=text,
        section=section,
        page_breaks=tuple((int(offset), int(page)) for offset, page in json.loads(packed)),
        char_start=start,
        char_end=end,
        wordpieces=pieces,
        tokens=tokens,
    )
