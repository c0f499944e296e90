"""Settings: environment, bounds, per-request values."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from rag.errors import InvalidSettingError
from rag.settings import (
    Settings,
    describe_knobs,
    load_settings,
    secret_from_environment,
    short_hash,
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("RAG_") or name == "LLM_PROVIDER":
            monkeypatch.delenv(name)


def test_the_environment_sets_knobs(monkeypatch):
    monkeypatch.setenv("RAG_RETRIEVAL__KEEP", "6")
    monkeypatch.setenv("RAG_DATA_DIR", "/elsewhere")
    monkeypatch.setenv("rag_agent__max_passes", "3")
    settings = load_settings()
    assert (settings.retrieval.keep, settings.agent.max_passes) == (6, 3)
    assert settings.data_dir == Path("/elsewhere")
    assert load_settings(data_dir=Path("here")).data_dir == Path("here")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAG_RETRIEVAL__KEEP", "0"),
        ("RAG_RETRIEVAL__KEEP", "many"),
        ("RAG_RERANKING__BAR", "1.5"),
        ("RAG_RERANKING__BAR", "nan"),
        ("RAG_RERANKING__NAME", "flashrank-minilm-l99"),
        ("RAG_RETREIVAL__KEEP", "6"),
        ("RAG_RETRIEVAL__KEPT", "6"),
        ("RAG_RETRIEVAL", "{"),
        ("RAG_REASONING__FALLBACK_MODELS", "a,b"),
    ],
)
def test_an_unusable_variable_is_one_sentence(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettingError) as caught:
        load_settings()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert name.removeprefix("RAG_").split("__")[0].casefold() in message.casefold()


def test_a_blank_variable_means_the_default(monkeypatch):
    monkeypatch.setenv("RAG_INDEX", "")
    monkeypatch.setenv("RAG_RETRIEVAL__KEEP", "")
    assert load_settings() == Settings()
    assert load_settings().index is None


def test_the_well_known_name_sets_the_provider_unless_the_own_name_does(monkeypatch):
    monkeypatch.setenv("LLM_PROVIDER", " ollama ")
    assert load_settings().reasoning.provider == "ollama"
    monkeypatch.setenv("RAG_REASONING__PROVIDER", "groq")
    assert load_settings().reasoning.provider == "groq"


def test_values_of_a_request_are_checked_against_the_same_bounds():
    settings = Settings()
    changed = settings.with_overrides({"retrieval.keep": 3, "reranking.bar": 0.2})
    assert (changed.retrieval.keep, changed.reranking.bar) == (3, 0.2)
    assert settings.retrieval.keep == 8
    assert changed.retrieval.pool_size == settings.retrieval.pool_size
    assert settings.with_overrides({}) is settings


@pytest.mark.parametrize(
    "overrides",
    [
        {"retrieval.keep": 21},
        {"retrieval.keep": 2.5},
        {"retrieval.keep": None},
        {"retrieval.keep": {"$gt": 1}},
        {"reranking.bar": math.nan},
        {"agent.max_passes": 4},
        {"agent.max_question_characters": 50},
        {"reasoning.base_url": "http://evil.example"},
        {"data_dir": "/"},
        {"indexing.workers": 3},
        {"retrieval.__class__": 1},
        {"x" * 10_000: 1},
    ],
)
def test_what_a_request_may_not_set(overrides):
    with pytest.raises(InvalidSettingError) as caught:
        Settings().with_overrides(overrides)
    assert len(str(caught.value)) < 200


def test_every_knob_is_described_and_its_default_is_within_its_bounds():
    knobs = describe_knobs()
    names = [knob.name for knob in knobs]
    assert len(names) == len(set(names))
    assert {"retrieval.rrf_k", "data_dir", "reranking.bar"} <= set(names)
    for knob in knobs:
        assert knob.description.endswith("."), knob.name
        if isinstance(knob.default, int | float) and not isinstance(knob.default, bool):
            low = -math.inf if knob.minimum is None else knob.minimum
            high = math.inf if knob.maximum is None else knob.maximum
            assert low <= knob.default <= high, knob.name
    keep = next(knob for knob in knobs if knob.name == "retrieval.keep")
    assert (keep.env, keep.minimum, keep.maximum, keep.unit) == (
        "RAG_RETRIEVAL__KEEP",
        1,
        20,
        "passages",
    )
    assert keep.per_request


def test_no_cost_or_host_knob_is_open_to_a_request():
    open_sections = {knob.name.split(".")[0] for knob in describe_knobs() if knob.per_request}
    assert open_sections == {"retrieval", "reranking", "agent"}


def test_the_fingerprint_follows_what_changes_an_answer_and_nothing_else():
    plain = Settings()
    assert plain.with_overrides({"retrieval.keep": 3}).fingerprint() != plain.fingerprint()
    assert Settings(data_dir=Path("/x"), index=Path("/y")).fingerprint() == plain.fingerprint()
    assert short_hash({"a": 1, "b": 2}) == short_hash({"b": 2, "a": 1})
    assert len(short_hash([])) == 12


def test_settings_are_frozen_and_closed():
    with pytest.raises(ValidationError):
        Settings().retrieval.keep = 2
    with pytest.raises(ValidationError):
        Settings(retrieval={"kept": 2})


def test_keys_stay_out_of_sight(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-secret ")
    key = secret_from_environment("OPENAI_API_KEY")
    assert key is not None
    assert "secret" not in repr(key)
    assert key.get_secret_value() == "sk-secret"
    for blank in ("", "  ", "null", "None"):
        monkeypatch.setenv("OPENAI_API_KEY", blank)
        assert secret_from_environment("OPENAI_API_KEY") is None
