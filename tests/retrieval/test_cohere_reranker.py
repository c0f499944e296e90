"""Cohere's reranker against a local server that speaks its protocol, well and badly."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from builders import real_pool
from engines import engine_with_reranker
from served import served

from rag.engine import Engine
from rag.errors import ModelUnavailableError, ProviderError
from rag.hosting import HOST_VARIABLES
from rag.retrieval.cohere_reranker import COHERE_CALIBRATION, CohereReranker, seconds_to_wait
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION, FlashRankReranker
from rag.retrieval.open_reranker import open_reranker
from rag.retrieval.relevance import Signs, evidence, relevance
from rag.retrieval.tinybert_reranker import TINYBERT_CALIBRATION
from rag.sections import RerankingSettings, ServingSettings
from rag.settings import Settings

CANARY = "co-canary-0123456789"
QUESTION = "Which layers does LoRA adapt?"


def by_length(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Scores by length, best first, as Cohere sorts them."""
    scored = [
        {"index": place, "relevance_score": min(len(text), 1000) / 1000}
        for place, text in enumerate(body["documents"])
    ]
    return sorted(scored, key=lambda item: -item["relevance_score"])


class CohereServer(ThreadingHTTPServer):
    """Answers with ``status`` and what ``answer`` makes of the request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.seen_keys: list[str] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.raw: bytes | None = None
        self.answer: Callable[[dict[str, Any]], Any] = lambda body: {"results": by_length(body)}
        self.pause = 0.0
        self.drip = False
        self.cut = False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        """A client that gave up is no news."""


class Handler(BaseHTTPRequestHandler):
    server: CohereServer

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append({"path": self.path, **body})
        server.seen_keys.append(self.headers["Authorization"])
        time.sleep(server.pause)
        status = server.statuses.pop(0) if server.statuses else 200
        reply = server.answer(body) if status == 200 else {"message": f"no: {CANARY}"}
        data = json.dumps(reply).encode() if server.raw is None else server.raw
        self.send_response(status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if server.cut:
            data = data[: len(data) // 2]
        for place in range(len(data)) if server.drip else ():
            self.wfile.write(data[place : place + 1])
            self.wfile.flush()
            time.sleep(0.1)
        if not server.drip:
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CohereServer]:
    for variable in [*HOST_VARIABLES, "STRICT_HOSTING"]:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COHERE_API_KEY", CANARY)
    made = CohereServer()
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def settings_for(server: CohereServer, **values: Any) -> RerankingSettings:
    return RerankingSettings(**{"name": "cohere", "cohere_url": server.url, **values})


def reranker_of(server: CohereServer, **values: Any) -> CohereReranker:
    return CohereReranker(settings_for(server, **values))


def test_one_request_a_query_and_scores_in_the_order_of_the_pairs(server: CohereServer) -> None:
    pairs = [("a", "x" * 10), ("b", "x" * 300), ("a", "x" * 200), ("b", "x" * 20), ("a", "x" * 50)]
    before = list(pairs)
    reranker = reranker_of(server, cohere_model="rerank-test")
    assert reranker.score(pairs) == [0.01, 0.3, 0.2, 0.02, 0.05]
    assert pairs == before
    assert [request["query"] for request in server.requests] == ["a", "b"]
    assert [len(request["documents"]) for request in server.requests] == [3, 2]
    assert {request["path"] for request in server.requests} == {"/v2/rerank"}
    assert {request["model"] for request in server.requests} == {"rerank-test"}
    assert set(server.seen_keys) == {f"Bearer {CANARY}"}
    assert (reranker.name, reranker.calibration) == ("cohere rerank-test", COHERE_CALIBRATION)


def test_blank_passages_are_not_sent_and_shift_nobody(server: CohereServer) -> None:
    reranker = reranker_of(server)
    assert reranker.score([]) == [] and reranker.score([("q", " "), ("q", "")]) == [0.0, 0.0]
    assert server.requests == []
    assert reranker.score([("q", ""), ("q", "x" * 100), ("q", "\n")]) == [0.0, 0.1, 0.0]
    assert server.requests[0]["documents"] == ["x" * 100]


def test_any_text_can_be_sent(server: CohereServer) -> None:
    text = "σ ≈ 0.01 % \ud800 \x00 “quoted” 🙂"
    assert len(reranker_of(server).score([(text, text)])) == 1
    assert server.requests[0]["documents"] == [text]


@pytest.mark.parametrize(
    ("results", "scores"),
    [
        ([{"index": 1, "relevance_score": 0.5}], [0.0, 0.5]),
        (
            [{"index": 0, "relevance_score": math.nan}, {"index": 1, "relevance_score": 1}],
            [0.0, 1.0],
        ),
        ([{"index": 0, "relevance_score": 7.5}, {"index": 1, "relevance_score": -2}], [1.0, 0.0]),
        ([{"index": 0, "relevance_score": 10**400}, {"index": 1}], [1.0, 0.0]),
        ([{"index": 2, "relevance_score": 1}, {"index": 0, "relevance_score": 0.5}], [0.5, 0.0]),
        ([{"index": -1, "relevance_score": 1}, {"index": 1, "relevance_score": 0.5}], [0.0, 0.5]),
        ([{"index": True, "relevance_score": 1}, {"index": 0, "relevance_score": 0.5}], [0.5, 0.0]),
        ([{"index": 0, "relevance_score": 0.4}, {"index": 0, "relevance_score": 0.9}], [0.4, 0.0]),
        (["text", None, 7, {"index": 0, "relevance_score": 0.4}], [0.4, 0.0]),
    ],
)
def test_an_odd_answer_is_read_as_far_as_it_goes(
    server: CohereServer, results: list[Any], scores: list[float]
) -> None:
    server.answer = lambda body: {"results": results}
    found = reranker_of(server).score([("q", "one"), ("q", "two")])
    assert found == scores and all(type(score) is float for score in found)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"null",
        b"{}",
        b'{"results": null}',
        b'{"results": []}',
        b'{"results": [{"index": 0, "relevance_score": NaN}]}',
        b'{"results": [{"index": 0, "relevance_score": Infinity}]}',
        b'{"results": [{"index": 0, "relevance_score": "0.9"}]}',
        b'{"results": [{"index": 0, "relevance_score": true}]}',
        b'{"results": [{"index": "0", "relevance_score": 0.9}]}',
        b'{"results": [{"index": 0, "relevance_score": ' + b"9" * 5000 + b"}]}",
    ],
)
def test_an_answer_without_scores_is_a_failure(server: CohereServer, raw: bytes) -> None:
    server.raw = raw
    with pytest.raises(ModelUnavailableError, match="without scores"):
        reranker_of(server).score([("q", "one")])


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (400, "HTTP 400"),
        (401, "refused the key"),
        (402, "no credit"),
        (403, "refused the key"),
        (404, "COHERE_MODEL"),
        (302, "HTTP 302"),
        (500, "HTTP 500"),
        (503, "HTTP 503"),
    ],
)
def test_a_refusal_is_a_sentence_without_the_key(
    server: CohereServer, status: int, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.statuses = [status]
    server.headers = {"Location": f"{server.url}/elsewhere"}
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelUnavailableError, match=why) as caught:
        reranker_of(server).score([("q", "one")])
    assert CANARY not in str(caught.value) and CANARY not in caplog.text
    assert caught.value.__cause__ is None and len(server.requests) == 1


def test_a_call_is_tried_once_more_when_asked_to_wait(server: CohereServer) -> None:
    server.statuses, server.headers = [429], {"Retry-After": "1"}
    begun = time.monotonic()
    assert reranker_of(server).score([("q", "x" * 100)]) == [0.1]
    assert 1 <= time.monotonic() - begun < 3 and len(server.requests) == 2


@pytest.mark.parametrize(
    ("statuses", "wait", "calls"),
    [([429, 429], "0", 2), ([429], "3600", 1), ([429], "999999999", 1)],
)
def test_being_asked_to_wait_again_or_for_long_is_a_failure(
    server: CohereServer, statuses: list[int], wait: str, calls: int
) -> None:
    server.statuses, server.headers = statuses, {"Retry-After": wait}
    begun = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="fewer calls"):
        reranker_of(server).score([("q", "one")])
    assert time.monotonic() - begun < 1 and len(server.requests) == calls


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("2", 2, 2),
        ("0.5", 0.5, 0.5),
        ("", 1, 1),
        ("soon", 1, 1),
        ("-5", 1, 1),
        ("٣", 1, 1),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 1e9, 1e10),
    ],
)
def test_what_retry_after_asks_for(value: str, least: float, most: float) -> None:
    headers = httpx.Headers([(b"Retry-After", value.encode())])
    assert least <= seconds_to_wait(headers) <= most


@pytest.mark.parametrize("drip", [False, True])
def test_a_slow_service_is_given_up(server: CohereServer, drip: bool) -> None:
    server.pause, server.drip = (0.0, True) if drip else (5.0, False)
    begun = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="took too long"):
        reranker_of(server, cohere_timeout_seconds=1).score([("q", "one"), ("r", "two")])
    assert time.monotonic() - begun < 2.5


def test_all_queries_share_the_time(server: CohereServer) -> None:
    server.pause = 0.6
    with pytest.raises(ModelUnavailableError, match="took too long"):
        reranker_of(server, cohere_timeout_seconds=1).score([("q", "one"), ("r", "two")])
    assert len(server.requests) == 2


def test_an_answer_that_breaks_off_or_never_ends_is_a_failure(server: CohereServer) -> None:
    server.cut = True
    with pytest.raises(ModelUnavailableError, match="broke off"):
        reranker_of(server).score([("q", "one")])
    server.cut, server.raw = False, b" " * 3_000_000
    with pytest.raises(ModelUnavailableError, match="longer than 2 MB"):
        reranker_of(server).score([("q", "one")])


def test_nobody_there_is_a_failure(server: CohereServer) -> None:
    reranker = reranker_of(server, cohere_url="http://127.0.0.1:9")
    with pytest.raises(ModelUnavailableError, match="could not be reached"):
        reranker.score([("q", "one")])


@pytest.mark.parametrize(
    "url",
    [
        "http://api.cohere.com",
        "ftp://x",
        "",
        "https://",
        "https://u:p@api.cohere.com",
    ],
)
def test_the_key_goes_to_https_only(server: CohereServer, url: str) -> None:
    with pytest.raises(ModelUnavailableError, match="COHERE_URL"):
        reranker_of(server, cohere_url=url)


@pytest.mark.parametrize("key", ["", " ", "null", "bad key", "schlüssel", "a\nb"])
def test_a_missing_or_unusable_key_is_a_sentence(
    server: CohereServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COHERE_API_KEY", key)
    with pytest.raises(ModelUnavailableError, match="COHERE_API_KEY") as caught:
        reranker_of(server)
    assert not key.strip() or key == "null" or key not in str(caught.value)


def test_nothing_that_can_be_printed_holds_the_key(server: CohereServer) -> None:
    reranker = reranker_of(server)
    settings = Settings(reranking=settings_for(server))
    for text in (repr(reranker), repr(vars(reranker)), str(settings), settings.model_dump_json()):
        assert CANARY not in text


def whole_settings(server: CohereServer, host: str = "127.0.0.1", **values: Any) -> Settings:
    return Settings(reranking=settings_for(server, **values), serving=ServingSettings(host=host))


def test_at_home_the_key_is_used(server: CohereServer) -> None:
    reranker = open_reranker(whole_settings(server), real_pool())
    assert isinstance(reranker, CohereReranker) and server.requests == []


def test_without_a_key_reranking_is_off(
    server: CohereServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("COHERE_API_KEY")
    with caplog.at_level(logging.WARNING):
        assert open_reranker(whole_settings(server), real_pool()) is None
    assert "COHERE_API_KEY" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_on_a_host_the_local_reranker_is_used_and_it_is_said(
    server: CohereServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    starter_engine: Engine,
    host: str,
) -> None:
    if host == "127.0.0.1":
        monkeypatch.setenv("SPACE_ID", "x")
    settings = whole_settings(server, host).model_copy(
        update={"data_dir": starter_engine.settings.data_dir}
    )
    with caplog.at_level(logging.WARNING):
        reranker = open_reranker(settings, real_pool())
    assert isinstance(reranker, FlashRankReranker)
    assert "ALLOW_PAID_ON_HOST" in caplog.text and CANARY not in caplog.text
    allowed = whole_settings(server, host, allow_paid_on_host=True)
    assert isinstance(open_reranker(allowed, real_pool()), CohereReranker)
    monkeypatch.setenv("STRICT_HOSTING", "1")
    with pytest.raises(ProviderError, match="ALLOW_PAID_ON_HOST"):
        open_reranker(settings, real_pool())


def test_its_name_and_its_own_bars_are_shown(server: CohereServer, starter_engine: Engine) -> None:
    engine = engine_with_reranker(starter_engine, reranker_of(server))
    with served(engine) as url:
        assert httpx.get(f"{url}/ready").json()["reranking"] == "cohere rerank-v3.5"
        body = httpx.post(f"{url}/query", json={"question": QUESTION}, timeout=20).json()
    assert (body["reranking"], body["degraded"]) == ("cohere rerank-v3.5", None)
    assert body["bar"] == COHERE_CALIBRATION.bar
    assert server.requests[0]["query"] == QUESTION
    assert len(server.requests[0]["documents"]) == 8
    assert CANARY not in json.dumps(body)


def test_a_failing_service_degrades_to_the_fused_order(
    server: CohereServer, starter_engine: Engine
) -> None:
    """C48: no bar for reranker scores is applied to fused scores; the next question may succeed."""
    server.statuses = [503]
    engine = engine_with_reranker(starter_engine, reranker_of(server))
    result = engine.ask(QUESTION)
    assert result.degraded is not None and "HTTP 503" in result.degraded.reason
    assert (result.reranking, result.bar, result.error) == ("", None, None)
    assert all(chunk.score_rerank is None for chunk in result.chunks)
    assert CANARY not in result.model_dump_json()
    assert engine.ask(QUESTION).degraded is None


@pytest.mark.parametrize("calibration", [COHERE_CALIBRATION, MINILM_CALIBRATION])
def test_a_calibration_fits_its_embedder(calibration: Any) -> None:
    assert calibration.for_embedder("bge-small-en-v1.5") is calibration
    other = calibration.for_embedder("text-embedding-3-small")
    assert other.relevance.abstract == other.evidence.abstract == 0.0
    assert 0 < other.floor_minimum <= other.bar <= other.strict_bar < other.evidence_floor < 1


@pytest.mark.parametrize("score", [0.0, 0.999])
def test_an_unfitted_score_alone_proves_nothing(score: float) -> None:
    """What is known of the other signs decides, whatever the reranker says."""
    outside, inside = Signs(score, 0.5, 0.7, 0.3), Signs(score, 0.8, 0.85, 0.5)
    for calibration in (COHERE_CALIBRATION, TINYBERT_CALIBRATION):
        assert evidence([outside], calibration.evidence) < calibration.evidence_floor
        if score:
            assert evidence([inside], calibration.evidence) > calibration.evidence_floor
        assert relevance(outside, calibration.relevance) < calibration.bar
        assert relevance(inside, calibration.relevance) > calibration.strict_bar
