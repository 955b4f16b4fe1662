"""Threads that share the work on many rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Threads:
    """`num_threads` threads with the caller's own among them, started on demand.

    They do not survive a fork or a pickle: the new process starts its own. To hand work over and
    wait for it takes about 0.1 ms.
    """

    def __init__(self, num_threads: int) -> None:
        """Prepare the threads. With one, the caller's thread does all work."""
        self.num_threads = num_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._left_behind: list[Future[None]] = []  # by an interrupt; perhaps still at work

    def share(self, work: Callable[[slice, int], None], size: int) -> None:
        """Call ``work(rows, thread)`` on equal parts of `size` rows, and wait for all of them."""
        if self.num_threads == 1 or size < 2 * self.num_threads:
            work(slice(0, size), 0)
            return
        cuts = [size * i // self.num_threads for i in range(self.num_threads + 1)]
        parts = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        self.each(lambda thread: work(parts[thread], thread))

    def each(self, work: Callable[[int], None]) -> None:
        """Call ``work(thread)`` in every thread, and wait until all are done."""
        if self.num_threads == 1:
            work(0)
            return
        pool = self._started()
        wait(self._left_behind)
        try:
            others = [pool.submit(work, thread) for thread in range(1, self.num_threads)]
        except BaseException:  # the system has no more threads, or an interrupt
            self._pool = None
            pool.shutdown(cancel_futures=True)
            raise
        try:
            work(0)
        finally:
            try:
                wait(others)
            except BaseException:
                self._left_behind = others
                raise
        for other in others:
            other.result()

    def _started(self) -> ThreadPoolExecutor:
        """Return the pool of this process."""
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.num_threads - 1), os.getpid()
            self._left_behind = []
        return self._pool

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        return Threads, (self.num_threads,)
