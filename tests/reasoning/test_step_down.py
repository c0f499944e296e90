"""Stepping down to the extractive reasoner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from stub_reasoner import StubReasoner

from rag.errors import ProviderError
from rag.reasoning.step_down import StepDown

from .llm_bench import ENOUGH, PLAN, passages, turn_of

EVIDENCE = passages(2)


def failure(*_: Any, **__: Any) -> Any:
    raise ProviderError("API key rejected.", provider="openai", kind="key")


class Failing(StubReasoner):
    """Fails at the steps named in ``at``; the writer after ``tokens`` pieces."""

    at: tuple[str, ...] = ()
    tokens = 0

    def plan(self, *arguments: Any) -> Any:
        return failure() if "plan" in self.at else super().plan(*arguments)

    def grade(self, *arguments: Any) -> Any:
        return failure() if "grade" in self.at else super().grade(*arguments)

    def reformulate(self, *arguments: Any) -> Any:
        return failure() if "reformulate" in self.at else super().reformulate(*arguments)

    def write(self, *arguments: Any) -> Iterator[str]:
        yield from ["token "] * self.tokens
        if "write" in self.at:
            failure()
        yield from super().write(*arguments)


def pair(
    *at: str, tokens: int = 0, fall_back: bool = True
) -> tuple[StepDown, Failing, StubReasoner]:
    primary = Failing()
    primary.at, primary.tokens = at, tokens
    extractive = StubReasoner(
        kind="extractive", provider="extractive", model=None, pieces=["Own [1]."]
    )
    return StepDown(primary, extractive, fall_back=fall_back), primary, extractive


def all_steps(reasoner: StepDown) -> str:
    reasoner.plan(turn_of())
    reasoner.grade(turn_of(), PLAN, EVIDENCE)
    reasoner.reformulate(turn_of(), PLAN, ENOUGH, (), EVIDENCE)
    return "".join(reasoner.write(turn_of(), PLAN, ENOUGH, EVIDENCE))


def test_while_nothing_fails_the_primary_does_all() -> None:
    reasoner, primary, extractive = pair()
    assert all_steps(reasoner) == "Fine [1]."
    assert primary.steps == ["plan", "grade", "reformulate", "write"]
    assert extractive.steps == [] and reasoner.degraded is None
    assert reasoner.active is primary


@pytest.mark.parametrize(
    ("step", "own"), [("plan", 4), ("grade", 3), ("reformulate", 2), ("write", 1)]
)
def test_from_the_first_failure_on_the_other_does_the_rest(step: str, own: int) -> None:
    reasoner, primary, extractive = pair(step)
    assert all_steps(reasoner) == "Own [1]."
    assert extractive.steps == ["plan", "grade", "reformulate", "write"][4 - own :]
    assert len(primary.steps) == 4 - own
    assert reasoner.active is extractive
    assert reasoner.degraded is not None
    assert (reasoner.degraded.provider, reasoner.degraded.reason) == ("openai", "API key rejected.")


@pytest.mark.parametrize("step", ["plan", "grade", "reformulate", "write"])
def test_without_fall_back_the_failure_is_told(step: str) -> None:
    reasoner, _, extractive = pair(step, fall_back=False)
    with pytest.raises(ProviderError):
        all_steps(reasoner)
    assert extractive.steps == [] and reasoner.degraded is None


def test_after_the_first_token_a_failure_is_always_told() -> None:
    reasoner, _, extractive = pair("write", tokens=2)
    with pytest.raises(ProviderError):
        all_steps(reasoner)
    assert extractive.steps == []


def test_a_failure_of_the_extractive_reasoner_itself_is_told() -> None:
    failing = Failing()
    failing.at = ("plan",)
    with pytest.raises(ProviderError):
        StepDown(failing, failing, fall_back=True).plan(turn_of())


def test_other_errors_are_not_hidden() -> None:
    def broken(evidence: Any) -> Any:
        raise ZeroDivisionError

    primary = StubReasoner(broken)
    with pytest.raises(ZeroDivisionError):
        StepDown(primary, StubReasoner(), fall_back=True).grade(turn_of(), PLAN, EVIDENCE)
