"""A small training run for tests, its results, and fixtures to import."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from hearts_train.learn import log, loop, runs
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.ppo import PPO
from hearts_train.learn.training import train
from tests.faults import Died


def recipe(*overrides: str) -> TrainConfig:
    """A run of ten updates with every kind of opponent, most of them between two deals."""
    return load_config(
        "smoke",
        [
            "threads=1",
            "env={rules: mini, num_envs: 24, reward: trick}",
            "ppo={num_steps: 3, batch_size: 24, num_epochs: 2}",
            "network={trunk: [8], policy: [8], value: [4]}",
            "opponents={self: 3, easy: 1, pro: 1}",
            "self_play={keep: 2, keep_every: 2}",
            "budget.decisions=720",
            "evaluation={times: 5, deals: 2, opponents: [standard, easy]}",
            "checkpoint.every_seconds=1e9",
            *overrides,
        ],
    )


MOST = {
    "threads": 1,
    "env.num_envs": 16,
    "ppo.num_steps": 8,
    "ppo.batch_size": 32,
    "pretraining.positions": 64,
    "evaluation.times": 1,
    "evaluation.deals": 2,
    "evaluation.final_deals": 2,
}
"""The largest numbers that `smaller` leaves in a config."""


def smaller(name: str, updates: int = 2) -> list[str]:
    """Return overrides that reduce the numbers of a config to `MOST`, and its length to `updates`.

    The algorithm, the encoder, the network, the magnet and the opponents stay. Of `mini`, whose
    tree takes many seconds, three cards are dealt instead of five.
    """
    given = load_config(name).model_dump()
    fewer: dict[str, Any] = {}
    for key, most in MOST.items():
        section, _, setting = key.rpartition(".")
        fewer[key] = min(most, (given[section] if section else given)[setting])
    fewer["budget.decisions"] = updates * fewer["env.num_envs"] * fewer["ppo.num_steps"]
    if given["env"]["rules"] == "mini":
        fewer["env.rules"] = "mini hand_size=3"
    return [f"{key}={value}" for key, value in fewer.items()]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip pictures and TensorBoard, which take longer than the training."""
    monkeypatch.setattr(loop, "draw_curves", lambda *_: None)
    monkeypatch.setattr(log, "_tensorboard", lambda *_: None)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run, one per process. Do not write to it."""
    folder = tmp_path_factory.getbasetemp() / "whole run"
    if not folder.exists():  # each file that imports a fixture has one of its own
        assert train(recipe(), folder, progress=False).updates == 10
    return folder


def on_update(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[PPO], object], *updates: int
) -> None:
    """Call `action` after these updates, or after each, before logging and saving."""
    update = PPO.update

    def watched(self: PPO) -> dict[str, Any]:
        row = update(self)
        if not updates or self.counters.updates in updates:
            action(self)
        return row

    monkeypatch.setattr(PPO, "update", watched)


def stop(_: object = None, number: int = signal.SIGINT) -> None:
    """Send this process a signal, as Ctrl-C does."""
    os.kill(os.getpid(), number)


def die(*_: object) -> None:
    """Stand for a kill at this place."""
    raise Died


def history(folder: Path) -> dict[str, Any]:
    """Return all results of a run except its times."""
    state = runs.load_state(folder / runs.STATE_NAME)
    clock = dict.fromkeys(("seconds", "learning_seconds"), 0)
    counters = vars(state.counters) | clock | {"starts": 0}
    rows = [
        {k: v for k, v in row.items() if k not in ("seconds", "decisions_per_second")}
        for row in runs.read_metrics(folder)
    ]
    kept = sorted((folder / runs.CHECKPOINTS_NAME).iterdir())
    files = {path.name: load_file(path) for path in [folder / runs.CHECKPOINT_NAME, *kept]}
    tensors = {f"{file}/{n}": a for file, found in files.items() for n, a in found.items()}
    tensors |= state.tensors
    return {
        "counters": counters,
        "rows": rows,
        "games": state.games,
        "tensors": {n: (a.dtype, a.shape, a.tobytes()) for n, a in tensors.items()},
    }


def assert_same_history(one: Path, two: Path) -> None:
    """Check that two runs have equal results, to the bit."""
    a, b = history(one), history(two)
    for name in a:
        if name != "tensors":
            assert a[name] == b[name], name
    differing = [
        n for n in a["tensors"] | b["tensors"] if a["tensors"].get(n) != b["tensors"].get(n)
    ]
    assert not differing
