"""Providers: the one place that knows who serves language models and what each needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SecretStr

from rag.reasoning.addresses import (
    configuration_error,
    is_local,
    normalise_base_url,
    read_identifier,
    read_key,
)
from rag.reasoning.failures import quiet_chat_class
from rag.sections import ReasoningSettings

if TYPE_CHECKING:
    import httpx2
    from langchain_openai import ChatOpenAI

#: What a call may carry beyond model and messages; each can be left out when it is refused.
Feature = Literal["json_schema", "tools", "temperature", "effort", "stream_options", "max_tokens"]

#: Spoken names of "no model at all".
EXTRACTIVE_NAMES = frozenset({"extractive", "none", "off"})

#: OpenRouter refuses a longer list ("'models' array must have 3 items or fewer").
MOST_ROUTED_MODELS = 3

# Tokens that a reasoning model may think before its answer starts; they count as output.
_THINKING_TOKENS = 1500
_CONNECT_SECONDS = 5.0
_REASONING_MODEL = re.compile(r"(?:openai/)?(?:gpt-[5-9]|o[1-9])", re.IGNORECASE)
# They think as well, but their hosts spell the wish for less in ways of their own.
_OPEN_REASONING_MODEL = re.compile(r"(?:openai/)?gpt-oss", re.IGNORECASE)


@dataclass(frozen=True)
class Provider:
    """Who answers, where, with which key, and at whose expense.

    ``key_variable`` is the environment variable of the key ("" when none is needed); ``billing``
    says whether a chat costs money; ``lacks`` are features never to be sent (refused or silently
    ignored there). ``key`` and ``organisation`` are never shown by ``repr``.
    """

    name: str
    base_url: str
    key_variable: str
    default_model: str
    billing: Literal["paid", "local"] = "paid"
    lacks: frozenset[str] = frozenset({"effort"})
    routes_models: bool = False
    schema_may_crash: bool = False
    key: SecretStr | None = field(default=None, repr=False)
    organisation: str | None = field(default=None, repr=False)
    project: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Variables:
    """How the settings of a provider are called, for sentences that name what to change."""

    provider: str = "LLM_PROVIDER"
    base_url: str = "RAG_REASONING__BASE_URL"
    key: str = "LLM_API_KEY"


FIRST = Variables()


def known_providers() -> dict[str, Provider]:
    """All providers by name, in the order in which a present key chooses one."""
    rows = (
        # Only OpenAI renamed the limit to max_completion_tokens and refuses the old name.
        Provider(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "gpt-5.6-luna",
            lacks=frozenset({"max_tokens"}),
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            "openai/gpt-5.6-luna",
            lacks=frozenset(),
            routes_models=True,
        ),
        # The OpenAI-compatible endpoint of Anthropic ignores response_format without a word.
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            "claude-haiku-4-5",
            lacks=frozenset({"effort", "json_schema"}),
        ),
        Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-20b"),
        # Last: this token is often there for downloads only.
        Provider(
            "huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", "openai/gpt-oss-20b"
        ),
        Provider("ollama", "http://127.0.0.1:11434/v1", "", "llama3.2", billing="local"),
        Provider("compatible", "", "LLM_API_KEY", "default", schema_may_crash=True),
    )
    return {row.name: row for row in rows}


def choose_provider(
    settings: ReasoningSettings, environ: Mapping[str, str], variables: Variables = FIRST
) -> Provider | None:
    """Who answers, with its key; None for the extractive reasoner.

    ``settings.provider`` decides. When it is empty, ``settings.base_url`` means ``compatible``;
    else the first of openai, openrouter, anthropic, groq, huggingface whose key is present; else
    None. The key of ``compatible`` is ``variables.key`` and optional: the key of another provider
    is never sent to an address that somebody typed.

    Raises ``ProviderError`` (kind ``configuration``) with a sentence that names the variable for
    an unknown name, a missing or unusable key, or a bad address.
    """
    table = known_providers()
    name = settings.provider.strip().lower()
    if name in EXTRACTIVE_NAMES:
        return None
    if not name:
        name = _by_presence(settings, environ, table)
        if not name:
            return None
    if name not in table:
        choices = ", ".join([*table, "extractive"])
        raise configuration_error(
            f"{variables.provider} names an unknown provider; use one of {choices}."
        )
    provider = table[name]
    if name == "compatible":
        provider = replace(provider, key_variable=variables.key)
    key = read_key(environ, provider.key_variable) if provider.key_variable else None
    if key is None and provider.key_variable and name != "compatible":
        raise configuration_error(
            f"The provider {name} needs its key in {provider.key_variable}, which is not set.", name
        )
    address, set_by = settings.base_url.strip(), variables.base_url
    if name == "openai" and not address:
        address, set_by = environ.get("OPENAI_BASE_URL", "").strip(), "OPENAI_BASE_URL"
    if name == "compatible" and not address:
        raise configuration_error(
            f"The provider compatible needs the address of its server in {set_by}.", name
        )
    if provider.routes_models and len(settings.fallback_models) > MOST_ROUTED_MODELS - 1:
        raise configuration_error(
            f"OpenRouter takes {MOST_ROUTED_MODELS} models in one request, so "
            f"RAG_REASONING__FALLBACK_MODELS may name {MOST_ROUTED_MODELS - 1}.",
            name,
        )
    provider = replace(provider, key=key)
    if address:
        provider = replace(provider, base_url=normalise_base_url(address, set_by))
    if name in {"compatible", "ollama"}:
        local = is_local(provider.base_url)
        provider = replace(provider, billing="local" if local else "paid")
    if name == "openai":
        provider = replace(
            provider,
            organisation=read_identifier(environ, "OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
            project=read_identifier(environ, "OPENAI_PROJECT_ID"),
        )
    return provider


def _by_presence(
    settings: ReasoningSettings, environ: Mapping[str, str], table: Mapping[str, Provider]
) -> str:
    if settings.base_url.strip():
        return "compatible"
    for name, provider in table.items():
        hosted = provider.key_variable and name != "compatible"
        if hosted and read_key(environ, provider.key_variable) is not None:
            return name
    return ""


def features_for(
    provider: Provider, settings: ReasoningSettings, model: str, refused: frozenset[str]
) -> frozenset[str]:
    """The optional features that calls to ``model`` carry, less those known to be ``refused``."""
    features = {"json_schema", "tools", "stream_options", "max_tokens"}
    if settings.temperature is not None:
        features.add("temperature")
    if _REASONING_MODEL.match(model):
        features.add("effort")
    return frozenset(features) - provider.lacks - refused


def make_chat(
    provider: Provider,
    settings: ReasoningSettings,
    model: str,
    *,
    client: httpx2.Client,
    features: frozenset[str],
    max_tokens: int,
    effort: str | None = None,
    streaming: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> ChatOpenAI:
    """A chat model over ``client`` that never retries on its own (the caller counts its calls).

    ``max_tokens`` limits the visible answer; a model that thinks first gets more on top.
    ``effort`` ("none", "low", …) is sent only as one of ``features``; ``extra`` goes into the body.
    """
    options: dict[str, Any] = {}
    body: dict[str, Any] = dict(extra or {})
    if "effort" in features and effort:
        options["reasoning_effort"] = effort
    thinks = _REASONING_MODEL.match(model) or _OPEN_REASONING_MODEL.match(model)
    if thinks and options.get("reasoning_effort") != "none":
        max_tokens += _THINKING_TOKENS
    if "temperature" in features:
        options["temperature"] = settings.temperature
    if "max_tokens" in features:
        body["max_tokens"] = max_tokens
    else:
        options["max_tokens"] = max_tokens
    if provider.routes_models:
        body["provider"] = {"allow_fallbacks": settings.route_fallbacks}
        if settings.route_sort:
            body["provider"]["sort"] = settings.route_sort
        if settings.fallback_models:
            body["models"] = list(dict.fromkeys([model, *settings.fallback_models]))
    chat = quiet_chat_class()(
        model=model,
        api_key=provider.key or SecretStr("not-needed"),
        base_url=provider.base_url,
        http_client=client,
        max_retries=0,
        timeout=call_seconds(settings),
        use_responses_api=False,
        stream_usage=streaming and "stream_options" in features,
        # LangGraph's token stream would otherwise turn the hidden steps into streamed ones.
        disable_streaming=not streaming,
        extra_body=body or None,
        openai_proxy=None,
        cache=False,
        **options,
    )
    # Both libraries read the variables themselves, and send even "" and "null" as a header.
    chat.root_client.organization = provider.organisation
    chat.root_client.project = provider.project
    return chat


def call_seconds(settings: ReasoningSettings) -> float:
    """Longest wait for one call, at most 45 s."""
    return min(settings.timeout_seconds, 45.0)


def make_client(provider: Provider, settings: ReasoningSettings, ssl_context: Any) -> httpx2.Client:
    """An HTTP client for ``provider``; proxies of the environment do not apply on this machine."""
    import httpx2

    seconds = call_seconds(settings)
    return httpx2.Client(
        verify=ssl_context,
        timeout=httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds)),
        trust_env=not is_local(provider.base_url),
    )
