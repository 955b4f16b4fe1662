"""Work shared among processes: order, kills, errors and equal results."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from hearts_agents.programs.process import python_environment
from hearts_env import HeartsError, Rules
from hearts_train.executor import spread
from hearts_train.measure.contest import Contest
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.hands import HandContest
from tests.executor_work import Work, raise_unsendable
from tests.players import CODE
from tests.refusals import raises_hearts_error
from tests.waiting import is_running, timeless, wait_until

SQUARES = [number**2 for number in range(12)]


def test_results_follow_the_order_of_tasks(tmp_path):
    found = list(spread(Work(tmp_path, {0: "wait"}), range(12), workers=2))
    assert [square for square, _ in found] == SQUARES
    assert len({process for _, process in found} - {os.getpid()}) == 2
    here = list(spread(Work(tmp_path), range(12)))
    assert here == [(square, os.getpid()) for square in SQUARES]


@pytest.mark.slow
def test_killed_task_is_repeated_at_most_three_times(tmp_path):
    work = Work(tmp_path, {5: "die once"})
    assert [square for square, _ in spread(work, range(12), workers=2)] == SQUARES
    assert sum(number == 5 for number, _ in work.begun()) == 2
    found = spread(Work(tmp_path, {1: "die"}), range(12), workers=2)
    assert next(found)[0] == 0
    with raises_hearts_error(HeartsError, "workers", 3):
        next(found)


@pytest.mark.slow
def test_task_error_is_raised_at_its_turn(tmp_path):
    found = spread(Work(tmp_path, {3: "raise"}), range(12), workers=2)
    assert [next(found)[0] for _ in range(3)] == [0, 1, 4]
    with pytest.raises(KeyError, match="number 3") as caught:
        next(found)
    assert "executor_work.py" in str(caught.value.__cause__)
    with pytest.raises(RuntimeError, match="so strange"):
        list(spread(raise_unsendable, [1], workers=2))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_few_tasks_run_ahead_of_results(tmp_path, workers):
    work = Work(tmp_path)
    found = spread(work, range(10**9), workers=workers)
    assert next(found)[0] == 0
    found.close()
    assert list(found) == []
    assert len(work.begun()) <= 8


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two", 1025])
def test_invalid_numbers_of_workers_raise(workers):
    with raises_hearts_error(HeartsError, "workers", 1, "1,024"):
        spread(abs, [1], workers=workers)


def test_invalid_backend_or_work_raises(monkeypatch):
    with raises_hearts_error(HeartsError, "backend"):
        evaluate("easy", "standard", deals=2, backend="dask")
    with raises_hearts_error(HeartsError, "workers"):
        list(spread(threading.Lock().acquire, [1], workers=2))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with raises_hearts_error(HeartsError, "backend", "ray"):
        spread(abs, [1], backend="ray")


ORPHANS = """
import sys
from pathlib import Path
from hearts_train.executor import spread
from tests.executor_work import Work
if __name__ == "__main__":
    list(spread(Work(Path(sys.argv[1]), {0: "hang"}), [0, 0], workers=2))
"""


def started(script, folder, *words):
    """Run a script in a process that imports modules from a folder first."""
    (folder / "script.py").write_text(script)
    environment = python_environment()
    environment["PYTHONPATH"] = f"{folder}{os.pathsep}{environment['PYTHONPATH']}"
    return subprocess.Popen(
        [sys.executable, folder / "script.py", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_workers_end_with_a_killed_parent(tmp_path):
    work = Work(tmp_path)
    process = started(ORPHANS, tmp_path, tmp_path)
    wait_until(lambda: len(work.begun()) == 2)
    workers = [process for _, process in work.begun()]
    assert all(map(is_running, workers))
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(is_running, workers)))


SPREAD = """
from hearts_train.executor import spread
if __name__ == "__main__":
    print(*spread(abs, [-1, -2], workers=2))
"""
PRESSED = """
import signal, sys
if "--multiprocessing-fork" in sys.orig_argv:
    signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_loading_workers_ignore_ctrl_c(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(PRESSED)
    assert started(SPREAD, tmp_path).communicate() == ("1 2\n", "")


# ---- contests (matches: tests/test_matches.py) ---------------------------------------------------
def sent(contest):
    """Return a contest as another process receives it."""
    return pickle.loads(pickle.dumps(contest))


def test_agent_changed_meanwhile_raises(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CODE.format(0))
    contest = Contest([f"{file}:Mine", "easy"], "micro", 0)
    sent(contest)
    file.write_text(CODE.format(-1))
    with raises_hearts_error(HeartsError, "agent"):
        sent(contest)


def test_pickled_contest_keeps_all_settings():
    contest = HandContest("pro", Rules.make("micro"), 5, awake=(2, 3))
    again = sent(contest)
    assert (again.awake, again.tasks(40)) == ((2, 3), contest.tasks(40))
    for task in contest.tasks(2):
        assert replace(again.play(task), took=0) == replace(contest.play(task), took=0)
    whole = Contest(["pro", "easy"], "mini", 3, unit="match", largest_block=8)
    assert sent(whole).settings() == whole.settings()
    assert sent(whole).tasks(40) == whole.tasks(40)
    assert [task.deals for task in whole.tasks(40)] == [8] * 5


# ---- Ray -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def two_nodes():
    """Start a Ray cluster of two nodes with a core each."""
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield ray
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.slow
def test_ray_gives_same_results_after_a_kill(two_nodes, tmp_path):
    found = list(spread(Work(tmp_path, {0: "wait", 5: "die once"}), range(12), backend="ray"))
    assert [square for square, _ in found] == SQUARES
    assert len({process for _, process in found}) >= 2
    for unit in ("deal", "match"):
        alone, on_ray = (
            timeless(evaluate("easy", "pro", "micro", 40, unit=unit, backend=name).to_json())
            for name in ("local", "ray")
        )
        assert alone == on_ray
    with pytest.raises(KeyError, match="number 3"):
        list(spread(Work(tmp_path, {3: "raise"}), range(12), backend="ray", workers=2))
