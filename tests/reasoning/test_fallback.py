"""The second provider: named, keyed, refused on hosts, and asked in the right order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stub_llm import Reply, Seen, StubLlm, error_reply

from rag.agent.events import Event, TokenPayload
from rag.engine import Engine, open_fallback, open_llm
from rag.errors import ProviderError
from rag.hosting import HOST_VARIABLES
from rag.reasoning.fallback import make_fallback_reasoner
from rag.reasoning.llm import LlmReasoner, make_llm_reasoner
from rag.results import AskRequest, Result
from rag.sections import ReasoningSettings, ServingSettings
from rag.settings import Settings

QUESTION = "Which layers does LoRA adapt?"
FIRST_KEY, SECOND_KEY = "sk-test-AAAABBBBCCCC1234", "gsk-test-DDDDEEEEFFFF5678"
ENVIRON = {"OPENAI_API_KEY": FIRST_KEY, "GROQ_API_KEY": SECOND_KEY}
Start = Callable[..., StubLlm]


def second(environ: Mapping[str, str], **options: Any) -> LlmReasoner | None:
    return make_fallback_reasoner(Settings(reasoning=ReasoningSettings(**options)), environ)


def test_without_a_name_there_is_none() -> None:
    assert second(ENVIRON) is None
    assert second(ENVIRON, fallback_provider="extractive") is None
    assert second(ENVIRON, provider="extractive", fallback_provider="groq") is None


def test_it_has_its_own_key_model_and_address() -> None:
    options = {"model": "big", "small_model": "small", "fallback_models": ("a", "b")}
    reasoner = second(ENVIRON, **options, fallback_provider="Groq", base_url="127.0.0.1:1")
    assert reasoner is not None
    with reasoner:
        assert (reasoner.provider, reasoner.model) == ("groq", "openai/gpt-oss-20b")
        assert reasoner.small_model == reasoner.model
        inner = reasoner._provider
        assert inner.base_url == "https://api.groq.com/openai/v1"
        assert inner.key is not None and inner.key.get_secret_value() == SECOND_KEY
    named = second({}, fallback_provider="ollama", fallback_model="qwen3")
    assert named is not None
    with named:
        assert (named.model, named.billing) == ("qwen3", "local")


def test_a_second_compatible_server_never_gets_the_first_ones_key() -> None:
    environ = {"LLM_API_KEY": FIRST_KEY}
    options = {"base_url": "one.example", "fallback_base_url": "two.example"}
    reasoner = second(environ, **options)
    assert reasoner is not None
    with reasoner:
        assert (reasoner.provider, reasoner._provider.key) == ("compatible", None)
        assert reasoner._provider.base_url == "https://two.example/v1"
    keyed = second({**environ, "LLM_FALLBACK_API_KEY": SECOND_KEY}, **options)
    assert keyed is not None
    with keyed:
        assert keyed._provider.key is not None
        assert keyed._provider.key.get_secret_value() == SECOND_KEY


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        ({"fallback_provider": "gorq"}, "RAG_REASONING__FALLBACK_PROVIDER"),
        ({"fallback_provider": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"fallback_provider": "compatible"}, "RAG_REASONING__FALLBACK_BASE_URL"),
        ({"fallback_model": "m"}, "RAG_REASONING__FALLBACK_PROVIDER"),
        ({"fallback_base_url": "http://u:pw@h"}, "RAG_REASONING__FALLBACK_BASE_URL"),
    ],
)
def test_errors_name_the_variable_of_the_second_provider(
    options: dict[str, str], needle: str
) -> None:
    with pytest.raises(ProviderError, match=needle) as caught:
        second({}, **options)
    assert caught.value.kind == "configuration"
    assert "pw" not in str(caught.value)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable in [*HOST_VARIABLES, "STRICT_HOSTING", "LLM_PROVIDER", "OPENROUTER_API_KEY"]:
        monkeypatch.delenv(variable, raising=False)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def hosted(**reasoning: Any) -> Settings:
    options = {"fallback_provider": "groq", **reasoning}
    return Settings(
        data_dir=Path("unused"),
        serving=ServingSettings(host="127.0.0.1"),
        reasoning=ReasoningSettings(**options),
    )


def test_it_fails_closed_on_a_host(
    machine: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at_home = open_fallback(hosted(), None)
    assert at_home is not None and at_home.provider == "groq"
    machine.setenv("SPACE_ID", "x")
    with caplog.at_level(logging.WARNING):
        assert open_fallback(hosted(), None) is None
    assert "fallback" in caplog.text and SECOND_KEY not in caplog.text
    assert open_fallback(hosted(allow_paid_on_host=True), None) is not None
    # A local one may stand in for a paid one that is refused.
    local = hosted(fallback_provider="ollama")
    assert open_llm(local, None) is None
    assert open_fallback(local, None) is not None
    machine.setenv("STRICT_HOSTING", "1")
    with pytest.raises(ProviderError, match="ALLOW_PAID_ON_HOST"):
        open_fallback(hosted(), None)


@contextmanager
def engine_of(engine: Engine, first: StubLlm, then: StubLlm, **options: Any) -> Iterator[Engine]:
    """``engine`` with openai at ``first`` and groq at ``then``, over real HTTP."""
    values = {
        "provider": "openai",
        "base_url": first.base_url,
        "fallback_provider": "groq",
        "fallback_base_url": then.base_url,
        "max_retries": 0,
        **options,
    }
    settings = engine.settings.model_copy(update={"reasoning": ReasoningSettings(**values)})
    settings = settings.with_overrides({"retrieval.pool_size": 8})
    llm = make_llm_reasoner(settings, ENVIRON, evidence_floor=0.5)
    behind = make_fallback_reasoner(settings, ENVIRON, evidence_floor=0.5)
    assert llm is not None and behind is not None
    searcher = engine.searcher
    parts = (engine.index, searcher.embedder, searcher.late, searcher.reranker)
    with llm, behind:
        yield Engine(settings, *parts, llm, None, behind)


def run(engine: Engine) -> tuple[list[Event], Result]:
    events = [event for event in engine.stream(AskRequest(question=QUESTION)) if event]
    return events, events[-1].payload.result  # type: ignore[union-attr]


def leaky(key: str, code: str = "invalid_api_key", status: int = 401) -> Callable[[Seen], Reply]:
    text = f"Incorrect API key provided: {key} at https://u:pw@host/v1 in /home/app/secret.py"
    return lambda seen: error_reply(status, text, code)


def secrets_in(text: str) -> list[str]:
    parts = ("sk-test", "AAAABBBB", "DDDDEEEE", "pw@", "secret.py", "Traceback")
    return [part for part in parts if part in text]


EMPTY = Reply(body={"id": "x", "choices": []})
#: C63 to C67: what the first provider does, a word of what is told, its calls of the planner.
FAILURES: dict[str, tuple[Callable[[Seen], Reply | str], str]] = {
    "key": (leaky(FIRST_KEY), "API key rejected by openai"),
    "organisation": (leaky(FIRST_KEY, "mismatched_organization"), "organisation setting"),
    "credit": (leaky(FIRST_KEY, "insufficient_quota", 429), "no credit left"),
    "model": (leaky(FIRST_KEY, "model_not_found", 404), "did not accept the request"),
    "empty": (
        lambda seen: Reply("") if seen.step == "write" else EMPTY,
        "The model returned nothing",
    ),
}


@pytest.mark.parametrize("failure", ["extractive", "error"])
@pytest.mark.parametrize("name", sorted(FAILURES))
def test_the_second_provider_answers_and_says_so(
    starter_engine: Engine,
    stub_llm: Start,
    name: str,
    failure: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C63, C64, C65, C67 with a second provider, under both values of on_provider_failure."""
    caplog.set_level(logging.DEBUG)
    script, told = FAILURES[name]
    first, then = stub_llm(script), stub_llm({"write": "It adapts attention [1]."})
    with engine_of(starter_engine, first, then, on_provider_failure=failure) as engine:
        events, result = run(engine)
    assert (result.route, result.error) == ("answer", None)
    assert (result.reasoner, result.model) == ("llm", "openai/gpt-oss-20b")
    assert result.answer == "It adapts attention [1]."
    assert result.degraded is not None and result.degraded.provider == "openai"
    assert told in result.degraded.reason
    assert "groq (openai/gpt-oss-20b) answered instead." in result.degraded.reason
    if name != "empty":
        assert first.steps == ["plan"]
    assert result.llm_calls == len(first.requests) + len(then.requests) <= 10
    assert secrets_in("\n".join(event.as_json() for event in events) + caplog.text) == []
    # Each server saw its own key only.
    assert {seen.headers["authorization"] for seen in first.requests} == {f"Bearer {FIRST_KEY}"}
    assert {seen.headers["authorization"] for seen in then.requests} == {f"Bearer {SECOND_KEY}"}
    assert SECOND_KEY not in json.dumps([seen.body for seen in then.requests])


@pytest.mark.parametrize("failure", ["extractive", "error"])
@pytest.mark.parametrize("name", sorted(FAILURES))
def test_when_both_fail(
    starter_engine: Engine,
    stub_llm: Start,
    name: str,
    failure: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C63, C64, C65, C67: then the extractive reasoner, or an error event; no key of either."""
    caplog.set_level(logging.DEBUG)
    script, told = FAILURES[name]
    first, then = stub_llm(script), stub_llm(leaky(SECOND_KEY))
    with engine_of(starter_engine, first, then, on_provider_failure=failure) as engine:
        events, result = run(engine)
    shown = "\n".join(event.as_json() for event in events)
    assert secrets_in(shown + repr(events) + caplog.text) == []
    assert len(then.requests) == 1
    if failure == "error":
        assert (events[-1].type, result.route) == ("error", "error")
        assert result.error is not None and "rejected by groq" in result.error.message
        assert (result.answer, result.citations) == ("", ())
        return
    assert (result.route, result.reasoner, result.model) == ("answer", "extractive", None)
    assert result.answer and result.citations
    assert result.degraded is not None
    assert told in result.degraded.reason
    assert "API key rejected by groq" in result.degraded.reason
    assert "answered instead" not in result.degraded.reason


@pytest.mark.parametrize("failure", ["extractive", "error"])
def test_a_busy_provider_is_waited_for_before_the_second_is_asked(
    starter_engine: Engine, stub_llm: Start, failure: str
) -> None:
    """C65: 429 with Retry-After, then fine."""
    busy = error_reply(429, "x", "rate_limit_exceeded", headers={"retry-after": "0.2"})
    first = stub_llm({"plan": [busy, '{"sub_queries": ["LoRA layers"]}'], "write": "Own [1]."})
    then = stub_llm()
    options = {"on_provider_failure": failure, "max_retries": 2}
    with engine_of(starter_engine, first, then, **options) as engine:
        _, result = run(engine)
    assert (result.answer, result.degraded, then.requests) == ("Own [1].", None, [])
    assert first.steps == ["plan", "plan", "grade", "write"]
    assert result.cost_usd is not None and result.cost_usd > 0
    assert result.input_tokens > 0 and result.output_tokens > 0


def test_in_the_middle_of_a_question_the_rest_goes_to_the_second(
    starter_engine: Engine, stub_llm: Start
) -> None:
    """The tokens shown are those of one writer, once."""
    first = stub_llm({"write": error_reply(503, "down")})
    then = stub_llm({"write": "Second one [1]."})
    with engine_of(starter_engine, first, then) as engine:
        events, result = run(engine)
    tokens = [event.payload.text for event in events if isinstance(event.payload, TokenPayload)]
    assert "".join(tokens) == result.answer == "Second one [1]."
    assert (first.steps, then.steps) == (["plan", "grade", "write"], ["write"])


def test_after_the_first_token_no_second_writer_is_asked(
    starter_engine: Engine, stub_llm: Start
) -> None:
    first = stub_llm({"write": Reply("LoRA adapts many attention layers [1].", die_after=3)})
    then = stub_llm()
    with engine_of(starter_engine, first, then) as engine:
        events, result = run(engine)
    assert (events[-1].type, result.route, then.requests) == ("error", "error", [])


def test_the_ceiling_of_calls_holds_over_both(starter_engine: Engine, stub_llm: Start) -> None:
    """C65"""
    first, then = stub_llm({"write": error_reply(503, "down")}), stub_llm()
    with engine_of(starter_engine, first, then, max_calls=3) as engine:
        _, result = run(engine)
    assert (len(first.requests), len(then.requests), result.llm_calls) == (3, 0, 3)
    assert result.reasoner == "extractive"
    assert result.degraded is not None and "allowance" in result.degraded.reason
