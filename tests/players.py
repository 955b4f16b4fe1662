"""Agents for tests: fixed ones, random networks, and code in a file."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hearts_agents.base import Agent
from hearts_agents.models.checkpoint import Checkpoint, save_checkpoint
from hearts_agents.models.network import Network, NetworkAgent
from hearts_env import Rules
from hearts_env.encoders import make_encoder

CODE = "class Mine:\n    def act(self, view):\n        return view.legal_actions()[{}]\n"
"""The code of an agent, to be formatted with the index of the legal action that it plays."""


def code_named(name: str, factory: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a name, ``MODULE:NAME``, by which a factory makes agents until the test ends."""
    monkeypatch.setattr(sys.modules[__name__], name, factory, raising=False)
    return f"{__name__}:{name}"


class Lowest:
    """Plays the legal action with the lowest number."""

    def act(self, view):
        return view.legal_actions()[0]


class Highest:
    """Plays the legal action with the highest number."""

    def act(self, view):
        return view.legal_actions()[-1]


class Noting(Lowest):
    """Notes the seeds of all players made of it."""

    seeds: ClassVar[list[int]] = []

    def reseed(self, seed):
        self.seeds.append(seed)


class Drawing(Agent):
    """Draws its cards and gives no probabilities."""

    name = "drawing"

    def __init__(self) -> None:
        self.reseed(0)

    def reseed(self, seed):
        self.rng = np.random.default_rng(seed)

    def act(self, view):
        return int(self.rng.choice(view.legal_actions()))


def random_weights(
    rules: Rules, *hidden: int, seed: int, encoder: str = "flat", spread: float = 1.0
):
    """Return the tensors of a random policy and the sizes of its layers."""
    rng = np.random.default_rng(seed)
    sizes = (make_encoder(encoder).size(rules), *hidden, rules.num_actions)
    tensors = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        tensors[f"policy.{i}.weight"] = rng.normal(0, spread, (outputs, inputs)).astype(np.float32)
        tensors[f"policy.{i}.bias"] = rng.normal(0, spread, outputs).astype(np.float32)
    return tensors, sizes


def network_player(rules: str | Rules = "mini", seed: int = 0, **options) -> NetworkAgent:
    """Return a player with random weights."""
    rules = Rules.make(rules)
    return NetworkAgent(Network(random_weights(rules, 16, seed=seed)[0]), rules, **options)


def write_player(path: Path, rules: str = "micro", encoder: str = "flat", **training) -> None:
    """Write the checkpoint of a player without hidden layers."""
    made = Rules.make(rules)
    tensors, sizes = random_weights(made, seed=0, encoder=encoder)
    save_checkpoint(path, tensors, Checkpoint(made, encoder, sizes, "relu", training))
