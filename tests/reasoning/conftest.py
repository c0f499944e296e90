"""Fixtures of the reasoning tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from rag.reasoning.llm import LlmReasoner

from .llm_bench import Make, build_reasoner


@pytest.fixture
def make() -> Iterator[Make]:
    """Builds reasoners (see ``build_reasoner``) and closes them after the test."""
    with ExitStack() as stack:

        def build(*args: Any, **options: Any) -> LlmReasoner:
            return stack.enter_context(build_reasoner(*args, **options))

        yield build
