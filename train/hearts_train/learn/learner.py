"""What all learners share: counters, rates, snapshots, opponents, checks.

Everything that shapes the learning follows from the seed and from the share of the budget spent, so
that with a budget of decisions the same seed gives the same player, however often the run was
stopped or killed and resumed on the way (except with ``maskable_ppo``, whose resumed runs begin new
games); a budget of minutes depends on the clock.
"""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import torch
from numpy.typing import NDArray

from hearts_agents.envs.options import OpponentPool
from hearts_agents.models.network import NetworkAgent
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import secret_seed
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.arguments import check_array
from hearts_env.support.errors import CheckpointError, HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import (
    ActorCritic,
    Adam,
    Replicas,
    TorchNetwork,
    Weights,
    find_device,
    find_precision,
    policy_tensors,
)
from hearts_train.learn.config import SELF, TrainConfig, between
from hearts_train.learn.games import part_of
from hearts_train.learn.log import Counters


class Saved(Protocol):
    """A part of a learner that a run saves."""

    def state(self) -> Tensors:
        """All that it needs to continue, new arrays by name."""

    def restore(self, state: Tensors, name: str) -> None:
        """Continue from what ``state`` returned; messages call it `name`.

        HeartsError if anything is missing, or does not fit.
        """


class DivergenceError(HeartsError):
    """Training diverged: the weights are not finite."""


class Learner:
    """A network that learns, its opponents and snapshots, and its counters.

    An algorithm is a subclass with ``tensors``, ``warm_up`` and the methods here that raise
    NotImplementedError.
    """

    algorithm = ""
    """Its name in model cards."""
    packages: tuple[str, ...] = ("hearts-env", "torch", "numpy")
    """The libraries whose versions model cards have."""
    rates: tuple[str, ...] = ("learning_rate", "ent_coef")
    """The attributes that change over the run and are logged."""
    steps_by = "ppo.learning_rate or ppo.max_grad_norm"
    """The settings to reduce if training diverges."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Set up the shared parts, from `state` or anew; the subclass does the rest.

        HeartsError if a rule set, encoder or opponent is unknown.
        """
        self.config = config
        self.counters = replace(state.counters) if state else Counters()
        self.counters.starts += 1
        self.rules = Rules.make(config.env.rules, config.env.players)
        self.encoder = make_encoder(config.env.observation)
        self.opponents: list[Opponents] = []
        """The same for each part of the games, which run in parallel."""
        self.learning_rate = config.ppo.learning_rate
        self.ent_coef = config.ppo.ent_coef
        self.magnet_coef = config.ppo.magnet_coef
        self.phase = 0

    def _add_opponents(self) -> OpponentPool:
        """An opponent pool for a part of the games."""
        self.opponents.append(Opponents(self.config, self.rules, self.encoder))
        return self.opponents[-1].pool

    def _start(self, state: runs.State | None) -> None:
        """Restore `state` or start anew, once everything has been made."""
        for some in self.opponents:
            some.take(self.tensors(), 0)
        if state is None or not self._has_games(state):
            self._begin_games()
        if state is not None:
            self._restore(state)
        self._set_rates()

    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        counters = self.counters
        seconds = counters.seconds - counters.pretraining_seconds
        return self.config.budget.share(counters.decisions, seconds)

    @functools.cached_property
    def tree(self) -> Tree:
        """All information sets of the game, made on first use; HeartsError if they are too many."""
        return Tree(self.rules)

    def agent(self) -> NetworkAgent:
        """The learner as a player that takes its preferred actions."""
        network = TorchNetwork(self.tensors(), self.config.network.activation)
        return NetworkAgent(network, self.rules, self.encoder)

    @property
    def _games_key(self) -> str:
        """What the games under way depend on, besides settings that a resumed run cannot change."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([len(self.opponents), self.opponents[0].pool.names, env], sort_keys=True)

    # -- of each algorithm -------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The policy's weights under their names in a checkpoint."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Compile what a rollout needs before time is measured; changes no state."""
        raise NotImplementedError

    def _begin_games(self) -> None:
        """Start new games, with other deals after each start."""
        raise NotImplementedError

    def _saved(self) -> dict[str, Saved]:
        """The parts that are saved, by the beginning of their names in the state.

        They are restored in this order; those under ``games/`` only under the same settings.
        """
        raise NotImplementedError

    def _learn(self) -> dict[str, Any]:
        """Collect decisions and learn from them, and count them; returns what is to be logged."""
        raise NotImplementedError

    def _parameters(self) -> Iterable[torch.Tensor]:
        """All weights."""
        raise NotImplementedError

    # -- state -------------------------------------------------------------------------------------
    def state(self) -> runs.State:
        """The whole training state, between two updates."""
        parts = self._saved() | {"snapshot": self.opponents[0]}  # those of all are the same
        tensors = {
            f"{part}/{name}": array
            for part, one in parts.items()
            for name, array in one.state().items()
        }
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _has_games(self, state: runs.State) -> bool:
        """Whether a state has games that can continue."""
        return state.games == self._games_key

    def _restore(self, state: runs.State) -> None:
        try:
            for part, one in self._saved().items():
                if self._has_games(state) or not part.startswith("games/"):
                    self._restore_part(part, one, part_of(state.tensors, f"{part}/"))
            for some in self.opponents:
                some.restore(part_of(state.tensors, "snapshot/"), "snapshot")
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None

    def _restore_part(self, part: str, one: Saved, state: Tensors) -> None:
        one.restore(state, part)

    # -- learning ----------------------------------------------------------------------------------
    def _set_rates(self) -> None:
        """Set rates and opponents for this share of the budget."""
        ppo, share = self.config.ppo, self.progress
        self.learning_rate = between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.ent_coef = between(ppo.ent_coef, ppo.ent_coef_end, share)
        self.magnet_coef = between(ppo.magnet_coef, ppo.magnet_coef_end, share)
        self.phase = self.config.phase_at(share)
        for some in self.opponents:
            some.set_phase(self.phase)

    def preparing(self) -> Generator[tuple[str, float]]:
        """Prepare the next update where that takes long.

        Yields what is being prepared and the share done, for display. Closing the generator
        discards the work. By default there is nothing to prepare.
        """
        yield from ()

    def update(self) -> dict[str, Any]:
        """Collect one rollout and learn from it; returns the metrics to log.

        Prepares first what is not prepared yet.
        """
        for _ in self.preparing():
            pass
        counters, before = self.counters, self.counters.decisions
        self._set_rates()
        begin = clock.now()
        rates = {name: getattr(self, name) for name in self.rates}
        values = self._learn()
        by = (
            "pretraining.learning_rate or pretraining.inverse_temperature"
            if "pretraining" in values
            else self.steps_by
        )
        if not all(bool(torch.isfinite(weights).all()) for weights in self._parameters()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                f"finite; the last save is intact: resume with a smaller {by}"
            )
        counters.updates += 1
        if counters.updates % self.config.self_play.every == 0:
            counters.snapshots += 1
            for some in self.opponents:
                some.take(self.tensors(), counters.snapshots)
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


class NetworkLearner(Learner):
    """A learner of one actor-critic network, in plain torch.

    An algorithm is a subclass with ``warm_up``, ``_learn``, ``_begin_games`` and perhaps more in
    ``_saved``.
    """

    def __init__(self, config: TrainConfig, replicas: int, state: runs.State | None = None) -> None:
        """Make everything, with `replicas` of the network that compute gradients in parallel."""
        super().__init__(config, state)
        self.device = find_device(config.device)
        self.precision = find_precision(config.precision, self.device)
        self.replicas = Replicas(self._make_network(), replicas)
        self.network = self.replicas.networks[0]
        self.optimizer = Adam(self.replicas.weights)
        self.averaged = Replicas(copy.deepcopy(self.network), 1) if config.ema_decay else None

    @property
    def _critic_sizes(self) -> tuple[int, ...]:
        """``hidden`` and ``values`` of ``ActorCritic``, where they are not its defaults."""
        return ()

    def _make_network(self) -> ActorCritic:
        inputs = math.prod(self.encoder.space(self.rules).shape)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            network = ActorCritic(
                inputs, self.rules.num_actions, self.config.network, *self._critic_sizes
            )
        # Single deals start at 0:0: weights of the totals are not learnt and must not act in a
        # match.
        first = next(layer for layer in network.modules() if isinstance(layer, torch.nn.Linear))
        with torch.no_grad():
            first.weight[:, places_of_totals(self.encoder, self.rules)] = 0.0
        return network.to(self.device)

    def _forward(
        self, network: ActorCritic, observations: torch.Tensor, *hidden: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, float32, on the device."""
        logits, values = self._apply(network, observations, *hidden)
        return logits, values

    def _apply(
        self, module: torch.nn.Module, observations: torch.Tensor, *hidden: torch.Tensor
    ) -> Any:
        inputs = observations.to(self.device, non_blocking=True).flatten(1)
        is_mixed = self.precision is not torch.float32
        is_sparse = inputs.dtype is torch.int8 and not (is_mixed or inputs.is_cuda)
        more = (one.to(self.device, self.precision, non_blocking=True) for one in hidden)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_mixed):
            return module(inputs if is_sparse else inputs.to(self.precision), *more)

    def _step(self, learning_rate: float) -> None:
        self._descend(self.replicas, self.optimizer, learning_rate)

    def _descend(self, replicas: Replicas, optimizer: Adam, learning_rate: float) -> None:
        """Take a step along the first replica's gradient, clipped to ``max_grad_norm``."""
        optimizer.step(replicas.gradients[0], learning_rate, self.config.ppo.max_grad_norm)

    # -- state -------------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The policy's weights under their names in a checkpoint."""
        chosen = self.network if self.averaged is None else self.averaged.networks[0]
        return dict(policy_tensors(chosen))

    def _parameters(self) -> Iterable[torch.Tensor]:
        return [self.replicas.weights]

    def _saved(self) -> dict[str, Saved]:
        saved: dict[str, Saved] = {"policy": Weights(self.network), "optimizer": self.optimizer}
        return saved if self.averaged is None else saved | {"average": self.averaged}

    def _restore_part(self, part: str, one: Saved, state: Tensors) -> None:
        if part == "average" and not state:  # a run resumed with an average starts it anew
            state = self.replicas.state()
        super()._restore_part(part, one, state)


def places_of_totals(encoder: Encoder, rules: Rules) -> list[int]:
    """Where a block encoder's observations have the totals of a match."""
    blocks = getattr(encoder, "blocks", None)
    places: list[int] = []
    start = 0
    if blocks is not None and len(encoder.space(rules).shape) == 1:
        for block in blocks(rules):
            if block.name.startswith("total_"):
                places += range(start, start + block.size)
            start += block.size
    return places


# ---- opponents -----------------------------------------------------------------------------------


class Opponents:
    """The opponent pool: agents of the schedule, and snapshots.

    Snapshot 0 is the latest, the others are earlier ones. The agents stay the same objects; a new
    snapshot replaces the network of one. A deal under way then ends against a newer opponent than
    it started with, which does no harm.
    """

    def __init__(self, config: TrainConfig, rules: Rules, encoder: Encoder) -> None:
        """Start with any networks, until the first snapshot is taken."""
        self.config = config
        self.num_past = 0
        """How many earlier snapshots there are."""
        inputs, network = math.prod(encoder.space(rules).shape), config.network
        some = policy_tensors(ActorCritic(inputs, rules.num_actions, network))
        self.snapshots = [
            NetworkAgent(
                TorchNetwork(some, network.activation),
                rules,
                encoder,
                greedy=False,
                seed=0,  # the environments seed their opponents themselves
            )
            for _ in range(1 + config.self_play.keep)
        ]
        # Opponents may be external code: give no seed from which those of the deals can be
        # computed. It affects no game, since all opponents are reseeded before the first deal.
        self.pool = OpponentPool(seed=secret_seed(config.seed, "opponents"))
        for name in config.opponents:
            if name != SELF:
                self.pool.add(name, weight=0.0)
        if SELF in config.opponents:
            for number, agent in enumerate(self.snapshots):
                self.pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        self.set_phase(0)

    def set_phase(self, phase: int) -> None:
        """Set the pool's weights for a phase of the schedule."""
        chosen = self.config.schedule[phase].opponents
        weights = {name: chosen.get(name, 0.0) for name in self.config.opponents if name != SELF}
        if SELF in self.config.opponents:
            latest = self.config.self_play.latest_share if self.num_past else 1.0
            for number in range(len(self.snapshots)):
                past = (1.0 - latest) / self.num_past if 0 < number <= self.num_past else 0.0
                share = past if number else latest
                weights[f"{SELF} {number}"] = chosen.get(SELF, 0.0) * share
        for name, weight in weights.items():
            if self.pool.entries[self.pool.place(name)].weight != weight:
                self.pool.set_weight(name, weight)

    def take(self, tensors: Mapping[str, NDArray[Any]], number: int) -> None:
        """Take the `number`-th snapshot (from 1) as the latest; every ``keep_every``-th stays."""
        network = TorchNetwork(tensors, self.config.network.activation)
        self.snapshots[0].network = network
        settings = self.config.self_play
        if number and number % settings.keep_every == 0:
            nth = number // settings.keep_every
            self.snapshots[1 + (nth - 1) % settings.keep].network = network
            self.num_past = min(settings.keep, nth)

    def state(self) -> Tensors:
        """The snapshots' networks, under names for the state's file."""
        return {
            f"{place}/{name}": array
            for place, agent in enumerate(self.snapshots[: 1 + self.num_past])
            for name, array in agent.network.tensors().items()
        }

    def restore(self, state: Tensors, name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        places = {key.split("/")[0] for key in state}
        like = self.snapshots[0].network.tensors()
        for number in range(max(1, len(places))):
            layers = {
                key: check_array(f"{name}/{number}/{key}", state.get(f"{number}/{key}"), own)
                for key, own in like.items()
            }
            if number < len(self.snapshots):
                network = TorchNetwork(layers, self.config.network.activation)
                self.snapshots[number].network = network
        self.num_past = min(self.config.self_play.keep, len(places) - 1)
