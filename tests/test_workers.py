"""Threads that share work: all of it is done once, faults come back, none are left behind."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from hearts_env.support import workers as _workers
from hearts_env.support.bits import int64_at
from hearts_env.support.jit import address_of, shared
from hearts_env.support.workers import Threads
from tests.waiting import HANG, wait_until


@shared
def count(address: int, first: int, last: int) -> int:
    """Add one to rows `first` to `last` of the array at the address that is the first word."""
    words = int64_at(address, (2,))
    rows = int64_at(words[0], (words[1],))
    for i in range(first, last):
        rows[i] += 1
    return 0


def counted(workers: Threads, size: int, chunk: int, times: int = 1) -> np.ndarray:
    """Return how often each of `size` rows was processed."""
    rows = np.zeros(size, np.int64)
    words = np.array([rows.ctypes.data, size])
    for _ in range(times):
        workers.run(address_of(count), words, size, chunk)
    return rows


def ask_from_three_threads(ask: Callable[[], object]) -> None:
    askers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(HANG)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_ordered_rows_are_worked_on_once(threads: int) -> None:
    workers = Threads(threads)
    for size in (0, 1, 5, 16, 1000):
        for chunk in (1, 7, 256):
            assert (counted(workers, size, chunk, 50) == 50).all()
    workers.each(lambda thread: None)
    assert (counted(workers, 1000, 7) == 1).all()


def test_interrupted_order_finishes_before_raising(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers, rows = Threads(2), np.zeros(100_000, np.int64)
    words = np.array([rows.ctypes.data, len(rows)])

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_workers, "_SPINS", 0)  # always wait
    monkeypatch.setattr(_workers.time, "sleep", interrupted)
    for times in range(1, 4):
        workers._alone_until = 0.0  # it has waited, and would not wait again
        with pytest.raises(KeyboardInterrupt):
            workers.run(address_of(count), words, len(rows), 10)
        assert (rows == times).all()
    monkeypatch.undo()
    assert (counted(workers, 1000, 10) == 1).all()


def test_several_threads_may_give_orders_at_once() -> None:
    workers, results = Threads(2), []
    ask_from_three_threads(lambda: results.append(counted(workers, 5000, 10, 100)))
    assert len(results) == 3
    assert all((rows == 100).all() for rows in results)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_starts_its_own_threads() -> None:
    workers = Threads(2)
    counted(workers, 1000, 10)
    child = os.fork()
    if not child:
        os._exit(0 if (counted(workers, 1000, 10, 50) == 50).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (counted(workers, 1000, 10) == 1).all()


@pytest.mark.parametrize("guilty", [0, 1, 2])
def test_thread_faults_are_raised_after_all_end(guilty: int) -> None:
    workers, ended = Threads(3), []

    def work(thread: int) -> None:
        if thread == guilty:
            raise ValueError(f"thread {thread}")
        time.sleep(0.01)
        ended.append(thread)

    with pytest.raises(ValueError, match=f"thread {guilty}"):
        workers.each(work)
    assert sorted(ended) == sorted({0, 1, 2} - {guilty})
    workers.each(ended.append)  # and they work on
    assert sorted(ended[2:]) == [0, 1, 2]


def test_interrupted_work_ends_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers, may_end, done = Threads(2), threading.Event(), []

    def slow(thread: int) -> None:
        if thread:
            may_end.wait(HANG)
            done.append("old")

    def interrupted(futures: list[object]) -> None:
        if futures:
            raise KeyboardInterrupt

    workers.each(lambda thread: None)
    with monkeypatch.context() as patch:
        patch.setattr(_workers, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.each(slow)
    threading.Timer(0.05, may_end.set).start()
    workers.each(lambda thread: done.append("new"))
    assert done == ["old", "new", "new"]


@pytest.mark.slow
def test_threads_end_with_their_workers() -> None:
    before = _threads()
    workers = Threads(4)
    workers.each(lambda thread: None)
    assert len(_threads() - before) == 3
    twin = pickle.loads(pickle.dumps(workers))
    assert twin.num_threads == 4
    del workers
    _wait_until_only(before)


def _threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def _wait_until_only(before: set[threading.Thread]) -> None:
    gc.collect()
    wait_until(lambda: _threads() <= before)
