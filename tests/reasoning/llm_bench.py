"""What the tests of LlmReasoner share: turns, passages, and a way to build reasoners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import langchain_openai  # noqa: F401  takes a second to import: not within a measured time
from stub_llm import StubLlm

from rag.reasoning.llm import LlmReasoner, make_llm_reasoner
from rag.reasoning.protocol import (
    CallMeter,
    CancelToken,
    Evidence,
    InformationCheck,
    QueryPlan,
    Turn,
)
from rag.sections import ReasoningSettings
from rag.settings import Settings

PLAN = QueryPlan("How fast is LoRA?", ("LoRA speed",))
ENOUGH = InformationCheck(True, (), (1, 2), "")
YES = '{"sufficient": true}'

Make = Callable[..., LlmReasoner]
Start = Callable[..., StubLlm]


def build_reasoner(
    stub: StubLlm, environ: dict[str, str] | None = None, floor: float = 0.5, **options: Any
) -> LlmReasoner:
    options = {"provider": "compatible", "base_url": stub.base_url, **options}
    settings = Settings(reasoning=ReasoningSettings(**options))
    reasoner = make_llm_reasoner(settings, environ or {}, evidence_floor=floor)
    assert reasoner is not None
    return reasoner


def turn_of(question: str = "How fast is LoRA?", max_calls: int = 10, **more: Any) -> Turn:
    return Turn(question, more.get("history", ()), CancelToken(), CallMeter(max_calls))


def passages(
    count: int, scores: list[float] | None = None, text: str = "Body"
) -> tuple[Evidence, ...]:
    scores = scores or [round(0.9 - n / 20, 3) for n in range(count)]
    return tuple(
        Evidence(n, (f"c{n}",), f"p{n}", f"Title {n}", 2020, "", (n,), f"{text} {n}.", score, "q")
        for n, score in enumerate(scores, start=1)
    )


def answer(reasoner: LlmReasoner, turn: Turn, evidence: tuple[Evidence, ...]) -> str:
    return "".join(reasoner.write(turn, PLAN, ENOUGH, evidence))
