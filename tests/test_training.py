"""Training: the files and output of a run, opponents, rates and networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_env import BatchGame, HeartsError
from hearts_train import evaluate
from hearts_train.learn import log, runs
from hearts_train.learn.config_files import load_config
from hearts_train.learn.loop import Trainer
from hearts_train.learn.training import train
from tests.refusals import raises_hearts_error
from tests.test_fair_play import assert_no_number_leads_to_the_deals
from tests.training_runs import quick as quick
from tests.training_runs import recipe


def smoke(*overrides: str):
    return load_config("smoke", ["threads=1", *overrides])


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [row for row in runs.read_metrics(folder) if row["kind"] == kind]


def test_run_folder_has_all_files(tmp_path, capsys):
    config = smoke()
    run = train(config, tmp_path / "smoke")
    assert run.agent().checkpoint.training["decisions"] == run.decisions
    text = str(run)
    for one in (
        *config.evaluation.opponents,
        f"{run.decisions:,} decisions",
        run.checkpoint,
        run.curve,
    ):
        assert str(one) in text
    lines = [line for line in capsys.readouterr().err.splitlines() if "M decisions" in line]
    first = [" 0.00 M decisions (untrained network): " in line for line in lines]
    assert first == [True] * (len(lines) // 3) + [False] * (2 * len(lines) // 3)
    names = {path.name for path in run.run_dir.iterdir()}
    assert names == {
        runs.CONFIG_NAME,
        runs.CHECKPOINT_NAME,
        runs.STATE_NAME,
        runs.CARD_NAME,
        runs.METRICS_NAME,
        runs.CURVE_NAME,
        log.TENSORBOARD_NAME,
        runs.CHECKPOINTS_NAME,
    }
    assert load_config(run.run_dir / runs.CONFIG_NAME) == config.decided()
    assert run.curve.read_bytes().startswith(b"\x89PNG")
    updates = rows(run.run_dir, "update")
    assert [row["updates"] for row in updates] == list(range(1, run.updates + 1))
    assert updates[-1]["decisions"] == run.decisions >= config.budget.decisions
    assert run.decisions_per_second * run.learning_seconds == pytest.approx(run.decisions)
    assert run.learning_seconds <= run.seconds
    assert [row["round"] for row in rows(run.run_dir, "evaluation")] == [0, 1, 2]
    assert any("tfevents" in path.name for path in (run.run_dir / log.TENSORBOARD_NAME).iterdir())


def test_result_has_the_trained_agent(tmp_path, quick):
    run = train(recipe("budget.decisions=72", "evaluation.times=0"), tmp_path, progress=False)
    views = BatchGame("mini", 20, seed=1).views()
    for greedy in (True, False):
        expected = make_agent(run.run_dir, greedy=greedy).action_probs(views)
        assert np.array_equal(run.agent(greedy=greedy).action_probs(views), expected)
    draws = [run.agent(5, greedy=False).act_batch(views).tolist() for _ in range(2)]
    assert draws[0] == draws[1]
    assert evaluate(run.agent(), "easy", deals=2).rules == "mini"


def test_opponents_and_snapshots_set_the_pool(tmp_path):
    config = smoke(
        "opponents={self: 3, standard: 1}",
        "self_play.keep=2",
        "self_play.keep_every=2",
        "self_play.latest_share=0.5",
        "budget.decisions=2560",
    )
    trainer = Trainer(config)

    def weights():
        return {entry.name: entry.weight for entry in trainer.learner.opponents.pool.entries}

    assert weights() == {"standard": 1.0, "self 0": 3.0, "self 1": 0.0, "self 2": 0.0}
    trainer.learner.warm_up()
    for _ in range(5):
        trainer.learner.update()
    assert trainer.learner.opponents.num_past == 2
    assert weights() == {"standard": 1.0, "self 0": 1.5, "self 1": 0.75, "self 2": 0.75}


def test_opponent_seeds_do_not_reveal_the_deals(monkeypatch):
    def play(agent, seed):
        Trainer(smoke(f"seed={seed}", f"opponents={{{agent}: 1}}"))

    assert_no_number_leads_to_the_deals(play, monkeypatch)


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("env.rules=micro hand_sizes=3", "rules hand_sizes"),
        ("env.observation=flatt", "observation flatt"),
        ("opponents={standart: 1}", "agent standart"),
        ("evaluation.opponents=[prro]", "agent prro"),
        ("evaluation.opponents=[easy,champion]", "evaluation.opponents"),
        ("env.seat=7", "seat"),
    ],
)
def test_train_mistakes_leave_no_files(tmp_path, override, error):
    with raises_hearts_error(HeartsError, *error.split()):
        train(smoke(override), tmp_path / "run", progress=False)
    assert not list(tmp_path.iterdir())


def test_train_takes_a_config_not_its_name(tmp_path):
    with raises_hearts_error(HeartsError, "config", hint="load_config"):
        train("smoke", tmp_path / "run")


@pytest.mark.slow
def test_evaluations_do_not_change_training(tmp_path):
    short = ["budget.decisions=1500", "opponents={easy: 1, self: 1}"]
    one = train(smoke(*short, "evaluation.times=0"), tmp_path / "a", progress=False)
    two = train(smoke(*short, "evaluation.times=5"), tmp_path / "b", progress=False)
    weights = [read_checkpoint(Path(result.checkpoint))[0] for result in (one, two)]
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])
