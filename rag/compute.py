"""ComputePool: the one pool of threads on which local models run, a thread a core."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class ComputePool:
    """Runs small model calls side by side; results come back in the order of the items.

    Work handed in must be a leaf: a task that waits for another task of the same pool would
    block for good when all threads wait.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="model")

    def map(self, function: Callable[[Item], Outcome], items: Sequence[Item]) -> list[Outcome]:
        """``[function(item) for item in items]``, side by side; the first error is raised."""
        if len(items) < 2:
            return [function(item) for item in items]
        return list(self._executor.map(function, items))

    def close(self) -> None:
        """Wait for running work and end the threads."""
        self._executor.shutdown(wait=True, cancel_futures=True)
