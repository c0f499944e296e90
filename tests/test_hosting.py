"""Fail closed: a key on a public host bills nobody without an explicit yes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rag.engine import open_llm
from rag.errors import ProviderError
from rag.hosting import HOST_VARIABLES, hosting_platform, is_loopback
from rag.sections import ReasoningSettings, ServingSettings
from rag.settings import Settings


@pytest.fixture
def with_key(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable in [*HOST_VARIABLES, "STRICT_HOSTING", "LLM_PROVIDER", "OPENROUTER_API_KEY"]:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-hosting-canary")
    return monkeypatch


def settings(host: str = "127.0.0.1", **reasoning: bool | str) -> Settings:
    return Settings(
        data_dir=Path("unused"),
        serving=ServingSettings(host=host),
        reasoning=ReasoningSettings(**reasoning),
    )


@pytest.mark.parametrize("variable", sorted(HOST_VARIABLES))
def test_every_known_host_is_recognised(variable: str) -> None:
    assert hosting_platform({variable: "x"}, "127.0.0.1") == HOST_VARIABLES[variable]
    assert hosting_platform({variable: " "}, "127.0.0.1") is None


def test_a_public_address_is_a_host() -> None:
    assert hosting_platform({}, "0.0.0.0") == "a public address"
    assert [is_loopback(a) for a in ("localhost", "127.0.0.9", "[::1]", "10.0.0.1", "example")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_at_home_the_key_is_used(with_key: pytest.MonkeyPatch) -> None:
    llm = open_llm(settings(), None)
    assert llm is not None and llm.provider == "openai"


@pytest.mark.parametrize("variable", ["SPACE_ID", "K_SERVICE"])
def test_on_a_host_the_key_is_not_used_and_it_is_said(
    with_key: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str
) -> None:
    with_key.setenv(variable, "x")
    with caplog.at_level(logging.WARNING):
        assert open_llm(settings(), None) is None
    assert "extractive" in caplog.text and "canary" not in caplog.text


def test_an_explicit_yes_uses_it(with_key: pytest.MonkeyPatch) -> None:
    with_key.setenv("SPACE_ID", "x")
    assert open_llm(settings(allow_paid_on_host=True), None) is not None


def test_strict_hosting_refuses_to_start(with_key: pytest.MonkeyPatch) -> None:
    with_key.setenv("STRICT_HOSTING", "1")
    with pytest.raises(ProviderError, match="ALLOW_PAID_ON_HOST"):
        open_llm(settings(host="0.0.0.0"), None)


def test_a_local_model_is_fine_on_a_host(with_key: pytest.MonkeyPatch) -> None:
    with_key.setenv("SPACE_ID", "x")
    llm = open_llm(settings(provider="ollama", model="any"), None)
    assert llm is not None and llm.kind == "llm"
