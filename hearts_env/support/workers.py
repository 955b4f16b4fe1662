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
        self._process = 0
        self._is_cut_short = False  # somebody did not wait: threads may still be at old work

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
        if self._is_cut_short:
            self._order(lambda _: None)
        self._order(work)

    def _order(self, work: Callable[[int], None]) -> None:
        # Results have a queue of their own: several threads of the caller's may be here at once.
        results: SimpleQueue[BaseException | None] = SimpleQueue()
        self._is_cut_short = True
        for orders in self._orders:
            orders.put((work, results))
        try:
            work(0)
        finally:
            faults = [results.get() for _ in self._orders]
        self._is_cut_short = False
        for fault in faults:
            if fault is not None:
                raise fault

    def _start(self) -> None:
        started: list[SimpleQueue[Any]] = []
        try:
            for thread in range(1, self.num_threads):
                orders: SimpleQueue[Any] = SimpleQueue()
                threading.Thread(target=_serve, args=(thread, orders), daemon=True).start()
                started.append(orders)
        except BaseException:  # the system gives no more, or an interrupt
            _dismiss(started)
            raise
        weakref.finalize(self, _dismiss, started)
        self._orders, self._process, self._is_cut_short = started, os.getpid(), False

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.num_threads,)


def _serve(thread: int, orders: SimpleQueue[Any]) -> None:
    """Do what is ordered, until None is."""
    while (order := orders.get()) is not None:
        work, results = order
        fault: BaseException | None = None
        try:
            work(thread)
        except BaseException as error:
            fault = error
        results.put(fault)
        del order, work, results, fault  # nothing is held on to while waiting


def _dismiss(queues: list[SimpleQueue[Any]]) -> None:
    for orders in queues:
        orders.put(None)
