"""Threads that share the work on many rows.

Compiled work reaches other threads without Python. The caller writes an *order* (a function, its
arguments and the number of rows) into memory that all threads watch. Every thread has a share of
the rows, the same each time, so they stay in its processor's caches. It takes its share chunk by
chunk, each with one atomic instruction, and then chunks left in the shares of others. So a late
thread delays the others by at most one chunk. An idle thread watches for some tenths of a
millisecond, and then sleeps.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from hearts_env.support import clock
from hearts_env.support.bits import add, call, load, pause, store, swap
from hearts_env.support.jit import jit

# An order, in int64 words. Words written by different threads lie in different cache lines.
_LINE = 16
"""Words in two cache lines, because processors fetch lines in pairs."""
_FUNCTION, _ARGUMENTS, _CHUNK = range(3)
"""Two addresses, and the rows per chunk."""
_GOAL = _LINE
"""The number of chunks of all orders so far."""
_DONE = 2 * _LINE
"""The number of chunks done."""
_ASLEEP = 3 * _LINE
"""1 if a thread has gone to sleep since the last order."""
_CALLS = 4 * _LINE
"""A counter that changes when Python work is waiting."""
_SHARES = 5 * _LINE
"""The first share. There is one share per thread."""
# Fields of a share. Chunks are counted through all orders.
_NEXT = 0
"""The first chunk not yet taken."""
_END, _FIRST, _ROW, _LAST_ROW = range(1, 5)
"""The chunk after the last; the first of this order; its row; the row after the last."""
_SLEEPS = 5
"""1 if the thread of this share sleeps."""

_SPINS = 20_000
"""Pauses before a thread sleeps: 0.2 to 1 ms, depending on the processor."""
_ALONE, _LONGEST_ALONE = 4.0, 128.0
"""After waiting for others, a caller works alone for this many times the wait. The factor doubles
with each further wait, up to the second number, and slowly falls without one."""


@jit
def call_alone(function: int, arguments: NDArray[np.int64], size: int) -> None:
    """Call `function` on all rows in this thread."""
    call(function, arguments.ctypes.data, 0, size)


@jit
def give_order(
    order: NDArray[np.int64], function: int, arguments: NDArray[np.int64], size: int, chunk: int
) -> bool:
    """Write an order after the last one is done. Return whether threads may have to be woken."""
    order[_FUNCTION], order[_ARGUMENTS], order[_CHUNK] = function, arguments.ctypes.data, chunk
    threads = len(order) // _LINE - _SHARES // _LINE
    goal = order[_GOAL]
    for thread in range(threads):
        share = order[_SHARES + thread * _LINE :]
        share[_ROW], share[_LAST_ROW] = (
            size * thread // threads,
            size * (thread + 1) // threads,
        )
        chunks = (share[_LAST_ROW] - share[_ROW] + chunk - 1) // chunk
        goal += chunks
        share[_FIRST] = share[_END]
        store(share, _END, share[_END] + chunks)  # from here on threads may take it
    store(order, _GOAL, goal)
    return swap(order, _ASLEEP, 1, 0)


@jit
def take_chunks(order: NDArray[np.int64], thread: int) -> None:
    """Do chunks of the order until none are left, the thread's own first."""
    threads = len(order) // _LINE - _SHARES // _LINE
    for i in range(threads):
        share = order[_SHARES + (thread + i) % threads * _LINE :]
        while True:
            chunk = load(share, _NEXT)
            if chunk >= load(share, _END):
                break
            if swap(share, _NEXT, chunk, chunk + 1):  # the order cannot change before it is done
                first = share[_ROW] + (chunk - share[_FIRST]) * order[_CHUNK]
                last = min(first + order[_CHUNK], share[_LAST_ROW])
                call(order[_FUNCTION], order[_ARGUMENTS], first, last)
                add(order, _DONE, 1)


@jit
def take_part(order: NDArray[np.int64], spins: int) -> bool:
    """Do the rest of an order and wait for the others. Return whether all is done."""
    take_chunks(order, 0)
    for _ in range(spins):
        if load(order, _DONE) == order[_GOAL]:
            return True
        pause()
    return False


@jit
def watch(order: NDArray[np.int64], thread: int, calls: int, spins: int) -> None:
    """Do orders until none comes for a while or Python work is waiting."""
    idle, seen = 0, -1
    while idle < spins and load(order, _CALLS) == calls:
        if load(order, _GOAL) != seen:
            idle, seen = 0, load(order, _GOAL)
            take_chunks(order, thread)
        pause()
        idle += 1
    store(order[_SHARES + thread * _LINE :], _SLEEPS, 1)
    store(order, _ASLEEP, 1)
    take_chunks(order, thread)  # an order may have come before the note of sleep


@jit
def wake(order: NDArray[np.int64], thread: int) -> bool:
    """Note that a thread is to watch again. Return whether it slept."""
    return swap(order[_SHARES + thread * _LINE :], _SLEEPS, 1, 0)


def _no_order(threads: int) -> NDArray[np.int64]:
    return np.zeros(_SHARES + threads * _LINE, np.int64)


class Threads:
    """`num_threads` threads with the caller's own among them, started on demand.

    They do not survive a fork or a pickle: the new process starts its own. Only Python work is
    handed over as tasks of a pool, because waiting for those takes as long as a step of four
    thousand games.
    """

    def __init__(self, num_threads: int) -> None:
        """Prepare the threads. With one, the caller's thread does all work."""
        self.num_threads = num_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._order = _no_order(num_threads)
        self._running = threading.Lock()
        self._alone_until = 0.0  # by the clock: until then the others lack a processor
        self._alone = _ALONE  # the factor of `_ALONE`
        self._left_behind: list[Future[None]] = []  # by an interrupt; perhaps still at work

    def run(self, function: int, arguments: NDArray[np.int64], size: int, chunk: int) -> None:
        """Call the ``jit.shared`` function at this address on all rows, and wait for all of them.

        Args:
            function: its address, from ``jit.address_of``.
            arguments: its words.
            size: the number of rows.
            chunk: the rows that a thread takes at once.
        """
        # If another thread of the caller is in here, this one works alone.
        if (
            self.num_threads == 1
            or size <= chunk
            or (self._alone_until and clock.now() < self._alone_until)
            or not self._running.acquire(blocking=False)
        ):
            call_alone(function, arguments, size)
            return
        try:
            pool = self._started()
            if give_order(self._order, function, arguments, size, chunk):
                for thread in range(1, self.num_threads):
                    if wake(self._order, thread):
                        pool.submit(watch, self._order, thread, int(self._order[_CALLS]), _SPINS)
        finally:
            try:
                self._finish()
            finally:
                self._running.release()

    def _finish(self) -> None:
        """Take part in the order until it is done. An interrupt waits for that."""
        start = clock.now()
        if take_part(self._order, _SPINS):
            self._alone = max(_ALONE, 0.99 * self._alone)
            return
        # A thread has lost its processor in the middle of a chunk. Other programs want the
        # processors, so this will soon happen again, and each time all threads wait for one.
        try:
            while not take_part(self._order, _SPINS):
                time.sleep(0)
        except BaseException:
            take_part(self._order, sys.maxsize)
            raise
        finally:
            self._alone_until = clock.now() + self._alone * (clock.now() - start)
            self._alone = min(_LONGEST_ALONE, 2.0 * self._alone)

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
        self._order[_CALLS] += 1
        others = [pool.submit(work, thread) for thread in range(1, self.num_threads)]
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
        """Return the pool of this process. In a new pool every thread watches."""
        if self._pool is None or self._process != os.getpid():
            pool, order = ThreadPoolExecutor(self.num_threads - 1), _no_order(self.num_threads)
            try:
                for thread in range(1, self.num_threads):
                    pool.submit(watch, order, thread, 0, _SPINS)
            except BaseException:  # the system has no more threads, or an interrupt
                pool.shutdown(cancel_futures=True)
                raise
            self._pool, self._order, self._process = pool, order, os.getpid()
            self._left_behind = []
        return self._pool

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        return Threads, (self.num_threads,)
