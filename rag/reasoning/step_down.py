"""StepDown: the configured reasoner, with the extractive one behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from rag.errors import ProviderError
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan, Reasoner, Turn
from rag.results import Degraded

logger = logging.getLogger(__name__)
Outcome = TypeVar("Outcome")


class StepDown:
    """One question's reasoner. After the first failure of the provider the rest of the question
    is answered without it, unless ``fall_back`` is False; then ``ProviderError`` is raised.

    Once a token of the answer was shown, a failure is always raised (DESIGN §3).
    """

    def __init__(self, primary: Reasoner, extractive: Reasoner, *, fall_back: bool) -> None:
        self._active = primary
        self._extractive = extractive
        self._fall_back = fall_back
        self.degraded: Degraded | None = None

    @property
    def active(self) -> Reasoner:
        """The reasoner that answers at the moment."""
        return self._active

    def plan(self, turn: Turn) -> QueryPlan:
        """See ``Reasoner.plan``."""
        return self._try(lambda reasoner: reasoner.plan(turn))

    def grade(
        self, turn: Turn, plan: QueryPlan, evidence: tuple[Evidence, ...]
    ) -> InformationCheck:
        """See ``Reasoner.grade``."""
        return self._try(lambda reasoner: reasoner.grade(turn, plan, evidence))

    def reformulate(
        self,
        turn: Turn,
        plan: QueryPlan,
        check: InformationCheck,
        tried: tuple[str, ...],
        evidence: tuple[Evidence, ...],
    ) -> QueryPlan:
        """See ``Reasoner.reformulate``."""
        return self._try(lambda reasoner: reasoner.reformulate(turn, plan, check, tried, evidence))

    def write(
        self, turn: Turn, plan: QueryPlan, check: InformationCheck, evidence: tuple[Evidence, ...]
    ) -> Iterator[str]:
        """See ``Reasoner.write``."""
        written = False
        try:
            for piece in self._active.write(turn, plan, check, evidence):
                written = True
                yield piece
            return
        except ProviderError as error:
            if written or not self._may_step_down(error):
                raise
        yield from self._active.write(turn, plan, check, evidence)

    def _try(self, step: Callable[[Reasoner], Outcome]) -> Outcome:
        try:
            return step(self._active)
        except ProviderError as error:
            if not self._may_step_down(error):
                raise
            return step(self._active)

    def _may_step_down(self, error: ProviderError) -> bool:
        if not self._fall_back or self._active is self._extractive:
            return False
        logger.warning("provider %s failed (%s); answering without it", error.provider, error.kind)
        self.degraded = Degraded(provider=error.provider, reason=str(error))
        self._active = self._extractive
        return True
