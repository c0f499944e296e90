"""scripts/ask.py and app.py as a visitor starts them."""

from __future__ import annotations

import io
import json
import os
import runpy
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import app
from rag.agent.events import Event
from rag.engine import Engine
from rag.errors import RagError
from rag.results import AskRequest
from rag.terminal import describe_event, describe_result

ROOT = Path(__file__).parent.parent
KEYS = {
    "question", "answer", "route", "is_compound", "sub_queries", "all_sub_queries", "passes",
    "context_sufficient", "missing_elements", "citations", "chunks", "sentences", "reasoner",
    "model", "degraded", "timings_ms", "llm_calls", "cost_usd", "input_tokens", "output_tokens", "citation_precision", "index_fingerprint",
    "settings_hash", "error",
}  # fmt: skip
CITATION_KEYS = {"n", "paper_id", "title", "pages", "chunk_ids", "url"}
CHUNK_KEYS = {
    "chunk_id", "paper_id", "title", "section", "page_start", "page_end", "chunk_type", "text",
    "context", "kept", "drop_reason", "floored", "rank_dense", "score_dense", "rank_bm25",
    "score_bm25", "rank_fused", "score_fused", "score_rerank", "sub_query", "also_in",
}  # fmt: skip
SENTENCE_KEYS = {"text", "start", "end", "cites", "evidence", "support"}
EVIDENCE_KEYS = {"n", "chunk_id", "page", "start", "end"}


@pytest.fixture
def environ(starter_engine: Engine) -> dict[str, str]:
    """The starter index of the session's engine, and no key of the machine."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "RAG_DATA_DIR": str(starter_engine.settings.data_dir.resolve()),
        "RAG_REASONING__PROVIDER": "extractive",
    }


def ask(
    environ: dict[str, str], *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "scripts/ask.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environ, input=stdin, capture_output=True, timeout=60
    )


def test_one_question_as_json(environ: dict[str, str]) -> None:
    done = ask(environ, "--json", "Which layers does LoRA adapt?", "--set", "retrieval.keep=3")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) >= KEYS
    assert (result["route"], result["question"]) == ("answer", "Which layers does LoRA adapt?")
    assert set(result["citations"][0]) >= CITATION_KEYS
    assert all(set(chunk) >= CHUNK_KEYS for chunk in result["chunks"])
    assert 1 <= sum(chunk["kept"] for chunk in result["chunks"]) <= 3
    assert set(result["sentences"][0]) >= SENTENCE_KEYS
    assert set(result["sentences"][0]["evidence"][0]) == EVIDENCE_KEYS
    assert set(result["timings_ms"]) >= {
        "plan",
        "retrieve",
        "rerank",
        "grade",
        "synthesize",
        "total",
    }


BATCH: list[tuple[Any, str]] = [
    ({"question": "Which layers does LoRA adapt?", "id": 7}, "answer"),
    ({"question": ""}, "invalid"),
    ({"question": "   "}, "invalid"),
    ({"question": "🔥🔥🔥"}, "clarify"),
    ({"question": "x" * 100_000}, "invalid"),
    ({"question": None}, "invalid"),
    ({"question": 7}, "invalid"),
    ({"no_question": 1}, "invalid"),
    (b"{broken", "invalid"),
    (b"[" * 100_000, "invalid"),
    (b"1" * 5_000, "invalid"),
    (b"\xff\xfe\x00", "invalid"),
    (b'{"question": "\\ud800"}', "clarify"),
    ("How many papers do you have?", "catalogue"),
    ({"question": "Who won the 2022 World Cup?"}, "refusal"),
    ({"question": "Hi", "settings": {"retrieval.keep": 999}}, "error"),
    ({"question": "How many parameters does it train?", "history": [{"question": "What is LoRA?", "answer": "A."}]}, "answer"),
]  # fmt: skip


def test_a_batch_has_a_result_for_every_line(environ: dict[str, str], tmp_path: Path) -> None:
    """C93: whatever a line holds, the lines after it are answered."""
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line, _ in BATCH]
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines[:3]) + b"\n\n  \n" + b"\n".join(lines[3:]))
    done = ask(environ, "--batch", str(file))
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [result["route"] for result in results] == [route for _, route in BATCH]
    assert all(set(result) >= KEYS for result in results)
    assert len(done.stdout) < 2_000_000
    assert results[-1]["sub_queries"] == ["How many parameters does LoRA train?"]
    for result in results:
        if result["route"] == "invalid":
            assert result["answer"] and "\n" not in result["answer"]
    assert b"Traceback" not in done.stderr


def run_here(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, *arguments: str, stdin: bytes = b""
) -> int:
    """The script in this process, with the session's engine: faster than another process."""
    monkeypatch.setattr(Engine, "open", lambda settings=None: engine)
    monkeypatch.setattr(sys, "argv", ["ask.py", *arguments])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
    try:
        runpy.run_path(str(ROOT / "scripts" / "ask.py"), run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("the script ends with a code")


Captured = pytest.CaptureFixture[str]


def test_a_batch_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, starter_engine: Engine, capsys: Captured
) -> None:
    lines = b'{"question": "Hello"}\n\n{"question": "\xff?"}\n'
    assert run_here(monkeypatch, starter_engine, "--batch", "-", stdin=lines) == 0
    routes = [json.loads(line)["route"] for line in capsys.readouterr().out.splitlines()]
    assert routes == ["smalltalk", "clarify"]


def test_a_question_for_people(
    monkeypatch: pytest.MonkeyPatch, starter_engine: Engine, capsys: Captured
) -> None:
    assert run_here(monkeypatch, starter_engine, "Which layers does LoRA adapt?") == 0
    shown = capsys.readouterr()
    assert "[1] LoRA: Low-Rank Adaptation" in shown.out
    assert shown.err.split()[0] == "plan" and "retrieve" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a question or --batch"),
        (["q", "--batch", "f"], "give a question or --batch"),
        (["--batch", "nowhere.jsonl"], "error: No such file or directory: nowhere.jsonl"),
    ],
)
def test_arguments_that_cannot_work(
    monkeypatch: pytest.MonkeyPatch, starter_engine: Engine, capsys: Captured,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    assert run_here(monkeypatch, starter_engine, *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_RETRIEVAL__KEEP", "many", "error: The setting “retrieval.keep”"),
        ("RAG_RETREIVAL__KEEP", "1", "is not a known setting"),
    ],
)
def test_settings_that_cannot_work(
    monkeypatch: pytest.MonkeyPatch, starter_engine: Engine, capsys: Captured,
    name: str, value: str, message: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    assert run_here(monkeypatch, starter_engine, "Hello") == 2
    assert message in capsys.readouterr().err


def test_an_index_that_is_not_there(environ: dict[str, str]) -> None:
    done = ask(environ, "Hello", "--index", "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ") and b"Traceback" not in done.stderr


def test_the_terminal_shows_each_stage_and_the_sources(starter_engine: Engine) -> None:
    request = AskRequest(question="Who won the 2022 World Cup?")
    events = [event for event in starter_engine.stream(request) if isinstance(event, Event)]
    lines = [line for line in map(describe_event, events) if line]
    assert [line.split()[0] for line in lines] == [
        "plan", "retrieve", "rerank", "grade", "reformulate",
        "retrieve", "rerank", "grade", "synthesize", "verify",
    ]  # fmt: skip
    assert "not enough -> reformulate" in lines[3] and "not enough -> synthesize" in lines[7]
    assert "0 kept" in lines[2]
    refused = describe_result(events[-1].payload.result)  # type: ignore[union-attr]
    assert "does not cover" in refused and "Nearest papers:" in refused
    answered = describe_result(starter_engine.ask("Which layers does LoRA adapt?"))
    assert "[1] LoRA: Low-Rank Adaptation of Large Language Models (2021)" in answered
    assert "https://arxiv.org/" in answered and "-- answer; extractive" in answered
    assert describe_result(starter_engine.ask("")).startswith("Please type a question.")


@pytest.mark.parametrize("port", ["http", "0", "99999", "-1"])
def test_the_app_refuses_a_bad_port(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", port)
    with pytest.raises(RagError, match="PORT must be a number"):
        app.port_from_environment()
    monkeypatch.setenv("PORT", "8080")
    assert app.port_from_environment() == 8080
    monkeypatch.setenv("PORT", " ")
    assert app.port_from_environment() == app.DEFAULT_PORT


def test_the_app_serves_page_and_api(environ: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "app.py"], cwd=ROOT, env=environ | {"PORT": str(port)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        base = f"http://127.0.0.1:{port}"
        wait_for(f"{base}/ready")
        with urllib.request.urlopen(f"{base}/", timeout=10) as page:
            assert b"gradio" in page.read().lower()
        body = json.dumps({"query": "How many papers do you have?"}).encode()
        request = urllib.request.Request(
            f"{base}/query", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert json.load(reply)["route"] == "catalogue"
    finally:
        process.terminate()
        out, err = process.communicate(timeout=15)
    assert b"is ready on" in out and b"Traceback" not in err


def wait_for(url: str, seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
