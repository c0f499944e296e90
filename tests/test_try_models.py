"""scripts/try_models.py against scripted models over real HTTP."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stub_llm import Reply, Seen, StubLlm, error_reply
from stub_replies import default_reply

from rag.engine import Engine

KEY = "sk-test-AAAABBBBCCCC1234"
Start = Callable[..., StubLlm]
Run = Callable[..., tuple[int, str, str]]


def by_model(seen: Seen) -> Reply | str:
    """ "good" finds the first passages helpful, "broken" talks, "locked" is refused."""
    model = str(seen.body["model"])
    if model == "good":
        return default_reply(seen)
    if model == "locked":
        return error_reply(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
    return "What a lovely day."


@pytest.fixture
def run(
    starter_engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs the script in this process, over the index of the session's engine."""
    script = Path(__file__).parent.parent / "scripts" / "try_models.py"
    names = runpy.run_path(str(script))
    monkeypatch.setattr(Engine, "open", lambda settings: starter_engine)
    monkeypatch.setattr(starter_engine, "close", lambda: None)
    monkeypatch.setenv("LLM_API_KEY", KEY)

    def main(stub: StubLlm | None, *arguments: str) -> tuple[int, str, str]:
        if stub is not None:
            monkeypatch.setenv("RAG_REASONING__BASE_URL", stub.base_url)
        code = names["main"](list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return main


@pytest.fixture
def one(tmp_path: Path) -> tuple[str, str]:
    """The option for a single question."""
    file = tmp_path / "one.jsonl"
    file.write_text('{"question": "Which layers does LoRA adapt?"}')
    return "--questions", str(file)


def rows(table: str) -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in lines}


def test_a_good_and_a_broken_model(stub_llm: Start, run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    asked = [
        {"question": "Which layers does LoRA adapt?", "sufficient": True},
        {"question": "What word error rate does LoRA reach?", "sufficient": False},
    ]
    questions.write_text("\n".join(json.dumps(item) for item in asked) + "\n\n")
    stub = stub_llm(by_model)
    code, out, err = run(stub, "good", "broken", "locked", "--questions", str(questions))
    assert (code, err) == (0, "")
    table = rows(out)
    assert table["model"][:4] == ["read", "right", "median s", "slowest s"]
    good, broken, locked = table["good"], table["broken"], table["locked"]
    assert good[:2] == ["2/2", "1/2"]
    assert all(re.fullmatch(r"yes (\d+)/\1", verdict) for verdict in good[-2:])
    assert float(good[2]) > 0 and good[4] == "2" and good[6] == "0.00000"
    assert broken[:2] == ["0/2", "0/0"]
    assert broken[-2:] == ["unreadable", "unreadable"]
    assert int(broken[4]) == 4
    assert locked[0] == "0/2" and locked[-2:] == ["auth", "–"]
    assert "locked: API key rejected by compatible" in out
    assert KEY not in out and "Incorrect" not in out
    # The prompt of the app, with evidence as the app's grader gets it.
    assert set(stub.steps) == {"grade"}
    first = stub.requests[0]
    assert first.prompt.startswith("# Grader") and len(first.passages) >= 3
    assert len(first.prompt) > 3000 and "LoRA" in first.prompt


def test_json_and_nothing_readable(stub_llm: Start, run: Run) -> None:
    code, out, _ = run(stub_llm(by_model), "broken", "--json")
    assert code == 1
    told: dict[str, Any] = json.loads(out)
    assert len(told["questions"]) >= 3
    assert {item["sufficient"] for item in told["questions"]} == {True, False}
    assert told["models"][0]["verdicts"] == ["unreadable"] * len(told["questions"])


def test_a_candidate_may_name_its_provider(
    stub_llm: Start, run: Run, one: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    code, out, _ = run(stub_llm(by_model), "groq=m", "good", *one)
    assert code == 0
    assert "groq=m: The provider groq needs its key in GROQ_API_KEY, which is not set." in out
    assert rows(out)["groq=m"][0] == "0/1"


def test_without_a_provider_it_says_what_to_do(
    run: Run, one: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "OPENROUTER", "ANTHROPIC", "GROQ"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    code, out, _ = run(None, "some-model", *one)
    assert code == 1 and "PROVIDER=MODEL" in out


@pytest.mark.parametrize("text", ["no json", '{"text": "x"}', "[]"])
def test_a_bad_file_of_questions(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(text)
    code, out, err = run(None, "m", "--questions", str(file))
    assert (code, out) == (2, "") and err.startswith("error: ")
