"""Fallback: the second provider, asked when the first one fails."""

from __future__ import annotations

from collections.abc import Mapping

from rag.reasoning.addresses import configuration_error
from rag.reasoning.llm import LlmReasoner, make_llm_reasoner
from rag.reasoning.providers import EXTRACTIVE_NAMES, Variables
from rag.sections import ReasoningSettings
from rag.settings import Settings

#: Its compatible server has a key variable of its own: the first server's key stays there.
FALLBACK = Variables(
    provider="RAG_REASONING__FALLBACK_PROVIDER",
    base_url="RAG_REASONING__FALLBACK_BASE_URL",
    key="LLM_FALLBACK_API_KEY",
)


def fallback_settings(settings: ReasoningSettings) -> ReasoningSettings | None:
    """The settings of the second provider alone; None when none is named.

    Effort, temperature and limits are those of the first. Raises ``ProviderError`` (kind
    ``configuration``) when a model is named without a provider.
    """
    name = settings.fallback_provider.strip()
    address = settings.fallback_base_url.strip()
    if settings.provider.strip().lower() in EXTRACTIVE_NAMES:
        return None
    if not name and not address:
        if settings.fallback_model.strip():
            raise configuration_error(
                "RAG_REASONING__FALLBACK_MODEL is set without RAG_REASONING__FALLBACK_PROVIDER."
            )
        return None
    return settings.model_copy(
        update={
            "provider": name or "compatible",
            "base_url": address,
            "model": settings.fallback_model,
            "small_model": "",
            "fallback_models": (),
        }
    )


def make_fallback_reasoner(
    settings: Settings, environ: Mapping[str, str], *, evidence_floor: float | None = None
) -> LlmReasoner | None:
    """The reasoner of the second provider; None when none is named. See ``make_llm_reasoner``."""
    second = fallback_settings(settings.reasoning)
    if second is None:
        return None
    return make_llm_reasoner(
        settings.model_copy(update={"reasoning": second}),
        environ,
        evidence_floor=evidence_floor,
        variables=FALLBACK,
    )
