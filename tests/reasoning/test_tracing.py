"""LangSmith: on by its environment variables alone, off without them, and never with a key in it."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from engines import llm_engine
from langsmith import run_trees
from langsmith.utils import get_env_var
from stub_llm import StubLlm, error_reply

from rag.engine import Engine
from rag.results import Result

QUESTION = "Which layers does LoRA adapt?"
CANARY = "sk-test-AAAABBBBCCCC1234"
TRACE_KEY = "lsv2-test-GGGGHHHH"
Start = Callable[..., StubLlm]


class Collector(ThreadingHTTPServer):
    """What LangSmith would have received."""

    daemon_threads = True

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), _Receive)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def text(self) -> str:
        return b"\n".join(self.bodies).decode(errors="replace")

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join(5)


class _Receive(BaseHTTPRequestHandler):
    server: Collector

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _reply(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        limits = {
            "use_multipart_endpoint": True,
            "size_limit": 100,
            "size_limit_bytes": 20_000_000,
            "scale_up_nthreads_limit": 1,
            "scale_up_qsize_trigger": 1000,
            "scale_down_nempty_limit": 4,
        }
        self._reply(200, {"version": "0.13.0", "batch_ingest_config": limits})

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers.items()))
        self._reply(202, {})

    do_PATCH = do_POST


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No variable of LangSmith; the library remembers them and its client, so both are reset."""
    for name in list(os.environ):
        if name.startswith(("LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    get_env_var.cache_clear()
    monkeypatch.setattr(run_trees, "_CLIENT", None)
    yield monkeypatch
    client = run_trees._CLIENT
    if client is not None:
        client.cleanup(timeout=5)
    monkeypatch.undo()
    get_env_var.cache_clear()


@pytest.fixture
def collector(clean: pytest.MonkeyPatch) -> Iterator[Collector]:
    """The variables that LangSmith documents, and a server that listens there."""
    server = Collector()
    clean.setenv("LANGSMITH_TRACING", "true")
    clean.setenv("LANGSMITH_ENDPOINT", server.url)
    clean.setenv("LANGSMITH_API_KEY", TRACE_KEY)
    clean.setenv("LANGSMITH_DISABLE_RUN_COMPRESSION", "true")
    yield server
    server.close()


def ask(engine: Engine, stub: StubLlm) -> Result:
    with llm_engine(
        engine, stub, {"OPENAI_API_KEY": CANARY}, provider="openai", base_url=stub.base_url
    ) as own:
        return own.ask(QUESTION)


def test_without_the_variables_no_call_leaves(
    starter_engine: Engine, stub_llm: Start, clean: pytest.MonkeyPatch
) -> None:
    """Every connection and every name look-up of a whole question goes to the model's server."""
    stub = stub_llm()
    called: list[tuple[Any, ...]] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def watched_connect(self: socket.socket, address: Any) -> None:
        called.append(tuple(address[:2]))
        connect(self, address)

    def watched_look_up(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        called.append((host, int(port)))
        return look_up(host, port, *more, **named)

    clean.setattr(socket.socket, "connect", watched_connect)
    clean.setattr(socket, "getaddrinfo", watched_look_up)
    result = ask(starter_engine, stub)
    assert result.reasoner == "llm" and stub.steps == ["plan", "grade", "write"]
    port = int(stub.base_url.rsplit(":", 1)[1].split("/")[0])
    assert set(called) == {("127.0.0.1", port)}
    assert run_trees._CLIENT is None


def test_the_variables_alone_turn_it_on(
    starter_engine: Engine, stub_llm: Start, collector: Collector
) -> None:
    result = ask(starter_engine, stub_llm({"write": "It adapts attention [1]."}))
    assert result.answer == "It adapts attention [1]."
    assert run_trees._CLIENT is not None
    run_trees._CLIENT.flush(timeout=20)
    told = collector.text
    for name in ("planner_node", "grader_node", "synthesizer_node", "QuietChat", "gpt-5.6-luna"):
        assert name in told
    assert "It adapts attention" in told and "input_tokens" in told
    assert CANARY not in told and TRACE_KEY not in told
    assert {headers.get("x-api-key") for headers in collector.headers} == {TRACE_KEY}


@pytest.mark.parametrize("step", ["plan", "write"])
def test_a_failure_is_traced_without_the_upstream_text(
    starter_engine: Engine,
    stub_llm: Start,
    collector: Collector,
    step: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C63 in the trace: what the provider says may quote the key."""
    caplog.set_level(logging.DEBUG)
    text = f"Incorrect API key provided: {CANARY} at https://u:pw@host/v1"
    result = ask(starter_engine, stub_llm({step: error_reply(401, text, "invalid_api_key")}))
    assert result.degraded is not None
    assert run_trees._CLIENT is not None
    run_trees._CLIENT.flush(timeout=20)
    told = collector.text
    assert "AuthenticationError" in told
    for secret in (CANARY, "sk-test", "AAAABBBB", "pw@", "Incorrect"):
        assert secret not in told and secret not in caplog.text
