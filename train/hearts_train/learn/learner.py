"""What the learners of all algorithms share: counters, rates, snapshots, opponents, checks.

Everything that shapes the learning follows from the seed and from the share of the budget spent, so
that with a budget of decisions the same seed gives the same player, however often the run was
stopped or killed and resumed on the way; a budget of minutes depends on the clock.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

import torch

from hearts_agents.envs.pool import OpponentPool
from hearts_agents.models.checkpoint import Tensors
from hearts_agents.models.network import NetworkAgent
from hearts_env.encoders import make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.errors import CheckpointError, HeartsError
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import TorchNetwork
from hearts_train.learn.algorithms import ALGORITHMS
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.snapshots import Snapshots, make_pool, pool_weights


class DivergenceError(HeartsError):
    """Training whose weights are no longer finite numbers."""


class Learner:
    """A network that learns, its opponents and snapshots, and how far it has come.

    An algorithm is a subclass with ``tensors``, ``state``, ``warm_up`` and the methods here that
    raise NotImplementedError.
    """

    algorithm = ""
    """What cards call it."""
    packages: tuple[str, ...] = ("hearts-env", "torch", "numpy")
    """Whose versions cards name."""
    rates: tuple[str, ...] = ("learning_rate", "ent_coef")
    """Its attributes that change over the run and are logged."""
    steps_by = "ppo.learning_rate or ppo.max_grad_norm"
    """The settings to make smaller where steps are too large."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Begin; the subclass goes on.

        Args:
            config: the recipe.
            state: what to go on from.

        Raises:
            HeartsError: if a rule set, encoder or opponent is unknown.
            CheckpointError: if `state` has other networks.
        """
        self.config = config
        self.counters = replace(state.counters) if state else runs.Counters()
        self.counters.starts += 1
        self.rules = Rules.make(config.env.rules, config.env.players)
        self.encoder = make_encoder(config.env.observation)
        self.pools: list[OpponentPool] = []
        """The same opponents for each part of the games, which are drawn side by side."""
        self.pasts: list[Snapshots] = []
        """The snapshots in each of these pools."""
        self.learning_rate = config.ppo.learning_rate
        self.ent_coef = config.ppo.ent_coef
        self.magnet_coef = config.ppo.magnet_coef
        self.phase = 0

    def _add_pool(self) -> OpponentPool:
        """A pool of its own for some of the games."""
        self.pasts.append(
            Snapshots(self.config, self.rules, self.encoder, greedy=not self.is_mixed)
        )
        self.pools.append(make_pool(self.config, self.pasts[-1]))
        return self.pools[-1]

    def _start(self, state: runs.State | None) -> None:
        """Go on from `state` or begin, when everything has been made."""
        for past in self.pasts:
            past.take(self.tensors(), 0)
        if state is None or state.games != self._games_key:
            self._begin_games()
        if state is not None:
            self._restore(state)
        self._set_rates()

    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        counters = self.counters
        seconds = counters.seconds - counters.lesson_seconds
        return self.config.budget.share(counters.decisions, seconds)

    @property
    def is_mixed(self) -> bool:
        """Whether the player draws its actions from the policy.

        Else it does those that it prefers, and what would be drawn means nothing.
        """
        return ALGORITHMS[self.config.algorithm].is_mixed

    @functools.cached_property
    def tree(self) -> Tree:
        """All information sets of the game, made when it is asked for.

        Raises:
            HeartsError: if it is not of two players, or too large to be listed.
        """
        return Tree(self.rules)

    def agent(self) -> NetworkAgent:
        """The learner as a player that takes its preferred actions."""
        network = TorchNetwork(self.tensors(), self.config.network.activation)
        return NetworkAgent(network, self.rules, self.encoder)

    @property
    def _games_key(self) -> str:
        """What the games under way depend on besides what no resumed run may change."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([env, len(self.pools), self.pools[0].names], sort_keys=True)

    # -- of each algorithm -------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The policy's weights under their names in a checkpoint."""
        raise NotImplementedError

    def state(self) -> runs.State:
        """All that training goes on from; to be taken between two updates."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Compile what a rollout needs, before the clock runs; leaves no trace in what follows."""
        raise NotImplementedError

    def _begin_games(self) -> None:
        """Begin new games, of other deals after each start."""
        raise NotImplementedError

    def _restore_parts(self, parts: dict[str, Tensors]) -> None:
        """Restore all that ``state`` has, by the first word of the names there.

        The games go on if ``games`` is among them. HeartsError or RuntimeError if anything is
        missing or of another size.
        """
        raise NotImplementedError

    def _learn(self) -> dict[str, Any]:
        """Collect decisions and learn from them, and count them; returns what is to be logged."""
        raise NotImplementedError

    def _parameters(self) -> Iterable[torch.Tensor]:
        """All weights."""
        raise NotImplementedError

    # -- state -------------------------------------------------------------------------------------
    def _restore(self, state: runs.State) -> None:
        parts: dict[str, Tensors] = {}
        for name, array in state.tensors.items():
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = array
        if state.games != self._games_key:
            parts.pop("games", None)
        elif "games" not in parts:
            parts["games"] = {}  # what is missing will be told
        try:
            self._restore_parts(parts)
            for past in self.pasts:
                past.restore(state.tensors)
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None

    # -- learning ----------------------------------------------------------------------------------
    def _set_rates(self) -> None:
        """Rates and opponents as they are to be at this share of the budget."""
        ppo, share = self.config.ppo, self.progress
        self.learning_rate = between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.ent_coef = between(ppo.ent_coef, ppo.ent_coef_end, share)
        self.magnet_coef = between(ppo.magnet_coef, ppo.magnet_coef_end, share)
        self.phase = self.config.phase_at(share)
        for pool, past in zip(self.pools, self.pasts, strict=True):
            for name, weight in pool_weights(self.config, self.phase, past).items():
                if pool.entries[pool.place(name)].weight != weight:
                    pool.set_weight(name, weight)

    def preparing(self) -> Generator[tuple[str, float]]:
        """Make what the next update needs and what takes long to make.

        Gives what is being made and which share there is so far, so that it can be shown. Closing
        the generator ends it, and what was made is lost. By default there is nothing to make.
        """
        yield from ()

    def update(self) -> dict[str, Any]:
        """Collect one rollout and learn from it; returns what is to be logged.

        What is left to prepare is prepared first.
        """
        for _ in self.preparing():
            pass
        counters, before = self.counters, self.counters.decisions
        self._set_rates()
        begin = clock.now()
        rates = {name: getattr(self, name) for name in self.rates}
        values = self._learn()
        by = "lessons.learning_rate or lessons.sharpness" if "lessons" in values else self.steps_by
        if not all(bool(torch.isfinite(weights).all()) for weights in self._parameters()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                f"finite; what was saved before stands: resume with a smaller {by}"
            )
        counters.updates += 1
        if counters.updates % self.config.self_play.every == 0:
            counters.snapshots += 1
            for past in self.pasts:
                past.take(self.tensors(), counters.snapshots)
        seconds = clock.now() - begin
        counters.learning_seconds += seconds
        return (
            {
                "updates": counters.updates,
                "decisions_per_second": (counters.decisions - before) / max(seconds, 1e-9),
                "phase": self.phase,
            }
            | rates
            | values
        )


def between(start: float, end: float | None, share: float) -> float:
    """What changes linearly from `start` to `end` over the budget, at a share of it."""
    return start if end is None else start + (end - start) * share
