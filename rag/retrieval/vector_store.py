"""VectorStore: nearest chunks by cosine; one small file per implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rag.chunks import Chunk
from rag.retrieval.embed import Vectors

Slot = Literal["abstracts", "passages"]


def slot_of(chunk: Chunk) -> Slot:
    """Which collection a chunk belongs to: position 0 of a paper is its abstract slot."""
    return "abstracts" if chunk.chunk_index == 0 else "passages"


@dataclass(frozen=True)
class VectorHit:
    """A near chunk; ``score`` is the cosine, -1..1."""

    chunk_id: str
    score: float


class VectorStore(Protocol):
    """What retrieval needs of a vector store. Reading from several threads is safe."""

    def close(self) -> None:
        """Release the files or the connection."""

    def search(
        self, slot: Slot, vectors: Vectors, k: int, paper_ids: Sequence[str] | None = None
    ) -> list[list[VectorHit]]:
        """The ``k`` nearest chunks for each vector, best first; optionally only of some papers."""

    def count(self, slot: Slot) -> int:
        """Number of chunks in the collection."""

    def ids(self, slot: Slot) -> set[str]:
        """Ids of all chunks in the collection."""
