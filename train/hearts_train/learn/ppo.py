"""Proximal policy optimisation by self-play: every seat learns from its own decisions.

Read this file from top to bottom. The names are settings of ``ppo`` in the config. ``PPO.learn`` is
one update (Schulman et al. 2017):

1. **Play.** Every game waits at a decision of the learner. One forward pass gives logits and
   values, an action is drawn per game, and the games play on. This is repeated ``num_steps`` times.
2. **Estimate.** The advantage A of a decision is the sum of delta = r + gamma v' - v over this and
   all later decisions of the same seat in the deal. Each step into the future multiplies the weight
   by gamma ``gae_lambda`` (Schulman et al. 2016, eq. 16). The return R is v + A. If
   ``normalize_advantage``, the advantages of an update are scaled to mean 0 and standard deviation
   1.
3. **Learn.** Pass through the decisions ``num_epochs`` times in random order. Each minibatch of
   ``batch_size`` decisions gives one step of Adam, with the gradient clipped to the norm
   ``max_grad_norm``.

The loss of a decision, with the ratio q = pi(a) / pi_old(a), is eq. 9 of the paper with two more
terms::

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

The course of training depends only on the seed and on the share of the budget spent. The same seed
therefore gives the same player, even if the run is killed and resumed.

The games are in ``games.py``, the threads in ``shared.py``, and the network, its average, its
opponents and saving in ``learner.py``. Another algorithm is a subclass of `PPO` (``vrpo.py``) or of
`Learner` (``maskable.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from hearts_agents.models.own_network import blaming_module, buffers_of, restore_buffers
from hearts_agents.user_code import describe
from hearts_env.seeds import derived_seed
from hearts_env.support.arrays import Floats32, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_train.learn.actor_critic import Saved, policy_module
from hearts_train.learn.config import AVERAGE, ConfigError, between
from hearts_train.learn.games import END, PENDING, Rollout, SelfPlayGames
from hearts_train.learn.learner import Learner
from hearts_train.learn.log import LOGGED
from hearts_train.learn.opponents import trained_network
from hearts_train.learn.shared import Figures


# ---- data, advantages, loss ----------------------------------------------------------------------
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
    """``(n,)``."""
    returns: Tensor
    """``(n,)``: the targets of the value head."""
    hands: Tensor
    """``(n, size)``: the other seats' cards, for a critic that sees them. Otherwise size is 0."""


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


def minibatches(
    decisions: Decisions, batch_size: int, num_epochs: int, rng: np.random.Generator
) -> Iterator[Decisions]:
    """Yield all decisions `num_epochs` times, in random order.

    They come in equal parts of about `batch_size`.
    """
    number = len(decisions.actions)
    parts = max(1, round(number / batch_size))
    for _ in range(num_epochs if number else 0):
        order = torch.from_numpy(rng.permutation(number)).to(decisions.actions.device)
        shuffled = (column.index_select(0, order).tensor_split(parts) for column in decisions)
        yield from map(Decisions._make, zip(*shuffled, strict=True))


def log_policy(logits: Tensor, legal: Tensor) -> Tensor:
    """Return the log-probabilities of the legal actions, and 0 for illegal ones.

    Sums weighted by them are therefore sums over the legal actions. Their exponentials are
    probabilities for legal actions only.
    """
    logs = log_softmax(logits + torch.where(legal, 0.0, -torch.inf), 1)
    return torch.where(legal, logs, 0.0)


class Coefficients(NamedTuple):
    """The coefficients of the loss in an update. Infinite clip ranges clip nothing.

    Those that change during a run are tensors, because torch would compile the loss again for each
    new number.
    """

    clip_range: float
    clip_range_vf: float
    vf_coef: float
    kl_coef: float
    ent_coef: Tensor
    magnet_coef: Tensor


def ppo_loss(
    logits: Tensor, values: Tensor, rho: Tensor | None, batch: Decisions, coefs: Coefficients
) -> tuple[Tensor, Figures]:
    """Return the mean loss of a minibatch, and the figures to log.

    Args:
        logits: ``(n, actions)``, of the current network.
        values: ``(n,)``, of the current network.
        rho: ``(n, actions)``, the magnet's logits. If None, there is no magnet.
        batch: the decisions of the minibatch.
        coefs: the coefficients of this update.

    Raises:
        HeartsError: if `values` has another shape, which would be broadcast.
    """
    if values.shape != batch.returns.shape:
        raise HeartsError(f"outputs: values have the shape {tuple(values.shape)}; return (n,)")
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
        approx_kl = (q - 1.0 - log_q).mean()  # Schulman's estimator k3
        clip_fraction = ((q - 1.0).abs() > coefs.clip_range).float().mean()
    return loss, {
        "policy_loss": policy_loss.detach(),
        "value_loss": value_loss.detach(),
        "entropy": entropy.detach(),
        "approx_kl": approx_kl,
        "clip_fraction": clip_fraction,
        "magnet_kl": magnet_kl.detach(),
    }


# ---- the algorithm -------------------------------------------------------------------------------
class PPO(Learner):
    """PPO of every seat that no opponent holds.

    To change the algorithm, override a method in a subclass and give the class to ``train``.

    Attributes:
        games: the games, with the list of their decisions (``games.rollout``).
        coefs: the coefficients of the loss in this update.
        learning_rate: the learning rate of this update.
        ent_coef: the weight of the entropy in this update.
    """

    algorithm = "PPO of every seat"
    rates = ("learning_rate", "ent_coef")
    kind_of_games: type[SelfPlayGames] = SelfPlayGames
    games: SelfPlayGames

    def learn(self) -> dict[str, Any]:
        """Play, estimate and learn. Return the figures to log."""
        config, ppo, games = self.config, self.config.ppo, self.games
        self.set_rates(self.progress)
        games.reseed_opponents(self.counters.decisions)
        self.play(ppo.num_steps)
        self.counters.decisions += ppo.num_steps * games.num_games
        decisions = self.decisions()
        games.drop_learnt()
        logged = explained_variance(decisions)
        if ppo.normalize_advantage:
            advantages = decisions.advantages
            spread = advantages.std(correction=0) + 1e-8
            decisions = decisions._replace(advantages=(advantages - advantages.mean()) / spread)
        sums, count = Figures(), 0
        for batch in minibatches(decisions, config.batch_size, ppo.num_epochs, games.rng):
            figures = self.network.backward(self.compiled_loss, batch)
            count += len(batch.actions)
            for name, figure in figures.items():
                sums[name] = sums.get(name, 0.0) + figure * len(batch.actions)
            if ppo.target_kl is not None and not figures["approx_kl"] <= 1.5 * ppo.target_kl:
                break  # before the step, and with this factor, as in stable-baselines3
            self.step(self.learning_rate)
        self.update_average(config.ema_decay)
        return logged | {name: finite(total.item() / count) for name, total in sums.items()}

    def play(self, num_steps: int) -> None:
        """Play `num_steps` decisions per game, drawn from the network's policy.

        They are added to ``games.rollout``.
        """
        for _ in range(num_steps):
            rows = self.games.observe()
            self.games.step(rows, *self.decide(rows))

    def decide(self, rows: slice) -> tuple[Floats32, Floats32]:
        """Return the logits and values of decisions.

        Args:
            rows: their rows in ``games.observations`` and ``games.rollout``, one per game.

        Returns:
            logits ``(games, actions)``, also of illegal actions, and values ``(games,)``.
        """
        logits, values = self.network(torch.from_numpy(self.games.observations[rows]))
        return logits.cpu().numpy(), values.cpu().numpy()

    def decisions(self) -> Decisions:
        """Return the decisions to learn from. Raise HeartsError if ``estimate`` names none."""
        ready, rollout = self.estimate(), self.games.rollout
        if ready is None:  # the method of a user
            raise HeartsError("estimate: it returns None; return the rows, like games.ready()")
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
        return Decisions(*(torch.from_numpy(column[ready]).to(self.device) for column in columns))

    def estimate(self) -> Ints:
        """Write ``advantages`` and ``returns`` of ``games.rollout``, both ``(rows,)``.

        Returns:
            the rows to learn from: those with a known return.
        """
        ppo, games = self.config.ppo, self.games
        estimate_advantages(games.rollout, games.size, ppo.gamma, ppo.gae_lambda)
        return games.ready()

    def loss(self, batch: Decisions) -> tuple[Tensor, Figures]:
        """Return the mean loss of decisions, and figures to log.

        Each figure is a mean over the decisions, as a scalar, under a name of your choice.
        ``target_kl`` needs ``approx_kl``. With several threads, `batch` is one thread's share of a
        minibatch.
        """
        logits, values = self.outputs(batch)
        return ppo_loss(logits, values, self.magnet_logits(batch), batch, self.coefs)

    def outputs(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        """Return the network's logits ``(n, actions)`` and values ``(n,)``, with gradients."""
        return self.network.outputs(*self.inputs(batch))

    def inputs(self, batch: Decisions) -> tuple[Tensor, ...]:
        """Return the network's inputs: observations ``(n, *shape)``."""
        return (batch.observations,)

    def magnet_logits(self, batch: Decisions) -> Tensor | None:
        """Return the magnet's logits ``(n, actions)``, or None without a magnet."""
        if self.magnet is None:
            return None
        with torch.no_grad():
            return self.magnet(batch)

    def set_rates(self, share: float) -> None:
        """Set the rates and coefficients for the share of the budget spent, 0 to 1."""
        ppo = self.config.ppo
        self.learning_rate = between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.ent_coef = between(ppo.ent_coef, ppo.ent_coef_end, share)
        self.coefs = Coefficients(
            math.inf if ppo.clip_range is None else ppo.clip_range,
            math.inf if ppo.clip_range_vf is None else ppo.clip_range_vf,
            ppo.vf_coef,
            ppo.kl_coef,
            torch.tensor(self.ent_coef),
            torch.tensor(between(ppo.magnet_coef, ppo.magnet_coef_end, share)),
        )

    # -- set-up ------------------------------------------------------------------------------------
    def prepare(self) -> None:
        """Make the games, the magnet and the loss."""
        config = self.config
        self.set_rates(self.progress)
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
        self.magnet = self._find_magnet()
        self.compiled_loss = self.loss
        """``loss``, until ``warm_up`` compiles it."""

    def _find_magnet(self) -> Callable[[Decisions], Tensor] | None:
        """Return a function from decisions to the magnet's logits, or None without a magnet."""
        name, average, dtype = self.config.ppo.magnet, self.average, self.network.dtype
        if not self.config.ppo.has_magnet:
            return None
        if name == AVERAGE:
            assert average is not None  # the config is checked
            return lambda batch: average.outputs(*self.inputs(batch))[0]
        player = trained_network("ppo.magnet", name, self.rules, self.encoder)
        network = policy_module(player).to(self.device, dtype)
        return lambda batch: network(batch.observations.to(dtype)).float()

    def begin(self) -> None:
        """Start new games, with other deals after each resumption."""
        number = 1000 + 100 * self.counters.starts
        self.games.begin(derived_seed(self.config.seed, number) % 2**62)

    def saved(self) -> dict[str, Saved]:
        """Return the parts that are saved, by the prefix of their names in the state."""
        return super().saved() | {"games": self.games}

    @blaming_module()
    def warm_up(self) -> str:
        """Compile the code of an update before time is measured, without side effects.

        Returns:
            A warning if torch cannot compile the loss, otherwise an empty text.
        """
        before = self.games.state()
        modules = [one.module for one in (self.network, self.average) if one is not None]
        buffers = [buffers_of(module) for module in modules]
        has_ended = False
        while not has_ended:
            self.play(1)
            decisions, rollout = self.decisions(), self.games.rollout
            has_ended = bool((rollout.nexts[: self.games.size] == END).any())
            self.games.drop_learnt()
        rows = torch.arange(self.config.batch_size, device=self.device)
        batch = Decisions(*(column[rows % len(decisions.actions)] for column in decisions))
        self._check_loss(batch)
        warning = self._compile(batch) if self.config.compile is True else ""
        self._dry_run(batch)
        self.games.restore(before, "games")
        for module, values in zip(modules, buffers, strict=True):
            restore_buffers(module, values)
        return warning

    def _check_loss(self, batch: Decisions) -> None:
        """Raise HeartsError if ``loss``, which a user may override, returns something else."""
        found: Any = self.loss(batch)
        loss, figures = None, None
        if isinstance(found, tuple) and len(found) == 2:
            loss, figures = found
        if not isinstance(figures, dict):
            raise HeartsError("loss: it returns no pair; return the loss and a dict of figures")
        if not (isinstance(loss, Tensor) and loss.numel() == 1 and loss.requires_grad):
            raise HeartsError("loss: it is not a number with a gradient; return the mean loss")
        if taken := sorted({*LOGGED, *self.rates}.intersection(figures)):
            raise HeartsError(f"loss: every update logs {taken[0]!r} already; rename this figure")
        if self.config.ppo.target_kl is not None and "approx_kl" not in figures:
            raise HeartsError(
                "loss: ppo.target_kl needs the figure 'approx_kl', which it does not return; "
                "return that of ppo_loss, or omit ppo.target_kl"
            )

    def _dry_run(self, batch: Decisions) -> None:
        """Run the loss and its gradient once in this thread and once shared, without a step."""
        torch.autograd.backward(self.compiled_loss(batch)[0])
        self.network.rounded.zero_grad()
        self.network.backward(self.compiled_loss, batch)
        self.optimizer.zero_grad()

    def _compile(self, batch: Decisions) -> str:
        """Compile the loss for minibatches of any size. Return a warning if that fails.

        The first minibatch always has the same size, because the compiled code and thus the last
        bits of all results depend on it. Code without a C++ wrapper holds Python's lock, so
        threads would wait for each other.
        """
        try:
            options: dict[str, Any] = {"cpp_wrapper": self.device.type == "cpu"}
            self.compiled_loss = torch.compile(self.loss, dynamic=True, options=options)
            self._dry_run(batch)
        except Exception as error:  # of many types, usually for lack of a C++ compiler
            self.compiled_loss = self.loss
            reason = describe(error).partition(" Set TORCH")[0]
            return (
                f"compile: torch cannot compile the loss ({reason}); training continues "
                "without it. Install a C++ compiler, or set compile=false"
            )
        return ""


def finite(number: float) -> float | None:
    """Return a number for JSON, which knows neither infinity nor NaN."""
    return number if math.isfinite(number) else None


def explained_variance(decisions: Decisions) -> dict[str, float | None]:
    """Return ``explained_variance``: the share of the returns' variance that the values explain."""
    if not len(decisions.returns):  # no return is known yet
        return {}
    variance = float(decisions.returns.var(correction=0))
    errors = decisions.returns - decisions.values
    left = float(errors.var(correction=0)) / variance if variance else math.inf
    return {"explained_variance": finite(1.0 - left)}
