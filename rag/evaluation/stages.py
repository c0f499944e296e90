"""Stages: what each step of retrieval gains, measured on the same questions.

The first pass of a question is searched in three ways (dense only, BM25 only, everything fused),
then reranked, then barred. Each stage gives an order of passages; the papers in that order are
judged by recall, reciprocal rank and nDCG.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.engine import Engine
from rag.evaluation.questions import Question
from rag.reasoning.rule_planner import plan_by_rules
from rag.results import Scope
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.selection import take_turns
from rag.settings import Settings

Stage = Literal["dense", "bm25", "fused", "reranked", "barred"]
STAGES: tuple[Stage, ...] = ("dense", "bm25", "fused", "reranked", "barred")
# As many passages as a reader is given.
TOP = 8
NDCG_DEPTH = 10
_DENSE_ONLY = {
    "retrieval.keyword_per_query": 0,
    "retrieval.papers_per_query": 0,
    "retrieval.named_per_query": 0,
}
_BM25_ONLY = {
    "retrieval.abstracts_per_query": 0,
    "retrieval.passages_per_query": 0,
    "retrieval.papers_per_query": 0,
    "retrieval.named_per_query": 0,
}


@dataclass(frozen=True)
class StageRow:
    """One question at one stage; measures are 0..1, None for a question without gold papers.

    ``top`` is the share of gold papers among the first eight passages, ``anywhere`` among all,
    ``reciprocal`` 1 / the rank of the first gold paper, ``ndcg`` nDCG@10 over papers with binary
    gains (Järvelin, Kekäläinen 2002). ``passages`` is how many the stage leaves.
    """

    question: Question
    stage: Stage
    top: float | None
    anywhere: float | None
    reciprocal: float | None
    ndcg: float | None
    passages: int


def stage_rows(engine: Engine, question: Question) -> list[StageRow]:
    """The five stages of one question, without a language model."""
    plan = plan_by_rules(question.question, (), engine.searcher.names)
    orders = {
        "dense": _searched(engine, plan.sub_queries, engine.settings.with_overrides(_DENSE_ONLY)),
        "bm25": _searched(engine, plan.sub_queries, engine.settings.with_overrides(_BM25_ONLY)),
    }
    pools = _retrieve(engine, plan.sub_queries, engine.settings)
    orders["fused"] = _in_turns(pools)
    several = plan.is_compound and not plan.one_subject
    judged = engine.searcher.judge(pools, engine.settings, several=several)
    orders["reranked"] = take_turns(judged.candidates)
    orders["barred"] = list(judged.kept)
    return [_row(question, stage, orders[stage]) for stage in STAGES]


def _retrieve(engine: Engine, queries: Sequence[str], settings: Settings) -> list[Pool]:
    return engine.searcher.retrieve(queries, settings, Scope(), frozenset())


def _searched(engine: Engine, queries: Sequence[str], settings: Settings) -> list[Candidate]:
    return _in_turns(_retrieve(engine, queries, settings))


def _in_turns(pools: Iterable[Pool]) -> list[Candidate]:
    """The pools in rounds, the best fused passage of each sub-query first."""
    lines = [list(pool.candidates) for pool in pools]
    longest = max(map(len, lines), default=0)
    return [line[turn] for turn in range(longest) for line in lines if turn < len(line)]


def _row(question: Question, stage: Stage, order: Sequence[Candidate]) -> StageRow:
    ids = [candidate.paper.paper_id for candidate in order]
    gold = question.answerable
    ranked = list(dict.fromkeys(ids))
    return StageRow(
        question=question,
        stage=stage,
        top=found_share(question, ids[:TOP]) if gold else None,
        anywhere=found_share(question, ids) if gold else None,
        reciprocal=reciprocal_rank(ranked, question.papers) if gold else None,
        ndcg=ndcg(ranked, wanted_papers(question, ranked)) if gold else None,
        passages=len(order),
    )


def found_share(question: Question, ids: Sequence[str]) -> float:
    """Share of a comparison's gold papers that are there; for others whether any is."""
    hits = [paper_id in ids for paper_id in question.papers]
    return sum(hits) / len(hits) if question.category == "comparison" else float(any(hits))


def wanted_papers(question: Question, ranked: Sequence[str]) -> list[str]:
    """The papers that a perfect order has first: all of a comparison, one of several that each
    answer another question (the one that was ranked best)."""
    if question.category == "comparison":
        return list(question.papers)
    return [paper_id for paper_id in ranked if paper_id in question.papers][:1] or [
        question.papers[0]
    ]


def reciprocal_rank(ranked: Sequence[str], gold: Sequence[str]) -> float:
    """1 / the rank, from 1, of the first gold paper; 0 without one."""
    places = [place for place, paper_id in enumerate(ranked, start=1) if paper_id in gold]
    return 1 / places[0] if places else 0.0


def ndcg(ranked: Sequence[str], gold: Sequence[str], depth: int = NDCG_DEPTH) -> float:
    """Discounted gain of the gold papers among the first ``depth``, over a perfect order's."""
    gain = sum(
        1 / math.log2(place + 1)
        for place, paper_id in enumerate(ranked[:depth], start=1)
        if paper_id in gold
    )
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(gold), depth) + 1))
    return gain / ideal if ideal else 0.0
