"""The HTTP API: shapes, refusals, the stream, and what happens when a client leaves."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from engines import engine_like, engine_with_reranker, llm_engine
from served import served
from stub_llm import Reply, StubLlm, error_reply
from stub_reasoner import StubReasoner, says_yes

from rag.engine import Engine
from rag.results import Result

Start = Callable[..., StubLlm]
QUESTION = "Which layers does LoRA adapt?"
CANARY = "sk-test-AAAABBBBCCCC1234"


@pytest.fixture(scope="module")
def api(starter_engine: Engine) -> Iterator[httpx.Client]:
    with (
        served(engine_like(starter_engine)) as url,
        httpx.Client(base_url=url, timeout=20) as client,
    ):
        yield client


def sse_events(text: str) -> list[dict[str, Any]]:
    """The events of a stream, read as a browser's EventSource does."""
    found: list[dict[str, Any]] = []
    for block in text.split("\n\n"):
        fields: dict[str, list[str]] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        if "data" in fields:
            event = json.loads("\n".join(fields["data"]))
            assert fields["event"] == [event["type"]]
            assert len(fields["data"]) == 1
            found.append(event)
    return found


def tokens(events: list[dict[str, Any]]) -> str:
    return "".join(event["payload"]["text"] for event in events if event["type"] == "token")


def test_health_and_ready(api: httpx.Client, starter_engine: Engine) -> None:
    assert api.get("/health").json() == {"status": "ok"}
    ready = api.get("/ready").json()
    facts = starter_engine.facts
    assert ready == {
        "status": "ready",
        "index": {"fingerprint": facts.fingerprint, "papers": facts.papers, "chunks": facts.chunks},
        "reranking": facts.reranker,
        "reasoner": "extractive",
    }


def test_ready_says_that_reranking_is_off(starter_engine: Engine) -> None:
    """C48"""
    with served(engine_with_reranker(starter_engine, None)) as url:
        assert httpx.get(f"{url}/ready").json()["reranking"] == "off"
        body = httpx.post(f"{url}/query", json={"question": QUESTION}, timeout=20).json()
    assert body["degraded"]["reason"].startswith("Reranking is off")


@pytest.mark.parametrize("key", ["question", "query"])
def test_a_question(api: httpx.Client, key: str) -> None:
    reply = api.post("/query", json={key: QUESTION})
    assert reply.status_code == 200
    result = Result.model_validate(reply.json())
    assert (result.route, result.question) == ("answer", QUESTION)
    assert result.citations[0].paper_id == "2106.09685"


def test_history_scope_and_settings_reach_the_engine(api: httpx.Client) -> None:
    body = {
        "question": "How many parameters does it train?",
        "history": [{"question": "What is LoRA?", "answer": "A method [1]."}],
        "scope": {"paper_ids": ["2106.09685"]},
        "settings": {"retrieval.keep": 1},
        "reasoner": "extractive",
    }
    result = Result.model_validate(api.post("/query", json=body).json())
    assert result.sub_queries == ("How many parameters does LoRA train?",)
    assert {chunk.paper_id for chunk in result.chunks} == {"2106.09685"}
    assert sum(chunk.kept for chunk in result.chunks) == 1


BAD_BODIES = [
    {"question": ""},
    {"question": "   "},
    {"question": "\x00"},
    {"question": "x" * 100_000},
    {"question": None},
    {"question": 7},
    {"question": ["q"]},
    {},
    [],
    {"question": QUESTION, "unknown": 1},
    {"question": QUESTION, "query": QUESTION},
    {"question": QUESTION, "reasoner": "oracle"},
    {"question": QUESTION, "settings": {"retrieval.keep": 999}},
    {"question": QUESTION, "settings": {"retrieval.keep": "many"}},
    {"question": QUESTION, "settings": {"reasoning.model": "gpt"}},
    {"question": QUESTION, "history": [{"question": "q"}]},
    {"question": QUESTION, "history": [{"question": "q", "answer": "a"}] * 21},
    {"question": QUESTION, "scope": {"years": ["then"]}},
]


@pytest.mark.parametrize("path", ["/query", "/query/stream"])
def test_unusable_input_is_422_with_one_line(starter_engine: Engine, path: str) -> None:
    """C93, C80: before a stream begins; no model is asked."""
    stub = StubReasoner()
    with served(engine_like(starter_engine, stub)) as url, httpx.Client(base_url=url) as client:
        for body in BAD_BODIES:
            reply = client.post(path, content=json.dumps(body))
            assert reply.status_code == 422, body
            error = reply.json()["error"]
            message = error["message"] if isinstance(error, dict) else ""
            assert message and "\n" not in message and len(message) < 300, body
            assert error["code"].startswith("invalid_"), body
        for content in (b"", b"{", b"\xff\xfe", b"null", b'"text"'):
            assert 400 <= client.post(path, content=content).status_code <= 422
    assert stub.steps == []


@pytest.mark.parametrize("question", ["🔥🔥🔥", "???", "a"])
def test_input_without_a_question_gets_a_friendly_answer(api: httpx.Client, question: str) -> None:
    """C93"""
    reply = api.post("/query", json={"question": question})
    assert (reply.status_code, reply.json()["route"]) == (200, "clarify")


@pytest.mark.parametrize("path", ["/query", "/query/stream"])
def test_half_a_surrogate_pair_is_no_server_error(starter_engine: Engine, path: str) -> None:
    """C93: as some keyboards send it; a model may write one, too."""
    stub = StubReasoner(says_yes, pieces=["Fine \ud83d", "\ude00 [1]."])
    with served(engine_like(starter_engine, stub)) as url:
        body = json.dumps({"question": "What is LoRA? \ud83d"})
        assert httpx.post(f"{url}{path}", content=body).status_code == 422
        reply = httpx.post(f"{url}{path}", json={"question": QUESTION}, timeout=20)
    assert reply.status_code == 200
    assert "Fine ?? [1]." in reply.text


def test_the_stream_is_framed_so_that_every_character_survives(starter_engine: Engine) -> None:
    """C80"""
    pieces = ["Line 1\n", "\n    code", " ", "data: x", "\r\n\r\nevent: y\u2028", "é🔥 [1]."]
    engine = engine_like(starter_engine, StubReasoner(says_yes, pieces=pieces))
    with served(engine) as url:
        reply = httpx.post(f"{url}/query/stream", json={"query": QUESTION}, timeout=20)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-accel-buffering"] == "no"
    events = sse_events(reply.text)
    assert tokens(events) == "".join(pieces)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[0]["stage"]) == ("started", "plan")
    assert events[-1]["type"] == "complete"
    assert Result.model_validate(events[-1]["payload"]["result"]).answer == "".join(pieces)
    (grade,) = [
        event for event in events if event["stage"] == "grade" and event["type"] == "finished"
    ]
    assert grade["payload"]["next"] == "synthesize"


def test_a_stream_that_dies_ends_with_one_error(starter_engine: Engine, stub_llm: Start) -> None:
    """C80"""
    stub = stub_llm({"write": Reply("LoRA adapts the attention layers [1].", die_after=3)})
    with llm_engine(starter_engine, stub) as engine, served(engine) as url:
        reply = httpx.post(f"{url}/query/stream", json={"question": QUESTION}, timeout=20)
    events = sse_events(reply.text)
    assert tokens(events) == "LoRA adapts the"
    assert [event["type"] for event in events].count("error") == 1
    last = events[-1]
    assert last["type"] == "error"
    assert last["payload"]["error"]["code"] == "provider_error"
    assert "Traceback" not in reply.text and "httpx" not in reply.text


def test_a_slow_grader_is_bridged_by_keep_alives(starter_engine: Engine, stub_llm: Start) -> None:
    """C80"""
    stub = stub_llm({"grade": Reply('{"sufficient": true}', delay=0.9), "write": "Fine [1]."})
    with llm_engine(starter_engine, stub) as engine, served(engine) as url:
        reply = httpx.post(f"{url}/query/stream", json={"question": QUESTION}, timeout=20)
    assert reply.text.count(": keep-alive\n\n") >= 2
    assert tokens(sse_events(reply.text)) == "Fine [1]."


@pytest.mark.parametrize("path", ["/query", "/query/stream"])
def test_a_client_that_leaves_stops_the_work(
    starter_engine: Engine, stub_llm: Start, path: str
) -> None:
    """C71: upstream closed within about a second, no later node, the next question at once."""
    stub = stub_llm({"write": Reply("word " * 200, tokens_per_second=10)})
    with (
        llm_engine(starter_engine, stub) as engine,
        served(engine) as url,
        httpx.Client(base_url=url, timeout=httpx.Timeout(20, read=2.0)) as client,
    ):
        if path == "/query":
            with pytest.raises(httpx.ReadTimeout):
                client.post(path, json={"question": QUESTION})
        else:
            with client.stream("POST", path, json={"question": QUESTION}) as reply:
                for line in reply.iter_lines():
                    if '"token"' in line:
                        break
        (seen,) = stub.of("write")
        assert seen.finished.wait(2.5)
        assert seen.client_closed and seen.tokens_sent <= 40
        stub.script = {"write": "Fine [1]."}
        begun = time.monotonic()
        assert client.post("/query", json={"question": QUESTION}).json()["answer"] == "Fine [1]."
        assert time.monotonic() - begun < 3


def test_a_slow_model_does_not_block_others(starter_engine: Engine, stub_llm: Start) -> None:
    """C58: /health answers at once while two questions wait for their model together."""
    stub = stub_llm({"write": Reply("Fine [1].", delay=2.0)})
    finished: list[float] = []
    with llm_engine(starter_engine, stub) as engine, served(engine) as url:

        def ask() -> None:
            reply = httpx.post(f"{url}/query", json={"question": QUESTION}, timeout=20)
            assert reply.json()["answer"] == "Fine [1]."
            finished.append(time.monotonic())

        threads = [threading.Thread(target=ask) for _ in range(2)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        while len(stub.of("write")) < 2 and time.monotonic() - begun < 10:
            time.sleep(0.02)
        with httpx.Client(base_url=url) as client:
            for _ in range(10):
                asked = time.monotonic()
                assert client.get("/health").status_code == 200
                assert time.monotonic() - asked < 0.3
        assert finished == []
        for thread in threads:
            thread.join()
    assert len(finished) == 2


@pytest.mark.parametrize("path", ["/query", "/query/stream"])
def test_a_rejected_key_is_told_without_the_key(
    starter_engine: Engine, stub_llm: Start, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C63: 503 with a plain sentence, an error event on the stream; no key in reply or log."""
    caplog.set_level(logging.DEBUG)
    stub = stub_llm(lambda seen: error_reply(401, f"Incorrect API key provided: {CANARY}"))
    options = {"on_provider_failure": "error"}
    with (
        llm_engine(starter_engine, stub, {"LLM_API_KEY": CANARY}, **options) as engine,
        served(engine) as url,
    ):
        reply = httpx.post(f"{url}{path}", json={"question": QUESTION}, timeout=20)
    if path == "/query":
        assert reply.status_code == 503
        body = reply.json()
        assert (body["route"], body["answer"]) == ("error", "")
    else:
        body = sse_events(reply.text)[-1]["payload"]
    assert "key" in body["error"]["message"].casefold()
    for secret in ("sk-test", "AAAABBBB", "Traceback"):
        assert secret not in reply.text and secret not in caplog.text


def test_a_rejected_key_steps_down(starter_engine: Engine, stub_llm: Start) -> None:
    """C63, the default: status 200, and it is said."""
    stub = stub_llm(lambda seen: error_reply(401, f"Incorrect API key provided: {CANARY}"))
    with llm_engine(starter_engine, stub, {"LLM_API_KEY": CANARY}) as engine, served(engine) as url:
        reply = httpx.post(f"{url}/query", json={"question": QUESTION}, timeout=20)
    body = reply.json()
    assert (reply.status_code, body["route"], body["reasoner"]) == (200, "answer", "extractive")
    assert set(body["degraded"]) == {"provider", "reason"}
    assert "sk-test" not in reply.text


def test_an_unexpected_failure_is_json(starter_engine: Engine) -> None:
    def fail(evidence: Any) -> Any:
        raise ZeroDivisionError("/secret")

    with served(engine_like(starter_engine, StubReasoner(fail))) as url:
        reply = httpx.post(f"{url}/query", json={"question": QUESTION}, timeout=20)
    assert reply.status_code == 500
    assert reply.json()["error"]["code"] == "error" and "/secret" not in reply.text


def test_docs_describe_the_question(api: httpx.Client) -> None:
    schema = api.get("/openapi.json").json()
    assert {"/query", "/query/stream", "/health", "/ready"} <= set(schema["paths"])
    assert schema["components"]["schemas"]["QueryBody"]["required"] == ["question"]
