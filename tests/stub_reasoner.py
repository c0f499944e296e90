"""A scripted reasoner, for tests of what the graph does with each of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan, Turn


def says_yes(evidence: tuple[Evidence, ...]) -> InformationCheck:
    return InformationCheck(True, (), tuple(item.n for item in evidence), "enough")


def says_no(evidence: tuple[Evidence, ...]) -> InformationCheck:
    return InformationCheck(False, ("the thing",), (), "not enough")


def says_partly(evidence: tuple[Evidence, ...]) -> InformationCheck:
    return InformationCheck(False, ("the rest",), tuple(item.n for item in evidence), "partly")


@dataclass
class StubReasoner:
    """Plans the question as it is; ``queries`` are what each reformulation brings, in order, the
    last one again and again. ``steps`` and ``evidence`` tell what it was asked."""

    verdict: Callable[[tuple[Evidence, ...]], InformationCheck] = says_yes
    queries: Sequence[Sequence[str]] = (("another query",),)
    pieces: Sequence[str] | Callable[[tuple[Evidence, ...]], Sequence[str]] = ("Fine [1].",)
    sub_queries: Sequence[str] = ()
    kind: Literal["extractive", "llm"] = "llm"
    provider: str = "stub"
    model: str | None = "stub-model"
    steps: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    evidence: list[tuple[Evidence, ...]] = field(default_factory=list)

    def plan(self, turn: Turn) -> QueryPlan:
        self.steps.append("plan")
        self.turns.append(turn)
        queries = tuple(self.sub_queries) or (turn.question,)
        return QueryPlan(turn.question, queries, is_compound=len(queries) > 1)

    def grade(
        self, turn: Turn, plan: QueryPlan, evidence: tuple[Evidence, ...]
    ) -> InformationCheck:
        self.steps.append("grade")
        self.evidence.append(evidence)
        return self.verdict(evidence)

    def reformulate(
        self,
        turn: Turn,
        plan: QueryPlan,
        check: InformationCheck,
        tried: tuple[str, ...],
        evidence: tuple[Evidence, ...],
    ) -> QueryPlan:
        place = min(self.steps.count("reformulate"), len(self.queries) - 1)
        self.steps.append("reformulate")
        return QueryPlan(plan.question, tuple(self.queries[place]))

    def write(
        self, turn: Turn, plan: QueryPlan, check: InformationCheck, evidence: tuple[Evidence, ...]
    ) -> Iterator[str]:
        self.steps.append("write")
        yield from self.pieces(evidence) if callable(self.pieces) else self.pieces
