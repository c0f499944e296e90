"""Who answers, where, with which key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from stub_llm import StubLlm

from rag.errors import ProviderError
from rag.reasoning.llm import LlmReasoner, make_llm_reasoner
from rag.reasoning.protocol import CallMeter, CancelToken, Turn
from rag.reasoning.providers import (
    choose_provider,
    features_for,
    known_providers,
    normalise_base_url,
)
from rag.sections import ReasoningSettings, RerankingSettings
from rag.settings import Settings

from .llm_bench import passages


def chosen(environ: dict[str, str], **settings: object):
    return choose_provider(ReasoningSettings(**settings), environ)


def test_without_a_key_there_is_no_model() -> None:
    assert chosen({}) is None
    assert chosen({"OPENAI_API_KEY": "  ", "GROQ_API_KEY": "null"}) is None
    assert make_llm_reasoner(Settings(), {}) is None
    assert chosen({"OPENAI_API_KEY": "sk-a"}, provider="Extractive") is None


def test_key_presence_chooses_in_the_documented_order() -> None:
    order = ["openai", "openrouter", "anthropic", "groq", "huggingface"]
    table = known_providers()
    environ = {table[name].key_variable: f"key-{name}" for name in order}
    for name in order:
        provider = chosen(environ)
        assert provider is not None
        assert provider.name == name
        assert provider.key is not None and provider.key.get_secret_value() == f"key-{name}"
        assert provider.billing == "paid"
        del environ[table[name].key_variable]
    assert chosen(environ) is None


def test_openai_default_model() -> None:
    provider = chosen({"OPENAI_API_KEY": "sk-a"})
    assert provider is not None
    assert (provider.default_model, provider.base_url) == (
        "gpt-5.6-luna",
        "https://api.openai.com/v1",
    )


@pytest.mark.parametrize(
    ("environ", "settings", "needle"),
    [
        ({}, {"provider": "openai"}, "OPENAI_API_KEY"),
        ({}, {"provider": "groq"}, "GROQ_API_KEY"),
        ({}, {"provider": "gorq"}, "LLM_PROVIDER"),
        ({}, {"provider": "compatible"}, "RAG_REASONING__BASE_URL"),
        ({"OPENAI_API_KEY": "sk-test\nAAAA"}, {}, "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": "sk-tést-AAAA"}, {"provider": "openai"}, "OPENAI_API_KEY"),
    ],
)
def test_configuration_errors_name_the_variable(
    environ: dict[str, str], settings: dict[str, object], needle: str
) -> None:
    with pytest.raises(ProviderError, match=needle) as caught:
        chosen(environ, **settings)
    assert caught.value.kind == "configuration"
    assert "AAAA" not in str(caught.value)


def test_an_address_alone_means_compatible_and_gets_no_foreign_key() -> None:
    """C63: a typed address never receives the OpenAI key."""
    provider = chosen({"OPENAI_API_KEY": "sk-a"}, base_url="127.0.0.1:8080")
    assert provider is not None
    assert (provider.name, provider.key, provider.billing) == ("compatible", None, "local")
    hosted = chosen({"LLM_API_KEY": "k"}, base_url="llm.example.org")
    assert hosted is not None
    assert (hosted.base_url, hosted.billing) == ("https://llm.example.org/v1", "paid")
    ollama = chosen({}, provider="ollama")
    assert ollama is not None
    assert (ollama.base_url, ollama.billing) == ("http://127.0.0.1:11434/v1", "local")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:11434/", "http://localhost:11434/v1"),
        ("http://localhost:11434/v1///", "http://localhost:11434/v1"),
        ("api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
        ("https://h.example/v1/chat/completions", "https://h.example/v1"),
        ("https://h.example/chat/completions/", "https://h.example/v1"),
        (" https://openrouter.ai/api/v1/models ", "https://openrouter.ai/api/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("10.0.0.5:80", "http://10.0.0.5:80/v1"),
        ("HTTP://LocalHost:8080/V1", "http://localhost:8080/V1"),
        ('"http://localhost:1234/v1"', "http://localhost:1234/v1"),
        ("<http://localhost:1234>", "http://localhost:1234/v1"),
        ("ollama:11434", "http://ollama:11434/v1"),
        ("http://localhost:11434/api", "http://localhost:11434/v1"),
        ("localhost:11434/api/chat", "http://localhost:11434/v1"),
        ("http://localhost:3000/api", "http://localhost:3000/api"),
        ("api.groq.com", "https://api.groq.com/openai/v1"),
        ("https://api.groq.com/v1/", "https://api.groq.com/openai/v1"),
        ("openrouter.ai/api", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/v1/chat/completions", "https://openrouter.ai/api/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("http://localhost:8080/completion", "http://localhost:8080/v1"),
        ("https://h.example/v1beta/openai/", "https://h.example/v1beta/openai"),
    ],
)
def test_base_urls_are_normalised(typed: str, expected: str) -> None:
    assert normalise_base_url(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "https://user:pw-canary@host/v1",
        "user:pw-canary@host",
        "https://pw-canary@host/v1",
        "https://host/v1?key=pw-canary",
        "ftp://pw-canary/v1",
        "http://host:pw-canary/v1",
        "http:///pw-canary",
        "http://pw-canary host",
        "http://[pw-canary/v1",
        "http:/pw-canary:11434",
        "http//pw-canary:11434",
        "http:pw-canary",
        "https:\\\\pw-canary\\v1",
        "http://:11434",
        "https://host/v1#pw-canary",
    ],
)
def test_unusable_addresses_are_refused_without_showing_them(typed: str) -> None:
    """C63: ``https://u:pw@host/v1``, not even partly."""
    with pytest.raises(ProviderError) as caught:
        normalise_base_url(typed)
    assert "canary" not in str(caught.value) + repr(caught.value)
    assert "pw" not in str(caught.value)
    assert "RAG_REASONING__BASE_URL" in str(caught.value)


def test_a_bad_address_names_the_variable_that_holds_it() -> None:
    with pytest.raises(ProviderError, match="OPENAI_BASE_URL"):
        chosen({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "ftp://x"})


def test_keys_are_not_in_any_repr() -> None:
    """C63"""
    provider = chosen({"OPENAI_API_KEY": "sk-test-CANARY", "OPENAI_ORG_ID": "org-CANARY"})
    assert "CANARY" not in repr(provider) + str(provider)


def plan_with(environ: dict[str, str], stub: StubLlm, **settings: object) -> None:
    reasoning = ReasoningSettings(base_url=stub.base_url, **settings)
    reasoner = make_llm_reasoner(Settings(reasoning=reasoning), environ)
    assert isinstance(reasoner, LlmReasoner)
    with reasoner:
        reasoner.plan(Turn("What is LoRA?", (), CancelToken(), CallMeter(10)))


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({"OPENAI_ORG_ID": ""}, None),
        ({"OPENAI_ORG_ID": "null"}, None),
        ({"OPENAI_ORGANIZATION": "null"}, None),
        ({"OPENAI_ORG_ID": "", "OPENAI_ORGANIZATION": "org-1"}, "org-1"),
        ({"OPENAI_ORG_ID": "org-2"}, "org-2"),
    ],
)
def test_empty_organisations_are_never_sent(
    variables: dict[str, str],
    sent: str | None,
    stub_llm: Callable[..., StubLlm],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C64: the libraries read the same variables on their own, so they are set for real."""
    for name in ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_PROJECT_ID", "null")
    stub = stub_llm()
    environ = {"OPENAI_API_KEY": "sk-a", "OPENAI_PROJECT_ID": "null", **variables}
    plan_with(environ, stub, provider="openai")
    headers = {name.lower(): value for name, value in stub.requests[0].headers.items()}
    assert headers.get("openai-organization") == sent
    assert "openai-project" not in headers
    assert headers["authorization"] == "Bearer sk-a"


def test_other_providers_get_no_organisation(
    stub_llm: Callable[..., StubLlm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C64"""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-3")
    stub = stub_llm()
    plan_with({"GROQ_API_KEY": "k", "OPENAI_ORG_ID": "org-3"}, stub, provider="groq")
    assert "openai-organization" not in {name.lower() for name in stub.requests[0].headers}


def test_openrouter_sends_its_fallbacks_in_one_request(stub_llm: Callable[..., StubLlm]) -> None:
    stub = stub_llm()
    environ = {"OPENROUTER_API_KEY": "k"}
    plan_with(environ, stub, provider="openrouter", model="a/b", fallback_models=("c/d", "e/f"))
    body = stub.requests[0].body
    assert body["model"] == "a/b"
    assert body["models"] == ["a/b", "c/d", "e/f"]
    assert body["provider"]["allow_fallbacks"] is True
    assert "sort" in body["provider"]
    assert "temperature" not in body
    assert "reasoning_effort" not in body


def test_openrouter_routing_is_set(stub_llm: Callable[..., StubLlm]) -> None:
    stub = stub_llm()
    environ = {"OPENROUTER_API_KEY": "k"}
    options = {"provider": "openrouter", "model": "a/b", "fallback_models": ("a/b", "c/d")}
    plan_with(environ, stub, **options, route_sort="latency", route_fallbacks=False)
    plan_with(environ, stub, **options, route_sort="")
    first, then = (seen.body for seen in stub.requests)
    assert first["provider"] == {"allow_fallbacks": False, "sort": "latency"}
    assert then["provider"] == {"allow_fallbacks": True}
    assert first["models"] == ["a/b", "c/d"]


def test_openrouter_takes_three_models_at_most() -> None:
    environ = {"OPENROUTER_API_KEY": "k"}
    with pytest.raises(ProviderError, match="RAG_REASONING__FALLBACK_MODELS") as caught:
        chosen(environ, fallback_models=("a/a", "b/b", "c/c"))
    assert caught.value.kind == "configuration"
    assert chosen({"GROQ_API_KEY": "k"}, fallback_models=("a", "b", "c")) is not None


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, ("none", "low")),
        ({"effort": "high", "small_effort": "minimal"}, ("minimal", "high")),
        ({"effort": "", "small_effort": ""}, (None, None)),
    ],
)
def test_effort_and_models_of_the_steps(
    settings: dict[str, str], sent: tuple[str | None, str | None], stub_llm: Callable[..., StubLlm]
) -> None:
    """The cheaper model plans, grades and reformulates; the other one writes."""
    stub = stub_llm()
    options = {"provider": "openai", "base_url": stub.base_url, **settings}
    reasoning = ReasoningSettings(model="gpt-6-sol", small_model="gpt-6-luna", **options)
    reasoner = make_llm_reasoner(Settings(reasoning=reasoning), {"OPENAI_API_KEY": "k"})
    assert reasoner is not None
    turn = Turn("What is LoRA?", (), CancelToken(), CallMeter(10))
    with reasoner:
        plan = reasoner.plan(turn)
        check = reasoner.grade(turn, plan, passages(1))
        reasoner.reformulate(turn, plan, check, (), passages(1))
        list(reasoner.write(turn, plan, check, passages(1)))
    assert stub.steps == ["plan", "grade", "reformulate", "write"]
    bodies = [seen.body for seen in stub.requests]
    assert [body["model"] for body in bodies] == ["gpt-6-luna"] * 3 + ["gpt-6-sol"]
    assert [body.get("reasoning_effort") for body in bodies] == [sent[0]] * 3 + [sent[1]]


def test_llama_cpp_needs_an_address_only(stub_llm: Callable[..., StubLlm]) -> None:
    stub = stub_llm()
    plan_with({}, stub)
    seen = stub.requests[0]
    assert (seen.path, seen.body["model"]) == ("/v1/chat/completions", "default")
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert headers["authorization"] == "Bearer not-needed"


def test_openai_request_options(stub_llm: Callable[..., StubLlm]) -> None:
    stub = stub_llm()
    plan_with({"OPENAI_API_KEY": "k"}, stub, provider="openai", temperature=0.2)
    body = stub.requests[0].body
    assert body["reasoning_effort"] == "none"
    assert body["temperature"] == 0.2
    assert "max_completion_tokens" in body and "max_tokens" not in body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "models" not in body


def test_anthropic_is_not_asked_for_a_schema_that_it_ignores() -> None:
    provider = chosen({"ANTHROPIC_API_KEY": "k"})
    assert provider is not None
    features = features_for(provider, ReasoningSettings(), "claude-haiku-4-5", frozenset())
    assert "json_schema" not in features and "tools" in features


def test_evidence_floor_of_the_settings_wins() -> None:
    environ = {"OPENAI_API_KEY": "k"}
    tree = Settings(reranking=RerankingSettings(evidence_floor=0.25))
    for settings, given, floor in (
        (tree, 0.7, 0.25),
        (Settings(), 0.7, 0.7),
        (Settings(), None, 0.5),
    ):
        reasoner = make_llm_reasoner(settings, environ, evidence_floor=given)
        assert reasoner is not None
        with reasoner:
            assert reasoner._floor == floor
            assert (reasoner.kind, reasoner.provider, reasoner.model) == (
                "llm",
                "openai",
                "gpt-5.6-luna",
            )
