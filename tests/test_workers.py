"""Threads that share work: all of it is done once, faults come back, none are left behind."""

from __future__ import annotations

import gc
import pickle
import threading
import time

import numpy as np
import pytest

from hearts_env._workers import Workers


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


def test_what_an_interrupt_left_behind_is_not_taken_for_new_work() -> None:
    workers = Workers(2)
    workers.each(lambda thread: None)
    workers._results.put((workers._number, ValueError("of the work before")))
    done = []
    workers.each(done.append)
    assert sorted(done) == [0, 1]


def test_threads_end_with_their_workers() -> None:
    before = threading.active_count()
    workers = Workers(4)
    workers.each(lambda thread: None)
    assert threading.active_count() == before + 3
    twin = pickle.loads(pickle.dumps(workers))
    assert twin.num_threads == 4
    del workers
    gc.collect()
    for _ in range(200):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before
