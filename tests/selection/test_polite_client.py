"""The client of a public service: spaced, patient, single, and able to stop."""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from stub_arxiv import (
    Answer,
    FakeTime,
    StubArxiv,
    broken_off,
    captcha,
    down,
    drip,
    redirect,
    refused,
    reset,
    slow,
    too_many,
)

from rag.errors import SourceUnavailableError
from rag.sections import FetchingSettings
from rag.selection.polite_client import LEAST_PAUSE, PoliteClient, TransientError, check_address

URL = "https://arxiv.example/api"
QUICK = FetchingSettings(seconds_between_calls=0, first_wait_seconds=0, timeout_seconds=5)


class Bench:
    """A client over scripted answers in fake time; each call takes ``seconds``."""

    def __init__(self, answers: list[object], seconds: float = 2.0, **settings: float) -> None:
        self.time = FakeTime()
        self.answers = answers
        self.seconds = seconds
        self.spans: list[tuple[float, float]] = []
        self.urls: list[str] = []
        self.client = PoliteClient(
            FetchingSettings(**settings),  # type: ignore[arg-type]
            self.time.clock,
            httpx.MockTransport(self._handle),
        )

    def _handle(self, request: httpx.Request) -> httpx.Response:
        begun = self.time.now
        self.time.pass_(self.seconds)
        self.spans.append((begun, self.time.now))
        self.urls.append(str(request.url))
        answer = self.answers.pop(0) if self.answers else httpx.Response(200, text="OK")
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, httpx.Response)
        return answer

    def fetch(self, url: str = URL) -> str:
        return self.client.fetch(url, body)

    @property
    def gaps(self) -> list[float]:
        """Seconds from the end of a call to the begin of the next one."""
        return [
            later[0] - earlier[1]
            for earlier, later in zip(self.spans, self.spans[1:], strict=False)
        ]


def body(response: httpx.Response) -> str:
    return response.read().decode()


def status(code: int, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(code, headers=names)


@pytest.fixture
def stub() -> Iterator[StubArxiv]:
    with StubArxiv([], {"2301.00001": b"x" * 300}) as server:
        yield server


@pytest.fixture
def client() -> Iterator[PoliteClient]:
    one = PoliteClient(QUICK)
    yield one
    one.close()


# The pause.


@pytest.mark.parametrize("wished", [0.0, 1.0, 3.0])
def test_three_seconds_lie_between_the_end_of_a_call_and_the_next(wished):
    bench = Bench([], seconds=7, seconds_between_calls=wished)
    for _ in range(4):
        bench.fetch()
    assert bench.gaps == [LEAST_PAUSE] * 3
    assert bench.client.calls == 4


def test_a_longer_pause_is_kept_and_time_that_passed_counts():
    bench = Bench([], seconds_between_calls=10)
    bench.fetch()
    bench.time.pass_(4)
    bench.fetch()
    bench.time.pass_(40)
    bench.fetch()
    assert bench.time.slept == [6.0]
    assert bench.gaps == [10.0, 40.0]


def test_the_first_call_does_not_wait():
    bench = Bench([])
    bench.fetch()
    assert bench.time.slept == []


def test_the_pause_runs_from_when_the_body_was_read():
    bench = Bench([])

    def slowly(response: httpx.Response) -> None:
        bench.time.pass_(20)

    bench.client.fetch(URL, slowly)
    read = bench.time.now
    bench.fetch()
    assert bench.spans[1][0] - read == LEAST_PAUSE


@pytest.mark.parametrize(
    "failure",
    [httpx.ReadTimeout("slow"), httpx.ConnectError("no"), status(503), status(429)],
)
def test_the_pause_is_kept_after_a_call_that_failed_too(failure):
    bench = Bench([failure], seconds=30, first_wait_seconds=0)
    bench.fetch()
    assert bench.gaps == [LEAST_PAUSE]


def test_the_pause_is_kept_after_a_call_whose_tries_are_used_up():
    bench = Bench([httpx.ConnectError("no")], seconds=30, attempts=1)
    with pytest.raises(SourceUnavailableError):
        bench.fetch()
    assert bench.fetch() == "OK"
    assert bench.gaps == [LEAST_PAUSE]


def test_every_hop_of_a_redirect_is_a_call_with_its_pause():
    bench = Bench([status(301, Location="/v2"), status(302, Location="https://b.example/c")])
    assert bench.fetch() == "OK"
    assert bench.urls == [URL, "https://arxiv.example/v2", "https://b.example/c"]
    assert bench.gaps == [LEAST_PAUSE] * 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_server_on_this_machine_may_be_asked_faster(host):
    bench = Bench([], seconds_between_calls=0.5)
    for _ in range(3):
        bench.fetch(f"http://{host}:99/x")
    assert bench.gaps == [0.5] * 2


def test_a_name_that_only_looks_local_is_not():
    bench = Bench([], seconds_between_calls=0)
    for _ in range(2):
        bench.fetch("https://localhost.example/x")
    assert bench.gaps == [LEAST_PAUSE]


def test_one_connection_serves_all_calls(stub, client):
    stub.on("/pdf/2301.00001", down(), too_many(0), refused(), captcha())
    for _ in range(3):
        client.fetch(f"{stub.pdf_url}/2301.00001", body)
    client.fetch(f"{stub.pdf_url}/2301.00001", lambda response: None)  # body left unread
    client.fetch(f"{stub.pdf_url}/2301.00001", body)
    assert len(stub.seen) == 7
    assert stub.most_connections == 1
    assert "adaptive-rag" in stub.seen[0].agent


# Waiting and giving up.


def test_waits_grow_up_to_a_ceiling_and_the_reason_is_told():
    bench = Bench([status(503)] * 9, attempts=9, first_wait_seconds=5, longest_wait_seconds=60)
    with pytest.raises(SourceUnavailableError, match=r"arxiv\.example .*HTTP 503") as caught:
        bench.fetch()
    assert bench.gaps == [5, 10, 20, 40, 60, 60, 60, 60]
    assert "run the same command again" in str(caught.value)
    assert caught.value.retryable


def test_retry_after_in_seconds_is_waited_for():
    bench = Bench([status(429, Retry_After="120"), status(503, Retry_After="2")])
    assert bench.fetch() == "OK"
    assert bench.gaps == [120, 10]  # the second time our own wait is longer


def test_retry_after_as_a_date_is_waited_for():
    until = datetime.now(UTC) + timedelta(seconds=100)
    bench = Bench([status(429, Retry_After=email.utils.format_datetime(until, usegmt=True))])
    assert bench.fetch() == "OK"
    assert 95 < bench.gaps[0] <= 100


@pytest.mark.parametrize(
    "value",
    [
        "", "soon", "-5", "1.5", "0", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00",
        "Thu, 45 Foo 2020 99:00:00 GMT", "Tue, 3 Jan 99999999999999999999 10:11:12 GMT",
        "Tue, 3 Jan 2023 10:11:12 +99999999999999999999",
    ],
)  # fmt: skip
def test_a_retry_after_that_says_nothing_is_not_minded(value):
    bench = Bench([status(429, Retry_After=value)])
    assert bench.fetch() == "OK"
    assert bench.gaps == [5]


@pytest.mark.parametrize("value", ["86400", "9" * 400, "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_too_long_a_retry_after_stops_at_once_with_a_sentence(value):
    bench = Bench([status(429, Retry_After=value)])
    with pytest.raises(SourceUnavailableError, match=r"asks to wait .* seconds; run the same"):
        bench.fetch()
    assert len(bench.spans) == 1
    assert bench.time.slept == []


def test_one_exhausted_call_does_not_make_later_calls_fail():
    bench = Bench([status(429)] * 2, attempts=2)
    with pytest.raises(SourceUnavailableError):
        bench.fetch()
    assert bench.fetch() == "OK"
    assert bench.fetch() == "OK"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (httpx.ReadTimeout("/home/me"), "it took too long"),
        (httpx.ConnectTimeout("/home/me"), "it took too long"),
        (httpx.ConnectError("/home/me key=s3cret"), "the connection failed"),
        (httpx.RemoteProtocolError("/home/me"), "the connection failed"),
    ],
)
def test_broken_calls_are_tried_again_and_the_message_shows_nothing_of_the_machine(error, why):
    bench = Bench([error])
    assert bench.fetch() == "OK"
    bench = Bench([error] * 6)
    with pytest.raises(SourceUnavailableError) as caught:
        bench.fetch("https://user:pass@arxiv.example/a?key=s3cret")
    assert str(caught.value) == (
        f"arxiv.example did not give a usable answer ({why}); what was fetched is kept, so run "
        "the same command again later."
    )


def test_nonsense_is_tried_again_and_a_refusal_of_the_reader_is_not():
    bench = Bench([])
    verdicts: list[Exception | None] = [TransientError("nonsense"), None]

    def read(_: httpx.Response) -> str:
        verdict = verdicts.pop(0)
        if verdict:
            raise verdict
        return "read"

    assert bench.client.fetch(URL, read) == "read"
    verdicts = [SourceUnavailableError("no")]
    with pytest.raises(SourceUnavailableError, match=r"^no$"):
        bench.client.fetch(URL, read)
    assert len(bench.spans) == 3


def test_what_is_no_passing_failure_goes_to_the_reader():
    for code in (200, 304, 400, 403, 404, 410):
        bench = Bench([status(code)])
        assert bench.client.fetch(URL, lambda response: response.status_code) == code


def test_each_wait_is_logged_without_the_address(caplog):
    bench = Bench([status(503, Retry_After="7")])
    with caplog.at_level(logging.INFO, "rag.selection"):
        bench.fetch("https://user:pass@arxiv.example/a?key=s3cret")
    assert caplog.messages == ["waiting 7 s before trying again: HTTP 503"]


# Addresses.


@pytest.mark.parametrize(
    "url",
    [
        "http://arxiv.org/api", "ftp://arxiv.org/x", "file:///etc/passwd", "arxiv.org/api", "", "://",
        "ftp://127.0.0.1/x", "http://127.0.0.1.example/x", "http://127.0.0.1@evil.example/x",
        "https://", "https://[bad/x", "//arxiv.org/api",
    ],
)  # fmt: skip
def test_only_https_leaves_the_machine(url):
    with pytest.raises(SourceUnavailableError, match=r"not called|not usable") as caught:
        check_address(url)
    assert "None" not in str(caught.value) and "passwd" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://a\x00b.example/", "https://arxiv.example:99999999/x"])
def test_an_address_that_cannot_be_called_is_a_sentence(url):
    with pytest.raises(SourceUnavailableError, match="not usable"):
        Bench([]).fetch(url)


@pytest.mark.parametrize(
    ("to", "sentence"),
    [
        ("http://arxiv.example/v2", "http://arxiv.example is not https"),
        ("http://evil.example/v2", "http://evil.example is not https"),
        ("http://127.0.0.1:1/admin", "A redirect to this machine is not followed"),
        ("https://localhost/admin", "A redirect to this machine is not followed"),
    ],
)
def test_a_redirect_may_not_leave_https_nor_lead_back_to_this_machine(to, sentence):
    bench = Bench([status(302, Location=to)])
    with pytest.raises(SourceUnavailableError, match=sentence):
        bench.fetch()
    assert bench.urls == [URL]


def test_a_real_redirect_to_http_elsewhere_is_not_followed(stub, client):
    stub.on("/pdf/2301.00001", redirect("http://evil.example/x.pdf"))
    with pytest.raises(SourceUnavailableError, match=r"evil.example is not https"):
        client.fetch(f"{stub.pdf_url}/2301.00001", body)
    stub.on("/pdf/2301.00002", redirect("/pdf/2301.00001"))  # a local one to a local one is
    assert client.fetch(f"{stub.pdf_url}/2301.00002", body) == "x" * 300


def test_redirects_in_a_circle_end():
    bench = Bench([status(302, Location="/api") for _ in range(8)], attempts=2)
    with pytest.raises(SourceUnavailableError, match="too many redirects"):
        bench.fetch()
    assert len(bench.urls) == 8


# Real connections that misbehave.


@pytest.mark.parametrize(
    "fault", [reset(), reset(sent=10), broken_off(), down(), too_many("x")],
)  # fmt: skip
def test_a_broken_answer_is_asked_for_again(stub, client, fault: Callable[[Answer], Answer]):
    stub.on("/pdf/2301.00001", fault, fault)
    assert client.fetch(f"{stub.pdf_url}/2301.00001", body) == "x" * 300
    assert len(stub.seen) == 3
    assert stub.most_connections == 1


@pytest.mark.parametrize("fault", [slow(30), drip(0.01)])
def test_neither_a_silent_nor_a_dripping_answer_holds_the_run(stub, fault):
    stub.on("/pdf/2301.00001", fault)
    settings = QUICK.model_copy(update={"timeout_seconds": 0.1})
    client = PoliteClient(settings)
    began = time.monotonic()
    try:
        assert client.fetch(f"{stub.pdf_url}/2301.00001", body) == "x" * 300
    finally:
        client.close()
    assert time.monotonic() - began < 2
    assert len(stub.seen) == 2


def test_a_large_answer_may_take_longer_than_the_limit():
    bench = Bench([])

    class Steady(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(20):
                bench.time.pass_(10)
                yield b"x" * 30_000

    bench.answers.append(httpx.Response(200, stream=Steady()))
    assert len(bench.fetch()) == 600_000
