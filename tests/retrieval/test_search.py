"""The searcher over the starter library: pools, scopes, order, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag.engine import Engine
from rag.errors import ModelUnavailableError
from rag.results import Scope
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION
from rag.retrieval.search import Searcher
from rag.settings import Settings

LORA = "Which layers does LoRA adapt?"
FLASH = "How does FlashAttention save memory?"
EVERYTHING = Scope()


def pools(
    engine: Engine,
    *queries: str,
    scope: Scope = EVERYTHING,
    skip: frozenset[str] = frozenset(),
    **settings: object,
) -> list[Pool]:
    return engine.searcher.retrieve(queries, engine.settings.with_overrides(settings), scope, skip)


def ids(pool: Pool) -> list[str]:
    return [item.chunk.chunk_id for item in pool.candidates]


def test_a_pool(starter_engine: Engine) -> None:
    (pool,) = pools(starter_engine, LORA)
    assert (pool.sub_query, pool.abstracts, pool.passages) == (LORA, 5, 15)
    assert 0 < pool.keyword <= 20
    assert len(pool.candidates) == len(set(ids(pool))) == 25
    assert [item.rank_fused for item in pool.candidates] == list(range(1, 26))
    assert pool.candidates[0].paper.paper_id == "2106.09685"
    assert pool.found_by_both == sum(
        item.rank_dense is not None and item.rank_bm25 is not None for item in pool.candidates
    )


def test_dense_ranks_are_those_of_the_chunks_own_list(starter_engine: Engine) -> None:
    (pool,) = pools(starter_engine, LORA)

    def ranks(kinds: set[bool]) -> list[int]:
        return sorted(
            item.rank_dense
            for item in pool.candidates
            if item.rank_dense is not None and (item.chunk.chunk_index == 0) in kinds
        )

    assert ranks({True})[0] == 1 and len(set(ranks({True}))) == len(ranks({True})) <= 5
    assert ranks({False})[0] == 1 and len(set(ranks({False}))) == len(ranks({False})) <= 15


def test_scores_fall_with_the_ranks(starter_engine: Engine) -> None:
    (pool,) = pools(starter_engine, LORA)
    words = sorted(
        (item.rank_bm25, item.score_bm25 or 0.0) for item in pool.candidates if item.rank_bm25
    )
    assert [score for _, score in words] == sorted((score for _, score in words), reverse=True)
    for item in pool.candidates:
        assert (item.rank_bm25 is None) == (item.score_bm25 is None)
        assert (item.rank_dense is None) == (item.score_dense is None)
        assert item.match is not None and item.match.paper_id == item.paper.paper_id


def test_queries_side_by_side_are_the_same_as_one_by_one(starter_engine: Engine) -> None:
    both = pools(starter_engine, LORA, FLASH)
    assert both == [*pools(starter_engine, LORA), *pools(starter_engine, FLASH)]
    assert pools(starter_engine) == []


def test_what_was_brought_before_is_not_brought_again(starter_engine: Engine) -> None:
    (first,) = pools(starter_engine, LORA)
    (second,) = pools(starter_engine, LORA, skip=frozenset(ids(first)))
    assert second.candidates and not set(ids(first)) & set(ids(second))


@pytest.mark.parametrize(
    ("scope", "fits"),
    [
        (Scope(paper_ids=("2205.14135",)), lambda item: item.paper.paper_id == "2205.14135"),
        (Scope(years=(2021, 2022)), lambda item: item.paper.year in (2021, 2022)),
        (
            Scope(topics=("Reasoning and prompting",), years=(2022,)),
            lambda item: (item.paper.topic, item.paper.year) == ("Reasoning and prompting", 2022),
        ),
    ],
)
def test_a_scope_holds_for_every_list(starter_engine: Engine, scope: Scope, fits) -> None:  # type: ignore[no-untyped-def]
    (pool,) = pools(starter_engine, LORA, scope=scope)
    assert pool.candidates and all(fits(item) for item in pool.candidates)
    (nothing,) = pools(starter_engine, LORA, scope=Scope(topics=("Gardening",)))
    assert nothing.candidates == ()


def test_settings_switch_lists_off(starter_engine: Engine) -> None:
    (words,) = pools(
        starter_engine,
        LORA,
        **{
            "retrieval.abstracts_per_query": 0,
            "retrieval.passages_per_query": 0,
            "retrieval.papers_per_query": 0,
        },
    )
    assert (words.abstracts, words.passages) == (0, 0)
    assert words.candidates and all(item.rank_dense is None for item in words.candidates)
    (none,) = pools(starter_engine, "🔥", **{"retrieval.pool_size": 3})
    assert none.keyword == 0 and len(none.candidates) == 3


class Reranker:
    """Scores by length; may fail."""

    name = "by length"
    calibration = MINILM_CALIBRATION

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.pairs: list[tuple[str, str]] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        if self.error:
            raise self.error
        return [min(1.0, len(text) / 5000) for _, text in pairs]


def searcher(engine: Engine, reranker: Reranker | None) -> Searcher:
    own = engine.searcher
    return Searcher(own.index, own.embedder, own.late, reranker)


def test_every_candidate_is_scored_for_its_own_query(starter_engine: Engine) -> None:
    reranker = Reranker()
    found = pools(starter_engine, LORA, FLASH)
    judged = searcher(starter_engine, reranker).judge(found, starter_engine.settings, several=True)
    assert judged.scored == len(reranker.pairs) == 50
    assert reranker.pairs == [
        (pool.sub_query, item.chunk.text) for pool in found for item in pool.candidates
    ]
    for item in judged.candidates:
        assert item.score_rerank == min(1.0, len(item.chunk.text) / 5000)
        assert item.score_relevance is not None and item.score_evidence is not None
    assert len({item.chunk.chunk_id for item in judged.candidates}) == len(judged.candidates)
    assert (judged.reranker, judged.degraded) == ("by length", "")
    counts: dict[str, int] = {}
    for item in judged.kept:
        counts[item.paper.paper_id] = counts.get(item.paper.paper_id, 0) + 1
    assert max(counts.values()) <= starter_engine.settings.retrieval.keep_per_paper
    assert judged.candidates[: len(judged.kept)] == judged.kept


def order(candidates: Sequence[Candidate]) -> list[int | None]:
    return [item.rank_fused for item in candidates]


@pytest.mark.parametrize("reranker", [None, Reranker(ModelUnavailableError("File gone."))])
def test_without_scores_the_fused_order_holds(
    starter_engine: Engine, reranker: Reranker | None
) -> None:
    """C48"""
    found = pools(starter_engine, LORA)
    judged = searcher(starter_engine, reranker).judge(found, starter_engine.settings, several=False)
    assert "Reranking is off" in judged.degraded
    assert (judged.scored, judged.reranker, judged.bars.bar) == (0, "", None)
    assert judged.kept and order(judged.kept) == sorted(
        order(judged.kept), key=lambda rank: rank or 0
    )


def test_switching_reranking_off_is_no_failure(starter_engine: Engine) -> None:
    settings: Settings = starter_engine.settings.model_copy(
        update={"reranking": starter_engine.settings.reranking.model_copy(update={"name": "none"})}
    )
    reranker = Reranker()
    judged = searcher(starter_engine, reranker).judge(
        pools(starter_engine, LORA), settings, several=False
    )
    assert (judged.degraded, judged.reranker, reranker.pairs) == ("", "", [])
    assert judged.kept


def test_no_pools(starter_engine: Engine) -> None:
    judged = starter_engine.searcher.judge([], starter_engine.settings, several=False)
    assert (judged.candidates, judged.kept, judged.scored) == ((), (), 0)
