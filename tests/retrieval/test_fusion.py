"""Reciprocal rank fusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrieval.fusion import fuse

lists = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=10), max_size=4)


def test_the_known_values():
    fused = fuse([["p1", "q1"], ["r1", "p1"]], 60)
    assert [item.key for item in fused] == ["p1", "r1", "q1"]
    assert [item.score for item in fused] == pytest.approx([0.032522, 0.016393, 0.016129], abs=5e-7)
    assert [item.rank for item in fused] == [1, 2, 3]


def test_a_repeat_counts_once_and_moves_nobody():
    assert fuse([["p1", "p1", "q1"]], 60) == fuse([["p1", "q1"]], 60)


def test_an_empty_leg_keeps_the_order_of_the_other():
    assert [item.key for item in fuse([["c", "a", "b"], []], 60)] == ["c", "a", "b"]
    assert fuse([], 60) == []
    assert fuse([[], []], 60) == []


def test_ties_go_to_the_better_single_rank_then_to_the_smaller_id():
    assert [item.key for item in fuse([["b"], ["a"]], 60)] == ["a", "b"]
    # 1/2 + 1/6 = 1/3 + 1/3 with k = 1: the first of them stood at rank 1.
    fused = fuse([["x", "a", "y", "z", "u"], ["v", "a", "w", "t", "x"]], 1)
    assert [item.key for item in fused[:2]] == ["x", "a"]
    assert fused[0].score == fused[1].score


@given(lists, st.integers(1, 1000))
def test_scores_are_sums_of_reciprocal_ranks_in_descending_order(ranked, k):
    fused = fuse(ranked, k)
    assert {item.key for item in fused} == {key for keys in ranked for key in keys}
    for item in fused:
        expected = sum(
            1 / (k + list(dict.fromkeys(keys)).index(item.key) + 1)
            for keys in ranked
            if item.key in keys
        )
        assert item.score == pytest.approx(expected, rel=1e-12)
    assert [item.rank for item in fused] == list(range(1, len(fused) + 1))
    scores = [item.score for item in fused]
    assert scores == sorted(scores, reverse=True)


@given(lists)
def test_the_order_of_the_legs_does_not_matter(ranked):
    forward, backward = fuse(ranked, 60), fuse(ranked[::-1], 60)
    assert {item.key: pytest.approx(item.score) for item in forward} == {
        item.key: item.score for item in backward
    }
    assert fuse(ranked, 60) == forward
