"""AgentState: ten fixed names, and which of them add up."""

from __future__ import annotations

import operator
from typing import get_args, get_type_hints

from rag.agent.graph import fresh_state
from rag.agent.state import AgentState

FIXED = [
    "original_query",
    "is_compound",
    "sub_queries",
    "all_sub_queries",
    "accumulated_context",
    "context_sufficient",
    "missing_elements",
    "retry_count",
    "final_answer",
    "citations",
]


def test_the_ten_names_come_first() -> None:
    assert list(get_type_hints(AgentState))[:10] == FIXED


def test_only_two_of_them_add_up() -> None:
    hints = get_type_hints(AgentState, include_extras=True)
    adding = [name for name in FIXED if operator.add in get_args(hints[name])]
    assert adding == ["all_sub_queries", "accumulated_context"]


def test_a_fresh_state_holds_nothing_of_an_earlier_question() -> None:
    first = fresh_state("one")
    first["accumulated_context"].append("x")  # type: ignore[arg-type]
    second = fresh_state("two")
    assert set(FIXED) <= set(second)
    assert second["original_query"] == "two"
    assert not any(second[name] for name in FIXED[1:])  # type: ignore[literal-required]
