"""StepDown: the configured reasoners one after the other, with the extractive one behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rag.errors import ProviderError
from rag.reasoning.protocol import Evidence, InformationCheck, QueryPlan, Reasoner, Turn
from rag.results import Degraded

logger = logging.getLogger(__name__)
Outcome = TypeVar("Outcome")


class StepDown:
    """One question's reasoner. After the first failure of a provider the rest of the question is
    done by the next of ``models``, and after the last of them without any, unless ``fall_back`` is
    False; then ``ProviderError`` is raised.

    Once a token of the answer was shown, a failure is always raised (DESIGN §3).
    """

    def __init__(
        self, models: Sequence[Reasoner], extractive: Reasoner, *, fall_back: bool
    ) -> None:
        self._waiting = list(models)
        self._extractive = extractive
        self._active = self._waiting.pop(0) if self._waiting else extractive
        self._fall_back = fall_back
        self._failures: list[ProviderError] = []

    @property
    def active(self) -> Reasoner:
        """The reasoner that answers at the moment."""
        return self._active

    @property
    def degraded(self) -> Degraded | None:
        """The provider that was to answer, what went wrong there and at each one after it, and
        which one took over, if any; None while nothing has failed."""
        if not self._failures:
            return None
        sentences = [str(error) for error in self._failures]
        if self._active is not self._extractive:
            sentences.append(f"{self._active.provider} ({self._active.model}) answered instead.")
        return Degraded(provider=self._failures[0].provider, reason=" ".join(sentences))

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
        while True:
            written = False
            try:
                for piece in self._active.write(turn, plan, check, evidence):
                    written = True
                    yield piece
                return
            except ProviderError as error:
                if written or not self._step_down(error):
                    raise

    def _try(self, step: Callable[[Reasoner], Outcome]) -> Outcome:
        while True:
            try:
                return step(self._active)
            except ProviderError as error:
                if not self._step_down(error):
                    raise

    def _step_down(self, error: ProviderError) -> bool:
        """Let the next reasoner take over; False when there is none."""
        if error.kind == "budget":
            # The calls of a question are counted over all providers: none is left.
            self._waiting.clear()
        if self._waiting:
            following = self._waiting.pop(0)
        elif self._fall_back and self._active is not self._extractive:
            following = self._extractive
        else:
            return False
        logger.warning(
            "provider %s failed (%s); going on with %s",
            error.provider,
            error.kind,
            following.provider,
        )
        self._failures.append(error)
        self._active = following
        return True
