"""HTTP API: the same engine and the same events as the page."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag.agent.events import CompletePayload, ErrorPayload, Event
from rag.engine import Engine
from rag.errors import RagError
from rag.results import AskRequest, Result, Scope, TurnRecord

KEEP_ALIVE = ": keep-alive\n\n"
#: How often a client is looked for while it waits.
LOOK_SECONDS = 0.2
STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class QueryBody(BaseModel):
    """The body of ``POST /query``; ``query`` is accepted for ``question``."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(examples=["Which layers does LoRA adapt?"])
    history: list[TurnRecord] = Field(default_factory=list, max_length=20)
    scope: Scope = Scope()
    settings: dict[str, float | int | bool | str | None] = Field(default_factory=dict)
    reasoner: str = Field("", pattern="^(llm|extractive)?$")

    @model_validator(mode="before")
    @classmethod
    def accept_query(cls, data: Any) -> Any:
        """Take ``query`` for ``question`` when only that is there."""
        if isinstance(data, dict) and "query" in data and "question" not in data:
            return {
                **{key: value for key, value in data.items() if key != "query"},
                "question": data["query"],
            }
        return data

    def request(self) -> AskRequest:
        """The request for the engine."""
        return AskRequest.model_validate(self.model_dump())


def add_api(app: FastAPI, engine: Engine) -> None:
    """Put the API's routes and error replies on ``app``."""
    _add_error_replies(app)

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Alive, whatever the state of the parts; see ``/ready`` for that."""
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> dict[str, Any]:
        """What answers at the moment."""
        facts = engine.facts
        return {
            "status": "ready",
            "index": {
                "fingerprint": facts.fingerprint,
                "papers": facts.papers,
                "chunks": facts.chunks,
            },
            "reranking": facts.reranker if facts.reranker != "none" else "off",
            "reasoner": facts.reasoner_label,
            **({"degraded": facts.degraded} if facts.degraded else {}),
        }

    @app.post("/query", responses={422: {}, 503: {}})
    async def query(body: QueryBody, request: Request) -> JSONResponse:
        """The result of one question."""
        last: Event | None = None
        async for event in events_of(engine, body.request(), request.is_disconnected):
            last = event or last
        if last is None:
            return JSONResponse({"error": {"code": "cancelled"}}, status_code=499)
        result = (
            last.payload.result
            if isinstance(last.payload, CompletePayload | ErrorPayload)
            else None
        )
        assert result is not None, "a stream that is not cancelled ends with a result"
        return JSONResponse(result.model_dump(mode="json"), status_code=status_of(result))

    @app.post("/query/stream", responses={422: {}})
    async def query_stream(body: QueryBody, request: Request) -> Any:
        """Server-sent events: one JSON event a ``data:`` line, ``event:`` equal to its type."""
        refused = refusal_before_stream(engine, body)
        if refused is not None:
            return refused
        stream = sse(events_of(engine, body.request(), request.is_disconnected))
        return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)


def status_of(result: Result) -> int:
    """The HTTP status that fits a result: bad input 422, a failed provider 503."""
    if result.route == "invalid":
        return 422
    if result.error is None:
        return 200
    if result.error.code in {"invalid_setting", "invalid_question"}:
        return 422
    return 500 if result.error.code == "error" else 503


def refusal_before_stream(engine: Engine, body: QueryBody) -> JSONResponse | None:
    """A 422 reply for input that cannot be used, since a stream has always status 200."""
    from rag.agent.intent import clean_question

    try:
        settings = engine.settings.with_overrides(body.settings)
        clean_question(body.question, settings.agent.max_question_characters)
    except RagError as error:
        return JSONResponse(error_body(error), status_code=422)
    return None


async def events_of(
    engine: Engine, asked: AskRequest, gone: Callable[[], Any]
) -> AsyncIterator[Event | None]:
    """The engine's events without blocking the event loop; None is a tick.

    The work is stopped when the client has gone or the iterator is closed.
    """
    stream = engine.stream(asked)
    items: queue.Queue[Event | Exception | None] = queue.Queue(maxsize=64)
    stop = threading.Event()
    done = Exception("done")

    def pump() -> None:
        try:
            for item in stream:
                items.put(item)
                if stop.is_set():
                    break
        finally:
            stream.close()  # type: ignore[attr-defined]
            items.put(done)

    worker = threading.Thread(target=pump, name="api-stream", daemon=True)
    worker.start()
    looked = time.monotonic()
    try:
        while True:
            item = await anyio.to_thread.run_sync(items.get)
            if item is done:
                return
            # Not only at ticks: while tokens flow there are none.
            if time.monotonic() - looked >= LOOK_SECONDS:
                looked = time.monotonic()
                if await gone():
                    return
            yield item  # type: ignore[misc]
    finally:
        stop.set()
        while not items.empty():
            items.get_nowait()


async def sse(events: AsyncIterator[Event | None]) -> AsyncIterator[str]:
    """Events in the wire format; ticks become keep-alive comments."""
    async for event in events:
        yield KEEP_ALIVE if event is None else f"event: {event.type}\ndata: {event.as_json()}\n\n"


def error_body(error: RagError) -> dict[str, Any]:
    """The JSON of a typed error."""
    return {
        "error": {"code": error.code, "message": str(error), "retryable": error.retryable},
        "detail": str(error),
    }


def _add_error_replies(app: FastAPI) -> None:
    @app.exception_handler(RagError)
    async def typed(_: Request, error: RagError) -> JSONResponse:
        return JSONResponse(error_body(error), status_code=error.http_status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
        message = f"The request is not usable: {place}: {first['msg']}."
        body = {
            "error": {"code": "invalid_request", "message": message, "retryable": False},
            "detail": message,
        }
        return JSONResponse(body, status_code=422)
