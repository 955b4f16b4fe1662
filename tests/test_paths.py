"""Every public function that takes a path refuses what is none, and names the argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from hearts_agents import save_policy
from hearts_env import HeartsError
from hearts_env.solve.equilibrium import Equilibrium, Solver, load
from hearts_train import (
    benchmark,
    compare,
    evaluate,
    exploit,
    load_config,
    plot,
    solve,
    tournament,
    train,
)
from hearts_train.measure.benchmark import read_benchmark
from tests.refusals import raises_hearts_error

LAYERS = [(np.zeros((8, 90)), None)]  # of `micro`
ODD: list[Any] = [5, b"x", 3.5, [], "a\0b"]


@cache
def solved() -> Equilibrium:
    return solve("micro", iterations=1)


USES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "save_policy": ("path", lambda path: save_policy(LAYERS, path, "micro", greedy=True)),
    "plot": ("path", lambda path: plot([], path)),
    "load": ("path", load),
    "Solver.load": ("path", Solver.load),
    "Equilibrium.save": ("path", lambda path: solved().save(path)),
    "read_benchmark": ("file", read_benchmark),
    "solve": ("save_to", lambda path: solve("micro", iterations=1, save_to=path)),
    "load_config": ("config", load_config),
    "train": ("run_dir", lambda path: train(None, path)),
    "train, resume": ("resume", lambda path: train(resume=path)),
}
for done in (
    partial(evaluate, "easy", "pro", "micro", 2),
    partial(compare, "easy", "pro", "micro", deals=64),
    partial(tournament, ["easy", "pro"], "micro", 2),
    partial(benchmark, "easy", "micro", deals=2),
    partial(exploit, "easy", "two_player", ["lbr"], deals=2),
):
    for name in ("save", "resume"):
        USES[f"{done.func.__name__}, {name}"] = name, lambda path, d=done, n=name: d(**{n: path})
NEEDED = ["save_policy", "plot", "load", "Solver.load", "Equilibrium.save", "read_benchmark"]


@pytest.mark.parametrize("use", USES)
def test_odd_path_is_refused_by_its_argument(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argument, call = USES[use]
    for odd in [*ODD, *[None] * (use in NEEDED)]:
        with raises_hearts_error(HeartsError, argument):
            call(odd)
    assert list(tmp_path.iterdir()) == []


def test_policy_for_a_missing_folder_is_refused(tmp_path):
    with raises_hearts_error(HeartsError, "path", "gone"):
        save_policy(LAYERS, tmp_path / "gone" / "player", "micro", greedy=True)
