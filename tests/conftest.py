"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from builders import CORPUS
from stub_llm import StubLlm

from rag.engine import Engine
from rag.sections import ReasoningSettings
from rag.settings import Settings


@pytest.fixture
def stub_llm() -> Iterator[Callable[..., StubLlm]]:
    """Starts scripted model servers (see ``stub_llm.py``) and stops them after the test."""
    with ExitStack() as stack:

        def start(script: Any = None) -> StubLlm:
            return stack.enter_context(StubLlm(script))

        yield start


@pytest.fixture(scope="session")
def starter_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine over the starter library with the real local models and no language model."""
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        corpus_dir=CORPUS,
        reasoning=ReasoningSettings(provider="extractive"),
    )
    engine = Engine.open(settings)
    yield engine
    engine.close()
