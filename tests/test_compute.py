"""The pool on which models run."""

from __future__ import annotations

import threading
import time

import pytest

from rag.compute import ComputePool


def test_results_come_in_the_order_of_the_items_though_they_end_in_another():
    pool = ComputePool(4)
    assert pool.map(lambda n: time.sleep((4 - n) / 100) or n * n, [1, 2, 3, 4]) == [1, 4, 9, 16]
    pool.close()


def test_work_runs_side_by_side():
    pool = ComputePool(2)
    both = threading.Barrier(2, timeout=5)
    assert sorted(pool.map(lambda _: both.wait(), [1, 2])) == [0, 1]
    pool.close()


def test_one_item_needs_no_thread_and_none_gives_none():
    pool = ComputePool(1)
    assert pool.map(lambda _: threading.current_thread(), [1]) == [threading.current_thread()]
    assert pool.map(lambda item: item, []) == []
    pool.close()


def test_the_first_error_is_raised():
    pool = ComputePool(2)

    def work(item: int) -> int:
        if item == 2:
            raise KeyError("two")
        return item

    with pytest.raises(KeyError, match="two"):
        pool.map(work, [1, 2, 3])
    pool.close()
