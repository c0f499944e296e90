"""The hosted embedder against a local server that speaks OpenAI's embedding protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from rag.errors import ModelUnavailableError, ProviderError
from rag.retrieval.openai_embedder import MOST_TOKENS, OpenAiEmbedder

CANARY = "sk-canary-embedding-0123456789"


class EmbeddingServer(ThreadingHTTPServer):
    """Answers each text with a vector made of its length, in reverse order on purpose."""

    daemon_threads = True

    def __init__(self, status: int = 200, width: int = 1536) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.width = status, width
        self.requests: list[list[str]] = []


class Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body["input"])
        reply: dict[str, Any] = {
            "error": {"message": f"bad key {CANARY}", "code": "invalid_api_key"}
        }
        if self.server.status == 200:
            rows = [
                {
                    "object": "embedding",
                    "index": i,
                    "embedding": [float(len(text))] + [1.0] * (self.server.width - 1),
                }
                for i, text in enumerate(body["input"])
            ]
            reply = {
                "object": "list",
                "model": body["model"],
                "data": rows[::-1],
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        data = json.dumps(reply).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    made = EmbeddingServer()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{made.server_address[1]}/v1")
    yield made
    made.shutdown()
    made.server_close()


def test_all_sub_queries_go_in_one_request(server: EmbeddingServer) -> None:
    vectors = OpenAiEmbedder().embed_queries(["one", "three", "seventeen"])
    assert server.requests == [["one", "three", "seventeen"]]
    assert vectors.shape == (3, 1536) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    # The reply came in reverse order: each vector must still belong to its own text.
    assert vectors[0, 0] < vectors[1, 0] < vectors[2, 0]


def test_batches_of_a_hundred(server: EmbeddingServer) -> None:
    OpenAiEmbedder().embed_passages([f"text {n}" for n in range(205)])
    assert [len(batch) for batch in server.requests] == [100, 100, 5]


def test_long_texts_are_cut_and_blank_ones_replaced(server: EmbeddingServer) -> None:
    OpenAiEmbedder().embed_passages(["word " * (MOST_TOKENS + 500), "  "])
    long_text, blank = server.requests[0]
    assert MOST_TOKENS * 4 < len(long_text) <= MOST_TOKENS * 5
    assert blank == "."


def test_no_key_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY"):
        OpenAiEmbedder()


def test_a_refused_key_is_told_without_showing_it(server: EmbeddingServer) -> None:
    server.status = 401
    with pytest.raises(ProviderError, match="refused the key") as caught:
        OpenAiEmbedder().embed_queries(["a question"])
    assert not caught.value.retryable
    assert "canary" not in str(caught.value)


def test_vectors_of_another_width_are_refused(server: EmbeddingServer) -> None:
    server.width = 8
    with pytest.raises(ProviderError, match="wrong shape"):
        OpenAiEmbedder().embed_queries(["a question"])
