"""Snapshots of the learner's network as opponents, and how often each is met."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.envs.pool import OpponentPool
from hearts_agents.models.network import NetworkAgent
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import check_array
from hearts_env.support.errors import HeartsError
from hearts_train.learn.actor_critic import TorchNetwork
from hearts_train.learn.config import SELF, TrainConfig


class Snapshots:
    """The learner as it was: agent 0 the latest snapshot, the others earlier ones.

    Agents stay the same objects; a snapshot changes the network that one plays. A deal under way
    then ends against a newer opponent than it began with, which does no harm.
    """

    def __init__(
        self, config: TrainConfig, rules: Rules, encoder: Encoder, *, greedy: bool = False
    ) -> None:
        """Start with blank networks, until the first snapshot is taken.

        Args:
            config: the recipe.
            rules: of the games.
            encoder: of what the networks see.
            greedy: snapshots do what they prefer; False: they draw from the policy.
        """
        self.config = config
        self.kept = 0
        network = config.network
        ends = math.prod(encoder.space(rules).shape), rules.num_actions
        sizes = [ends[0], *network.trunk, *network.policy, ends[1]]
        blank: dict[str, NDArray[Any]] = {}
        for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            blank[f"policy.{i}.weight"] = np.zeros((outputs, inputs), np.float32)
            blank[f"policy.{i}.bias"] = np.zeros(outputs, np.float32)
        self.agents = [
            NetworkAgent(
                TorchNetwork(blank, network.activation),
                rules,
                encoder,
                greedy=greedy,
                seed=0,  # the environments seed their opponents themselves
            )
            for _ in range(1 + config.self_play.keep)
        ]

    def take(self, tensors: Mapping[str, NDArray[Any]], number: int) -> None:
        """Take the `number`-th snapshot (from 1) as the latest; every ``keep_every``-th is kept."""
        network = TorchNetwork(tensors, self.config.network.activation)
        self.agents[0].network = network
        settings = self.config.self_play
        if number and number % settings.keep_every == 0:
            nth = number // settings.keep_every
            self.agents[1 + (nth - 1) % settings.keep].network = network
            self.kept = min(settings.keep, nth)

    def weights(self) -> list[float]:
        """The share of each agent in the games against ``self``."""
        latest = self.config.self_play.latest if self.kept else 1.0
        past = (1.0 - latest) / self.kept if self.kept else 0.0
        return [latest] + [past if n < self.kept else 0.0 for n in range(len(self.agents) - 1)]

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The networks, under names for the state's file."""
        return {
            f"snapshot/{place}/{name}": array
            for place, agent in enumerate(self.agents[: 1 + self.kept])
            for name, array in agent.network.tensors().items()
        }

    def restore(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restore the networks from what ``tensors`` gave.

        Raises:
            HeartsError: if a network is missing, or of another size.
        """
        stored: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in tensors.items():
            if name.startswith("snapshot/"):
                _, place, rest = name.split("/", 2)
                number = int(place) if place.isdecimal() and place.isascii() else -1
                stored.setdefault(number, {})[rest] = array
        if not stored or sorted(stored) != list(range(len(stored))):
            raise HeartsError(
                f"snapshot: found the numbers {sorted(stored)} and not 0, 1, ...; "
                "take another checkpoint"
            )
        like = self.agents[0].network.tensors()
        for number, layers in stored.items():
            if layers.keys() != like.keys():
                raise HeartsError(
                    f"snapshot/{number}: its layers are not those of the recipe; "
                    "take another checkpoint"
                )
            for name, own in like.items():
                check_array(f"snapshot/{number}/{name}", layers[name], own)
            if number < len(self.agents):
                network = TorchNetwork(layers, self.config.network.activation)
                self.agents[number].network = network
        self.kept = min(self.config.self_play.keep, len(stored) - 1)


LATEST = f"{SELF} 0"
"""The entry of a pool that is the latest snapshot."""


def make_pool(config: TrainConfig, snapshots: Snapshots) -> OpponentPool:
    """All opponents of the schedule, with their weights in its first phase."""
    # Opponents may be outside code: no seed from which those of the deals can be computed. It
    # shapes no game, since all opponents are reseeded before the first deal.
    pool = OpponentPool(seed=secret_seed(config.seed, "opponents"))
    for name in config.opponents:
        if name != SELF:
            pool.add(name, weight=0.0)
    if SELF in config.opponents:
        for number, agent in enumerate(snapshots.agents):
            pool.add(agent, name=f"{SELF} {number}", weight=0.0)
    for name, weight in pool_weights(config, 0, snapshots).items():
        pool.set_weight(name, weight)
    return pool


def pool_weights(config: TrainConfig, phase: int, snapshots: Snapshots) -> dict[str, float]:
    """The weight of each entry of the pool in a phase."""
    chosen = config.schedule[phase].opponents
    weights = {name: chosen.get(name, 0.0) for name in config.opponents if name != SELF}
    if SELF in config.opponents:
        for number, share in enumerate(snapshots.weights()):
            weights[f"{SELF} {number}"] = chosen.get(SELF, 0.0) * share
    return weights
