"""Threads that share work: all of it is done once, faults come back, none are left behind."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest

from hearts_env.support import workers as _workers
from hearts_env.support.workers import Threads
from tests.waiting import HANG, wait_until


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_shared_rows_are_worked_on_once(threads: int) -> None:
    workers = Threads(threads)
    for size in (0, 1, 5, 16, 1000):
        assert (counted(workers, size) == 1).all()


def counted(workers: Threads, size: int) -> np.ndarray:
    """Return how often each of `size` rows was processed."""
    rows = np.zeros(size, np.int64)

    def count(part: slice, _: int) -> None:
        rows[part] += 1

    workers.share(count, size)
    return rows


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_starts_its_own_threads() -> None:
    workers = Threads(2)
    counted(workers, 1000)
    child = os.fork()
    if not child:
        os._exit(0 if (counted(workers, 1000) == 1).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (counted(workers, 1000) == 1).all()


def test_refused_threads_leave_no_work_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, done = Threads(3), []

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            workers.each(lambda thread: done.append("old"))
    workers.each(lambda thread: done.append("new"))
    assert done == ["new"] * 3


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
    before, meeting = _threads(), threading.Barrier(4)
    workers = Threads(4)
    workers.each(lambda thread: meeting.wait(HANG))
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
