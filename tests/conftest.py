"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from stub_llm import StubLlm


@pytest.fixture
def stub_llm() -> Iterator[Callable[..., StubLlm]]:
    """Starts scripted model servers (see ``stub_llm.py``) and stops them after the test."""
    with ExitStack() as stack:

        def start(script: Any = None) -> StubLlm:
            return stack.enter_context(StubLlm(script))

        yield start
