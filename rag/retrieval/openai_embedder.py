"""OpenAI's text-embedding-3-small: a hosted embedder; an index made with it is another index."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import ModelUnavailableError, ProviderError
from rag.local_models import BGE_SMALL, cl100k, load_tokenizer, model_directory
from rag.retrieval.embed import Vectors
from rag.settings import secret_from_environment

if TYPE_CHECKING:
    from openai import OpenAI

BATCH = 100
MOST_TOKENS = 8000
SECONDS = 30.0


class OpenAiEmbedder:
    """1536-d unit vectors; one request for up to 100 texts, each cut at 8,000 cl100k tokens.

    ``OPENAI_BASE_URL`` is honoured. Raises ``ModelUnavailableError`` when no key is set, and
    ``ProviderError`` with one plain sentence when the provider fails. Sizes for the chunker are
    counted in wordpieces of the local models, since the reranker must read the chunks too.
    """

    name = "text-embedding-3-small"
    dimension = 1536
    window = 8191

    def __init__(self) -> None:
        if secret_from_environment("OPENAI_API_KEY") is None:
            raise ModelUnavailableError(
                "The embedder text-embedding-3-small needs OPENAI_API_KEY; set it, or set "
                "RAG_INDEXING__EMBEDDER to bge-small-en-v1.5."
            )
        self._tokenizer = load_tokenizer(model_directory(BGE_SMALL))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, shape ``(n, 1536)``, in one request for all."""
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape ``(n, 1536)``."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        cut = [_shortened(text) for text in texts]
        with self._client() as client:
            parts = [
                self._request(client, cut[begin : begin + BATCH])
                for begin in range(0, len(cut), BATCH)
            ]
        return np.concatenate(parts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Wordpieces of each text without special tokens."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

    def _client(self) -> OpenAI:
        from openai import OpenAI

        key = secret_from_environment("OPENAI_API_KEY")
        return OpenAI(
            api_key=key.get_secret_value() if key else "",
            base_url=os.environ.get("OPENAI_BASE_URL", "").strip() or None,
            organization=None,
            timeout=SECONDS,
            max_retries=2,
        )

    def _request(self, client: OpenAI, texts: list[str]) -> Vectors:
        import openai

        try:
            reply = client.embeddings.create(model=self.name, input=texts, encoding_format="float")
        except openai.AuthenticationError:
            raise self._failed("refused the key", "auth") from None
        except openai.OpenAIError:
            raise self._failed("could not be reached or failed", "embedding") from None
        rows = sorted(reply.data, key=lambda item: item.index)
        vectors = np.asarray([row.embedding for row in rows], dtype=np.float32)
        if vectors.shape != (len(texts), self.dimension):
            raise self._failed("sent vectors of the wrong shape", "embedding")
        unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return unit

    def _failed(self, what: str, kind: str) -> ProviderError:
        return ProviderError(
            f"Search is unavailable: the embedding service {what}.",
            provider="openai",
            kind=kind,
            retryable=kind != "auth",
        )


def _shortened(text: str) -> str:
    """The text, cut where it exceeds the model's window; the API refuses an empty one."""
    tokens = cl100k().encode_ordinary(text)
    short = text if len(tokens) <= MOST_TOKENS else cl100k().decode(tokens[:MOST_TOKENS])
    return short.strip() or "."
