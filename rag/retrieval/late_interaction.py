"""Late interaction: every word of a question against every word of an abstract (ColBERT).

Khattab & Zaharia, SIGIR 2020. It finds papers for questions that share no words with them: on
paraphrased questions it ranks the right paper in the first eight where cosine alone does not
(docs/decisions.md). The model is answerdotai/answerai-colbert-small-v1 (Apache-2.0) as it comes
with the wheel, without its last projection; a fixed projection to 96 dimensions, fitted on the
starter digests, takes its place.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rag.compute import ComputePool
from rag.errors import IndexUnavailableError
from rag.local_models import COLBERT_SMALL, load_tokenizer, model_directory, open_session

Matrix = npt.NDArray[np.float32]
Quantised = npt.NDArray[np.int8]

DIMENSION = 96
SCALE = 127.0
PROJECTION_FILE = "late_projection.npz"
# ColBERT's own marks: [CLS], the marker of a query or a document, [SEP], and [MASK] for padding.
_CLS, _QUERY, _DOCUMENT, _SEP, _MASK = 101, 1, 2, 102, 103
LEAST_QUERY_TOKENS = 32
MOST_DOCUMENT_TOKENS = 300
MOST_QUERY_TOKENS = 128


class LateModel(Protocol):
    """What indexing and retrieval need of a late-interaction model."""

    name: str

    def encode_query(self, text: str) -> Matrix:
        """Token vectors of a question, shape ``(tokens, 96)``."""

    def encode_queries(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of several questions, side by side."""

    def encode_documents(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of abstracts, each of shape ``(tokens, 96)``."""


class LateInteractionModel:
    """Token vectors of questions and abstracts, float32, unit length, 96 dimensions.

    Raises ``ModelUnavailableError`` when the model or the projection is missing or damaged.
    """

    name = COLBERT_SMALL.name

    def __init__(self, pool: ComputePool, projection: Matrix) -> None:
        directory = model_directory(COLBERT_SMALL)
        self._pool = pool
        self._tokenizer = load_tokenizer(directory)
        self._session = open_session(directory / "model.onnx")
        self._projection = projection

    def encode_query(self, text: str) -> Matrix:
        """Token vectors of a question, shape ``(tokens, 96)``; short ones are padded by masks,
        which the model turns into expansions of the question."""
        ids = self._ids(text, _QUERY, MOST_QUERY_TOKENS)
        ids += [_MASK] * (LEAST_QUERY_TOKENS - len(ids))
        return self._vectors(ids)

    def encode_queries(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of several questions, side by side."""
        return self._pool.map(self.encode_query, texts)

    def encode_documents(self, texts: Sequence[str]) -> list[Matrix]:
        """Token vectors of abstracts, each of shape ``(tokens, 96)``."""
        return self._pool.map(
            lambda text: self._vectors(self._ids(text, _DOCUMENT, MOST_DOCUMENT_TOKENS)), texts
        )

    def hidden_states(self, texts: Sequence[str]) -> list[Matrix]:
        """Unprojected token vectors, for fitting the projection."""
        return self._pool.map(
            lambda text: self._hidden(self._ids(text, _DOCUMENT, MOST_DOCUMENT_TOKENS)), texts
        )

    def _ids(self, text: str, marker: int, most: int) -> list[int]:
        words = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [_CLS, marker, *words[: most - 3], _SEP]

    def _hidden(self, ids: list[int]) -> Matrix:
        row = np.asarray([ids], dtype=np.int64)
        feeds = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        states: Matrix = np.asarray(self._session.run(["last_hidden_state"], feeds)[0])[0]
        return unit_rows(states)

    def _vectors(self, ids: list[int]) -> Matrix:
        return unit_rows(self._hidden(ids) @ self._projection)


def open_late_model(pool: ComputePool, corpus_dir: Path) -> LateInteractionModel:
    """The model with the projection of the corpus folder."""
    return LateInteractionModel(pool, load_projection(corpus_dir / PROJECTION_FILE))


def unit_rows(matrix: Matrix) -> Matrix:
    """The matrix with each row at length 1."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = (matrix / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def fit_projection(hidden: Sequence[Matrix], dimension: int = DIMENSION) -> Matrix:
    """The directions in which token vectors vary most, shape ``(384, dimension)`` (truncated
    singular value decomposition, Eckart & Young 1936)."""
    _, _, directions = np.linalg.svd(np.concatenate(hidden), full_matrices=False)
    return np.ascontiguousarray(directions[:dimension].T, dtype=np.float32)


def save_projection(path: Path, projection: Matrix) -> None:
    """Write the projection as float16, without pickle."""
    np.savez_compressed(path, projection=projection.astype(np.float16))


def load_projection(path: Path) -> Matrix:
    """Read the projection; raises ``IndexUnavailableError`` when it is missing or damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            projection: Matrix = data["projection"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise IndexUnavailableError(
            f"The file {path.name} is missing or damaged; get the whole repository."
        ) from None
    return projection


def quantise(vectors: Matrix) -> Quantised:
    """Unit vectors as int8; the error of a dot product stays below 0.01."""
    scaled: Quantised = np.clip(np.rint(vectors * SCALE), -SCALE, SCALE).astype(np.int8)
    return scaled


@dataclass(frozen=True)
class PaperTokens:
    """The token vectors of all papers, one after another.

    ``vectors[starts[i]:starts[i + 1]]`` belong to ``paper_ids[i]``.
    """

    paper_ids: tuple[str, ...]
    starts: npt.NDArray[np.int64]
    vectors: Matrix

    def scores(self, query: Matrix) -> dict[str, float]:
        """Mean over the question's tokens of the best match in each paper, -1..1 (MaxSim)."""
        if not self.paper_ids:
            return {}
        similarity = self.vectors @ query.T
        best = np.maximum.reduceat(similarity, self.starts[:-1], axis=0)
        means = best.mean(axis=1)
        return {
            paper_id: float(score) for paper_id, score in zip(self.paper_ids, means, strict=True)
        }


def paper_tokens(rows: Sequence[tuple[str, Quantised]]) -> PaperTokens:
    """Put the papers' token vectors together; papers without any are left out."""
    held = [(paper_id, tokens) for paper_id, tokens in rows if len(tokens)]
    starts = np.cumsum([0, *(len(tokens) for _, tokens in held)])
    joined = np.concatenate([tokens for _, tokens in held]) if held else np.zeros((0, DIMENSION))
    return PaperTokens(
        paper_ids=tuple(paper_id for paper_id, _ in held),
        starts=starts.astype(np.int64),
        vectors=unit_rows(joined.astype(np.float32) / SCALE),
    )
