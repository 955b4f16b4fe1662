"""Everything that all algorithms share: the network in training, its average, player and state.

An algorithm is a subclass of `Learner`. Its ``prepare`` makes what it needs, and its ``learn``
makes one update. ``ppo.py`` is the default.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hearts_agents.models.checkpoint import find_encoder
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.models.own_network import (
    ModulePolicy,
    OwnNetwork,
    blaming_module,
    restore_buffers,
)
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support import clock
from hearts_env.support.errors import CheckpointError, HeartsError
from hearts_env.support.tensors import Tensors
from hearts_env.support.workers import Threads
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import (
    ActorCritic,
    Moments,
    Saved,
    TorchNetwork,
    Weights,
    copy_layers,
    find_device,
    find_precision,
    linear_layers,
    places_of_totals,
    policy_tensors,
    use_one_thread,
)
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.games import part_of
from hearts_train.learn.log import Counters, check_figures
from hearts_train.learn.opponents import Opponents, trained_network
from hearts_train.learn.pretraining import Pretraining
from hearts_train.learn.shared import SharedNetwork

START_UPDATES = 25
"""The first updates after a start from a trained player, in which only the value head learns."""


class DivergenceError(HeartsError):
    """Training has diverged: the weights are not finite."""


class Learner:
    """A network in training, with its opponents and counters.

    An algorithm overrides ``learn``, and some of these hooks: ``prepare``, ``begin``, ``warm_up``
    and ``saved`` for what it adds (such as its games), and ``make_module``, ``critic_sizes``,
    ``make_optimizer`` and ``tensors`` for another network. The attributes before ``__init__``
    describe the algorithm.

    Attributes:
        config: the settings of the run.
        counters: the counters of the run. ``learn`` adds to ``decisions``.
        rules: the rules of the games.
        encoder: the encoder of the observations.
        device: the device of the network.
        opponents: the opponents, among them snapshots of the network.
        network: the network in training.
        average: the moving average of the network, or None without ``ema_decay``.
        optimizer: the optimiser of the network's weights.
        pretraining: the lessons of the network before its first game.
    """

    algorithm: str
    """The name of the algorithm in model cards."""
    packages: tuple[str, ...] = ("hearts-env", "torch", "numpy")
    """The libraries that model cards list with their versions."""
    rates: tuple[str, ...] = ()
    """The attributes that change during the run and are logged."""
    is_plain = False
    """If True, the CPU computes in float32, even with ``auto`` as device and precision."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make network, opponents and the parts of the algorithm. If `state` is given, resume.

        Raises:
            HeartsError: if a rule set, encoder or opponent is unknown.
        """
        use_one_thread()  # first, since the last bits of the initial weights depend on it
        self.config = config
        self.counters = replace(state.counters) if state else Counters()
        self.counters.starts += 1
        self.rules = Rules.make(config.env.rules)
        self.encoder = find_encoder(config.env.observation)
        self.device = find_device("cpu" if self.is_plain else config.device)
        self.opponents = Opponents(config.opponents, config.self_play, self._player)
        module = self.make_module().to(self.device)
        average = deepcopy(module) if config.ema_decay else None  # before it shares its weights
        in_float32 = self.is_plain or isinstance(module, OwnNetwork)
        precision = find_precision("float32" if in_float32 else config.precision, self.device)
        is_shared = self.device.type == "cpu" and not getattr(module, "keeps_state", False)
        threads = Threads(config.threads if is_shared else 1)
        self.network = SharedNetwork(module, precision, threads)
        self.average: SharedNetwork | None = None
        if average is not None:
            self.average = SharedNetwork(average, precision, threads)
        self.optimizer = self.make_optimizer()
        self._frozen_mask: Tensor | None = None
        """True for the weights of a trained player, which do not change in the first updates."""
        if config.network.start is not None:
            self._start_from(config.network.start)
        self.pretraining = Pretraining(config.pretraining, self.rules, self.encoder, config.seed)
        self.prepare()
        self.opponents.take(self.tensors(), 0)
        self.begin()
        if state is not None:
            self._restore(state)
        self.network.round()
        if self.average is not None:
            self.average.round()

    # -- the algorithm -----------------------------------------------------------------------------
    def prepare(self) -> None:
        """Make what the algorithm needs besides the network. ``begin`` and a state come later."""

    def begin(self) -> None:
        """Start new games, if the algorithm plays any. A resumed run may replace them."""

    def warm_up(self) -> str:
        """Compile the code of an update, without side effects. Return a warning or ""."""
        return ""

    def learn(self) -> dict[str, Any]:
        """Make one update of play and learning. Return the figures to log, None if not finite."""
        raise NotImplementedError

    def step(self, rate: float) -> None:
        """Take a step of the optimiser, with the gradient clipped to ``max_grad_norm``."""
        weights = self.network.weights
        assert weights.grad is not None
        if self._frozen_mask is not None and self.counters.updates < START_UPDATES:
            weights.grad[self._frozen_mask] = 0.0
        nn.utils.clip_grad_norm_(weights, self.config.ppo.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.network.round()

    def update_average(self, keep: float) -> None:
        """Move the average towards the weights. It keeps the share `keep` of itself.

        Buffers, like the statistics of a batch norm in a user's own network, are copied.
        """
        if self.average is not None:
            self.average.weights.data.lerp_(self.network.weights.data, 1.0 - keep)
            self.average.round()
            restore_buffers(self.average.module, dict(self.network.module.named_buffers()))

    # -- the run -----------------------------------------------------------------------------------
    @property
    def progress(self) -> float:
        """The share of the budget spent, 0 to 1."""
        return self.config.budget.share(self.counters.decisions)

    @blaming_module()
    def update(self) -> dict[str, Any]:
        """Make one update of pretraining or of play and learning. Return the metrics to log."""
        counters, before = self.counters, self.counters.decisions
        begin = clock.now()
        with self._own_random_numbers():
            if counters.pretraining_steps < self.pretraining.size:
                values = self._pretrain()
            else:
                if self._frozen_mask is not None and counters.updates == START_UPDATES:
                    self.optimizer.state.clear()
                values = self.learn()
                check_figures(values)
        if not bool(torch.isfinite(self.network.weights).all()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                "finite; the last save is intact: resume with a smaller ppo.learning_rate or "
                "ppo.max_grad_norm"
            )
        counters.updates += 1
        if counters.updates % self.config.self_play.every == 0:
            counters.snapshots += 1
            self.opponents.take(self.tensors(), counters.snapshots)
        seconds = clock.now() - begin
        if "pretraining" not in values:
            counters.learning_seconds += seconds
        return (
            {
                "updates": counters.updates,
                "decisions_per_second": (counters.decisions - before) / max(seconds, 1e-9),
            }
            | {name: getattr(self, name) for name in self.rates}
            | values
        )

    @contextlib.contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Seed the random numbers that a user's own network draws, as for dropout, by the update.

        A resumed run therefore draws the same ones.
        """
        is_own = isinstance(self.network.module, OwnNetwork)
        with torch.random.fork_rng(devices=[], enabled=is_own):
            if is_own:
                seed = derived_seed(self.config.seed, 30)
                torch.manual_seed(derived_seed(seed, self.counters.updates))
            yield

    def _pretrain(self) -> dict[str, Any]:
        """Learn some minibatches of the teacher's positions. Return the figures to log."""
        teaching, counters = self.pretraining, self.counters
        steps = teaching.minibatches(counters.pretraining_steps)
        row = teaching.learn(steps, self.network, self.step)
        counters.pretraining_steps = steps.stop
        if steps.stop == teaching.size:  # play begins
            teaching.forget()
            self.optimizer.state.clear()
        self.update_average(0.0)
        return row

    # -- making ------------------------------------------------------------------------------------
    critic_sizes: tuple[int, ...] = ()
    """The arguments `hidden` and `values` of ``ActorCritic``, if they are not its defaults."""

    def make_module(self) -> nn.Module:
        """Return the network, with weights that follow from the seed.

        ``learn`` decides what it computes. Without other ``tensors``, it is an ``ActorCritic``.
        """
        shape, own = self.encoder.space(self.rules).shape, self.config.network.module
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            if own is not None:
                module = OwnNetwork(own, self.rules, self.encoder)
                if not any(weights.requires_grad for weights in module.parameters()):
                    raise ConfigError(
                        f"network.module: {own!r} has no weights that learn; add some"
                    )
                module.check()
                module.check_learning()
                return module
            network = ActorCritic(
                math.prod(shape), self.rules.num_actions, self.config.network, *self.critic_sizes
            )
        # Single deals start at 0:0, so the weights of the totals learn nothing. They must not
        # influence play in a match.
        first = next(layer for layer in network.modules() if isinstance(layer, nn.Linear))
        with torch.no_grad():
            first.weight[:, places_of_totals(self.encoder, self.rules)] = 0.0
        return network

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return the optimiser of ``network.weights``. ``step`` sets its learning rate."""
        return torch.optim.Adam([self.network.weights], eps=1e-5, fused=True)

    def _start_from(self, name: str) -> None:
        """Copy a trained player's policy weights. The value head starts anew."""
        if self.config.pretraining.positions:
            raise ConfigError(
                "network.start: pretraining would overwrite these weights; omit "
                "pretraining.positions or network.start"
            )
        player = trained_network("network.start", name, self.rules, self.encoder)
        assert isinstance(self.network.module, ActorCritic)
        layers = linear_layers(self.network.module)
        sizes = [layers[0].in_features, *(layer.out_features for layer in layers)]
        if sizes != list(player.sizes) or player.activation != self.config.network.activation:
            raise ConfigError(
                f"network.start: {name!r} has layers of {list(player.sizes)} and "
                f"{player.activation}, not {sizes} and {self.config.network.activation}; set "
                "network.trunk, network.policy and network.activation as in that player"
            )
        copy_layers(player, layers)
        self.update_average(0.0)
        policy = {weights for layer in layers for weights in layer.parameters()}
        self._frozen_mask = torch.cat(
            [
                torch.full((weights.numel(),), weights in policy, device=self.device)
                for weights in self.network.module.parameters()
            ]
        )

    # -- the player --------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """Return the weights of the policy by their names in a player's file."""
        module = (self.average or self.network).module
        if isinstance(module, OwnNetwork):
            return module.tensors()
        assert isinstance(module, ActorCritic)
        return policy_tensors(linear_layers(module))

    def agent(self) -> NetworkAgent:
        """Return the learner as a player that takes its greedy actions."""
        return self._player(self.tensors())

    def _player(self, tensors: Tensors | None) -> NetworkAgent:
        """Return a player with these weights (see ``tensors``). If None, with random weights."""
        network = self.config.network
        policy: Network
        if network.module is not None:
            policy = ModulePolicy(network.module, self.rules, self.encoder, tensors)
            return NetworkAgent(policy, self.rules, self.encoder, seed=0)
        if tensors is None:
            inputs = math.prod(self.encoder.space(self.rules).shape)
            made = ActorCritic(inputs, self.rules.num_actions, network)
            tensors = policy_tensors(linear_layers(made))
        policy = TorchNetwork(tensors, network.activation)
        return NetworkAgent(policy, self.rules, self.encoder, seed=0)

    # -- state -------------------------------------------------------------------------------------
    def saved(self) -> dict[str, Saved]:
        """Return the parts that are saved, by the prefix of their names in the state.

        A subclass adds its own. A part ``games`` is restored only if the settings of the games are
        the same.
        """
        parts: dict[str, Saved] = {"policy": Weights(self.network.module)}
        parts |= {"optimizer": Moments(self.optimizer), "snapshot": self.opponents}
        return parts if self.average is None else parts | {"average": Weights(self.average.module)}

    @property
    def _games_key(self) -> str:
        """The settings of the games. If a resumed run changes them, new games start."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([self.opponents.pool.names, env], sort_keys=True)

    def state(self) -> runs.State:
        """Return the whole training state, between two updates."""
        tensors = {
            f"{part}/{name}": array
            for part, one in self.saved().items()
            for name, array in one.state().items()
        }
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _restore(self, state: runs.State) -> None:
        try:
            for part, one in self.saved().items():
                tensors = part_of(state.tensors, f"{part}/")
                if part == "average" and not tensors:  # the run had no average so far
                    tensors = part_of(state.tensors, "policy/")
                if part != "games" or state.games == self._games_key:
                    one.restore(tensors, part)
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None
