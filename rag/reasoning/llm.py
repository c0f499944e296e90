"""LlmReasoner: the four thinking steps done by a language model at any compatible provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Self

from rag.errors import ProviderError
from rag.reasoning.ask import Ask
from rag.reasoning.calls import Upstream
from rag.reasoning.failures import provider_error
from rag.reasoning.fitting import History, Passages, shorter_variants
from rag.reasoning.parsing import GradeReply, PlanReply, QueriesReply
from rag.reasoning.prompts import (
    as_data,
    load_prompt,
    render_history,
    render_list,
    render_passages,
)
from rag.reasoning.protocol import InformationCheck, QueryPlan, Turn
from rag.reasoning.providers import FIRST, Provider, Variables, choose_provider
from rag.reasoning.queries import MAX_SUB_QUERIES, clean_queries, folded, own_queries
from rag.reasoning.structured import (
    STRUCTURED_TOKENS,
    ask_structured,
    check_by_scores,
    check_of,
)
from rag.reasoning.thinking import ThinkFilter
from rag.sections import ReasoningSettings
from rag.settings import Settings

#: Used when no calibrated floor is given: cautious, real answers may score below it.
DEFAULT_EVIDENCE_FLOOR = 0.5


class LlmReasoner:
    """A ``Reasoner`` that asks a language model.

    ``evidence_floor`` (0..1) is the reranker score that decides sufficiency when the grader's
    reply cannot be read. ``close`` (or use as context manager) releases connections. Methods
    raise ``ProviderError`` when the provider fails and ``CancelledError`` after Stop.
    """

    def __init__(
        self,
        provider: Provider,
        settings: ReasoningSettings,
        *,
        evidence_floor: float = DEFAULT_EVIDENCE_FLOOR,
    ) -> None:
        self._provider = provider
        self._settings = settings
        self._floor = evidence_floor
        self._upstream = Upstream(provider, settings)
        self._prompts = {
            name: load_prompt(name) for name in ("planner", "grader", "reformulator", "writer")
        }

    @property
    def kind(self) -> Literal["extractive", "llm"]:
        """Always "llm"."""
        return "llm"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._provider.name

    @property
    def billing(self) -> Literal["paid", "local"]:
        """Whether its calls cost money."""
        return self._provider.billing

    @property
    def model(self) -> str:
        """Name of the model that writes."""
        return self._settings.model.strip() or self._provider.default_model

    @property
    def small_model(self) -> str:
        """Name of the model that plans, grades and reformulates."""
        return self._settings.small_model.strip() or self.model

    def close(self) -> None:
        """Release the connections."""
        self._upstream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def plan(self, turn: Turn) -> QueryPlan:
        """Sub-queries for the question; the question itself when the reply cannot be read."""
        values = {
            "max_queries": str(MAX_SUB_QUERIES),
            "history": render_history(turn.history),
            "question": as_data(turn.question),
        }
        ask = self._ask("planner", "plan", values)
        reply = ask_structured(self._upstream, turn, ask, PlanReply)
        queries = clean_queries(reply.sub_queries) if reply else ()
        if reply is None or not queries:
            return QueryPlan(
                question=turn.question,
                sub_queries=(turn.question,),
                note="The model's plan could not be read; the question itself is searched for.",
            )
        # Without a history there is nothing to resolve, so the question stays as typed.
        resolved = " ".join(reply.question.split()) if turn.history else ""
        return QueryPlan(
            question=resolved or turn.question,
            sub_queries=queries,
            is_compound=reply.is_compound and len(queries) > 1,
        )

    def grade(self, turn: Turn, plan: QueryPlan, evidence: Passages) -> InformationCheck:
        """The model's verdict on the evidence; decided by reranker scores against the floor when
        the reply cannot be read. Without evidence no call is made."""
        if not evidence:
            return InformationCheck(False, (), (), "No passage was found.")
        problem: ProviderError | None = None
        for _, kept in shorter_variants((), evidence):
            ask = self._grade_ask(plan, kept)
            if not self._upstream.fits(ask) and len(kept) > 1:
                continue
            try:
                reply = ask_structured(self._upstream, turn, ask, GradeReply)
            except ProviderError as error:
                if error.kind != "context_length":
                    raise
                problem = error
                continue
            return check_of(reply, kept) if reply else check_by_scores(evidence, self._floor)
        raise problem or provider_error("context_length", self.provider)

    def reformulate(
        self,
        turn: Turn,
        plan: QueryPlan,
        check: InformationCheck,
        tried: tuple[str, ...],
        evidence: Passages,
    ) -> QueryPlan:
        """Queries that were not tried yet; built from the missing elements and the question's
        words when the model brings none."""
        missing = check.missing_elements or plan.sub_queries
        values = {
            "max_queries": str(MAX_SUB_QUERIES),
            "question": as_data(plan.question),
            "missing": render_list(missing),
            "tried": render_list(tried),
            "found": render_list(dict.fromkeys(item.title for item in evidence)),
        }
        ask = self._ask("reformulator", "reformulate", values)
        reply = ask_structured(self._upstream, turn, ask, QueriesReply)
        known = {folded(query) for query in tried}
        fresh = tuple(
            query
            for query in (clean_queries(reply.sub_queries) if reply else ())
            if folded(query) not in known
        )
        if fresh:
            return QueryPlan(plan.question, fresh, plan.is_compound)
        return own_queries(plan, check, known)

    def write(
        self, turn: Turn, plan: QueryPlan, check: InformationCheck, evidence: Passages
    ) -> Iterator[str]:
        """The answer in pieces. Closing the iterator ends the work upstream.

        A prompt that is too long is cut before anything was shown: history first, then the
        passages with the lowest scores; those left keep their numbers. An empty answer is asked
        for once more, then it is a ``ProviderError`` of kind ``empty``.
        """
        again = True
        problem = provider_error("context_length", self.provider)
        for history, kept in shorter_variants(turn.history, evidence):
            ask = self._write_ask(plan, check, history, kept)
            if not self._upstream.fits(ask) and len(kept) > 1:
                continue
            while True:
                shown = False
                try:
                    for piece in self._visible(turn, ask):
                        shown = True
                        yield piece
                except ProviderError as error:
                    if shown or error.kind not in {"context_length", "empty"}:
                        raise
                    problem = error
                else:
                    if shown:
                        return
                    problem = provider_error("empty", self.provider)
                if problem.kind == "context_length" or not again:
                    break
                again = False
            if problem.kind != "context_length":
                break
        raise problem

    def _visible(self, turn: Turn, ask: Ask) -> Iterator[str]:
        thinking = ThinkFilter()
        for piece in self._upstream.stream(turn, ask):
            text = thinking.feed(piece)
            if text:
                yield text
        rest = thinking.finish()
        if rest:
            yield rest

    def _ask(self, prompt: str, shape: str, values: Mapping[str, str]) -> Ask:
        rules, data = self._prompts[prompt].render(values)
        return Ask(
            model=self.small_model,
            rules=rules,
            data=data,
            max_tokens=STRUCTURED_TOKENS,
            effort=self._settings.small_effort,
            shape=shape,
        )

    def _grade_ask(self, plan: QueryPlan, evidence: Passages) -> Ask:
        values = {
            "question": as_data(plan.question),
            "parts": render_list(plan.sub_queries),
            "passages": render_passages(evidence),
        }
        return self._ask("grader", "grade", values)

    def _write_ask(
        self, plan: QueryPlan, check: InformationCheck, history: History, evidence: Passages
    ) -> Ask:
        missing = () if check.sufficient else check.missing_elements
        rules, data = self._prompts["writer"].render(
            {
                "history": render_history(history),
                "passages": render_passages(evidence),
                "missing": render_list(missing),
                "question": as_data(plan.question),
            }
        )
        return Ask(
            model=self.model,
            rules=rules,
            data=data,
            max_tokens=self._settings.max_answer_tokens,
            effort=self._settings.effort,
        )


def make_llm_reasoner(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    evidence_floor: float | None = None,
    variables: Variables = FIRST,
) -> LlmReasoner | None:
    """The reasoner that settings and environment ask for; None means the extractive one.

    ``evidence_floor`` is the calibrated floor of the reranker in use (the setting
    ``reranking.evidence_floor`` wins). Raises ``ProviderError`` (kind ``configuration``) with a
    sentence that names the variable to set.
    """
    provider = choose_provider(settings.reasoning, environ, variables)
    if provider is None:
        return None
    floors = (settings.reranking.evidence_floor, evidence_floor, DEFAULT_EVIDENCE_FLOOR)
    floor = next(value for value in floors if value is not None)
    return LlmReasoner(provider, settings.reasoning, evidence_floor=floor)
