"""Engines for tests that share the models and the index of ``starter_engine``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stub_llm import StubLlm

from rag.engine import Engine
from rag.reasoning.llm import make_llm_reasoner
from rag.reasoning.protocol import Reasoner
from rag.retrieval.reranker import Reranker
from rag.sections import ReasoningSettings
from rag.settings import Settings


def quick(settings: Settings) -> Settings:
    """Settings with a small pool, since reranking is most of a question's time."""
    return settings.with_overrides({"retrieval.pool_size": 8})


def engine_like(
    engine: Engine, llm: Reasoner | None = None, settings: Settings | None = None
) -> Engine:
    """``engine`` with another language model or other settings, and a small pool."""
    return engine_with_reranker(engine, engine.searcher.reranker, llm, settings)


def engine_with_reranker(
    engine: Engine,
    reranker: Reranker | None,
    llm: Reasoner | None = None,
    settings: Settings | None = None,
) -> Engine:
    """``engine`` with another reranker, or without one, and a small pool."""
    return Engine(
        quick(settings or engine.settings),
        engine.index,
        engine.searcher.embedder,
        engine.searcher.late,
        reranker,
        llm,
    )


@contextmanager
def llm_engine(
    engine: Engine, stub: StubLlm, environ: Mapping[str, str] | None = None, **options: Any
) -> Iterator[Engine]:
    """``engine`` with the real LLM reasoner, which talks to ``stub``."""
    values = {"provider": "compatible", "base_url": stub.base_url, "max_retries": 0, **options}
    settings = engine.settings.model_copy(update={"reasoning": ReasoningSettings(**values)})
    reasoner = make_llm_reasoner(settings, environ or {}, evidence_floor=0.5)
    assert reasoner is not None
    with reasoner:
        yield engine_like(engine, reasoner, settings)
