"""Bars, floors, caps: what is kept and why the rest is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import make_chunk

from rag.papers import Paper
from rag.retrieval.candidate import Candidate, Pool
from rag.retrieval.flashrank_reranker import MINILM_CALIBRATION
from rag.retrieval.selection import (
    BELOW_BAR,
    BELOW_STRICT_BAR,
    DUPLICATE,
    LIMIT,
    OUTSIDE,
    PAPER_FULL,
    Bars,
    Room,
    apply_bars,
    bars_for,
    choose,
    merge_pools,
    room_for,
    take_turns,
)
from rag.sections import RerankingSettings, RetrievalSettings

BARS = Bars(bar=0.5, strict_bar=0.8, floor_minimum=0.2, evidence_floor=0.5)
SETTINGS = RerankingSettings()


def candidate(
    name: str,
    score: float | None = 0.9,
    rank: int = 1,
    query: str = "q",
    *,
    picked: bool = False,
    **more: Any,
) -> Candidate:
    """``"A1"`` is chunk 1 of paper A."""
    paper = Paper(name[0], f"Title {name[0]}", tier="hand_picked" if picked else "fill")
    text = more.pop("text", f"Text of {name}.")
    facts = {"score_evidence": 0.9, "score_fused": 1 / (60 + rank), **more}
    return Candidate(
        make_chunk(name[0], int(name[1:] or 0), text),
        paper,
        query,
        rank_fused=rank,
        score_relevance=score,
        **facts,
    )


def judged(
    *candidates: Candidate, bars: Bars = BARS, settings: RerankingSettings = SETTINGS
) -> dict[str, Candidate]:
    pool = Pool("q", candidates, 0, 0, 0)
    return {
        f"{item.paper.paper_id}{item.chunk.chunk_index}": item
        for item in apply_bars(pool, bars, settings)
    }


def names(candidates: Any) -> list[str]:
    return [f"{item.paper.paper_id}{item.chunk.chunk_index}" for item in candidates]


def kept(candidates: Any) -> list[str]:
    return names(item for item in candidates if item.kept)


def test_the_bar_depends_on_the_fused_rank() -> None:
    found = judged(
        candidate("A1", 0.5, 10),
        candidate("B1", 0.79, 11),
        candidate("C1", 0.8, 25),
        candidate("D1", 0.49, 1),
    )
    assert kept(found.values()) == ["C1", "A1"]
    assert found["B1"].drop_reason == BELOW_STRICT_BAR
    assert found["D1"].drop_reason == BELOW_BAR
    assert found["A1"].drop_reason is None


def test_a_hand_picked_paper_is_raised_only_beside_one_that_clears_its_bar() -> None:
    near = candidate("B1", 0.3, 2, picked=True)
    found = judged(candidate("A1", 0.9), near)
    assert found["B1"].kept and found["B1"].floored and found["B1"].score_relevance == 0.3
    assert not found["A1"].floored
    alone = judged(near, candidate("C1", 0.1, 3, picked=True))
    assert kept(alone.values()) == []
    assert kept(judged(candidate("A1"), replace(near, score_relevance=0.19)).values()) == ["A1"]
    assert kept(judged(candidate("A1"), replace(near, rank_fused=11)).values()) == ["A1"]
    assert kept(judged(candidate("A1"), candidate("B1", 0.3, 2)).values()) == ["A1"]
    off = RerankingSettings(hand_picked_floor=False)
    assert kept(judged(candidate("A1"), near, settings=off).values()) == ["A1"]


def test_a_paper_that_clears_its_bar_is_not_lowered_to_it() -> None:
    found = judged(candidate("A1", 0.9, picked=True))
    assert (found["A1"].floored, found["A1"].score_relevance) == (False, 0.9)


def test_when_nothing_clears_its_bar_the_single_best_above_the_bar_is_kept() -> None:
    found = judged(candidate("A1", 0.7, 12), candidate("B1", 0.6, 13), candidate("C1", 0.4, 1))
    assert kept(found.values()) == ["A1"] and found["A1"].drop_reason is None
    assert kept(judged(candidate("A1", 0.49, 12)).values()) == []


def test_below_the_evidence_floor_nothing_is_kept() -> None:
    found = judged(
        candidate("A1", 0.99, score_evidence=0.49), candidate("B1", 0.9, 2, score_evidence=0.49)
    )
    assert {item.drop_reason for item in found.values()} == {OUTSIDE}
    assert judged() == {}


def test_without_a_reranker_no_bar_applies() -> None:
    """C48: a bar for reranker scores means nothing for fused scores."""
    bars = bars_for(RerankingSettings(bar=0.9), None)
    assert (bars.bar, bars.strict_bar, bars.evidence_floor) == (None, None, None)
    found = judged(candidate("A1", None, 1), candidate("B1", None, 25), bars=bars)
    assert kept(found.values()) == ["A1", "B1"]


def test_settings_win_over_the_calibration() -> None:
    plain = bars_for(SETTINGS, MINILM_CALIBRATION)
    assert (plain.bar, plain.strict_bar) == (MINILM_CALIBRATION.bar, MINILM_CALIBRATION.strict_bar)
    assert plain.evidence_floor == MINILM_CALIBRATION.evidence_floor
    own = bars_for(RerankingSettings(bar=0.7, evidence_floor=0.0), MINILM_CALIBRATION)
    assert (own.bar, own.evidence_floor) == (0.7, 0.0)
    assert own.strict_bar == 0.7, "a strict bar below the bar would be no strict bar"


def test_a_chunk_of_two_pools_stands_once_where_it_does_best() -> None:
    weak = candidate("A1", 0.4, query="one", drop_reason=BELOW_BAR)
    strong = candidate("A1", 0.3, query="two", kept=True)
    (found,) = merge_pools([[weak], [strong]])
    assert (found.sub_query, found.also_in, found.kept) == ("two", ("one",), True)
    (better,) = merge_pools(
        [[replace(weak, score_relevance=0.2)], [replace(weak, sub_query="two")]]
    )
    assert better.sub_query == "two"


def given(*names_: str, query: str = "q") -> list[Candidate]:
    return [
        candidate(name, 0.9 - place / 100, place + 1, query, kept=True)
        for place, name in enumerate(names_)
    ]


def test_limits() -> None:
    chosen = choose(given("A1", "A2", "A3", "B1", "C1", "D1"), Room(4, 2, 440))
    assert kept(chosen) == ["A1", "A2", "B1", "C1"]
    reasons = {name: item.drop_reason for name, item in zip(names(chosen), chosen, strict=True)}
    assert reasons["A3"] == PAPER_FULL and reasons["D1"] == LIMIT


def test_an_identical_text_is_kept_once() -> None:
    same = [
        candidate(name, 0.9, rank, kept=True, text="Same  text.")
        for rank, name in enumerate(["A1", "B1"])
    ]
    chosen = choose(same, Room(8, 8, 440))
    assert kept(chosen) == ["A1"] and chosen[1].drop_reason == DUPLICATE


def test_what_was_dropped_before_keeps_its_reason() -> None:
    chosen = choose([candidate("A1", drop_reason=BELOW_BAR)], Room(8, 8, 440))
    assert chosen[0].drop_reason == BELOW_BAR and not chosen[0].kept


def test_sub_queries_take_turns() -> None:
    strong = given("A1", "A2", "A3", query="one")
    weak = [replace(item, score_relevance=0.1) for item in given("B1", "B2", query="two")]
    assert names(take_turns([*strong, *weak])) == ["A1", "B1", "A2", "B2", "A3"]
    assert kept(choose([*strong, *weak], Room(2, 8, 440))) == ["A1", "B1"]
    assert take_turns([]) == []


def test_floored_ones_come_after_the_others() -> None:
    raised = replace(candidate("A1", 0.99, kept=True), floored=True)
    assert names(take_turns([raised, *given("B1", "C1")])) == ["B1", "C1", "A1"]


@pytest.mark.parametrize(
    ("rerank", "several", "room"),
    [
        (0.9, False, Room(8, 8, 440)),
        (0.9, True, Room(8, 3, 440)),
        (0.1, False, Room(14, 1, 251)),
        (0.1, True, Room(8, 3, 440)),
        (None, False, Room(14, 1, 251)),
    ],
)
def test_the_room_for_the_reader(rerank: float | None, several: bool, room: Room) -> None:
    items = [candidate("A1", kept=True, score_rerank=rerank), candidate("B1", score_rerank=0.99)]
    assert room_for(items, several, RetrievalSettings()) == room
    assert room.passages * room.context_tokens <= 8 * 440
