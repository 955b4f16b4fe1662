"""`hearts train --seeds`: each run equals one trained alone, even if it was stopped or killed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearts_agents.programs.process import python_environment
from hearts_env import CheckpointError, HeartsError
from hearts_env.support.files import is_held
from hearts_train.learn import report, runs, training
from hearts_train.learn.config import ConfigError
from hearts_train.learn.log import History
from hearts_train.learn.loop import Trainer
from hearts_train.learn.report import SEEDS_NAME, SeedsResult, band
from hearts_train.learn.training import SeedRuns, check_seeds, train, train_seeds
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run
from tests.test_runs import evaluation
from tests.training_runs import assert_same_history, on_update, recipe, stop
from tests.training_runs import quick as quick
from tests.waiting import wait_until

SHORT = (
    "budget.decisions=216",
    "evaluation={times: 3, deals: 2, final_deals: 2, opponents: [easy]}",
)

FEW = ("--set", "evaluation.final_deals=2")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of seeds 3 and 5, each trained alone, in the folders 3 and 5. Do not write to them."""
    folder = tmp_path_factory.mktemp("alone")
    for seed in (3, 5):
        run = train(recipe(*SHORT, f"seed={seed}"), folder / str(seed), progress=False)
        assert run.is_finished
    return folder


@pytest.fixture
def plain(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no pictures."""
    monkeypatch.setattr(training, "plot", lambda *_: None)
    monkeypatch.setattr(report, "draw_curves", lambda *_: None)


def train_here(folder: Path, *settings: str, seeds: Any = (3, 5)) -> SeedsResult:
    """Train in this process."""
    return train_seeds(recipe(*SHORT, *settings), folder, seeds, workers=1, progress=False)


# ---- the same runs -------------------------------------------------------------------------------
def test_seeds_match_single_runs_and_train_once(alone, tmp_path, plain, monkeypatch):
    result = train_here(tmp_path)
    assert result.is_finished
    assert [(run.config.seed, run.path) for run in result.runs] == [
        (3, tmp_path / "seed-3"),
        (5, tmp_path / "seed-5"),
    ]
    for seed in (3, 5):
        assert_same_history(tmp_path / f"seed-{seed}", alone / str(seed))
    monkeypatch.setattr(Trainer, "run", None)  # which ends every run that begins
    assert train_here(tmp_path).to_json() == result.to_json()
    table, _, files = str(result).rpartition("\nruns:")
    assert table == str(result.table())
    assert files.split()[0] == str(tmp_path)


def test_seeds_follow_no_link(alone, tmp_path, plain):
    folder, outside = tmp_path / "seeds", tmp_path / "outside"
    shutil.copytree(alone / "3", folder / "seed-3")
    figures = [evaluation(1000, 1.0)]
    (folder / "seed-3" / runs.EVALUATION_NAME).write_text(json.dumps(figures))
    outside.mkdir()
    for name in (report.SEEDS_NAME, training.STOP_NAME, runs.LOCK_NAME):
        (outside / name).write_bytes(b"mine")
        (folder / name).symlink_to(outside / name)
    (folder / "seed-5").symlink_to(outside)
    with raises_hearts_error(CheckpointError, "run", "seed-5"):
        train_here(folder)
    (folder / "seed-5").unlink()
    assert train_here(folder, seeds=[3]).is_finished
    assert (
        json.loads((folder / report.SEEDS_NAME).read_text())["seeds"][0]["evaluations"] == figures
    )
    assert {path.read_bytes() for path in outside.iterdir()} == {b"mine"}
    assert not any(path.is_symlink() for path in folder.iterdir())


def test_final_evaluation_has_deals_of_its_own(tmp_path, plain):
    (found,) = train_here(tmp_path, seeds=[3]).runs
    learning = {row["seed"] for row in found.of_kind("evaluation")}
    assert {row["seed"] for row in found.final}.isdisjoint(learning)


def test_stopped_seeds_resume_by_the_same_call(alone, tmp_path, plain, monkeypatch):
    with monkeypatch.context() as patched:
        on_update(patched, stop, 2)
        result = train_here(tmp_path)
    assert (result.is_finished, result.signal_number) == (False, signal.SIGINT)
    assert [run.config.seed for run in result.runs] == [3]
    assert not (tmp_path / training.STOP_NAME).exists()
    assert train_here(tmp_path).is_finished
    for seed in (3, 5):
        assert_same_history(tmp_path / f"seed-{seed}", alone / str(seed))


def test_stop_in_final_evaluation_leaves_it_for_later(tmp_path, plain, monkeypatch):
    evaluate = training.evaluate_run

    def stopped(run_dir: Path, **settings: Any) -> Any:
        stop(number=signal.SIGTERM)
        return evaluate(run_dir, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(training, "evaluate_run", stopped)
        result = train_here(tmp_path, seeds=[3])
    assert (result.is_finished, result.signal_number) == (False, signal.SIGTERM)
    assert result.runs[0].final == []
    assert train_here(tmp_path, seeds=[3]).is_finished


def test_failing_seed_lets_the_others_finish(tmp_path, plain, monkeypatch):
    run = SeedRuns._run

    def failing(self: SeedRuns, seed: int) -> int:
        if seed == 3:
            raise CheckpointError("run: it failed; try again")
        return run(self, seed)

    monkeypatch.setattr(SeedRuns, "_run", failing)
    with raises_hearts_error(CheckpointError, "run"):
        train_here(tmp_path)
    assert runs.final_evaluation(tmp_path / "seed-5")


@pytest.mark.parametrize(
    ("module", "name"),
    [(runs, "save_state"), (training, "write_json"), (SeedsResult, "write")],
    ids=["state", "evaluation", "figures of all"],
)
def test_full_disk_says_how_to_continue_all(tmp_path, plain, monkeypatch, module, name):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some.file")

    with monkeypatch.context() as patched:
        patched.setattr(module, name, full)
        with raises_hearts_error(CheckpointError, "run", "some.file", hint="all seeds") as caught:
            train_here(tmp_path)
        assert "--resume" not in str(caught.value)
    assert train_here(tmp_path).is_finished


def test_seeds_with_changed_settings_raise(tmp_path, plain):
    train_here(tmp_path, seeds=[3])
    before = (tmp_path / "seed-3" / runs.CONFIG_NAME).read_bytes()
    with raises_hearts_error(ConfigError, "ppo.ent_coef", "seed-3"):
        train_here(tmp_path, "ppo.ent_coef=0.5")
    with raises_hearts_error(ConfigError, "run", "seed-3"):
        train_here(tmp_path / "seed-3")
    assert (tmp_path / "seed-3" / runs.CONFIG_NAME).read_bytes() == before
    assert not (tmp_path / "seed-5").exists()


# ---- table and band ------------------------------------------------------------------------------
def test_table_and_json_have_seeds_mean_and_deviation(tmp_path, quick, capsys):
    config = tmp_path / "short.yaml"
    config.write_text(recipe(*SHORT).model_copy(update={"name": "short"}).to_yaml())
    words = ["train", str(config), "--run", str(tmp_path / "all"), "--seeds", "3,5"]
    shown = run(*words, "--workers", "1", "--json")
    assert shown.exit_code == 0, shown.stderr
    record = json.loads(shown.stdout)
    margins = [[row["margin"] for row in one["evaluations"]] for one in record["seeds"]]
    for place, one in enumerate(record["spread"]):
        low, high = sorted(found[place] for found in margins)
        assert one["mean"] == pytest.approx((low + high) / 2)
        assert one["sd"] == pytest.approx((high - low) / 2**0.5)
    stored = json.loads((tmp_path / "all" / SEEDS_NAME).read_bytes())
    assert {name: record[name] for name in stored} == stored
    firsts = [line.split()[:1] for line in shown.stderr.splitlines()]
    places = [firsts.index([first]) for first in ("seed", "3", "5", "mean")]
    assert places == sorted(places)
    assert (tmp_path / "all" / runs.CURVE_NAME).read_bytes().startswith(b"\x89PNG")


def test_band_covers_the_rounds_of_all_runs():
    first = [evaluation(0, -4.0), evaluation(1000, 1.0) | {"round": 1}]
    second = [evaluation(0, -2.0), evaluation(1200, 4.0) | {"round": 1}]
    longer = [*second, evaluation(3000, 9.0) | {"round": 2}]
    (curve,) = band([History(first), History(longer)])
    assert curve.decisions == [0, 1100]
    sd = [2**0.5, 3 / 2**0.5]
    expected = [[mean, mean - d, mean + d] for mean, d in zip((-3.0, 2.5), sd, strict=True)]
    assert curve.values == pytest.approx(np.array(expected))


def test_seed_option_sets_the_seed(tmp_path, plain):
    config, file = tmp_path / "short.yaml", tmp_path / "seed"
    config.write_text(recipe("budget.decisions=72", "evaluation.times=0").to_yaml())
    file.write_text("11\n")
    for text, seed in (("7", 7), (f"@{file}", 11)):
        shown = run("train", config, "--run", tmp_path / str(seed), "--seed", text, *FEW)
        assert shown.exit_code == 0, shown.stderr
        assert runs.read_run(tmp_path / str(seed)).config.seed == seed


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "argument", "value"),
    [
        (["--seeds", "4-0"], "--seeds", "4-0"),
        (["--seeds", ""], "--seeds", "''"),
        (["--seeds", "0,2,0"], "seeds", "[0, 2, 0]"),
        (["--seeds", "0-1000"], "seeds", "1000"),
        (["--seeds", "0-1", "--set", "seed=3"], "--set", "seed=3"),
        (["--seeds", "0-1", "--resume", "runs/demo"], "--resume", "--seeds"),
        (["--seeds", "0-1", "--workers", "0"], "workers", "0"),
        (["--seeds", "0-1", "--backend", "dask"], "backend", "dask"),
        (["--workers", "2"], "--workers", "--seeds"),
        (["--seed", "3", "--seeds", "0-1"], "--seed", "--seeds"),
        (["--seed", "3", "--set", "seed=3"], "--set", "seed=3"),
        (["--seed", "3", "--resume", "runs/demo"], "--seed", "resumed"),
        (["--seed", "-1"], "--seed", "-1"),
        (["--seed", "2147483648"], "--seed", "2147483648"),
        (["--seed", "one"], "--seed", "one"),
    ],
)
def test_mistakes_name_option_value_and_fix(words, argument, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = [] if "--resume" in words else ["smoke"]
    mistake(run("train", *config, *words), argument, value)
    assert list(tmp_path.iterdir()) == []


ODD_SEEDS = [[], [0, 0], [-1], [0.5], ["a"], [True], 5, "0-4", range(1001), range(10**30)]
ODD_SEEDS += [
    b"2C",
    bytearray(b"2C"),
    memoryview(b"2C"),
    {0: 1},
    np.array([0.5]),
    np.array([[1, 2]]),
]


@pytest.mark.parametrize("seeds", [*ODD_SEEDS, None])
def test_check_seeds_with_invalid_seeds_raises(seeds):
    with raises_hearts_error(ConfigError, "seeds"):
        check_seeds(seeds)


# ---- locks ---------------------------------------------------------------------------------------
@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_remote_lock_without_renewal_becomes_free(tmp_path):
    lock = tmp_path / runs.LOCK_NAME
    lock.write_text("12 on elsewhere\n")
    with raises_hearts_error(CheckpointError, "run", "12 on elsewhere"), runs.hold_run(tmp_path):
        pass
    past = time.time() - 2 * runs.LEASE
    os.utime(lock, (past, past))
    with runs.hold_run(tmp_path):
        assert lock.read_text().startswith(f"{os.getpid()} on ")


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_held_lock_is_renewed_and_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_RENEWED_EVERY", 0.001)
    lock = tmp_path / runs.LOCK_NAME
    with runs.hold_run(tmp_path):
        os.utime(lock, (0, 0))
        wait_until(lambda: lock.stat().st_mtime > 0)
    lock.write_text("12 on elsewhere\n")
    waited = []
    monkeypatch.setattr(runs.time, "sleep", lambda _: waited.append(lock.unlink()))
    with runs.hold_run(tmp_path, patience=60.0):
        assert waited == [None]


# ---- processes -----------------------------------------------------------------------------------
LONG = (
    "env={rules: mini, num_envs: 256, reward: trick}",
    "ppo={num_steps: 4, batch_size: 256, num_epochs: 2}",
    "opponents={self: 1}",
    "budget.decisions=60000",
    "evaluation={times: 3, deals: 50, final_deals: 50, opponents: [standard]}",
    "checkpoint.every_seconds=0.2",
)
SEEDS = range(3)


@pytest.fixture(scope="module")
def long_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of all seeds, each trained alone."""
    folder = tmp_path_factory.mktemp("alone")
    for seed in SEEDS:
        run = train(recipe(*LONG, f"seed={seed}"), folder / f"seed-{seed}", progress=False)
        assert run.is_finished
    return folder


def train_apart(folder: Path, backend: str) -> SeedsResult:
    """Train in two processes."""
    config = recipe(*LONG)
    return train(config, folder, seeds=SEEDS, workers=2, backend=backend, progress=False)


def assert_same_seeds(folder: Path, alone: Path) -> None:
    for seed in SEEDS:
        assert_same_history(folder / f"seed-{seed}", alone / f"seed-{seed}")


def starts(folder: Path) -> int:
    """Count the starts and resumptions of all runs."""
    states = [runs.load_state(folder / f"seed-{seed}" / runs.STATE_NAME) for seed in SEEDS]
    return sum(state.counters.starts for state in states)


def trainers(folder: Path) -> list[int]:
    """The processes that train now, and have made some updates."""
    found = []
    for run_dir in (folder / f"seed-{seed}" for seed in SEEDS):
        with contextlib.suppress(OSError, ValueError):
            updates = (run_dir / runs.METRICS_NAME).read_text().count('"update"')
            if updates > 10 and is_held(run_dir / runs.LOCK_NAME):
                found.append(int((run_dir / runs.LOCK_NAME).read_text().split()[0]))
    return found


def once_two_train(folder: Path, action: Callable[[list[int]], object]) -> threading.Thread:
    """Call `action` with the training processes as soon as there are two."""

    def act() -> None:
        found: list[int] = []

        def two() -> bool:
            found[:] = trainers(folder)
            return len(found) == 2

        wait_until(two)
        action(found)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_run_of_a_killed_process_is_resumed(long_alone, tmp_path):
    killer = once_two_train(tmp_path, lambda found: os.kill(found[0], signal.SIGKILL))
    assert train_apart(tmp_path, "local").is_finished
    assert not killer.is_alive()
    assert starts(tmp_path) > len(SEEDS)
    assert_same_seeds(tmp_path, long_alone)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_seeds_and_same_command_resumes(long_alone, tmp_path, number):
    config, folder = tmp_path / "long.yaml", tmp_path / "all"
    config.write_text(recipe(*LONG).to_yaml())
    words = ["train", str(config), "--run", str(folder), "--seeds", "0-2", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from hearts_train.cli import main; main()", *words],
        env=python_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, number)],
    )
    once_two_train(folder, lambda _: process.send_signal(number)).join()
    _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert "the same command continues" in errors
    before = starts(folder) if (folder / "seed-2" / runs.STATE_NAME).exists() else 2
    shown = run(*words)
    assert shown.exit_code == 0, shown.stderr
    assert starts(folder) > before
    assert_same_seeds(folder, long_alone)


@pytest.mark.slow
def test_ray_resumes_runs_of_a_lost_machine(long_alone, tmp_path):
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        killer = once_two_train(
            tmp_path, lambda _: cluster.remove_node(second, allow_graceful=False)
        )
        assert train_apart(tmp_path, "ray").is_finished
        assert not killer.is_alive()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert starts(tmp_path) > len(SEEDS)
    assert_same_seeds(tmp_path, long_alone)


@pytest.mark.slow
def test_machine_without_the_folder_is_named(tmp_path):
    group = SeedRuns(recipe(), Path("runs/demo"), None, is_shown=False, place=str(tmp_path / "x"))
    number, error = group(0)
    assert number == 0
    assert isinstance(error, HeartsError)
    assert "--run" in str(error)
