"""Threads that share the work on many rows."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Workers:
    """`num_threads` threads, the caller's own among them, started when there is work for them.

    They do not outlive a fork, nor go into a pickle: a process that finds itself without them
    starts its own. To hand over work through a pool of ``concurrent.futures`` and to wait for it
    takes twice as long, as long as a step of four thousand games.
    """

    def __init__(self, num_threads: int) -> None:
        """Threads that wait for ``share``; with one, the caller's own does the work."""
        self.num_threads = num_threads
        self._orders: list[SimpleQueue[Any]] = []
        self._results: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
        self._number = 0
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
        if self._process != os.getpid():
            self._start()
        self._number += 1
        for orders in self._orders:
            orders.put((self._number, work))
        faults: list[BaseException] = []
        try:
            work(0)
        finally:
            waiting = len(self._orders)
            while waiting:
                number, fault = self._results.get()
                if number == self._number:  # not of work that an interrupt left behind
                    waiting -= 1
                    faults += [fault] if fault is not None else []
        if faults:
            raise faults[0]

    def _start(self) -> None:
        self._process = os.getpid()
        self._results = SimpleQueue()
        self._orders = [SimpleQueue() for _ in range(1, self.num_threads)]
        for thread, orders in enumerate(self._orders, 1):
            arguments = (thread, orders, self._results)
            threading.Thread(target=_serve, args=arguments, daemon=True).start()
        weakref.finalize(self, _dismiss, self._orders)

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.num_threads,)


def _serve(thread: int, orders: SimpleQueue[Any], results: SimpleQueue[Any]) -> None:
    """Do what is ordered, until None is."""
    while (order := orders.get()) is not None:
        number, work = order
        fault: BaseException | None = None
        try:
            work(thread)
        except BaseException as error:
            fault = error
        del order, work  # nothing is held on to while waiting
        results.put((number, fault))


def _dismiss(queues: list[SimpleQueue[Any]]) -> None:
    for orders in queues:
        orders.put(None)
