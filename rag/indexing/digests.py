"""Digests: the starter library, written for this project in its own words."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.chunks import Chunk, make_chunk_id
from rag.errors import IndexUnavailableError
from rag.local_models import count_cl100k
from rag.papers import Paper
from rag.retrieval.embed import Embedder, Vectors

SECTION_NAMES = {
    "summary": "Summary",
    "method": "Method",
    "findings": "Findings",
    "limits": "Limits",
    "known_for": "Known for",
}
VECTORS_FILE = "vectors.npz"


class DigestParagraph(BaseModel):
    """One paragraph with the pages of the paper that it reports on; none when not from a page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["summary", "method", "findings", "limits", "known_for"]
    pages: tuple[int, ...]
    text: str = Field(min_length=40)


class Digest(BaseModel):
    """The digest of one paper; the first paragraph takes the abstract slot."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper_id: str
    title: str
    authors: tuple[str, ...]
    paragraphs: tuple[DigestParagraph, ...] = Field(min_length=1)
    search_terms: tuple[str, ...] = ()


def read_digests(directory: Path) -> list[Digest]:
    """All digests of ``directory/digests``, ordered by paper id.

    Raises ``IndexUnavailableError`` naming the file that is not a digest.
    """
    digests: list[Digest] = []
    for path in sorted((directory / "digests").glob("*.json")):
        try:
            digests.append(Digest.model_validate_json(path.read_text(encoding="utf-8")))
        except (OSError, ValidationError, UnicodeDecodeError):
            raise IndexUnavailableError(f"The digest {path.name} is damaged.") from None
    return sorted(digests, key=lambda digest: digest.paper_id)


def digest_chunks(digest: Digest, embedder: Embedder) -> list[Chunk]:
    """The chunks of one digest, one a paragraph; the search terms close the first one."""
    texts = [paragraph.text for paragraph in digest.paragraphs]
    if digest.search_terms:
        texts[0] = f"{texts[0]} Search terms: {', '.join(digest.search_terms)}."
    sizes = embedder.count_tokens(texts)
    chunks: list[Chunk] = []
    offset = 0
    for index, (paragraph, text, size) in enumerate(
        zip(digest.paragraphs, texts, sizes, strict=True)
    ):
        # A digest reports on its pages as a whole: first and last stand for the range.
        pages = sorted({min(paragraph.pages), max(paragraph.pages)}) if paragraph.pages else []
        breaks = tuple((min(place, 1) * max(0, len(text) - 1), page) for place, page in enumerate(pages))
        chunks.append(
            Chunk(
                chunk_id=make_chunk_id(digest.paper_id, index, text),
                paper_id=digest.paper_id,
                chunk_index=index,
                chunk_type="digest",
                text=text,
                section=SECTION_NAMES[paragraph.kind],
                page_breaks=breaks,
                char_start=offset,
                char_end=offset + len(text),
                wordpieces=size,
                tokens=count_cl100k(text),
            )
        )
        offset += len(text) + 2
    return chunks


def embedding_text(paper: Paper, chunk: Chunk) -> str:
    """What is embedded for a chunk: the title stands in front, for embedding only."""
    return f"{paper.title}\n{chunk.text}"


def text_key(text: str) -> str:
    """SHA-256 of an embedded text, which ties a ready vector to it."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def save_vectors(path: Path, embedder: str, texts: list[str], vectors: Vectors) -> None:
    """Ready vectors as float16 with the hash of the text that each belongs to."""
    keys = np.frombuffer("\n".join(text_key(text) for text in texts).encode(), dtype=np.uint8)
    name = np.frombuffer(embedder.encode(), dtype=np.uint8)
    np.savez_compressed(path, keys=keys, embedder=name, vectors=vectors.astype(np.float16))


def load_vectors(path: Path, embedder: str) -> dict[str, Vectors]:
    """Text hash -> vector of this embedder; empty when the file is absent or of another one."""
    try:
        with np.load(path, allow_pickle=False) as data:
            if data["embedder"].tobytes().decode() != embedder:
                return {}
            keys = data["keys"].tobytes().decode().split("\n")
            vectors = data["vectors"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError):
        return {}
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return dict(zip(keys, vectors, strict=True))
