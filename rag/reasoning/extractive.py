"""ExtractiveReasoner: the four steps without a language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rag.reasoning.coverage_grader import grade_by_coverage
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan, Turn
from rag.reasoning.rule_planner import plan_by_rules
from rag.reasoning.rule_reformulator import reformulate_by_rules
from rag.reasoning.sentence_writer import write_from_sentences
from rag.retrieval.lexicon import Lexicon
from rag.retrieval.name_table import NameTable
from rag.retrieval.reranker import Reranker


class ExtractiveReasoner:
    """Plans by rules, grades by coverage and scores, reformulates with the library's acronyms,
    and answers with the passages' own sentences. Needs no key and no network."""

    kind: Literal["extractive", "llm"] = "extractive"
    provider = "extractive"
    model: str | None = None

    def __init__(
        self, lexicon: Lexicon, reranker: Reranker | None, names: NameTable | None = None
    ) -> None:
        self._lexicon = lexicon
        self._reranker = reranker
        self._names = names

    def plan(self, turn: Turn) -> QueryPlan:
        """See ``Reasoner.plan``."""
        return plan_by_rules(turn.question, turn.history, self._names)

    def grade(
        self, turn: Turn, plan: QueryPlan, evidence: tuple[Evidence, ...]
    ) -> InformationCheck:
        """See ``Reasoner.grade``."""
        scored = any(item.score is not None for item in evidence)
        calibration = self._reranker.calibration if self._reranker and scored else None
        return grade_by_coverage(plan, evidence, self._lexicon, calibration)

    def reformulate(
        self,
        turn: Turn,
        plan: QueryPlan,
        check: InformationCheck,
        tried: tuple[str, ...],
        evidence: tuple[Evidence, ...],
    ) -> QueryPlan:
        """See ``Reasoner.reformulate``."""
        return reformulate_by_rules(plan, check, tried, evidence, self._lexicon)

    def write(
        self, turn: Turn, plan: QueryPlan, check: InformationCheck, evidence: tuple[Evidence, ...]
    ) -> Iterator[str]:
        """See ``Reasoner.write``."""
        scored = any(item.score is not None for item in evidence)
        yield from write_from_sentences(
            plan,
            check,
            evidence,
            self._lexicon,
            self._reranker if scored else None,
            turn.answer_sentences,
        )

    def close(self) -> None:
        """See ``Reasoner.close``; nothing is held open."""
