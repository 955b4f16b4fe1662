"""Training that is stopped, killed, doubled or diverges: nothing is lost, the end is the same."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.programs.process import python_environment
from hearts_env import CheckpointError
from hearts_env.support.files import held
from hearts_env.support.interrupts import Interrupted
from hearts_train.cli.training import train_and_evaluate
from hearts_train.learn import runs, training
from hearts_train.learn.config import ConfigError
from hearts_train.learn.learner import DivergenceError
from hearts_train.learn.loop import Trainer
from hearts_train.learn.ppo import PPO
from hearts_train.learn.training import train, train_run
from tests.faults import Died
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run
from tests.training_runs import assert_same_history, die, history, on_update, recipe, stop
from tests.training_runs import quick as quick
from tests.training_runs import whole as whole

SIGNALS = [signal.SIGINT, signal.SIGTERM] + [signal.SIGHUP] * hasattr(signal, "SIGHUP")


# ---- the same to the last bit --------------------------------------------------------------------
ALL = tuple(range(1, 10))
IN_AN_EXCHANGE = (
    "env={rules: classic, num_envs: 12, reward: margin, skip_forced: false}",
    "ppo={num_steps: 2, batch_size: 24, num_epochs: 1}",
    "opponents={standard: 1, self: 1}",
    "budget.decisions=192",
    "evaluation.times=1",
)
SHORT = "budget.decisions=288"


@quick_cases(
    ("settings", "stops"),
    [
        ((), (1,)),
        ((), (2, 3, 7)),
        ((), ALL),
        (("threads=2", SHORT), (1, 3)),
        (("algorithm=vrpo", SHORT), (1, 3)),
        (IN_AN_EXCHANGE, ALL[:7]),
    ],
    [((), (2, 3, 7))],
)
def test_stopped_and_resumed_run_equals_an_uninterrupted_one(
    whole, tmp_path, monkeypatch, quick, settings, stops
):
    if settings:
        whole = tmp_path / "whole"
        train(recipe(*settings), whole, progress=False)
    on_update(monkeypatch, stop, *stops)
    folder = tmp_path / "run"
    result = train_run(recipe(*settings), folder)
    for count in stops:
        assert (result.updates, result.is_finished) == (count, False)
        assert result.signal_number == signal.SIGINT
        result = train_run(None, None, folder)
    assert result.is_finished
    assert_same_history(folder, whole)


@quick_cases("saves", [0.0001, 1e9], [0.0001], ids=["saved each update", "saved at the start"])
def test_killed_and_resumed_run_equals_an_uninterrupted_one(
    whole, tmp_path, monkeypatch, quick, saves
):
    kills = [3, 3, 6, 8]

    def kill(learner: PPO) -> None:
        if learner.counters.updates == [*kills, 0][0]:
            del kills[0]
            die()

    on_update(monkeypatch, kill)
    folder = tmp_path / "run"
    config = recipe(f"checkpoint.every_seconds={saves}")
    with pytest.raises(Died):
        train(config, folder, progress=False)
    for _ in range(3):
        with pytest.raises(Died):
            train(resume=folder, progress=False)
        log = (folder / runs.METRICS_NAME).read_bytes()
        (folder / runs.METRICS_NAME).write_bytes(log + b'{"kind": "update", "deci')  # torn
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)


def deals_of(trainer: Trainer) -> set[int]:
    """The seeds of the deals under way."""
    return set(trainer.learner.games.batch.seeds.tolist())


@pytest.mark.slow
def test_resuming_with_changed_games_deals_new_ones(tmp_path, quick):
    first = deals_of(Trainer(recipe()))
    folder = tmp_path / "run"
    train(recipe("budget.decisions=72"), folder, progress=False)
    config = recipe("env.num_envs=36", "opponents={standard: 1}")
    trainer = Trainer(config, runs.load_state(folder / runs.STATE_NAME))
    assert len(deals_of(trainer)) == 36
    assert not deals_of(trainer) & first
    assert train(config, resume=folder, progress=False).is_finished
    more = recipe("threads=2", "env.num_envs=36", "budget.decisions=900")
    assert train(more, resume=folder, progress=False).is_finished


def test_larger_budget_continues_a_finished_run(whole, tmp_path, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    before = history(folder)
    assert train(resume=folder, progress=False).updates == 10
    assert history(folder) == before
    assert train(recipe("budget.decisions=1000"), resume=folder, progress=False).updates == 14
    rows = runs.read_metrics(folder)
    assert [row["updates"] for row in rows if row["kind"] == "update"] == list(range(1, 15))
    met = [row for row in rows if row.get("opponent") == "standard"]
    # Five times over 1000 decisions: those past 800 and 1000 are left.
    assert [row["decisions"] for row in met] == [0, 144, 288, 432, 576, 720, 864, 1008]
    assert [row["round"] for row in met] == list(range(8))
    config = recipe("budget.decisions=1080", "evaluation.times=0")
    assert train(config, resume=folder, progress=False).updates == 15
    # Nothing is left to learn of a smaller budget, but its player has not been evaluated.
    assert train(recipe("budget.decisions=500"), resume=folder, progress=False).updates == 15
    last = runs.read_metrics(folder)[-1]
    assert (last["kind"], last["decisions"]) == ("evaluation", 1080)
    config = recipe("budget.decisions=1152", "evaluation.opponents=[]")
    assert train(config, resume=folder, progress=False).updates == 16


def test_resuming_removes_the_old_final_evaluation(whole, tmp_path, monkeypatch, quick):
    folder = shutil.copytree(whole, tmp_path / "run")
    row = {"opponent": "easy", "margin": 1.0, "ci95": [0.5, 1.5], "deals": 2, "seed": 1}
    (folder / runs.EVALUATION_NAME).write_text(json.dumps([row]))
    assert runs.final_evaluation(folder)
    on_update(monkeypatch, stop, 11)
    train_run(recipe("budget.decisions=1000"), None, folder)
    assert runs.final_evaluation(folder) == []


@pytest.mark.slow
def test_players_later_than_the_state_are_removed(tmp_path, monkeypatch, quick):
    folder = tmp_path / "run"

    def kept() -> list[int]:
        return sorted(int(path.stem) for path in (folder / runs.CHECKPOINTS_NAME).iterdir())

    with monkeypatch.context() as patched:
        on_update(patched, die, 8)
        with pytest.raises(Died):
            train(recipe(), folder, progress=False)  # saved at the start alone
    assert kept() == [0, 144, 288, 432]
    assert train(recipe("evaluation.times=1"), resume=folder, progress=False).is_finished
    assert kept() == [0, 720]


def test_final_evaluation_holds_the_run(whole, tmp_path, monkeypatch, quick):
    def evaluated(run_dir: Path, **_: Any) -> Any:
        with raises_hearts_error(CheckpointError, "run"), runs.hold_run(run_dir):
            pass
        die()

    monkeypatch.setattr(training, "evaluate_run", evaluated)
    folder = shutil.copytree(whole, tmp_path / "run")
    with pytest.raises(Died):
        train_and_evaluate(None, [], folder, None, as_json=False)


# ---- one trainer a folder ------------------------------------------------------------------------
@pytest.mark.slow
def test_second_trainer_in_a_folder_is_refused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    before = {path: path.read_bytes() for path in folder.glob("*.*") if path.is_file()}
    with held(folder / runs.LOCK_NAME, "test"):
        with raises_hearts_error(CheckpointError, "run", os.getpid()):
            train(recipe("budget.decisions=5000"), resume=folder, progress=False)
        with raises_hearts_error(CheckpointError, "run", os.getpid()):
            train(recipe(), folder, progress=False)
        (tmp_path / "new").mkdir()
        with held(tmp_path / "new" / runs.LOCK_NAME, "test"), pytest.raises(CheckpointError):
            train(recipe(), tmp_path / "new", progress=False)
        reported = run("train", "--resume", str(folder))
        assert reported.exit_code == 2
        assert reported.stderr.startswith("error: run:")
        assert reported.stderr.count("\n") == 1
    assert all(path.read_bytes() == content for path, content in before.items())
    assert train(resume=folder, progress=False).is_finished


# ---- starts that were killed ---------------------------------------------------------------------
def test_start_killed_before_first_save_restarts(whole, tmp_path, monkeypatch, quick):
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(runs, "save_state", die)
        with pytest.raises(Died):
            train(recipe(), folder, progress=False)
    assert not (folder / runs.STATE_NAME).exists()
    with raises_hearts_error(ConfigError, "run", "--resume"):
        train(recipe(), folder, progress=False)
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)


def test_start_failing_while_compiling_leaves_nothing(tmp_path, monkeypatch):
    made = []

    def look(*_: Any) -> None:
        made.extend(path.name for path in (tmp_path / "run").iterdir())
        die()

    monkeypatch.setattr(PPO, "warm_up", look)
    with pytest.raises(Died):
        train(recipe(), tmp_path / "run", progress=False)
    assert made == [runs.LOCK_NAME]  # which a kill leaves
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / runs.LOCK_NAME).touch()
    with raises_hearts_error(CheckpointError, "resume", runs.CONFIG_NAME):
        train(resume=tmp_path / "run", progress=False)
    with pytest.raises(Died):
        train(recipe(), tmp_path / "run", progress=False)


# ---- signals -------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_saves_and_sets_exit_status(tmp_path, monkeypatch, quick, number):
    on_update(monkeypatch, lambda _: stop(number=number), 3)
    handlers = [signal.getsignal(n) for n in SIGNALS]
    config, folder = tmp_path / "kept.yaml", tmp_path / "run"
    config.write_text(recipe("evaluation.times=0").to_yaml())
    result = run("train", str(config), "--run", str(folder), "--json")
    assert [signal.getsignal(n) for n in SIGNALS] == handlers
    assert result.exit_code == 128 + number, result.stderr
    assert f"hearts train --resume {folder}" in result.stderr
    state = runs.load_state(folder / runs.STATE_NAME)
    assert state.counters.updates == 3
    record = json.loads(result.stdout)
    assert (record["run"], record["decisions"]) == (str(folder), state.counters.decisions)
    assert (record["evaluations"], record["interrupted"]) == ([], True)
    make_agent(folder)


def test_signal_in_final_evaluation_keeps_the_json_record(whole, tmp_path, monkeypatch, quick):
    monkeypatch.setattr(training, "evaluate", lambda *_, **__: stop(number=signal.SIGTERM))
    folder = shutil.copytree(whole, tmp_path / "run")
    result = run("train", "--resume", str(folder), "--json")
    assert result.exit_code == 143, result.stderr
    record = json.loads(result.stdout)
    assert (record["evaluations"], record["interrupted"]) == ([], True)


def test_closed_terminal_does_not_prevent_saving(tmp_path, monkeypatch, quick):
    class Gone(io.StringIO):
        """A terminal after SIGHUP."""

        def write(self, text: str) -> int:
            if gone:
                raise OSError(5, "Input/output error")
            return len(text)

    def hang_up(_: PPO) -> None:
        gone.append(True)
        stop(number=signal.SIGHUP)

    gone: list[bool] = []
    monkeypatch.setattr(sys, "stderr", Gone())
    on_update(monkeypatch, hang_up, 3)
    result = train_run(recipe(), tmp_path / "run", progress=True)
    assert (result.updates, result.signal_number) == (3, signal.SIGHUP)
    assert runs.load_state(tmp_path / "run" / runs.STATE_NAME).counters.updates == 3


def test_signal_while_compiling_waits_for_the_save(tmp_path, monkeypatch, quick):
    warm_up = PPO.warm_up

    def interrupted(self: PPO) -> None:
        stop(number=signal.SIGTERM)
        warm_up(self)

    monkeypatch.setattr(PPO, "warm_up", interrupted)
    result = train_run(recipe(), tmp_path / "run")
    assert (result.updates, result.signal_number) == (0, signal.SIGTERM)
    assert runs.load_state(tmp_path / "run" / runs.STATE_NAME).counters.updates == 0


def test_signal_in_python_saves_and_raises(tmp_path, monkeypatch, quick):
    on_update(monkeypatch, stop, 2)
    with pytest.raises(KeyboardInterrupt) as caught:
        train(recipe(), tmp_path / "run", progress=False)
    call = str(caught.value).partition("continue with ")[2]
    result = eval(call, {"train": train})
    assert (result.updates, result.is_finished) == (10, True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("more", "run_dir"), [("", "run"), (", seeds=[3, 5], workers=1", "run/seed-3")]
)
def test_ctrl_c_ends_a_script(tmp_path, more, run_dir):
    script = (
        "import pytest, signal\n"
        "from hearts_train import train\n"
        "from tests.training_runs import on_update, recipe, stop\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "on_update(pytest.MonkeyPatch(), stop, 2)\n"
        f"train(recipe('evaluation.times=0'), 'run'{more})\n"
        "print('continued')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=python_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt: ")
    assert runs.load_state(tmp_path / run_dir / runs.STATE_NAME).counters.updates == 2


@pytest.mark.slow
def test_second_signal_stops_at_once(whole, tmp_path, monkeypatch, quick):
    def stop_twice(_: PPO) -> None:
        stop()
        stop(number=signal.SIGTERM)

    on_update(monkeypatch, stop_twice, 4)
    with pytest.raises(Interrupted) as caught:
        train(recipe(), tmp_path / "run", progress=False)
    assert caught.value.number == signal.SIGTERM
    monkeypatch.undo()
    assert train(resume=tmp_path / "run", progress=False).is_finished
    assert_same_history(tmp_path / "run", whole)


# ---- divergence ----------------------------------------------------------------------------------
@pytest.mark.slow
def test_diverging_run_keeps_its_last_good_player(tmp_path, monkeypatch, quick):
    def spoil(self: PPO) -> dict[str, Any]:
        row = learn(self)
        if self.counters.decisions == 5 * 72:
            with torch.no_grad():
                self.network.module.policy[-1].bias[2] = torch.nan
        return row

    learn = PPO.learn
    monkeypatch.setattr(PPO, "learn", spoil)
    folder = tmp_path / "run"
    config = recipe("checkpoint.every_seconds=0.0001")
    with raises_hearts_error(DivergenceError, "update 5", "ppo.learning_rate"):
        train(config, folder, progress=False)
    assert runs.load_state(folder / runs.STATE_NAME).counters.updates == 4
    _, meta = read_checkpoint(folder)
    assert meta.training["updates"] == 4
    make_agent(folder)
    monkeypatch.undo()
    assert train(resume=folder, progress=False).is_finished


def test_player_of_each_evaluation_is_kept(whole):
    rows = [r for r in runs.read_metrics(whole) if r.get("opponent") == "standard"]
    assert [row["decisions"] for row in rows] == [0, 144, 288, 432, 576, 720]
    files = [runs.checkpoint_path(whole, row["decisions"]) for row in rows]
    assert sorted((whole / runs.CHECKPOINTS_NAME).iterdir()) == files
    found = [read_checkpoint(path) for path in files]
    assert [meta.training["decisions"] for _, meta in found] == [r["decisions"] for r in rows]
    current, _ = read_checkpoint(whole)
    assert all(np.array_equal(found[-1][0][name], current[name]) for name in current)
