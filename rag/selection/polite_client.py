"""PoliteClient: HTTP to a public service, one call at a time, spaced, patient, and able to stop.

arXiv asks for at least 3 seconds between calls and one connection. Failures that pass (429, 5xx,
time-outs, broken connections, answers that make no sense) are tried again after growing waits;
``Retry-After`` (RFC 9110 §10.2.3: seconds or a date) is honoured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar, cast
from urllib.parse import urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from rag.errors import SourceUnavailableError
from rag.sections import FetchingSettings

logger = logging.getLogger(__name__)
T = TypeVar("T")
USER_AGENT = "adaptive-rag (research question answering; one connection, spaced calls)"
LEAST_PAUSE = 3.0
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_REDIRECTS = 3
_SLOWEST = (
    2_000  # bytes a second; an answer that comes slower for longer than the limit is given up
)


class TransientError(Exception):
    """A failure that may pass; ``retry_after`` is what the server asked to wait, in seconds."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.retry_after = retry_after


class NonsenseError(TransientError):
    """An answer that is not what was asked for: this one address may be at fault, not the host."""


@dataclass(frozen=True)
class Clock:
    """Time, replaceable in tests."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class PoliteClient:
    """Calls one service. Not for several threads: one connection is the point.

    Raises ``SourceUnavailableError`` when the tries are used up; a later call starts afresh.
    """

    def __init__(
        self,
        settings: FetchingSettings,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or Clock()
        self._last_call: float | None = None
        self._client = httpx.Client(
            headers={"User-Agent": USER_AGENT},
            timeout=settings.timeout_seconds,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            transport=transport,
        )
        self.calls = 0

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def fetch(self, url: str, read: Callable[[httpx.Response], T]) -> T:
        """What ``read`` makes of the answer to a GET.

        ``read`` sees every answer that is not a passing failure, body not yet read; it raises
        ``TransientError`` when the answer makes no sense and is worth another try.
        """
        check_address(url)
        retrying = Retrying(
            stop=stop_after_attempt(self._settings.attempts),
            wait=self._wait,
            retry=retry_if_exception_type(TransientError),
            sleep=self._clock.sleep,
            before_sleep=_log_wait,
            reraise=True,
        )
        try:
            return cast(T, retrying(self._once, url, read))
        except TransientError as error:
            raise SourceUnavailableError(
                f"{urlsplit(url).hostname} did not give a usable answer ({error}); what was "
                "fetched is kept, so run the same command again later.",
            ) from error

    def _once(self, url: str, read: Callable[[httpx.Response], T]) -> T:
        try:
            with self._answer(url) as response:
                if response.status_code == 429 or response.status_code >= 500:
                    raise TransientError(
                        f"HTTP {response.status_code}", _retry_after(response.headers)
                    )
                return read(response)
        except httpx.InvalidURL as error:
            raise SourceUnavailableError(_UNUSABLE) from error
        except httpx.TimeoutException as error:
            raise TransientError("it took too long") from error
        except httpx.HTTPError as error:
            raise TransientError("the connection failed") from error

    @contextmanager
    def _answer(self, url: str) -> Iterator[httpx.Response]:
        """The response, redirects followed one by one: every hop is a call and keeps the pause."""
        for _ in range(_REDIRECTS + 1):
            self._pause(url)
            begun = self._clock.now()
            try:
                request = self._client.build_request("GET", url)
                response = self._client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        response.stream = _InTime(
                            response.stream, self._clock, begun + self._settings.timeout_seconds
                        )
                        yield response
                        return
                finally:
                    response.close()
            finally:
                # A call that failed is one, too: the pause is kept from its end.
                self._last_call = self._clock.now()
            there = str(response.next_request.url)
            check_address(there, local=urlsplit(url).hostname in LOCAL_HOSTS)
            url = there
        raise TransientError("too many redirects")

    def _pause(self, url: str) -> None:
        """Wait until the pause since the end of the last call is over."""
        pause = self._settings.seconds_between_calls
        if urlsplit(url).hostname not in LOCAL_HOSTS:
            pause = max(pause, LEAST_PAUSE)
        if self._last_call is not None:
            rest = self._last_call + pause - self._clock.now()
            if rest > 0:
                self._clock.sleep(rest)
        self.calls += 1

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next try; a server that asks for longer than the ceiling stops us."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, TransientError) else None
        ceiling = self._settings.longest_wait_seconds
        if asked is not None and asked > ceiling:
            raise SourceUnavailableError(
                f"The server asks to wait {asked:,.0f} seconds; run the same command again then.",
            )
        growing = self._settings.first_wait_seconds * 2.0 ** (state.attempt_number - 1)
        return max(asked or 0.0, min(growing, ceiling))


class _InTime(httpx.SyncByteStream):
    """A body that is given up when it drips: the time limit of a read never sees that."""

    def __init__(
        self, stream: httpx.SyncByteStream | httpx.AsyncByteStream, clock: Clock, until: float
    ) -> None:
        assert isinstance(stream, httpx.SyncByteStream)
        self._stream, self._clock, self._until = stream, clock, until

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for block in self._stream:
            size += len(block)
            if self._clock.now() > self._until + size / _SLOWEST:
                raise TransientError("it came too slowly")
            yield block

    def close(self) -> None:
        self._stream.close()


def check_address(url: str, *, local: bool = True) -> None:
    """Only https leaves this machine; a host elsewhere may not send us to one on this machine
    (``local`` is whether that is allowed).

    Raises ``SourceUnavailableError`` for any other address.
    """
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0  # .port checks the number
    except ValueError:
        usable = False
    if not usable:
        raise SourceUnavailableError(_UNUSABLE)
    here = parts.hostname in LOCAL_HOSTS
    if here and not local:
        raise SourceUnavailableError("A redirect to this machine is not followed.")
    if parts.scheme == "https" or (parts.scheme == "http" and here):
        return
    raise SourceUnavailableError(
        f"The address {parts.scheme}://{parts.hostname} is not https, so it is not called."
    )


_UNUSABLE = "The address of arXiv in the settings (RAG_FETCHING__…) is not usable."


def _retry_after(headers: httpx.Headers) -> float | None:
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _log_wait(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    seconds = state.next_action.sleep if state.next_action else 0.0
    logger.info("waiting %.0f s before trying again: %s", seconds, error)
