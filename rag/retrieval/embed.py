"""Embedder: text to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from rag.compute import ComputePool
from rag.local_models import BGE_SMALL, load_tokenizer, model_directory, open_session
from rag.sections import EmbedderName

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


class Embedder(Protocol):
    """What indexing and retrieval need of an embedding model.

    Vectors are float32, L2-normalised, shape ``(len(texts), dimension)``; texts longer than
    ``window`` wordpieces lose their end.
    """

    name: str
    dimension: int
    window: int

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, in one call for all."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Wordpieces of each text without special tokens."""


def open_embedder(name: EmbedderName, pool: ComputePool) -> Embedder:
    """The embedder that the settings name; raises ``ModelUnavailableError`` when it cannot run."""
    if name == BGE_SMALL.name:
        return BgeSmallEmbedder(pool)
    from rag.retrieval.openai_embedder import OpenAiEmbedder

    return OpenAiEmbedder()


class BgeSmallEmbedder:
    """bge-small-en-v1.5 (int8 ONNX, 384-d): CLS pooling, L2, queries prefixed (model card).

    One text a run on the compute pool, so a vector never depends on its company (DESIGN §6).
    Raises ``ModelUnavailableError`` when the model's files are missing or damaged.
    """

    name = BGE_SMALL.name
    dimension = 384
    window = BGE_SMALL.window

    def __init__(self, pool: ComputePool) -> None:
        directory = model_directory(BGE_SMALL)
        self._pool = pool
        self._tokenizer: Tokenizer = load_tokenizer(directory)
        self._session: onnxruntime.InferenceSession = open_session(directory / "model.onnx")
        self._inputs = {item.name for item in self._session.get_inputs()}

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, shape ``(n, 384)``."""
        return self.embed_passages([QUERY_PREFIX + text for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape ``(n, 384)``."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack(self._pool.map(self._embed_one, texts))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Wordpieces of each text without special tokens."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

    def _embed_one(self, text: str) -> Vectors:
        ids = self._tokenizer.encode(text).ids
        if len(ids) > self.window:
            ids = [*ids[: self.window - 1], ids[-1]]
        row = np.asarray([ids], dtype=np.int64)
        values = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        feeds = {name: value for name, value in values.items() if name in self._inputs}
        hidden = np.asarray(self._session.run(None, feeds)[0])
        first: Vectors = hidden[0, 0].astype(np.float32)
        return first / max(float(np.linalg.norm(first)), 1e-12)
