"""What is written about the settings stays true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag.settings import Settings, describe_knobs, load_settings

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "describe_settings.py"
EXAMPLE = ROOT / ".env.example"
REMEDY = "run: python scripts/describe_settings.py --env > .env.example"


def printed(form: str) -> str:
    command = [sys.executable, str(SCRIPT), form]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    return done.stdout.decode("utf-8")


def offered() -> dict[str, str]:
    found = re.findall(r"^#([A-Z][A-Z0-9_]*)=(.*)$", EXAMPLE.read_text("utf-8"), re.MULTILINE)
    assert len(found) == len(dict(found)), "a variable is listed twice"
    return dict(found)


def test_env_example_is_what_the_script_prints() -> None:
    assert EXAMPLE.read_text("utf-8") == printed("--env"), REMEDY


def test_env_example_sets_nothing_and_holds_no_key() -> None:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []
    assert [name for name, value in offered().items() if value and not name.startswith("RAG_")] == [
        "PORT"
    ]


def test_env_example_lists_every_setting_and_the_well_known_names() -> None:
    names = set(offered())
    assert {knob.env for knob in describe_knobs()} <= names
    assert {"PORT", "LLM_PROVIDER", "OPENAI_API_KEY", "OPENROUTER_API_KEY"} <= names
    assert {"GROQ_API_KEY", "HF_TOKEN", "ANTHROPIC_API_KEY", "LLM_API_KEY", "RAG_INDEX"} <= names


def test_values_of_env_example_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RAG_") or name == "LLM_PROVIDER"]:
        monkeypatch.delenv(name)
    for name, value in offered().items():
        if name.startswith("RAG_") and value:
            monkeypatch.setenv(name, value)
    assert load_settings() == Settings.model_validate({})


def test_markdown_table_has_a_row_for_each_setting() -> None:
    rows = printed("--markdown").splitlines()
    assert len(rows) == 2 + len(describe_knobs())
    cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(cells) == {7}
