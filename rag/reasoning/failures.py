"""Failures: what a provider's exception means, in one plain sentence of our own.

Nothing of the upstream text, the key, the address or a path reaches the sentence: the text is only
looked at to tell the kinds apart.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from rag.errors import ProviderError

if TYPE_CHECKING:
    from langchain_core.outputs import ChatGenerationChunk, ChatResult
    from langchain_openai import ChatOpenAI

logger = logging.getLogger(__name__)

Kind = Literal[
    "auth",
    "organisation",
    "quota",
    "rate",
    "context_length",
    "content_filter",
    "timeout",
    "connection",
    "empty",
    "server",
    "bad_request",
    "budget",
]

#: ``{provider}`` is a name from our own table of providers.
SENTENCES: Mapping[Kind, str] = {
    "auth": "API key rejected by {provider}; the maintainer needs to check it.",
    "organisation": "{provider} rejected the organisation setting: it does not belong to the key.",
    "quota": "The account at {provider} has no credit left.",
    "rate": "{provider} is receiving too many requests right now; try again in a moment.",
    "context_length": "The question with its passages is too long for the model at {provider}.",
    "content_filter": "{provider} declined to answer this because of its content rules.",
    "timeout": "{provider} took too long to answer.",
    "connection": "{provider} cannot be reached.",
    "empty": "The model returned nothing.",
    "server": "{provider} has a problem of its own right now.",
    "bad_request": "{provider} did not accept the request; the model name or address may be wrong.",
    "budget": "This question used up its allowance of model calls.",
}

_RETRYABLE: frozenset[Kind] = frozenset({"rate", "timeout", "connection", "empty", "server"})

_CONTEXT = re.compile(
    r"context[_ ]?(?:length|window|size)|maximum context|prompt is too long|too many tokens"
    r"|input tokens exceed|exceeds? the (?:available|model'?s) context|request too large",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content[_ ]?(?:filter|policy|management)|ResponsibleAI", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|credit|balance|funds)|exceeded your current quota|billing"
    r"|credits?\b",
    re.IGNORECASE,
)
_ORGANISATION = re.compile(r"organi[sz]ation|mismatched[_ ]project", re.IGNORECASE)
_RATE = re.compile(r"rate[_ ]?limit|overloaded|too many requests", re.IGNORECASE)

# Words by which providers name a feature in "this is unsupported" replies.
_FEATURES: Mapping[str, re.Pattern[str]] = {
    "json_schema": re.compile(r"response[_ ]format|json[_ ]schema|structured output", re.I),
    "tools": re.compile(r"tool[_ ]choice|\btools?\b|function[_ ]call|\bfunctions?\b", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "effort": re.compile(r"reasoning[_. ]effort|\beffort\b", re.I),
    "stream_options": re.compile(r"stream_options|include_usage", re.I),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.I),
}
_UNSUPPORTED = re.compile(
    r"unsupported|n[o']t (?:be )?(?:support|allow|permit|accept|availab|valid)|unrecogni[sz]ed"
    r"|unknown|invalid|unexpected|extra|requires?\b|reject|no endpoints",
    re.IGNORECASE,
)
_REFUSING_STATUS = frozenset({400, 404, 405, 415, 422, 501})


class WithheldError(Exception):
    """Stands for an upstream exception wherever a tracer (LangSmith) could record one: the text of
    the original may quote the key, so only its class is told."""

    def __init__(self, original: Exception) -> None:
        super().__init__(f"The call failed with {type(original).__name__}.")
        self.original = original


@functools.cache
def quiet_chat_class() -> type[ChatOpenAI]:
    """The class of chat models to use. Made on first use: the import takes a second."""
    from langchain_openai import ChatOpenAI

    class QuietChat(ChatOpenAI):
        """``ChatOpenAI`` whose failures carry no upstream text (tracers record what is raised),
        and which keeps what a streamed reply says that it cost."""

        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            try:
                return super()._generate(*args, **kwargs)
            except Exception as error:
                failure = WithheldError(error)
            raise failure

        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            failure: WithheldError | None = None
            try:
                yield from super()._stream(*args, **kwargs)
            except Exception as error:
                failure = WithheldError(error)
            if failure is not None:
                raise failure

        def _convert_chunk_to_generation_chunk(
            self, chunk: dict[str, Any], *args: Any, **kwargs: Any
        ) -> ChatGenerationChunk | None:
            made = super()._convert_chunk_to_generation_chunk(chunk, *args, **kwargs)
            if made is not None and chunk.get("usage"):
                made.message.additional_kwargs["usage"] = [chunk["usage"]]
            return made

    return QuietChat


def provider_error(kind: Kind, provider: str) -> ProviderError:
    """The error of ``kind`` with its sentence; ``provider`` is a name from our own table."""
    sentence = SENTENCES[kind].format(provider=provider)
    return ProviderError(sentence, provider=provider, kind=kind, retryable=kind in _RETRYABLE)


def to_provider_error(error: BaseException, provider: str) -> ProviderError:
    """``error`` as raised by the openai package or LangChain, as one of our kinds.

    The caller raises the result outside of its ``except`` block, so that the original is not even
    kept as context.
    """
    return provider_error(kind_of(error), provider)


def kind_of(error: BaseException) -> Kind:
    """The kind of an upstream exception; one that is not understood counts as ``server``."""
    import openai

    if isinstance(error, WithheldError):
        error = error.original
    upstream = upstream_error(error)
    if isinstance(upstream, openai.APITimeoutError):
        return "timeout"
    if isinstance(upstream, openai.APIConnectionError):
        return "connection"
    if isinstance(upstream, openai.ContentFilterFinishReasonError):
        return "content_filter"
    if isinstance(upstream, openai.LengthFinishReasonError):
        return "empty"
    if isinstance(upstream, openai.APIError):
        return _by_status(status_of(upstream), _signals(upstream))
    if isinstance(error, ValueError) and error.args and isinstance(error.args[0], dict):
        # LangChain's report of an error object inside a 200 reply (OpenRouter does this).
        return _by_status(_status_in(error.args[0]), str(error.args[0]))
    if "No generation chunks" in str(error) or isinstance(
        error, (TypeError, KeyError, IndexError, AttributeError)
    ):
        # What the client libraries run into when a reply has no choices or no message.
        return "empty"
    # Name of the class only: the text may hold anything.
    logger.warning("A call to the model failed with an unexpected %s.", type(error).__name__)
    return "server"


def upstream_error(error: BaseException) -> BaseException:
    """The openai exception behind ``error``, which LangChain may have wrapped; else ``error``."""
    import openai

    seen: BaseException | None = error.original if isinstance(error, WithheldError) else error
    for _ in range(6):
        if seen is None or isinstance(seen, openai.OpenAIError):
            break
        seen = seen.__cause__ or seen.__context__
    return seen if isinstance(seen, openai.OpenAIError) else error


def status_of(error: BaseException) -> int:
    """HTTP status of an upstream exception; 0 when it has none (an error inside a stream)."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else _status_in(getattr(error, "body", None))


def _status_in(body: object) -> int:
    code = body.get("code") if isinstance(body, Mapping) else None
    if isinstance(code, (int, str)) and re.fullmatch(r"[1-5]\d\d", str(code)):
        return int(code)
    return 0


def _signals(error: BaseException) -> str:
    parts = (getattr(error, name, None) for name in ("code", "type", "param", "message", "body"))
    return " ".join(str(part)[:4000] for part in parts if part)


def _by_status(status: int, signals: str) -> Kind:
    if status in (401, 403):
        return "organisation" if _ORGANISATION.search(signals) else "auth"
    if status == 402:
        return "quota"
    if status == 429:
        return "quota" if _QUOTA.search(signals) else "rate"
    if status == 413 or _CONTEXT.search(signals):
        return "context_length"
    if _FILTER.search(signals):
        return "content_filter"
    if status == 408:
        return "timeout"
    if status == 0:
        if _QUOTA.search(signals):
            return "quota"
        return "rate" if _RATE.search(signals) else "server"
    return "server" if status >= 500 or status == 409 else "bad_request"


def refused_feature(
    error: BaseException, sent: frozenset[str], *, schema_may_crash: bool = False
) -> str | None:
    """Which of the optional features ``sent`` the provider will not take; None when this failure
    is about something else.

    ``schema_may_crash``: some small servers answer a JSON schema with HTTP 500.
    """
    upstream = upstream_error(error)
    status = status_of(upstream)
    if schema_may_crash and status == 500 and "json_schema" in sent:
        return "json_schema"
    if status not in _REFUSING_STATUS:
        return None
    signals = _signals(upstream)
    if _CONTEXT.search(signals) or _FILTER.search(signals):
        return None
    named = str(getattr(upstream, "param", None) or "")
    told = signals if _UNSUPPORTED.search(signals) else ""
    for text in (named, told):
        for feature, pattern in _FEATURES.items():
            if feature in sent and pattern.search(text):
                return feature
    return None


def retry_after(error: BaseException, *, now: datetime | None = None) -> float | None:
    """Seconds that the provider asks to wait (>= 0); None when it does not say."""
    headers = getattr(getattr(upstream_error(error), "response", None), "headers", None)
    if headers is None:
        return None
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _seconds(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\s*-?\d{1,9}(?:\.\d{1,9})?\s*", value):
        return None
    return max(0.0, float(value))
