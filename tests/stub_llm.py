"""A scripted OpenAI-compatible server over real HTTP, for tests of everything that calls a model.

    with StubLlm({"plan": ['{"sub_queries": ["a"]}'], "write": Reply("Hello [1].")}) as stub:
        ...  # base_url=stub.base_url
        assert stub.steps == ["plan", "write"]

``script`` maps a step (plan, grade, reformulate, write) to a reply, a list of replies (one per
request, the last one repeats) or a callable ``(Seen) -> Reply | str``; it may also be one callable
for all steps. A step without a script gets a sensible answer.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stub_replies import Reply, Script, Seen, default_reply, error_reply, step_of

__all__ = ["Reply", "Script", "Seen", "StubLlm", "error_reply"]


class StubLlm:
    """The server; ``requests`` and ``steps`` tell what it was asked."""

    def __init__(self, script: Mapping[str, Script] | Callable[[Seen], Reply | str] | None = None):
        self.script: Any = script or {}
        self.requests: list[Seen] = []
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> StubLlm:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        with self._lock:
            open_ones = list(self._connections)
        for connection in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join(5)

    @property
    def base_url(self) -> str:
        """Address for ``base_url``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def steps(self) -> list[str]:
        """The steps asked for, in order."""
        return [seen.step for seen in self.requests]

    def of(self, step: str) -> list[Seen]:
        """The requests of one step."""
        return [seen for seen in self.requests if seen.step == step]

    def reply_to(self, seen: Seen) -> Reply:
        """The scripted reply, else a default."""
        with self._lock:
            script = self.script if callable(self.script) else self.script.get(seen.step)
            number = len(self.of(seen.step))
            self.requests.append(seen)
        if callable(script):
            script = script(seen)
        elif isinstance(script, (list, tuple)):
            script = script[min(number, len(script) - 1)]
        if script is None:
            script = default_reply(seen)
        return Reply(script) if isinstance(script, str) else script


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 64

    def __init__(self, stub: StubLlm) -> None:
        self.stub = stub
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.stub._lock:
            self.server.stub._connections.add(self.connection)

    def finish(self) -> None:
        with self.server.stub._lock:
            self.server.stub._connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = Seen(step_of(body), self.path, dict(self.headers.items()), body)
        reply = self.server.stub.reply_to(seen)
        try:
            if self._gone_during(reply.delay):
                raise ConnectionResetError
            if reply.status == 200 and seen.streaming and reply.body is None:
                self._stream(seen, reply)
            else:
                self._send_json(reply.status, self._whole(seen, reply), reply.headers)
        except OSError:
            seen.client_closed = True
            seen.closed_at = time.monotonic()
            self.close_connection = True
        finally:
            seen.finished.set()

    def _whole(self, seen: Seen, reply: Reply) -> Any:
        if reply.body is not None:
            return reply.body
        if reply.error is not None:
            return {"error": reply.error}
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        as_tool = reply.tool_arguments
        if as_tool is None and seen.form == "tools" and reply.text:
            as_tool = reply.text
        if as_tool is not None:
            function = {"name": seen.step, "arguments": as_tool}
            call = {"id": "call_1", "type": "function", "function": function}
            message |= {"content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        whole = {"id": "stub", "object": "chat.completion", "created": 0, "model": "stub-model"}
        whole |= {"choices": [choice]}
        if reply.usage:
            whole["usage"] = _usage(seen, len((reply.text or "").split()))
        return whole

    def _stream(self, seen: Seen, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if reply.chunks is not None:
            for chunk in reply.chunks:
                self._event(chunk)
        else:
            self._event(_delta({"role": "assistant", "content": ""}))
            for token in re.findall(r"\s*\S+\s*$|\s*\S+", reply.text or ""):
                if reply.die_after is not None and seen.tokens_sent >= reply.die_after:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    raise ConnectionResetError
                if reply.tokens_per_second and self._gone_during(1 / reply.tokens_per_second):
                    raise ConnectionResetError
                self._event(_delta({"content": token}))
                seen.tokens_sent += 1
            self._event(_delta({}, reply.finish_reason))
            if reply.usage and (seen.body.get("stream_options") or {}).get("include_usage"):
                usage = _usage(seen, seen.tokens_sent)
                self._event(_delta(None, choices=[], usage=usage))
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, event: Any) -> None:
        self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _gone_during(self, seconds: float) -> bool:
        """Wait; True as soon as the client has closed its side."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], left)
            if readable:
                return not self.connection.recv(1, socket.MSG_PEEK)
        return False

    def _send_json(self, status: int, value: Any, headers: Mapping[str, str]) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)


def _delta(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "stub", "object": "chat.completion.chunk", "created": 0, "model": "stub-model"}
    return {**chunk, "choices": [choice], **more}


def _usage(seen: Seen, completion: int) -> dict[str, int]:
    prompt = len(seen.prompt.split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
