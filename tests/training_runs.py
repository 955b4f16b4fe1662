"""A small training run for tests, and all that it comes to; fixtures for whoever imports them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from hearts_train.learn import log, runs, training
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.learner import Learner
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
            "schedule="
            "[{until: 0.6, opponents: {self: 1, easy: 1}}, {opponents: {self: 2, pro: 1}}]",
            "self_play={keep: 2, keep_every: 2}",
            "budget.decisions=720",
            "evaluation={times: 5, deals: 2, opponents: [standard, easy]}",
            "checkpoint.every_seconds=1e9",
            *overrides,
        ],
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pictures and TensorBoard, which take longer than all the rest."""
    monkeypatch.setattr(training, "draw_run", lambda *_: None)
    monkeypatch.setattr(log, "_tensorboard", lambda *_: None)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed, one for all test files of a process; not to be written to."""
    folder = tmp_path_factory.getbasetemp() / "whole run"
    if not folder.exists():  # each file that imports a fixture has one of its own
        assert train(recipe(), folder, progress=False).updates == 10
    return folder


def bad_tensors(tensors: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tensors of a state with one thing wrong, by what is wrong."""
    weight, moment = "policy/trunk.0.weight", "optimizer/mean"
    cast, random = "games/0/cast", "games/0/order"
    last, rows = tensors["games/0/last"], tensors["games/0/rows/actions"]
    nexts = tensors["games/0/rows/nexts"]
    return {
        "a weight is missing": {n: a for n, a in tensors.items() if n != weight},
        "a weight is NaN": tensors | {weight: np.full_like(tensors[weight], np.nan)},
        "a weight is double": tensors | {weight: tensors[weight].astype(np.float64)},
        "a weight is transposed": tensors | {weight: np.ascontiguousarray(tensors[weight].T)},
        "a moment is infinite": tensors | {moment: np.full_like(tensors[moment], np.inf)},
        "a moment is missing": {n: a for n, a in tensors.items() if n != moment},
        "no snapshot": {n: a for n, a in tensors.items() if not n.startswith("snapshot/")},
        "a snapshot of another size": tensors | {"snapshot/0/policy.0.bias": np.zeros(3, "f4")},
        "a snapshot far away": tensors | {"snapshot/99/policy.0.bias": np.zeros(8, "f4")},
        "a snapshot without number": tensors | {"snapshot/²/policy.0.bias": np.zeros(8, "f4")},
        "no games": {n: a for n, a in tensors.items() if not n.startswith("games/")},
        "games of another size": tensors | {cast: np.zeros((3, 2), np.int64)},
        "an opponent that is not there": tensors | {cast: np.full_like(tensors[cast], 77)},
        "no random numbers": {n: a for n, a in tensors.items() if n != random},
        "a generator that is none": tensors | {random: np.zeros(6, np.uint64)},
        "a decision that waits twice": tensors | {"games/0/last": np.minimum(last, 3)},
        "decisions that are missing": tensors | {"games/0/rows/actions": rows[1:]},
        "an action that there is not": tensors | {"games/0/rows/actions": rows + 99},
        "a decision that waits for nothing": tensors | {"games/0/rows/nexts": nexts + 7},
        "steps before the first": tensors | {"optimizer/count": np.array(-1)},
        "no seed": tensors | {"games/0/seed": np.array(-1)},
    }


def on_update(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[Learner], object], *updates: int
) -> None:
    """Do something after these updates, or after each, before it is logged or saved."""
    update = Learner.update

    def watched(self: Learner) -> dict[str, Any]:
        row = update(self)
        if not updates or self.counters.updates in updates:
            action(self)
        return row

    monkeypatch.setattr(Learner, "update", watched)


def stop(_: object = None, number: int = signal.SIGINT) -> None:
    """Send this process a signal, as Ctrl-C does."""
    os.kill(os.getpid(), number)


def die(*_: object) -> None:
    """Stand for a kill at this place."""
    raise Died


def history(folder: Path) -> dict[str, Any]:
    """All that a run has come to, but for what its clock said."""
    state = runs.load_state(folder / runs.STATE_NAME)
    clock = dict.fromkeys(("seconds", "learning_seconds", "evaluated_seconds"), 0)
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
    """Refuse two runs that differ in one bit of all that."""
    a, b = history(one), history(two)
    for name in a:
        if name != "tensors":
            assert a[name] == b[name], name
    differing = [
        n for n in a["tensors"] | b["tensors"] if a["tensors"].get(n) != b["tensors"].get(n)
    ]
    assert not differing
