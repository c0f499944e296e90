"""Upstream: every call to the provider, counted, retried where that helps, stopped on demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag.errors import RagError
from rag.reasoning.ask import Ask
from rag.reasoning.failures import (
    Kind,
    kind_of,
    provider_error,
    refused_feature,
    retry_after,
)
from rag.reasoning.lines import Hold, LinePool
from rag.reasoning.prices import Use, add_to_meter, charged_amount, estimated_use
from rag.reasoning.protocol import CancelToken, Turn
from rag.reasoning.providers import (
    Provider,
    call_seconds,
    features_for,
    make_chat,
    make_client,
)
from rag.sections import ReasoningSettings

if TYPE_CHECKING:
    import httpx2
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_openai import ChatOpenAI

#: A provider that asks for a longer pause is not waited for: a visitor is.
LONGEST_PAUSE_SECONDS = 15.0

#: A stream that drips for longer than this many call time-outs is given up.
STREAM_TIMEOUTS = 4

_FIRST_PAUSE_SECONDS = 0.5
# A time-out is not repeated: the visitor has waited for up to 45 s already.
_REPEATED: frozenset[Kind] = frozenset({"rate", "connection", "server"})
# LangGraph's message stream skips runs with this tag: no planner token may reach the page.
_HIDDEN_TAG = "nostream"


@dataclass
class _Memory:
    """What was learned about models while running; guarded by a lock."""

    refused: dict[str, frozenset[str]] = field(default_factory=dict)
    too_long: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Upstream:
    """Calls to one provider. Safe for several threads; ``close`` releases its connections.

    Every call raises ``CancelledError`` when the visitor is gone and ``ProviderError`` when the
    provider fails or the meter of the turn is used up (kind ``budget``).
    """

    def __init__(self, provider: Provider, settings: ReasoningSettings) -> None:
        self.provider = provider
        self.settings = settings
        self._memory = _Memory()
        self._meter_lock = threading.Lock()
        self._ssl_context: Any = None
        self._lines = LinePool(self._new_client)

    def close(self) -> None:
        """Release idle connections; calls that are running end theirs when they are done."""
        self._lines.close()

    def refused(self, model: str) -> frozenset[str]:
        """Features that ``model`` has refused so far."""
        with self._memory.lock:
            return self._memory.refused.get(model, frozenset())

    def fits(self, ask: Ask) -> bool:
        """False when a prompt of this length was already too long for the model."""
        with self._memory.lock:
            limit = self._memory.too_long.get(ask.model)
        return limit is None or ask.size < limit

    def calls_left(self, turn: Turn) -> int:
        """Calls that the meter of ``turn`` still allows."""
        with self._meter_lock:
            return turn.meter.max_calls - turn.meter.calls

    def complete(self, turn: Turn, ask: Ask) -> AIMessage:
        """The whole reply to ``ask``; kind ``empty`` when it holds no message at all."""
        attempt = _Attempt(self, turn, ask)
        while True:
            failure: Exception | None = None
            with self._lines.take(turn.cancel, call_seconds(self.settings)) as hold:
                chat = attempt.prepare(hold.client)
                try:
                    message = chat.invoke(ask.messages, config={"tags": [_HIDDEN_TAG]})
                except Exception as error:
                    failure = error
                    hold.failed = True
            if failure is None:
                raw = message.response_metadata.get("token_usage")
                self._count_use(turn, ask, message, len(str(message.text)), charged_amount(raw))
                turn.cancel.check()
                return message
            attempt.recover(failure, hold)

    def stream(self, turn: Turn, ask: Ask) -> Iterator[str]:
        """The reply to ``ask`` piece by piece. Retries happen only before the first piece.

        Closing the iterator ends the work upstream.
        """
        attempt = _Attempt(self, turn, ask)
        while True:
            failure: Exception | None = None
            started = False
            with self._lines.take(turn.cancel, call_seconds(self.settings)) as hold:
                chat = attempt.prepare(hold.client, streaming=True)
                try:
                    for piece in self._pieces(turn, ask, chat, hold):
                        started = True
                        yield piece
                except RagError:
                    raise
                except Exception as error:
                    failure = error
                    hold.failed = True
            if failure is None:
                return
            attempt.recover(failure, hold, final=started)

    def _pieces(self, turn: Turn, ask: Ask, chat: ChatOpenAI, hold: Hold) -> Iterator[str]:

        latest = time.monotonic() + STREAM_TIMEOUTS * call_seconds(self.settings)
        told: AIMessageChunk | None = None
        length = 0
        try:
            for chunk in chat.stream(ask.messages):
                turn.cancel.check()
                told = chunk if chunk.usage_metadata else told
                if _filtered(chunk):
                    raise provider_error("content_filter", self.provider.name)
                text = str(chunk.text)
                if not text:
                    continue
                hold.stop_clock()
                if time.monotonic() > latest:
                    raise provider_error("timeout", self.provider.name)
                length += len(text)
                yield text
                turn.cancel.check()
        finally:
            raw = told.additional_kwargs.get("usage", [None])[-1] if told else None
            self._count_use(turn, ask, told, length, charged_amount(raw))

    def _count_call(self, turn: Turn) -> None:
        with self._meter_lock:
            if turn.meter.calls < turn.meter.max_calls:
                turn.meter.calls += 1
                return
        raise provider_error("budget", self.provider.name)

    def _count_use(
        self,
        turn: Turn,
        ask: Ask,
        told: AIMessage | None,
        characters: int,
        charged: float | None,
    ) -> None:
        usage = told.usage_metadata if told else None
        if not usage and not characters:
            return
        use = estimated_use(ask.size, characters)
        if usage:
            use = Use(usage["input_tokens"], usage["output_tokens"], charged)
        model = ask.model
        if told and self.provider.routes_models:
            # One of the models that stand in for it may have answered.
            model = str(told.response_metadata.get("model_name") or model)
        with self._meter_lock:
            add_to_meter(turn.meter, self.provider, model, use)

    def _learn(self, feature: str, model: str) -> None:
        with self._memory.lock:
            known = self._memory.refused.get(model, frozenset())
            self._memory.refused[model] = known | {feature}

    def _learn_too_long(self, ask: Ask) -> None:
        with self._memory.lock:
            known = self._memory.too_long.get(ask.model, ask.size)
            self._memory.too_long[ask.model] = min(known, ask.size)

    def _new_client(self) -> httpx2.Client:
        import httpx2

        if self._ssl_context is None:
            # Takes 40 ms, so one for all lines.
            self._ssl_context = httpx2.create_ssl_context()
        return make_client(self.provider, self.settings, self._ssl_context)


class _Attempt:
    """One logical call: what the next try sends, and whether there is a next try."""

    def __init__(self, upstream: Upstream, turn: Turn, ask: Ask) -> None:
        self._upstream = upstream
        self._turn = turn
        self._ask = ask
        self._sent: frozenset[str] = frozenset()
        self._retries = 0

    def prepare(self, client: httpx2.Client, *, streaming: bool = False) -> ChatOpenAI:
        """The chat model of the next try. Counts it."""
        upstream, ask = self._upstream, self._ask
        self._turn.cancel.check()
        features = features_for(
            upstream.provider, upstream.settings, ask.model, upstream.refused(ask.model)
        )
        form = ask.form(features)
        self._sent = features - {"json_schema", "tools"} | ({form} if form else frozenset())
        if not streaming:
            self._sent -= {"stream_options"}
        chat = make_chat(
            upstream.provider,
            upstream.settings,
            ask.model,
            client=client,
            features=features,
            max_tokens=ask.max_tokens,
            effort=ask.effort,
            streaming=streaming,
            extra=ask.form_body(form),
        )
        upstream._count_call(self._turn)
        return chat

    def recover(self, failure: Exception, hold: Hold, *, final: bool = False) -> None:
        """Return when the call should be made again, after any pause; raise otherwise."""
        upstream, name = self._upstream, self._upstream.provider.name
        self._turn.cancel.check()
        feature = refused_feature(
            failure, self._sent, schema_may_crash=upstream.provider.schema_may_crash
        )
        if feature is not None and not final:
            # Each feature can be refused once, so this cannot go on for ever.
            upstream._learn(feature, self._ask.model)
            return
        kind = "timeout" if hold.expired else kind_of(failure)
        if kind == "context_length":
            upstream._learn_too_long(self._ask)
        problem = provider_error(kind, name)
        pause = retry_after(failure)
        if pause is None:
            pause = _FIRST_PAUSE_SECONDS * 2**self._retries
        if (
            final
            or kind not in _REPEATED
            or self._retries >= upstream.settings.max_retries
            or pause > LONGEST_PAUSE_SECONDS
            or upstream.calls_left(self._turn) <= 0
        ):
            raise problem
        self._retries += 1
        wait(self._turn.cancel, pause)


def wait(cancel: CancelToken, seconds: float) -> None:
    """Pause for ``seconds``; raises ``CancelledError`` as soon as the visitor is gone."""
    stopped = threading.Event()
    cancel.on_cancel(stopped.set)
    stopped.wait(seconds)
    cancel.check()


def _filtered(chunk: AIMessageChunk) -> bool:
    return chunk.response_metadata.get("finish_reason") == "content_filter"
