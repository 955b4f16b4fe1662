"""Proximal policy optimisation by self-play: every seat is the learner, from its own decisions.

An update (Schulman et al. 2017) plays, estimates and learns; the numbers are those of ``ppo`` in
the config:

1. **Play** (``games.py``): all games stand at a decision of the learner. One forward pass gives
   logits and values for whoever is to move, an action is drawn, the games play on; ``num_steps``
   times.
2. **Estimate** (``games.estimate``): the advantage A of a decision is the sum of delta = r + gamma
   v' - v over the decisions of its own seat from there to the end of the deal, each weighted by
   another factor gamma ``gae_lambda`` (Schulman et al. 2016, eq. 16); the return R is v + A. Then
   the advantages of an update are brought to mean 0 and deviation 1, if ``normalize_advantage``.
3. **Learn**: for ``num_epochs`` go through the decisions in a random order, ``batch_size`` at a
   time, and take a step of Adam down the gradient of the loss, cut to ``max_grad_norm``.

The loss of a decision, with the ratio q = pi(a) / pi_old(a) (eq. 9 of the paper, and three pulls):

    -min(q A, clip(q, 1 - c, 1 + c) A) + vf_coef (v - R)^2
        + kl_coef (q log q - q + 1) - ent_coef H(pi) + magnet_coef KL(pi, rho)

where c is ``clip_range``, H the entropy over legal actions and rho the policy of the magnet. The
mean of the term of ``kl_coef`` over the actions of pi_old is KL(pi, pi_old).

**Magnetic mirror descent** ("MMD": Sokota et al. 2023, eq. 7) is this loss with ``clip_range`` null
and a ``kl_coef``, its step size being 1 / ``kl_coef``: the new policy maximises what actions earn,
less a pull to the present policy and one to the magnet. That is the uniform policy, with
``ent_coef`` as temperature, which must fall for play to approach an equilibrium; or, by
``magnet_coef``, a policy that follows.

The gradient by the logits l and the value v is written by hand and compiled
(``ppo_kernel.objective``); torch carries it on through the network:

- d(-q A) / dl_j = -q A (1[j = a] - pi_j), and 0 where the ratio is clipped;
- d(q log q - q + 1) / dl_j = q log q (1[j = a] - pi_j);
- dH / dl_j = -pi_j (log pi_j + H);
- dKL / dl_j = pi_j (log pi_j - log rho_j - KL);
- d(v - R)^2 / dv = 2 (v - R), and 0 where v is further than ``clip_range_vf`` from the value that
  play had.

Threads share the work: each has games of its own, and a part of each minibatch. They read the same
weights, and their gradients are added in a fixed order, so that the result does not depend on which
is quicker. It does depend on how many there are.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from hearts_agents.base import PerGameAgent
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.spec import make_agent
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.arrays import Floats, Floats32, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.support.workers import Workers
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import (
    ActorCritic,
    linear_layers,
    perceptron,
    set_threads,
)
from hearts_train.learn.config import AVERAGE, ConfigError, TrainConfig
from hearts_train.learn.games import END, SelfPlayGames
from hearts_train.learn.learner import NetworkLearner, Saved
from hearts_train.learn.ppo_kernel import FIGURES, Clip, objective
from hearts_train.learn.pretraining import Pretraining

_TIE = 1e-4
"""Worths no further apart are equal: they are means of whole numbers, in two_player over at most
105 worlds."""


class PPOLearner(NetworkLearner):
    """PPO of one network that plays all seats but those of its opponents."""

    algorithm = "PPO of every seat"
    kind_of_games: type[SelfPlayGames] = SelfPlayGames
    games: Sequence[SelfPlayGames]

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything, as ``Learner`` has it."""
        # Torch's own threads gain nothing in small products. First: the last bits of the first
        # weights depend on their number.
        set_threads(1)
        super().__init__(config, config.threads, state)
        self.workers = Workers(config.threads)
        self.games = [self._make_games(thread) for thread in range(config.threads)]
        if config.network.start is not None:
            self._start_from(config.network.start)
        average = self.averaged.networks[0] if self.averaged else None
        self.magnet = find_magnet(config, self.rules, self.encoder, average)
        if self.magnet is not None:
            self.magnet.to(self.device)
        self.pretraining = Pretraining(config, self.rules, self.encoder)
        self._start(state)

    # -- making ------------------------------------------------------------------------------------
    def _make_games(self, thread: int) -> SelfPlayGames:
        number = len(range(thread, self.config.env.num_envs, self.config.threads))
        seed = derived_seed(self.config.seed, 10 + thread)
        return self.kind_of_games(
            self.config, self.rules, self.encoder, self._add_opponents(), number, seed, self._empty
        )

    def _start_from(self, name: str) -> None:
        """Take a trained player's weights: all but those of the value head."""
        if self.config.pretraining.positions:
            raise ConfigError(
                "network.start: pretraining would overwrite the weights; leave out "
                "pretraining.positions or network.start"
            )
        player = _trained_player("network.start", name, self.rules, self.encoder).network
        layers = linear_layers(self.network)
        sizes = [layers[0].in_features, *(layer.out_features for layer in layers)]
        if sizes != list(player.sizes) or player.activation != self.config.network.activation:
            raise ConfigError(
                f"network.start: {name!r} has layers of {list(player.sizes)} and "
                f"{player.activation}, not {sizes} and {self.config.network.activation}; set "
                "network.trunk, network.policy and network.activation to its own",
                value=name,
            )
        for replicas in (self.replicas, *([self.averaged] if self.averaged else [])):
            copy_layers(player, linear_layers(replicas.networks[0]))

    @property
    def _is_starting(self) -> bool:
        """Whether only the value head learns, since the other weights are a trained player's."""
        network = self.config.network
        return network.start is not None and self.counters.updates < network.start_updates

    def _empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array that can be copied to the device quickly."""
        like = torch.from_numpy(np.empty(0, dtype))
        try:
            array = torch.zeros(shape, dtype=like.dtype, pin_memory=self.device.type == "cuda")
        except RuntimeError:
            raise ConfigError(
                f"ppo.num_steps: no memory for {shape[0]} decisions of {self.config.env.num_envs} "
                "games; make it or env.num_envs smaller"
            ) from None
        filled: NDArray[Any] = array.numpy()
        return filled

    def _begin_games(self) -> None:
        for thread, games in enumerate(self.games):
            number = 1000 + 100 * self.counters.starts + thread
            games.begin(derived_seed(self.config.seed, number) % 2**62)

    def warm_up(self) -> None:
        """Compile and load all that an update needs; leaves no trace in what follows."""
        most = self.rules.players * (self.rules.hand_size + 3)
        for thread, games in enumerate(self.games):
            before = games.state()
            for _ in range(most):  # to the end of a deal
                self._collect(thread, 1)
                rows = games.estimate(1.0, 1.0)
                has_ended = bool((games.rows.nexts[rows] == END).any())
                self._gradient(thread, rows[:2], len(rows[:2]))
                games.drop_learnt()
                if has_ended:
                    break
            games.restore(before, "games")

    # -- learning ----------------------------------------------------------------------------------
    def preparing(self) -> Generator[tuple[str, float]]:
        """Gather the positions of pretraining, where any are left to be learnt."""
        if self.counters.pretraining_steps < self.pretraining.size:
            with contextlib.closing(self.pretraining.gather()) as shares:
                for share in shares:
                    yield "gathering positions", share

    def _learn(self) -> dict[str, Any]:
        if self.counters.pretraining_steps < self.pretraining.size:
            return self._pretrain()
        if self.config.network.start and self.counters.updates == self.config.network.start_updates:
            self.optimizer.reset()
        figures = self._play_and_learn()
        if self.averaged is not None:
            self.averaged.weights.lerp_(self.replicas.weights, 1 - self.config.ema_decay)
        return figures

    def _play_and_learn(self) -> dict[str, Any]:
        ppo = self.config.ppo
        self.workers.each(lambda thread: self._collect(thread, ppo.num_steps))
        self.counters.decisions += self.config.env.num_envs * ppo.num_steps
        ready = [games.estimate(ppo.gamma, ppo.gae_lambda) for games in self.games]
        figures = self._take_in(ready)
        sums, count = np.zeros(len(FIGURES)), 0
        for _ in range(ppo.num_epochs):
            is_near = True
            for parts in self._minibatches(ready):
                size = sum(map(len, parts))
                found = self._minibatch(parts, size)
                sums, count = sums + found, count + size
                is_near = ppo.target_kl is None or found[3] <= 1.5 * ppo.target_kl * size
                if not is_near:
                    break
                self._step(self.learning_rate)
            self.counters.gradient_epochs += 1
            if not is_near:
                break
        for games in self.games:
            games.drop_learnt()
        if not count:
            return figures
        means = zip(FIGURES, (sums / count).tolist(), strict=True)
        return figures | {name: mean if math.isfinite(mean) else None for name, mean in means}

    def _step(self, learning_rate: float) -> None:
        if self._is_starting:
            for weights in (*self.network.trunk.parameters(), *self.network.policy.parameters()):
                assert weights.grad is not None
                weights.grad.zero_()
        super()._step(learning_rate)

    def _collect(self, thread: int, steps: int) -> None:
        """Play: `steps` decisions in each game of a thread."""
        with torch.inference_mode():
            self.games[thread].collect(functools.partial(self._decide, thread), steps)

    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        """Logits by which actions are drawn, and values, of rows of a thread's observations."""
        observations = torch.from_numpy(self.games[thread].observations[rows])
        logits, values = self._forward(self.replicas.networks[thread], observations)
        return logits.cpu().numpy(), values.cpu().numpy()

    def _minibatches(self, ready: list[Ints]) -> Iterable[tuple[Ints, ...]]:
        """All rows once in a random order, in parts of about ``batch_size``, by thread."""
        number = max(1, round(sum(map(len, ready)) / self.config.ppo.batch_size))
        orders = [
            np.array_split(games.order.permutation(rows), number)
            for games, rows in zip(self.games, ready, strict=True)
        ]
        return zip(*orders, strict=True)

    def _minibatch(self, parts: tuple[Ints, ...], size: int) -> Floats:
        """The gradient of a minibatch into the first replica's; returns the sums of its figures."""
        return self._share(lambda thread: self._gradient(thread, parts[thread], size))

    def _share(self, work: Callable[[int], Floats]) -> Floats:
        """Have each thread add the gradient of its `work` to its replica's; all into the first's.

        Returns the sums of the figures.
        """
        found: list[Floats] = [np.zeros(0)] * len(self.games)

        def whole(thread: int) -> None:
            self.replicas.gradients[thread].zero_()
            found[thread] = work(thread)

        self.workers.each(whole)
        self.replicas.add_gradients()
        return np.sum(found, axis=0)

    def _gradient(self, thread: int, rows: Ints, size: int) -> Floats:
        """A thread's part of a minibatch of `size`: its gradient, and the sums of its figures."""
        games = self.games[thread]
        if not len(rows):
            return np.zeros(len(FIGURES))
        observations = torch.from_numpy(games.observations).index_select(0, torch.from_numpy(rows))
        outputs = self._outputs(thread, rows, observations)
        return self._backward(games, rows, size, observations, outputs)

    def _outputs(
        self, thread: int, rows: Ints, observations: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits and values of decisions that are learnt from."""
        return self._forward(self.replicas.networks[thread], observations)

    def _backward(
        self,
        games: SelfPlayGames,
        rows: Ints,
        size: int,
        observations: torch.Tensor,
        outputs: tuple[torch.Tensor, torch.Tensor],
    ) -> Floats:
        """Send the gradient of the loss back through the network; the sums of its figures."""
        clip, sums = self._clip(), np.zeros(len(FIGURES))
        logits, values = (output.detach().cpu().numpy() for output in outputs)
        magnet = self._magnet(observations) if clip.magnet_coef else logits[:0]
        gradients = np.empty_like(logits), np.empty_like(values)
        objective(games.rows, rows, size, clip, logits, values, magnet, gradients, sums)
        torch.autograd.backward(
            outputs, [torch.from_numpy(gradient).to(self.device) for gradient in gradients]
        )
        return sums

    def _magnet(self, observations: torch.Tensor) -> Floats32:
        """The logits of the magnet's policy."""
        assert self.magnet is not None
        with torch.inference_mode():
            found: Floats32 = self._apply(self.magnet, observations).float().cpu().numpy()
        return found

    def _clip(self) -> Clip:
        ppo = self.config.ppo
        ranges = (ppo.clip_range, ppo.clip_range_vf)
        policy, value = (math.inf if limit is None else limit for limit in ranges)
        return Clip(policy, value, ppo.vf_coef, ppo.kl_coef, self.ent_coef, self.magnet_coef)

    def _take_in(self, ready: list[Ints]) -> dict[str, Any]:
        """Look at an update's decisions as a whole, and normalise their advantages if wanted.

        Returns how much of the variance of the returns the values explain, 1 at best.
        """
        lists = [games.rows for games in self.games]
        advantages, returns = (
            np.concatenate([every[rows] for every, rows in zip(arrays, ready, strict=True)])
            for arrays in ([r.advantages for r in lists], [r.returns for r in lists])
        )
        if not len(returns):  # nobody has decided twice yet
            return {}
        if self.config.ppo.normalize_advantage:
            mean, deviation = advantages.mean(), advantages.std() + np.float32(1e-8)
            for games in self.games:
                own = games.rows.advantages[: games.size]
                own -= mean
                own /= deviation
        variance = float(returns.var())
        left = float(advantages.var()) / variance if variance else math.inf
        return {"explained_variance": 1.0 - left if math.isfinite(left) else None}

    # -- pretraining -------------------------------------------------------------------------------
    def _pretrain(self) -> dict[str, Any]:
        """Learn a few minibatches of the teacher's positions."""
        teacher, counters, sums, count = self.pretraining, self.counters, np.zeros(2), 0
        for step in teacher.minibatches(counters.pretraining_steps):
            rows = teacher.rows(step)
            sums += self._pretraining_gradient(rows)
            count += len(rows)
            self._step(teacher.learning_rate(step))
            counters.pretraining_steps += 1
        if counters.pretraining_steps == teacher.size:  # play begins: nothing of this is needed
            teacher.forget()
            self.optimizer.reset()
        if self.averaged is not None:
            self.averaged.weights.copy_(self.replicas.weights)
        error, value_error = (sums / count).tolist()
        return {
            "pretraining": counters.pretraining_steps / teacher.size,
            "pretraining_error": error,
            "pretraining_value_error": value_error,
        }

    def _pretraining_gradient(self, rows: Ints) -> Floats:
        """The gradient of some positions into the first replica's; the sums of their errors."""
        parts = np.array_split(rows, len(self.games))

        def work(thread: int) -> Floats:
            part = parts[thread]
            observations = torch.from_numpy(self.pretraining.observations(part))
            outputs = self._forward(self.replicas.networks[thread], observations)
            losses = self._pretraining_losses(part, *outputs)
            torch.autograd.backward([loss / len(rows) for loss in losses])
            return np.array([float(loss.detach()) for loss in losses])

        return self._share(work)

    def _pretraining_losses(
        self, rows: Ints, logits: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums over the rows of the squared errors, of the logits and of the values.

        The logits of the legal cards are to be their worth times ``inverse_temperature``, whatever
        their mean; with ``target: action`` it is not their error but the cross-entropy with the
        card that the teacher prefers, the lowest of equally good ones. The value is to be the worth
        of the best card, as a share of the largest margin.
        """
        settings = self.config.pretraining
        worth = torch.from_numpy(self.pretraining.positions.values[rows]).to(logits.device)
        legal = ~worth.isnan()
        best = worth.nan_to_num(-torch.inf).amax(1)
        of_values = (values - best / self.rules.max_margin).square().sum()
        if settings.target == "action":
            preferred = (worth >= best[:, None] - _TIE).int().argmax(1)
            of_legal = logits.masked_fill(~legal, -torch.inf)
            return cross_entropy(of_legal, preferred, reduction="sum"), of_values
        count = legal.sum(1, keepdim=True)
        goals = settings.inverse_temperature * worth.nan_to_num()
        errors = torch.where(legal, logits - goals, 0.0)
        centred = torch.where(legal, errors - errors.sum(1, keepdim=True) / count, 0.0)
        return (centred.square().sum(1) / count[:, 0]).sum(), of_values

    # -- state -------------------------------------------------------------------------------------
    def _saved(self) -> dict[str, Saved]:
        games = {f"games/{thread}": games for thread, games in enumerate(self.games)}
        return super()._saved() | games


# ---- the magnet ----------------------------------------------------------------------------------


def find_magnet(
    config: TrainConfig, rules: Rules, encoder: Encoder, average: ActorCritic | None
) -> torch.nn.Module | None:
    """What gives the magnet's logits of observations, on the processor; None: there is none.

    `average` is the network that is the average of the learner's weights, if it has one.
    ConfigError if the magnet is a player whose logits cannot be had from what the learner sees.
    """
    if config.ppo.magnet != AVERAGE:
        player = _trained_player("ppo.magnet", config.ppo.magnet, rules, encoder).network
        layers = perceptron(player.sizes, player.activation)
        copy_layers(player, [layer for layer in layers if isinstance(layer, torch.nn.Linear)])
        return layers
    return None if average is None else torch.nn.Sequential(average.trunk, average.policy)


def _trained_player(setting: str, name: str, rules: Rules, encoder: Encoder) -> NetworkAgent:
    try:
        agent = make_agent(name, seed=0)
        agent = agent.player_of(rules) if isinstance(agent, PerGameAgent) else agent
        if isinstance(agent, NetworkAgent):
            agent.check_rules(rules)
    except HeartsError as error:
        raise ConfigError(f"{setting}: {error}") from None
    if not isinstance(agent, NetworkAgent):
        raise ConfigError(
            f"{setting}: {name!r} is not a trained network; give champion, or a run's "
            "folder or checkpoint",
            value=name,
        )
    if agent.encoder != encoder:
        raise ConfigError(
            f"{setting}: {name!r} does not see what the learner sees; set env.observation to the "
            "encoder that it was trained with, or take another player",
            value=name,
        )
    return agent


def copy_layers(player: Network, layers: Sequence[torch.nn.Linear]) -> None:
    """Copy a player's weights into linear layers of the same sizes."""
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, player.layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
