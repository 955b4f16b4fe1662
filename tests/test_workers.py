"""Threads that share work: all of it is done once, faults come back, none are left behind."""

from __future__ import annotations

import gc
import pickle
import threading
import time
from queue import SimpleQueue

import numpy as np
import pytest

from hearts_env.support import workers as _workers
from hearts_env.support.workers import Workers
from tests.waiting import HANG, wait_until


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_row_is_worked_on_once(threads: int) -> None:
    workers = Workers(threads)
    for size in (0, 1, 5, 16, 1000):
        done, by = np.zeros(size, np.int64), set()

        def work(rows: slice, thread: int, done: np.ndarray = done, by: set = by) -> None:
            done[rows] += 1
            by.add(thread)

        workers.share(work, size)
        assert (done == 1).all()
        assert by == set(range(threads if size >= 2 * threads else 1))


@pytest.mark.parametrize("guilty", [0, 1, 2])
def test_a_fault_of_any_thread_is_raised_when_all_have_ended(guilty: int) -> None:
    workers, ended = Workers(3), []

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


def test_work_that_an_interrupt_left_behind_ends_before_the_next_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers, may_end, done = Workers(2), threading.Event(), []

    def slow(thread: int) -> None:
        if thread:
            may_end.wait(HANG)
            done.append("old")

    class Interrupted(SimpleQueue):
        def get(self, *_: object) -> object:
            raise KeyboardInterrupt

    workers.each(lambda thread: None)
    with monkeypatch.context() as patch:
        patch.setattr(_workers, "SimpleQueue", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.each(slow)
    threading.Timer(0.05, may_end.set).start()
    workers.each(lambda thread: done.append("new"))
    assert done == ["old", "new", "new"]


def test_several_threads_may_share_work_at_once() -> None:
    workers, counts = Workers(2), []

    def ask() -> None:
        done: list[int] = []

        def work(thread: int) -> None:
            time.sleep(0)
            done.append(thread)

        for _ in range(300):
            workers.each(work)
        counts.append(len(done))

    askers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(HANG)
    assert counts == [600, 600, 600]


@pytest.mark.slow
def test_threads_that_cannot_be_started_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers, start, calls, before = Workers(3), threading.Thread.start, [], _threads()

    def fails_once(thread: threading.Thread) -> None:
        calls.append(thread)
        if len(calls) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fails_once)
    with pytest.raises(RuntimeError, match="start new"):
        workers.each(lambda thread: None)
    done: list[int] = []
    asker = threading.Thread(target=workers.each, args=(done.append,), daemon=True)
    start(asker)
    asker.join(HANG)
    assert sorted(done) == [0, 1, 2]
    del workers, asker
    _wait_until_only(before)


@pytest.mark.slow
def test_threads_end_with_their_workers() -> None:
    before = _threads()
    workers = Workers(4)
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
