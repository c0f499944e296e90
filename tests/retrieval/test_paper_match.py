"""How well whole papers fit a question."""

from __future__ import annotations

import pytest

from rag.retrieval.keyword import KeywordHit
from rag.retrieval.paper_match import PaperMatch, match_papers, representatives
from rag.retrieval.vector_store import VectorHit


def dense(*hits: tuple[str, float]) -> list[VectorHit]:
    return [VectorHit(chunk_id, score) for chunk_id, score in hits]


def words(*hits: tuple[str, float]) -> list[KeywordHit]:
    return [KeywordHit(chunk_id, place, score) for place, (chunk_id, score) in enumerate(hits)]


def ids(matches: list[PaperMatch]) -> list[str]:
    assert [match.rank for match in matches] == list(range(1, len(matches) + 1))
    return [match.paper_id for match in matches]


def test_signs_that_agree_beat_one_strong_sign() -> None:
    matches = match_papers(
        dense(("A:0", 0.7), ("B:0", 0.69), ("C:0", 0.5)),
        dense(("B:1", 0.7), ("B:2", 0.69), ("C:1", 0.5)),
        words(("C:1", 9.0), ("B:1", 8.0)),
        {"A": 0.5, "B": 0.6, "C": 0.4},
    )
    assert ids(matches)[0] == "B"
    best = matches[0]
    assert (best.abstract, best.late, best.keyword) == (0.69, 0.6, pytest.approx(8 / 9))


def test_a_paper_that_a_list_does_not_name_counts_with_its_lowest_value() -> None:
    matches = {
        match.paper_id: match
        for match in match_papers(
            dense(("A:0", 0.7), ("B:0", 0.4)),
            dense(("A:1", 0.6), ("A:2", 0.5)),
            words(("C:3", 2.0)),
            {},
        )
    }
    assert matches["C"].abstract == 0.4
    assert matches["C"].passages == matches["B"].passages == 0.5
    assert matches["A"].passages == pytest.approx((0.6 + 0.5 + 0.5 + 0.5) / 4)
    assert (matches["C"].keyword, matches["A"].keyword) == (1.0, 0.0)


def test_only_the_four_nearest_passages_of_a_paper_count() -> None:
    hits = dense(*((f"A:{n}", 0.9) for n in range(4)), *((f"A:{n}", 0.1) for n in range(4, 9)))
    (match,) = match_papers([], hits, [], {})
    assert match.passages == pytest.approx(0.9)


def test_a_scope_leaves_out_other_papers() -> None:
    matches = match_papers(
        dense(("A:0", 0.7)), dense(("B:1", 0.6)), [], {"C": 0.9}, frozenset({"B"})
    )
    assert ids(matches) == ["B"]


def test_nothing_found_and_ties() -> None:
    assert match_papers([], [], [], {}) == []
    assert ids(match_papers([], [], [], {"B": 0.5, "A": 0.5})) == ["A", "B"]
    assert match_papers([], [], words(("A:1", 0.0)), {})[0].keyword == 0.0


def test_the_very_best_papers_bring_two_chunks_the_others_their_nearest() -> None:
    matches = [PaperMatch(f"P{n}", 0, 0, 0, 0, 0, n) for n in range(1, 8)]
    abstracts = dense(*((f"P{n}:0", 0.5) for n in range(1, 8) if n != 2))
    passages = dense(("P1:7", 0.6), ("P1:8", 0.55), ("P2:3", 0.4), ("P5:4", 0.7), ("P6:4", 0.3))
    assert representatives(matches, abstracts, passages, 6) == [
        "P1:7", "P1:0", "P2:3", "P3:0", "P4:0", "P5:4", "P6:0",
    ]  # fmt: skip
    assert representatives(matches, abstracts, passages, 0) == []
    assert representatives(matches, [], [], 6) == []
