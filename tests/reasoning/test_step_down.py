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
    return StepDown([primary], extractive, fall_back=fall_back), primary, extractive


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
    assert reasoner.active.kind == "extractive"
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
        StepDown([], failing, fall_back=True).plan(turn_of())


def test_other_errors_are_not_hidden() -> None:
    def broken(evidence: Any) -> Any:
        raise ZeroDivisionError

    primary = StubReasoner(broken)
    with pytest.raises(ZeroDivisionError):
        StepDown([primary], StubReasoner(), fall_back=True).grade(turn_of(), PLAN, EVIDENCE)


def three(first: str, second: str, *, fall_back: bool = True, kind: str = "key") -> Any:
    """Two models that fail at the step they are named with, and the extractive reasoner."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise ProviderError("API key rejected.", provider="openai", kind=kind)

    models = [Failing(), Failing(provider="groq", model="small-one", pieces=["Second [1]."])]
    for model, at in zip(models, (first, second), strict=True):
        model.at = (at,)
        if at == "plan":
            model.plan = refuse
    extractive = StubReasoner(
        kind="extractive", provider="extractive", model=None, pieces=["Own [1]."]
    )
    return StepDown(models, extractive, fall_back=fall_back), models, extractive


@pytest.mark.parametrize("step", ["plan", "grade", "reformulate", "write"])
@pytest.mark.parametrize("fall_back", [True, False])
def test_the_second_model_comes_before_the_extractive_reasoner(step: str, fall_back: bool) -> None:
    reasoner, models, extractive = three(step, "", fall_back=fall_back)
    assert all_steps(reasoner) == "Second [1]."
    assert extractive.steps == []
    assert reasoner.active is models[1]
    assert reasoner.degraded is not None
    assert reasoner.degraded.provider == "openai"
    assert reasoner.degraded.reason == "API key rejected. groq (small-one) answered instead."


def test_when_the_second_fails_too_both_are_told() -> None:
    reasoner, models, extractive = three("grade", "write")
    assert all_steps(reasoner) == "Own [1]."
    assert extractive.steps == ["write"]
    assert models[1].steps == ["grade", "reformulate"]
    assert reasoner.degraded is not None
    assert reasoner.degraded.reason == "API key rejected. API key rejected."


def test_without_fall_back_the_failure_of_the_last_model_is_told() -> None:
    reasoner, models, extractive = three("plan", "grade", fall_back=False)
    with pytest.raises(ProviderError):
        all_steps(reasoner)
    assert models[1].steps == ["plan"]
    assert extractive.steps == []


def test_used_up_calls_do_not_wake_the_second_model() -> None:
    """The calls of a question are counted over all providers."""
    reasoner, models, extractive = three("plan", "", kind="budget")
    assert all_steps(reasoner) == "Own [1]."
    assert models[1].steps == []
    assert len(extractive.steps) == 4


def test_without_models_the_extractive_reasoner_does_all() -> None:
    extractive = StubReasoner(kind="extractive")
    reasoner = StepDown([], extractive, fall_back=True)
    assert all_steps(reasoner) == "Fine [1]."
    assert reasoner.active is extractive and reasoner.degraded is None
