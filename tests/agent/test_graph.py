"""The loop: when it ends, what it lets through, and that nothing leaks between questions."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from engines import engine_like, engine_with_reranker
from langgraph.checkpoint.memory import InMemorySaver
from stub_reasoner import StubReasoner, says_no, says_partly, says_yes

from rag.agent.events import Event, GradePayload, RerankPayload, TokenPayload, VerifyPayload
from rag.agent.graph import build_graph, fresh_state
from rag.agent.refusal import NOT_COVERED
from rag.engine import Engine
from rag.reasoning.protocol import CancelToken, Evidence, InformationCheck
from rag.results import AskRequest, Result, Scope
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION

QUESTION = "Which layers does LoRA adapt?"
OUTSIDE = "Best pizza dough hydration?"


class StubReranker:
    """The same score for every pair."""

    name = "stub reranker"
    calibration = MINILM_CALIBRATION

    def __init__(self, score: Any = 0.9) -> None:
        self.value = score

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        return [self.value for _ in pairs]


def run(engine: Engine, question: str = QUESTION, **more: Any) -> tuple[list[Event], Result]:
    events = [event for event in engine.stream(AskRequest(question=question, **more)) if event]
    return events, events[-1].payload.result  # type: ignore[union-attr]


def stages(events: Sequence[Event]) -> list[str]:
    return [f"{event.stage}{event.pass_}" for event in events if event.type == "finished"]


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_an_insatiable_grader_ends_after_max_passes(starter_engine: Engine, passes: int) -> None:
    """C52"""
    stub = StubReasoner(says_no, queries=[["first other query"], ["second other query"]])
    events, result = run(engine_like(starter_engine, stub), settings={"agent.max_passes": passes})
    assert stub.steps.count("grade") == passes == result.passes
    assert stub.steps.count("reformulate") == passes - 1
    assert result.route == "refusal" and result.citations == ()
    assert result.missing_elements == ("the thing",)
    assert stages(events).count("retrieve1") == 1
    assert f"grade{passes}" in stages(events) and f"grade{passes + 1}" not in stages(events)
    assert len(result.all_sub_queries) == passes


@pytest.mark.parametrize(
    "again", ["Which layers does LoRA adapt?", " which  LAYERS does lora adapt!"]
)
def test_an_identical_reformulation_ends_earlier(starter_engine: Engine, again: str) -> None:
    """C52"""
    stub = StubReasoner(says_no, queries=[[again]])
    _, result = run(engine_like(starter_engine, stub), settings={"agent.max_passes": 3})
    assert stub.steps == ["plan", "grade", "reformulate"]
    assert (result.passes, result.route) == (1, "refusal")
    assert result.all_sub_queries == (QUESTION,)


def test_at_most_three_new_queries_are_searched(starter_engine: Engine) -> None:
    stub = StubReasoner(says_no, queries=[[f"query {n}" for n in range(9)]])
    _, result = run(engine_like(starter_engine, stub))
    assert result.all_sub_queries == (QUESTION, "query 0", "query 1", "query 2")


def test_the_grader_says_where_it_goes(starter_engine: Engine) -> None:
    stub = StubReasoner(says_no)
    events, _ = run(engine_like(starter_engine, stub))
    grades = [event.payload for event in events if isinstance(event.payload, GradePayload)]
    assert [grade.next for grade in grades] == ["reformulate", "synthesize"]


def test_a_second_pass_brings_only_new_chunks(starter_engine: Engine) -> None:
    """C53: passes add up to unique chunks."""
    stub = StubReasoner(says_partly, queries=[["LoRA layers adapt which"], ["LoRA layer"]])
    events, result = run(engine_like(starter_engine, stub), settings={"agent.max_passes": 3})
    ids = [chunk.chunk_id for chunk in result.chunks]
    assert len(ids) == len(set(ids))
    pools = [
        {chunk.chunk_id for chunk in event.payload.chunks}
        for event in events
        if isinstance(event.payload, RerankPayload)
    ]
    assert len(pools) == 3
    assert not pools[0] & pools[1] and not (pools[0] | pools[1]) & pools[2]
    for evidence in stub.evidence:
        given = [key for item in evidence for key in item.chunk_ids]
        assert len(given) == len(set(given))
        assert [item.n for item in evidence] == list(range(1, len(evidence) + 1))


@pytest.mark.parametrize("question", [OUTSIDE, "Who won the 2022 World Cup?"])
def test_an_always_yes_grader_cannot_answer_what_is_not_covered(
    starter_engine: Engine, question: str
) -> None:
    """C62, C83: the evidence floor."""
    stub = StubReasoner(says_yes, pieces=["65 percent, everybody knows."])
    _, result = run(engine_like(starter_engine, stub), question)
    assert "write" not in stub.steps
    assert result.route == "refusal" and not result.context_sufficient
    assert result.answer.startswith(NOT_COVERED)
    assert result.citations == () and result.passes == 2


def test_the_floor_itself_decides(starter_engine: Engine) -> None:
    """C62: the same evidence, another floor; no sentence of the writer gets through."""
    engine = engine_like(starter_engine, StubReasoner(says_yes))
    assert run(engine)[1].route == "answer"
    _, result = run(engine, settings={"reranking.evidence_floor": 1.0})
    assert result.route == "refusal"
    low = StubReasoner(says_yes)
    weak = engine_with_reranker(starter_engine, StubReranker(0.0001), low)
    assert run(weak, OUTSIDE)[1].route == "refusal"
    assert "write" not in low.steps


def test_what_the_grader_calls_irrelevant_does_not_reach_the_writer(starter_engine: Engine) -> None:
    seen: list[int] = []

    def write(evidence: tuple[Evidence, ...]) -> list[str]:
        seen.extend(item.n for item in evidence)
        return ["Fine [2]. Not given to me [1]."]

    stub = StubReasoner(lambda evidence: InformationCheck(True, (), (2,), ""), pieces=write)
    _, result = run(engine_like(starter_engine, stub))
    assert seen == [2]
    assert result.answer == "Fine [1]. Not given to me."
    assert result.invalid_citations == 1


def test_a_partial_answer(starter_engine: Engine) -> None:
    stub = StubReasoner(says_partly, pieces=["LoRA adapts attention weights [1]."])
    _, result = run(engine_like(starter_engine, stub), settings={"agent.max_passes": 1})
    assert (result.route, result.context_sufficient) == ("partial", False)
    assert result.missing_elements == ("the rest",)
    assert len(result.citations) == 1


def test_a_draft_without_citations_on_poor_evidence_is_replaced(starter_engine: Engine) -> None:
    """C83: general knowledge is not shown as an answer; one event carries the replacement."""
    stub = StubReasoner(says_partly, pieces=["Everybody knows that it is 42."])
    events, result = run(engine_like(starter_engine, stub), settings={"agent.max_passes": 1})
    assert result.route == "refusal" and result.answer.startswith(NOT_COVERED)
    (checked,) = [event.payload for event in events if isinstance(event.payload, VerifyPayload)]
    assert checked.answer == result.answer


@pytest.mark.parametrize("pieces", [[], [" \n"]])
def test_an_empty_draft_is_a_refusal_not_an_empty_answer(
    starter_engine: Engine, pieces: list[str]
) -> None:
    """C67: never a bare source list under an empty answer."""
    _, result = run(engine_like(starter_engine, StubReasoner(says_yes, pieces=pieces)))
    assert result.route == "refusal" and result.answer.startswith(NOT_COVERED)
    assert result.citations == ()


def test_removal_of_every_sentence_is_a_refusal(starter_engine: Engine) -> None:
    stub = StubReasoner(says_yes, pieces=["LoRA has 987654 layers [1]."])
    engine = engine_like(starter_engine, stub)
    _, marked = run(engine)
    assert [sentence.support for sentence in marked.sentences] == ["not"]
    _, result = run(engine, settings={"agent.verification": "remove"})
    assert result.route == "refusal" and result.citations == () and result.sentences == ()
    assert "987654" not in result.answer


def test_removal_is_told_in_one_event(starter_engine: Engine) -> None:
    def write(evidence: tuple[Evidence, ...]) -> list[str]:
        true = " ".join(evidence[-1].text.split(". ")[0].split()).rstrip(".")
        return ["LoRA has 987654 layers [1]. ", f"{true} [{evidence[-1].n}]."]

    engine = engine_like(starter_engine, StubReasoner(says_yes, pieces=write))
    events, result = run(engine, settings={"agent.verification": "remove"})
    (checked,) = [event.payload for event in events if isinstance(event.payload, VerifyPayload)]
    assert checked.answer == result.answer
    assert "987654" not in result.answer and "[1]" in result.answer and "[2]" not in result.answer
    assert [citation.n for citation in result.citations] == [1]
    _, off = run(engine, settings={"agent.verification": "off"})
    assert "987654" in off.answer and off.sentences == ()


def test_without_a_reranker_the_fused_order_holds_and_it_is_said(starter_engine: Engine) -> None:
    """C48: no bar for reranker scores is applied to fused scores."""
    events, result = run(engine_with_reranker(starter_engine, None))
    assert result.degraded is not None and "Reranking is off" in result.degraded.reason
    assert result.reranking == "" and result.bar is None
    assert all(chunk.score_rerank is None for chunk in result.chunks)
    (payload,) = [event.payload for event in events if isinstance(event.payload, RerankPayload)]
    assert payload.bar is None and payload.degraded and payload.scored == 0
    assert [chunk.rank_fused for chunk in payload.chunks if chunk.kept] == sorted(
        chunk.rank_fused or 0 for chunk in payload.chunks if chunk.kept
    )
    assert "below the bar" not in payload.dropped
    assert result.route == "answer"


def test_with_the_reranker_nothing_is_degraded(starter_engine: Engine) -> None:
    _, result = run(starter_engine)
    assert result.degraded is None
    assert result.reranking == starter_engine.facts.reranker
    assert result.bar == MINILM_CALIBRATION.bar


@pytest.mark.parametrize("score", [np.float32(0.9), np.float64(0.5), float("nan"), float("inf")])
def test_scores_of_any_number_type_are_plain_and_finite(starter_engine: Engine, score: Any) -> None:
    """C49"""
    engine = engine_with_reranker(starter_engine, StubReranker(score))
    events, result = run(engine)
    for text in (result.model_dump_json(), *(event.as_json() for event in events)):
        json.loads(text, parse_constant=pytest.fail)
    json.dumps(result.model_dump(mode="json"), allow_nan=False)
    assert {type(chunk.score_rerank) for chunk in result.chunks} == {float}


def test_a_graph_with_a_checkpointer(
    starter_engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """C49, C53: numpy scores are no obstacle, and threads keep to themselves."""
    engine = engine_with_reranker(starter_engine, StubReranker(np.float32(0.9)), StubReasoner())
    graph = build_graph(InMemorySaver())
    answers = {}
    for thread in ("one", "two"):
        question = f"What is {'LoRA' if thread == 'one' else 'FlashAttention'}?"
        request = AskRequest(question=question)
        context = engine.context_for(request, question, engine.settings, CancelToken())
        config = {"configurable": {"thread_id": thread}}
        answers[thread] = graph.invoke(fresh_state(question), config, context=context)
    stored = graph.get_state({"configurable": {"thread_id": "one"}}).values
    assert stored["original_query"] == "What is LoRA?"
    assert stored["accumulated_context"] and stored["final_answer"].startswith("Fine")
    assert answers["two"]["all_sub_queries"] == ["What is FlashAttention?"]


def test_two_threads_never_see_each_others_chunks(starter_engine: Engine) -> None:
    """C53, C72"""
    questions = {
        "2106.09685": "How many parameters does LoRA train?",
        "2205.14135": "How does FlashAttention save memory?",
    }
    results: dict[str, list[Result]] = {key: [] for key in questions}

    def ask(paper_id: str) -> None:
        for _ in range(3):
            request = AskRequest(question=questions[paper_id], scope=Scope(paper_ids=(paper_id,)))
            results[paper_id].append(starter_engine.ask(request))

    threads = [threading.Thread(target=ask, args=(key,)) for key in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for paper_id, found in results.items():
        assert len(found) == 3
        for result in found:
            assert {chunk.paper_id for chunk in result.chunks} == {paper_id}
            assert result.all_sub_queries[0] == questions[paper_id]
        assert len({result.answer for result in found}) == 1


def test_tokens_are_the_answer(starter_engine: Engine) -> None:
    """C59, also without a language model and without retrieval."""
    for question in (
        QUESTION,
        OUTSIDE,
        "How many papers do you have?",
        "List papers from 2021",
        "Hi",
    ):
        events, result = run(starter_engine, question)
        tokens = [event.payload.text for event in events if isinstance(event.payload, TokenPayload)]
        assert "".join(tokens) == result.answer != ""


def test_events_are_in_order(starter_engine: Engine) -> None:
    events, result = run(starter_engine)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert stages(events) == ["plan1", "retrieve1", "rerank1", "grade1", "synthesize1", "verify1"]
    assert events[-1].type == "complete"
    begun: list[str] = []
    for event in events[:-1]:
        name = f"{event.node}/{event.stage}"
        if event.type == "started":
            begun.append(name)
        elif event.type == "finished":
            assert begun.pop() == name
        else:
            assert begun[-1] == name
    assert begun == []
    assert set(result.timings_ms) == {*(event.stage for event in events if event.stage), "total"}
    first = json.loads(events[0].as_json())
    assert list(first) == ["seq", "type", "node", "stage", "pass", "elapsed_ms", "payload"]
