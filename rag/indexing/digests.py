"""Digests: the starter library, written for this project in its own words."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.chunks import Chunk, make_chunk_id
from rag.errors import IndexUnavailableError
from rag.local_models import count_cl100k
from rag.papers import is_paper_id
from rag.retrieval.embed import Embedder, Vectors
from rag.retrieval.late_interaction import Quantised

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


def read_digest(directory: Path, paper_id: str) -> Digest | None:
    """The digest of one paper; None without one or for a damaged one."""
    path = directory / "digests" / digest_file_name(paper_id)
    try:
        return Digest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def digest_file_name(paper_id: str) -> str:
    """The file of a paper's digest; the slash of an old-style id is an underscore."""
    if not is_paper_id(paper_id):
        return "no-paper.json"
    return f"{paper_id.replace('/', '_')}.json"


def digest_chunks(digest: Digest, embedder: Embedder) -> list[Chunk]:
    """The chunks of one digest, one a paragraph."""
    texts = [paragraph.text for paragraph in digest.paragraphs]
    sizes = embedder.count_tokens(texts)
    chunks: list[Chunk] = []
    offset = 0
    for index, (paragraph, text, size) in enumerate(
        zip(digest.paragraphs, texts, sizes, strict=True)
    ):
        # A digest reports on its pages as a whole: first and last stand for the range.
        pages = sorted({min(paragraph.pages), max(paragraph.pages)}) if paragraph.pages else []
        breaks = tuple(
            (min(place, 1) * max(0, len(text) - 1), page) for place, page in enumerate(pages)
        )
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


def text_key(text: str) -> str:
    """SHA-256 of an embedded text, which ties a ready vector to it."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class ReadyVectors:
    """Vectors that ship with the starter library, by the hash of the text they belong to."""

    passages: dict[str, Vectors]
    late: dict[str, Quantised]


def save_vectors(
    path: Path,
    embedder: str,
    passages: dict[str, Vectors],
    late: dict[str, Quantised],
) -> None:
    """Write ready vectors: text -> vector (kept as float16) and text -> token vectors (int8)."""
    starts = np.cumsum([0, *(len(tokens) for tokens in late.values())])
    np.savez_compressed(
        path,
        embedder=_pack([embedder]),
        keys=_pack([text_key(text) for text in passages]),
        vectors=np.stack(list(passages.values())).astype(np.float16),
        late_keys=_pack([text_key(text) for text in late]),
        late_starts=starts.astype(np.int64),
        late_vectors=np.concatenate(list(late.values())),
    )


def load_vectors(path: Path, embedder: str) -> ReadyVectors:
    """The ready vectors of this embedder; none when the file is absent, damaged or of another."""
    try:
        # numpy leaves a file open that it opened itself and could not read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            if _unpack(data["embedder"]) != [embedder]:
                return ReadyVectors({}, {})
            vectors = data["vectors"].astype(np.float32)
            starts, tokens = data["late_starts"], data["late_vectors"]
            keys, late_keys = _unpack(data["keys"]), _unpack(data["late_keys"])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        passages = dict(zip(keys, vectors, strict=True))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return ReadyVectors({}, {})
    late = {key: tokens[starts[place] : starts[place + 1]] for place, key in enumerate(late_keys)}
    return ReadyVectors(passages, late)


def _pack(strings: list[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(strings).encode(), dtype=np.uint8)


def _unpack(packed: npt.NDArray[np.uint8]) -> list[str]:
    return packed.tobytes().decode().split("\n")
