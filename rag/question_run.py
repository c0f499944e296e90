"""QuestionRun: one question from request to its last event."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.agent.events import CompletePayload, ErrorPayload, Event, EventType, Payload
from rag.agent.graph import fresh_state
from rag.agent.intent import clean_question
from rag.agent.outcome import Outcome, assemble_result, failed_result
from rag.agent.state import AgentContext, AgentState, Emission
from rag.errors import CancelledError, InvalidQuestionError, RagError
from rag.reasoning.protocol import CancelToken
from rag.results import AskRequest, ErrorRecord
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.engine import Engine

logger = logging.getLogger(__name__)
UNEXPECTED = "Something went wrong on our side; please try again."


class QuestionRun:
    """One question from request to its last event."""

    def __init__(self, engine: Engine, request: AskRequest, cancel: CancelToken) -> None:
        self._engine = engine
        self._request = request
        self._cancel = cancel
        self._started = time.perf_counter()
        self._sequence = 0
        self._timings: dict[str, float] = {}

    def events(self) -> Iterator[Event]:
        """All events; raises ``CancelledError`` when the visitor stopped."""
        settings = self._engine.settings
        context: AgentContext | None = None
        try:
            settings = settings.with_overrides(self._request.settings)
            question = clean_question(
                self._request.question, settings.agent.max_question_characters
            )
            context = self._engine.context_for(self._request, question, settings, self._cancel)
            state: AgentState = fresh_state(question)
            for kind, item in self._engine.run_graph(state, context):
                if kind == "values":
                    state = item
                else:
                    yield self._event(item)
            yield self._complete(state, context)
        except CancelledError:
            raise
        except InvalidQuestionError as error:
            yield self._failed(error, settings, context, route="invalid")
        except RagError as error:
            yield self._failed(error, settings, context, route="error")
        except Exception:
            logger.exception("a question failed")
            yield self._failed(RagError(UNEXPECTED), settings, context, route="error")

    def _event(self, emission: Emission) -> Event:
        if emission.type == "finished" and emission.stage:
            self._timings[emission.stage] = (
                self._timings.get(emission.stage, 0.0) + emission.duration_ms
            )
        elapsed = emission.duration_ms if emission.type == "finished" else self._elapsed()
        return self._make(emission, elapsed)

    def _make(self, emission: Emission, elapsed: float) -> Event:
        self._sequence += 1
        return Event(
            seq=self._sequence,
            type=emission.type,
            node=emission.node,
            stage=emission.stage,
            pass_=emission.pass_,
            elapsed_ms=round(elapsed, 2),
            payload=emission.payload,
        )

    def _complete(self, state: AgentState, context: AgentContext) -> Event:
        result = assemble_result(self._outcome(context), state)
        emission = Emission(
            "complete", "engine", None, result.passes or 1, CompletePayload(result=result)
        )
        return self._make(emission, self._elapsed())

    def _failed(
        self, error: RagError, settings: Settings, context: AgentContext | None, route: str
    ) -> Event:
        record = ErrorRecord(code=error.code, message=str(error), retryable=error.retryable)
        outcome = self._outcome(context, settings)
        result = failed_result(outcome, record, route)
        payload: Payload = (
            CompletePayload(result=result)
            if route == "invalid"
            else ErrorPayload(error=record, result=result)
        )
        kind: EventType = "complete" if route == "invalid" else "error"
        return self._make(Emission(kind, "engine", None, 1, payload), self._elapsed())

    def _outcome(self, context: AgentContext | None, settings: Settings | None = None) -> Outcome:
        timings = {name: round(value, 2) for name, value in self._timings.items()}
        used = context.settings if context else settings or self._engine.settings
        return Outcome(
            question=self._request.question,
            timings_ms={**timings, "total": round(self._elapsed(), 2)},
            index_fingerprint=self._engine.index.manifest.fingerprint,
            settings_hash=used.fingerprint(),
            reasoner=context.reasoner if context else None,
            meter=context.meter if context else None,
        )

    def _elapsed(self) -> float:
        return (time.perf_counter() - self._started) * 1000
