"""Threads that share the work on many rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

Result = TypeVar("Result")


class Threads:
    """`num_threads` threads, of which one is the caller's own, started on demand.

    They do not survive a fork or a pickle: the new process starts its own threads. Handing work
    over and waiting for it takes about 0.1 ms.
    """

    def __init__(self, num_threads: int) -> None:
        """Prepare the threads. With one, the caller's thread does all work."""
        self.num_threads = num_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._left_behind: Sequence[Future[Any]] = []  # by an interrupt; perhaps still at work

    def share(self, work: Callable[[slice, int], Result], size: int) -> list[Result]:
        """Call ``work(rows, thread)`` on equal parts of `size` rows, and wait for all of them.

        Returns:
            The results, in the order of the rows.
        """
        if self.num_threads == 1 or size < 2 * self.num_threads:
            return [work(slice(0, size), 0)]
        cuts = [size * i // self.num_threads for i in range(self.num_threads + 1)]
        parts = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        return self.each(lambda thread: work(parts[thread], thread))

    def each(self, work: Callable[[int], Result]) -> list[Result]:
        """Call ``work(thread)`` in every thread, and return all results in their order."""
        if self.num_threads == 1:
            return [work(0)]
        pool = self._started()
        wait(self._left_behind)
        try:
            others = [pool.submit(work, thread) for thread in range(1, self.num_threads)]
        except BaseException:  # the system has no more threads, or an interrupt
            self._pool = None
            pool.shutdown(cancel_futures=True)
            raise
        try:
            first = work(0)
        finally:
            try:
                wait(others)
            except BaseException:
                self._left_behind = others
                raise
        return [first, *(other.result() for other in others)]

    def _started(self) -> ThreadPoolExecutor:
        """Return the pool of this process."""
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.num_threads - 1), os.getpid()
            self._left_behind = []
        return self._pool

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        return Threads, (self.num_threads,)
