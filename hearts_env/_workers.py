"""Threads that share the work on many rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


class Workers:
    """`num_threads` threads, the caller's own among them, started when there is work for them.

    They do not outlive a fork, nor go into a pickle: a process that finds itself without them
    starts its own.
    """

    def __init__(self, num_threads: int) -> None:
        """Threads that wait for ``share``; with one, the caller's own does the work."""
        self.num_threads = num_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def share(self, work: Callable[[slice, int], None], size: int) -> None:
        """Call ``work(rows, thread)`` on equal parts of `size` rows, and wait for all of them."""
        if self.num_threads == 1 or size < 2 * self.num_threads:
            work(slice(0, size), 0)
            return
        cuts = [size * i // self.num_threads for i in range(self.num_threads + 1)]
        parts = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        self.each(lambda thread: work(parts[thread], thread))

    def each(self, work: Callable[[int], None]) -> None:
        """Call ``work(thread)`` in every thread, and wait for all of them."""
        if self.num_threads == 1:
            work(0)
            return
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.num_threads - 1)
            self._process = os.getpid()
        others = [self._pool.submit(work, thread) for thread in range(1, self.num_threads)]
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()  # raises what it raised

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.num_threads,)
