"""Proximal policy optimisation by self-play: every seat learns from its own decisions.

An update (Schulman et al. 2017) has three parts, in the order of this file. The names are settings
of ``ppo`` in the config:

1. **Play** (``Learner._play``): every game waits at a decision of the learner. One forward pass
   gives logits and values, an action is drawn per game, and the games play on. This is repeated
   ``num_steps`` times.
2. **Estimate** (``estimate_advantages``): the advantage A of a decision is the sum of
   delta = r + gamma v' - v over this and all later decisions of the same seat in the deal. Each
   step into the future multiplies the weight by gamma ``gae_lambda`` (Schulman et al. 2016,
   eq. 16). The return R is v + A. If ``normalize_advantage``, the advantages of an update are
   scaled to mean 0 and standard deviation 1.
3. **Learn** (``Learner._learn``): pass through the decisions ``num_epochs`` times in random order.
   Each minibatch of ``batch_size`` decisions gives one step of Adam, with the gradient clipped to
   the norm ``max_grad_norm``.

The loss of a decision (``ppo_loss``), with the ratio q = pi(a) / pi_old(a), is eq. 9 of the paper
with two more terms:

    -min(q A, clip(q, 1 - c, 1 + c) A) + vf_coef (v - R)^2
        + kl_coef (q log q - q + 1) - ent_coef H(pi) + magnet_coef KL(pi, rho)

Here c is ``clip_range``, H the entropy over legal actions and rho the policy of the magnet. With
``clip_range_vf``, v is first clipped to this distance from its old value (without the maximum of
both errors that some implementations take), as in stable-baselines3. The term of ``kl_coef``,
averaged over actions drawn from pi_old, is KL(pi, pi_old).

**Magnetic mirror descent** (MMD: Sokota et al. 2023, eq. 7) is this loss with ``clip_range: null``
and a ``kl_coef``. Its step size is 1 / ``kl_coef``. The new policy maximises the gain of its
actions, minus a pull to the current policy and a pull to the magnet. Without ``magnet_coef`` the
magnet is the uniform policy and ``ent_coef`` the temperature, which must fall for play to approach
an equilibrium. With ``magnet_coef`` the magnet can be a moving policy.

The course of training depends only on the seed and on the share of the budget spent. With a budget
of decisions, the same seed therefore gives the same player, even if the run is killed and resumed
(except with ``maskable_ppo``, which starts new games). A budget of minutes depends on the clock.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from hearts_agents.models.checkpoint import find_encoder
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.models.own_network import (
    ModulePolicy,
    OwnNetwork,
    blaming_module,
    buffers_of,
    restore_buffers,
)
from hearts_agents.user_code import describe
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support import clock
from hearts_env.support.arrays import Floats32, Ints
from hearts_env.support.errors import CheckpointError, HeartsError
from hearts_env.support.jit import jit
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
    perceptron,
    places_of_totals,
    policy_tensors,
    use_one_thread,
)
from hearts_train.learn.config import AVERAGE, ConfigError, TrainConfig, between
from hearts_train.learn.games import END, PENDING, Rollout, SelfPlayGames, part_of
from hearts_train.learn.log import Counters
from hearts_train.learn.opponents import Opponents, trained_network
from hearts_train.learn.pretraining import Pretraining
from hearts_train.learn.shared import SharedNetwork

FIGURES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "magnet_kl")
"""The logged figures of the loss. ``approx_kl`` is Schulman's estimator k3."""

_TIE = 1e-4
"""Card values that differ by less are equal. They are means of whole numbers, over at most 105
worlds in two_player."""


class DivergenceError(HeartsError):
    """Training has diverged: the weights are not finite."""


# ---- the algorithm: data, advantages, loss -------------------------------------------------------
class Decisions(NamedTuple):
    """Decisions to learn from, one per row, on the device of the network."""

    observations: Tensor
    """``(n, *shape)``, of the encoder's dtype."""
    legal: Tensor
    """``(n, actions)`` bool."""
    actions: Tensor
    """``(n,)`` int64: the actions drawn."""
    log_probs: Tensor
    """``(n,)``: the logarithms of their probabilities when they were drawn."""
    values: Tensor
    """``(n,)``: the outputs of the value head when they were drawn."""
    advantages: Tensor
    returns: Tensor
    hands: Tensor
    """``(n, size)``: the other seats' cards, for a critic that sees them. Otherwise size is 0."""

    def take(self, rows: Tensor) -> Decisions:
        """Return the decisions in these rows."""
        return Decisions(*(column.index_select(0, rows) for column in self))

    def split(self, parts: int) -> Iterator[Decisions]:
        """Yield all rows, in parts of about equal size."""
        for columns in zip(*(column.tensor_split(parts) for column in self), strict=True):
            yield Decisions(*columns)


@jit
def estimate_advantages(rollout: Rollout, size: int, gamma: float, gae_lambda: float) -> None:
    """Write advantages and returns of the first `size` rows (Schulman et al. 2016, eq. 16).

    The advantage of a `PENDING` row is 0: its reward is not known yet. Its value serves the
    decision before it.
    """
    for i in range(size - 1, -1, -1):
        after, value = rollout.nexts[i], rollout.values[i]
        if after == PENDING:
            rollout.advantages[i] = 0.0
        elif after == END:
            rollout.advantages[i] = rollout.rewards[i] - value
        else:
            delta = rollout.rewards[i] + gamma * rollout.values[after] - value
            rollout.advantages[i] = delta + gamma * gae_lambda * rollout.advantages[after]
        rollout.returns[i] = rollout.advantages[i] + value


def log_policy(logits: Tensor, legal: Tensor) -> Tensor:
    """Return the log-probabilities of the legal actions, and 0 for illegal ones.

    Sums weighted by them are therefore sums over the legal actions. Their exponentials are
    probabilities for legal actions only.
    """
    logs = log_softmax(logits + torch.where(legal, 0.0, -torch.inf), 1)
    return torch.where(legal, logs, 0.0)


class Coefficients(NamedTuple):
    """The coefficients of the loss in an update. Infinite clip ranges clip nothing."""

    clip_range: float
    clip_range_vf: float
    vf_coef: float
    kl_coef: float
    ent_coef: Tensor
    magnet_coef: Tensor


def ppo_loss(
    logits: Tensor, values: Tensor, rho: Tensor | None, batch: Decisions, coefs: Coefficients
) -> tuple[Tensor, Tensor]:
    """Return the mean loss of a minibatch, and its `FIGURES`.

    Args:
        logits: ``(n, actions)``, of the current network.
        values: ``(n,)``, of the current network.
        rho: ``(n, actions)``, the magnet's logits. If None, there is no magnet.
        batch: the decisions of the minibatch.
        coefs: the coefficients of this update.
    """
    log_pi = log_policy(logits, batch.legal)
    pi = log_pi.exp()
    log_q = log_pi.gather(1, batch.actions[:, None])[:, 0] - batch.log_probs
    q, advantages = log_q.exp(), batch.advantages
    clipped = q.clamp(1.0 - coefs.clip_range, 1.0 + coefs.clip_range)
    policy_loss = -torch.min(q * advantages, clipped * advantages).mean()
    if coefs.clip_range_vf < math.inf:
        step = (values - batch.values).clamp(-coefs.clip_range_vf, coefs.clip_range_vf)
        values = batch.values + step
    value_loss = (values - batch.returns).square().mean()
    entropy = -(pi * log_pi).sum(1).mean()
    loss = policy_loss + coefs.vf_coef * value_loss - coefs.ent_coef * entropy
    if coefs.kl_coef:
        loss = loss + coefs.kl_coef * (q * log_q - q + 1.0).mean()
    magnet_kl = torch.zeros_like(entropy)
    if rho is not None:
        magnet_kl = (pi * (log_pi - log_policy(rho, batch.legal))).sum(1).mean()
        loss = loss + coefs.magnet_coef * magnet_kl
    with torch.no_grad():
        approx_kl = (q - 1.0 - log_q).mean()
        clip_fraction = ((q - 1.0).abs() > coefs.clip_range).float().mean()
        figures = [policy_loss, value_loss, entropy, approx_kl, clip_fraction, magnet_kl]
        return loss, torch.stack(figures)


class Lesson(NamedTuple):
    """A minibatch of pretraining, on the device of the network."""

    observations: Tensor
    """``(n, *shape)``, of the encoder's dtype."""
    card_values: Tensor
    """``(n, actions)``: the teacher's value of each card, NaN for illegal ones."""


class Learner:
    """A network in training, with its games, opponents and counters.

    The learner plays every seat that no opponent holds. Another algorithm is a subclass that
    overrides ``loss``, or ``estimate`` and ``evaluate`` (``vrpo``), or ``_prepare`` and ``_learn``
    as a whole (``maskable``).
    """

    algorithm = "PPO of every seat"
    """The name of the algorithm in model cards."""
    packages: tuple[str, ...] = ("hearts-env", "torch", "numpy")
    """The libraries that model cards list with their versions."""
    kind_of_games: type[SelfPlayGames] = SelfPlayGames
    games: SelfPlayGames

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make network, games and opponents. If `state` is given, resume from it.

        Raises:
            HeartsError: if a rule set, encoder or opponent is unknown.
        """
        use_one_thread()  # first, since the last bits of the initial weights depend on it
        self.config = config
        self.counters = replace(state.counters) if state else Counters()
        self.counters.starts += 1
        self.rules = Rules.make(config.env.rules)
        self.encoder = find_encoder(config.env.observation)
        self.device = find_device(config.device)
        is_own = config.network.module is not None
        self.precision = find_precision("float32" if is_own else config.precision, self.device)
        self.opponents = Opponents(config.opponents, config.self_play, self._player)
        self._set_rates()
        self.network = self._make_network().to(self.device)
        average = copy.deepcopy(self.network) if config.ema_decay else None
        is_shared = self.device.type == "cpu" and not getattr(self.network, "keeps_state", False)
        threads = Threads(config.threads if is_shared else 1)
        self.learnt = SharedNetwork(self.network, self.precision, threads)
        self.average: SharedNetwork | None = None
        if average is not None:
            self.average = SharedNetwork(average, self.precision, threads)
        self._resting: Tensor | None = None
        """True for the weights of a trained player, which do not change in the first updates."""
        self.optimizer = self._make_optimizer()
        self.pretraining = Pretraining(config.pretraining, self.rules, self.encoder, config.seed)
        self._prepare()
        self.opponents.take(self.tensors(), 0)
        if state is None or not self._has_games(state):
            self._begin_games()
        if state is not None:
            self._restore(state)
        self.learnt.round()
        if self.average is not None:
            self.average.round()
        self._set_rates()

    # -- play --------------------------------------------------------------------------------------
    def _play(self, num_steps: int) -> None:
        """Play `num_steps` decisions per game, drawn from the network's policy."""
        with torch.no_grad():
            for _ in range(num_steps):
                own = self.games.look()
                self.games.act(own, *self._decide(own))

    def _decide(self, own: slice) -> tuple[Floats32, Floats32]:
        """Return logits and values of the rows `own`."""
        logits, values = self.learnt(torch.from_numpy(self.games.observations[own]))
        return logits.cpu().numpy(), values.cpu().numpy()

    # -- estimate ----------------------------------------------------------------------------------
    def estimate(self) -> Ints:
        """Write advantages and returns. Return the rows to learn from."""
        ppo, games = self.config.ppo, self.games
        estimate_advantages(games.rollout, games.size, ppo.gamma, ppo.gae_lambda)
        return games.ready()

    def _decisions(self) -> Decisions:
        """Return all decisions with a known return."""
        ready, rollout = self.estimate(), self.games.rollout
        columns = (
            self.games.observations,
            rollout.masks.view(np.bool_),
            rollout.actions,
            rollout.log_probs,
            rollout.values,
            rollout.advantages,
            rollout.returns,
            self.games.hands,
        )
        return Decisions(*(torch.from_numpy(array[ready]).to(self.device) for array in columns))

    # -- learn -------------------------------------------------------------------------------------
    def _learn(self) -> dict[str, Any]:
        """Play, estimate and learn. Return the figures to log."""
        ppo = self.config.ppo
        self.games.reseed_opponents(self.counters.decisions)
        self._play(ppo.num_steps)
        self.counters.decisions += self.config.env.num_envs * ppo.num_steps
        decisions = self._decisions()
        self.games.drop_learnt()
        logged = explained_variance(decisions)
        if ppo.normalize_advantage:
            advantages = decisions.advantages
            spread = advantages.std(correction=0) + 1e-8
            decisions = decisions._replace(advantages=(advantages - advantages.mean()) / spread)
        sums, count = torch.zeros(len(FIGURES), device=self.device), 0
        for batch in self._minibatches(decisions):
            figures = self.learnt.learn(self._compute, batch)
            sums, count = sums + figures * len(batch.actions), count + len(batch.actions)
            approx_kl = figures[FIGURES.index("approx_kl")]
            if ppo.target_kl is not None and not approx_kl <= 1.5 * ppo.target_kl:
                break  # before the step, and with this factor, as in stable-baselines3
            self._step(self.learning_rate)
        self._update_average(self.config.ema_decay)
        means = zip(FIGURES, (sums / max(count, 1)).tolist(), strict=True)
        return logged | {name: _finite(mean) for name, mean in means if count}

    def _minibatches(self, decisions: Decisions) -> Iterator[Decisions]:
        """Yield all decisions ``num_epochs`` times, in random order.

        They come in equal parts of about ``batch_size``.
        """
        number = len(decisions.actions)
        parts = max(1, round(number / self.config.ppo.batch_size))
        for _ in range(self.config.ppo.num_epochs if number else 0):
            self.counters.gradient_epochs += 1
            order = torch.from_numpy(self.games.order.permutation(number)).to(self.device)
            yield from decisions.take(order).split(parts)

    def loss(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        """Return the mean loss of decisions, and the means of their `FIGURES`.

        With several threads, `batch` is one thread's share of a minibatch.
        """
        logits, values = self.evaluate(batch)
        return ppo_loss(logits, values, self.magnet_logits(batch), batch, self.coefs)

    def evaluate(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        """Return the network's logits and values."""
        return self.learnt.outputs(*self.inputs(batch))

    def inputs(self, batch: Decisions) -> tuple[Tensor, ...]:
        """Return the network's inputs."""
        return (batch.observations,)

    def magnet_logits(self, batch: Decisions) -> Tensor | None:
        """Return the magnet's logits, or None without a magnet."""
        if self.magnet is None:
            return None
        with torch.no_grad():
            return self.magnet(batch)

    def _step(self, rate: float) -> None:
        """Take a step of Adam, with the gradient clipped to ``max_grad_norm``."""
        weights = self.learnt.weights
        assert weights.grad is not None
        if self._resting is not None and self.counters.updates < self.config.network.start_updates:
            weights.grad[self._resting] = 0.0
        nn.utils.clip_grad_norm_(weights, self.config.ppo.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.learnt.round()

    def _update_average(self, keep: float) -> None:
        """Move the average towards the weights. It keeps the share `keep` of itself.

        Buffers, like the statistics of a batch norm in a user's own network, are copied.
        """
        if self.average is not None:
            self.average.weights.data.lerp_(self.learnt.weights.data, 1.0 - keep)
            self.average.round()
            restore_buffers(self.average.network, dict(self.network.named_buffers()))

    # -- making ------------------------------------------------------------------------------------
    @property
    def _critic_sizes(self) -> tuple[int, ...]:
        """The sizes `hidden` and `values` of ``ActorCritic``, if they are not its defaults."""
        return ()

    def _make_network(self) -> nn.Module:
        shape, own = self.encoder.space(self.rules).shape, self.config.network.module
        inputs = math.prod(shape)
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
                inputs, self.rules.num_actions, self.config.network, *self._critic_sizes
            )
        # Single deals start at 0:0, so the weights of the totals learn nothing. They must not
        # influence play in a match.
        first = next(layer for layer in network.modules() if isinstance(layer, nn.Linear))
        with torch.no_grad():
            first.weight[:, places_of_totals(self.encoder, self.rules)] = 0.0
        return network

    def _make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.learnt.weights], eps=1e-5, fused=True)

    def _prepare(self) -> None:
        """Make the games, the magnet and the loss, before a state is restored."""
        config = self.config
        try:
            self.games = self.kind_of_games(
                self.rules,
                self.encoder,
                self.opponents.pool,
                config.env,
                config.ppo.num_steps,
                seed=derived_seed(config.seed, 10),
            )
        except MemoryError:
            raise ConfigError(
                f"ppo.num_steps: no memory for {config.ppo.num_steps} decisions of "
                f"{config.env.num_envs} games; make it or env.num_envs smaller"
            ) from None
        if config.network.start is not None:
            self._start_from(config.network.start)
        self.magnet = self._find_magnet()
        self._compute = self.loss
        """``loss``, possibly compiled by torch."""

    def _start_from(self, name: str) -> None:
        """Copy a trained player's policy weights. The value head starts anew."""
        if self.config.pretraining.positions:
            raise ConfigError(
                "network.start: pretraining would overwrite these weights; omit "
                "pretraining.positions or network.start"
            )
        player = trained_network("network.start", name, self.rules, self.encoder)
        assert isinstance(self.network, ActorCritic)
        layers = linear_layers(self.network)
        sizes = [layers[0].in_features, *(layer.out_features for layer in layers)]
        if sizes != list(player.sizes) or player.activation != self.config.network.activation:
            raise ConfigError(
                f"network.start: {name!r} has layers of {list(player.sizes)} and "
                f"{player.activation}, not {sizes} and {self.config.network.activation}; set "
                "network.trunk, network.policy and network.activation to its own"
            )
        copy_layers(player, layers)
        self._update_average(0.0)
        policy = {weights for layer in layers for weights in layer.parameters()}
        self._resting = torch.cat(
            [
                torch.full((weights.numel(),), weights in policy, device=self.device)
                for weights in self.network.parameters()
            ]
        )

    def _find_magnet(self) -> Callable[[Decisions], Tensor] | None:
        """Return a function from decisions to the magnet's logits, or None without a magnet."""
        name, average = self.config.ppo.magnet, self.average
        if not self.config.ppo.has_magnet:
            return None
        if name == AVERAGE:
            assert average is not None  # the config is checked
            return lambda batch: average.outputs(*self.inputs(batch))[0]
        player = trained_network("ppo.magnet", name, self.rules, self.encoder)
        layers = perceptron(player.sizes, player.activation)
        copy_layers(player, [layer for layer in layers if isinstance(layer, nn.Linear)])
        network = nn.Sequential(nn.Flatten(), layers).to(self.device, self.precision)
        return lambda batch: network(batch.observations.to(self.precision)).float()

    def _begin_games(self) -> None:
        """Start new games, with other deals after each resumption."""
        number = 1000 + 100 * self.counters.starts
        self.games.begin(derived_seed(self.config.seed, number) % 2**62)

    @blaming_module()
    def warm_up(self) -> str:
        """Compile the code of an update before time is measured, without side effects.

        Returns:
            A warning if torch cannot compile the loss, otherwise an empty text.
        """
        before = self.games.state()
        networks = [one.network for one in (self.learnt, self.average) if one is not None]
        buffers = [buffers_of(network) for network in networks]
        has_ended = False
        while not has_ended:
            self._play(1)
            decisions, rollout = self._decisions(), self.games.rollout
            has_ended = bool((rollout.nexts[: self.games.size] == END).any())
            self.games.drop_learnt()
        rows = torch.arange(self.config.ppo.batch_size, device=self.device)
        batch = decisions.take(rows % len(decisions.actions))
        warning = self._compile(batch) if self.config.compile is True else ""
        self._try(batch)
        self.games.restore(before, "games")
        for network, values in zip(networks, buffers, strict=True):
            restore_buffers(network, values)
        return warning

    def _try(self, batch: Decisions) -> None:
        """Compute gradients and discard them, in this thread and then in all."""
        loss, _ = self._compute(batch)
        torch.autograd.backward(loss)
        self.learnt.rounded.zero_grad()
        self.learnt.learn(self._compute, batch)
        self.optimizer.zero_grad()

    def _compile(self, batch: Decisions) -> str:
        """Compile the loss for minibatches of any size. Return a warning if that fails.

        The first minibatch always has the same size, because the compiled code and thus the last
        bits of all results depend on it. Code without a C++ wrapper holds Python's lock, so
        threads would wait for each other.
        """
        try:
            options: dict[str, Any] = {"cpp_wrapper": self.device.type == "cpu"}
            self._compute = torch.compile(self.loss, dynamic=True, options=options)
            self._try(batch)
        except Exception as error:  # of many types, usually for lack of a C++ compiler
            self._compute = self.loss
            reason = describe(error).partition(" Set TORCH")[0]
            return (
                f"compile: torch cannot compile the loss ({reason}); training continues "
                "without it. Install a C++ compiler, or set compile=false"
            )
        return ""

    # -- pretraining -------------------------------------------------------------------------------
    def _pretrain(self) -> dict[str, Any]:
        """Learn some minibatches of the teacher's positions. Return the figures to log."""
        teacher, counters, sums, count = self.pretraining, self.counters, np.zeros(2), 0
        for step in teacher.minibatches(counters.pretraining_steps):
            given = teacher.take(teacher.rows(step))
            batch = Lesson(*(torch.from_numpy(array).to(self.device) for array in given))
            losses = self.learnt.learn(self._pretraining_loss, batch)
            sums += len(batch.card_values) * losses.cpu().numpy()
            count += len(batch.card_values)
            rate = teacher.learning_rate(step)
            self._step(rate)
            counters.pretraining_steps += 1
        if counters.pretraining_steps == teacher.size:  # play begins
            teacher.forget()
            self.optimizer.state.clear()
        self._update_average(0.0)
        error, value_error = (sums / count).tolist()
        return {
            "learning_rate": rate,
            "pretraining": counters.pretraining_steps / teacher.size,
            "pretraining_error": error,
            "pretraining_value_error": value_error,
        }

    def _pretraining_loss(self, batch: Lesson) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a minibatch, and its parts for logits and for values.

        The target of the logits is the teacher's value of each legal card times
        ``inverse_temperature``, up to a constant; the loss is the squared error. With
        ``target: action`` it is the cross-entropy with the teacher's preferred card (the lowest of
        equally good ones). The target of the value head is the value of the best card divided by
        the largest margin.
        """
        settings = self.config.pretraining
        logits, values = self.learnt.outputs(batch.observations)
        legal = ~batch.card_values.isnan()
        best = batch.card_values.nan_to_num(-torch.inf).amax(1)
        of_values = (values - best / self.rules.max_margin).square().mean()
        if settings.target == "action":
            preferred = (batch.card_values >= best[:, None] - _TIE).int().argmax(1)
            of_logits = cross_entropy(logits.masked_fill(~legal, -torch.inf), preferred)
        else:
            count = legal.sum(1, keepdim=True)
            goals = settings.inverse_temperature * batch.card_values.nan_to_num()
            errors = torch.where(legal, logits - goals, 0.0)
            centred = torch.where(legal, errors - errors.sum(1, keepdim=True) / count, 0.0)
            of_logits = (centred.square().sum(1) / count[:, 0]).mean()
        return of_logits + of_values, torch.stack([of_logits, of_values])

    # -- the run -----------------------------------------------------------------------------------
    @property
    def progress(self) -> float:
        """The share of the budget spent, 0 to 1."""
        counters = self.counters
        seconds = counters.seconds - counters.pretraining_seconds
        return self.config.budget.share(counters.decisions, seconds)

    def _set_rates(self) -> None:
        """Set the rates for the share of the budget spent."""
        ppo, share = self.config.ppo, self.progress
        self.learning_rate = between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.ent_coef = between(ppo.ent_coef, ppo.ent_coef_end, share)
        magnet_coef = between(ppo.magnet_coef, ppo.magnet_coef_end, share)
        self.coefs = Coefficients(
            math.inf if ppo.clip_range is None else ppo.clip_range,
            math.inf if ppo.clip_range_vf is None else ppo.clip_range_vf,
            ppo.vf_coef,
            ppo.kl_coef,
            torch.tensor(self.ent_coef),
            torch.tensor(magnet_coef),
        )

    @blaming_module()
    def update(self) -> dict[str, Any]:
        """Make one update of pretraining or of play and learning. Return the metrics to log."""
        is_own = isinstance(self.network, OwnNetwork)
        with torch.random.fork_rng(devices=[], enabled=is_own):
            if is_own:  # it may draw random numbers, like dropout: the same after a resumption
                seed = derived_seed(self.config.seed, 30)
                torch.manual_seed(derived_seed(seed, self.counters.updates))
            return self._update()

    def _update(self) -> dict[str, Any]:
        counters, before = self.counters, self.counters.decisions
        self._set_rates()
        begin = clock.now()
        rates = {"learning_rate": self.learning_rate, "ent_coef": self.ent_coef}
        if counters.pretraining_steps < self.pretraining.size:
            values = self._pretrain()
            by = "pretraining.learning_rate or pretraining.inverse_temperature"
        else:
            if self._resting is not None and counters.updates == self.config.network.start_updates:
                self.optimizer.state.clear()
            values, by = self._learn(), "ppo.learning_rate or ppo.max_grad_norm"
        if not bool(torch.isfinite(self.learnt.weights).all()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                f"finite; the last save is intact: resume with a smaller {by}"
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
            | rates
            | values
        )

    # -- the player --------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """Return the weights of the policy by their names in a player's file."""
        network = self.network if self.average is None else self.average.network
        if isinstance(network, OwnNetwork):
            return network.tensors()
        assert isinstance(network, ActorCritic)
        return policy_tensors(linear_layers(network))

    def agent(self) -> NetworkAgent:
        """Return the learner as a player that plays its preferred actions."""
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
    def _saved(self) -> dict[str, Saved]:
        """Return the parts that are saved, by the prefix of their names in the state.

        They are restored in this order, and ``games`` only if their settings are the same.
        """
        saved = self._saved_weights()
        return saved | {"games": self.games, "snapshot": self.opponents}

    def _saved_weights(self) -> dict[str, Saved]:
        saved: dict[str, Saved] = {"policy": Weights(self.network)}
        saved["optimizer"] = Moments(self.optimizer)
        return saved if self.average is None else saved | {"average": Weights(self.average.network)}

    @property
    def _games_key(self) -> str:
        """The settings of the games. If a resumed run changes them, new games start."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([self.opponents.pool.names, env], sort_keys=True)

    def _has_games(self, state: runs.State) -> bool:
        """Return True if the games of a state can continue."""
        return state.games == self._games_key

    def state(self) -> runs.State:
        """Return the whole training state, between two updates."""
        tensors = {
            f"{part}/{name}": array
            for part, one in self._saved().items()
            for name, array in one.state().items()
        }
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _restore(self, state: runs.State) -> None:
        try:
            for part, one in self._saved().items():
                tensors = part_of(state.tensors, f"{part}/")
                if part == "average" and not tensors:  # the run had no average so far
                    tensors = part_of(state.tensors, "policy/")
                if part != "games" or self._has_games(state):
                    one.restore(tensors, part)
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def explained_variance(decisions: Decisions) -> dict[str, float | None]:
    """Return ``explained_variance``: the share of the returns' variance that the values explain."""
    if not len(decisions.returns):  # no return is known yet
        return {}
    variance = float(decisions.returns.var(correction=0))
    errors = decisions.returns - decisions.values
    left = float(errors.var(correction=0)) / variance if variance else math.inf
    return {"explained_variance": _finite(1.0 - left)}
