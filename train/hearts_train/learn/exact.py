"""Learn from exact values: networks that approach equilibrium on small decks.

Small decks have so few information sets that the value of every card in each of them can be
computed instead of sampled. Each update evaluates the network in every information set, computes
the values, and learns from minibatches of information sets. There are two stages:

1. **Mirror descent.** Q is the value of an action if both players continue with the current policy.
   The network is fitted to the policy after a step of magnetic mirror descent (Sokota et al. 2023),
   with step size eta and the uniform policy as magnet:
   ``log p' = (log p + eta Q) / (1 + eta alpha)`` up to a constant. The limit of these steps is
   closer to equilibrium the lower the temperature alpha, so alpha falls. The steps shrink, too,
   because large ones circle around the limit. In the end the errors of the fits exceed the
   remaining gain.
2. **Exploitability descent** (Lockhart et al. 2019). Q is the value of an action against a best
   response to the current policy. The weights descend the gradient of the best responses' value,
   which is exploitability itself. This gradient is proportional to the probability of an action. It
   would never recover an action that the first stage has nearly ruled out, so a floor is added to
   the probabilities. The floor falls to 0 with the step size. Neural replicator dynamics (Hennes et
   al. 2020) omit the probability instead.

The network's weights hold everything learnt. No table of the game is kept between updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hearts_env.seeds import derived_seed
from hearts_env.solve.best_response import best_response
from hearts_env.solve.side import Side, backward_mean
from hearts_env.solve.tree import DEFAULT_MEMORY, format_gigabytes
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn.actor_critic import Moments, Saved
from hearts_train.learn.config import ConfigError, between
from hearts_train.learn.ppo import Learner, log_policy

_AT_ONCE = 16_384
"""Information sets per forward pass."""
_BYTES_AN_ACTION = 48
"""Bytes per action and information set of all arrays in an update."""
_EVERYWHERE = 1e-4
"""Added to the weights by which information sets are sampled, so none is left out."""
_RARE = 1e-3
"""The probability below which the floor cannot make an action less likely."""
_TINY = 1e-12
"""Added to denominators that could be 0."""


class Position(NamedTuple):
    """Observations and legal actions of a player's information sets, one per row."""

    observations: torch.Tensor
    legal: torch.Tensor


class Drawn(NamedTuple):
    """The rows of a minibatch: information sets of each player."""

    first: torch.Tensor
    second: torch.Tensor


class ExactLearner(Learner):
    """A learner that plays both seats of a small deck and learns from exact action values."""

    algorithm = "mirror and exploitability descent on exact values"
    rates = ()
    steps_by = "exact.learning_rate or exact.descent_rate"

    def _prepare(self) -> None:
        """Encode all information sets. Raise HeartsError if the game is too large."""
        self.descent_optimizer = self._make_optimizer()
        """For the second stage, whose gradients have another scale."""
        try:
            self.tree  # noqa: B018 made now, to raise early if it is too large
        except HeartsError as error:
            raise ConfigError(f"env.rules: {error}") from None
        self._check_memory()
        self._positions = [self._look(player) for player in range(2)]
        if not any(bool((place.legal.sum(1) > 1).any()) for place in self._positions):
            raise ConfigError("env.rules: every card is forced under these rules; give others")

    def _check_memory(self) -> None:
        """Raise if the information sets and their observations do not fit into memory."""
        number = sum(side.num_infosets for side in self.tree.sides)
        space = self.encoder.space(self.rules)
        seen = math.prod(space.shape) * np.dtype(space.dtype).itemsize
        gigabytes = number * (seen + self.rules.num_actions * _BYTES_AN_ACTION) / 1e9
        if gigabytes > DEFAULT_MEMORY:
            raise ConfigError(
                f"env.rules: {self.rules.name} has {number:,} information sets, which take "
                f"{format_gigabytes(gigabytes)} with {self.config.env.observation}; at most "
                f"{format_gigabytes(DEFAULT_MEMORY)} can be used; take a smaller deck, or "
                "algorithm: ppo"
            )

    def _look(self, player: int) -> Position:
        side, space = self.tree.sides[player], self.encoder.space(self.rules)
        seen = np.zeros((side.num_infosets, *space.shape), space.dtype)
        legal = np.zeros((side.num_infosets, self.rules.num_actions), np.bool_)
        for begin, views in self.tree.blocks(player):
            rows = slice(begin, begin + len(views))
            seen[rows] = views.observe(self.encoder)
            legal[rows] = views.legal_table
        return Position(torch.from_numpy(seen), torch.from_numpy(legal))

    def _begin_games(self) -> None:
        """Do nothing: no game is played."""

    def warm_up(self) -> str:
        """Compile the code of an update, without side effects."""
        chances = [side.uniform() for side in self.tree.sides]
        best_response(self.tree, 0, chances[1])
        self._action_values(0, chances, chances[1])
        return ""

    # -- learning ----------------------------------------------------------------------------------
    @property
    def _first_stage(self) -> float:
        """The share of the first stage that is over, 0 to 1. In the second stage it is 1."""
        first = 1.0 - self.config.exact.descent
        return min(self.progress / first, 1.0) if first else 1.0

    def _learn(self) -> dict[str, Any]:
        exact = self.config.exact
        descends = exact.descent > 0.0 and self._first_stage == 1.0
        sharpness = exact.inverse_temperature if descends else 1.0
        logs = [self._log_policy(place, sharpness) for place in self._positions]
        chances = [
            chances_of(side, log.exp().numpy(), position.legal.numpy())
            for side, log, position in zip(self.tree.sides, logs, self._positions, strict=True)
        ]
        figures = {"value": self.tree.value(*chances)}
        return figures | (self._descend_exploitability if descends else self._mirror)(logs, chances)

    def _mirror(self, logs: list[torch.Tensor], chances: list[Floats]) -> dict[str, Any]:
        """Fit the network to the policy after a step of mirror descent. Return figures to log."""
        exact, share = self.config.exact, self._first_stage
        alpha = _falling(exact.temperature, exact.temperature_end, share)
        step = _falling(exact.step, exact.step_end, share)
        targets, weights = [], []
        for player, log in enumerate(logs):
            q, there = self._action_values(player, chances, chances[1 - player])
            pushed = log + step * torch.from_numpy(q.astype(np.float32))
            targets.append(log_policy(pushed / (1 + step * alpha), self._legal(player)))
            likely = self._own_reach(player, chances) * np.sqrt(there * self.tree.num_deals)
            weights.append(likely + _EVERYWHERE)

        def divergence(player: int, rows: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            target = targets[player][rows]
            found = log_policy(logits, self._legal(player)[rows])
            return (target.exp() * (target - found)).sum(1)

        rate = between(exact.learning_rate, exact.learning_rate_end, share)
        mean = self._fit(weights, divergence, self.optimizer, rate, self.config.ema_decay)
        return {"learning_rate": rate, "temperature": alpha, "divergence": mean}

    def _descend_exploitability(
        self, logs: list[torch.Tensor], chances: list[Floats]
    ) -> dict[str, Any]:
        """Descend the sharpened policy's exploitability, with a floor. Return figures to log."""
        exact = self.config.exact
        left = (1.0 - self.progress) / exact.descent
        best = [best_response(self.tree, player, chances[1 - player]) for player in range(2)]
        pushes, weights = [], []
        for player, log in enumerate(logs):
            legal = self._legal(player).numpy()
            q, there = self._action_values(player, chances, best[1 - player].chances)
            policy = np.where(legal, log.exp().numpy(), 0.0)
            gain = np.where(legal, q - (policy * q).sum(1, keepdims=True), 0.0)
            gain *= (self._own_reach(player, chances) * there)[:, None]
            # The floor makes rare actions more likely, never less.
            is_open = (gain > 0.0) | (policy > _RARE)
            push = (policy + left * exact.descent_floor * is_open) * gain
            # Sample in proportion to the gradient, and divide by it to compensate.
            weight = np.abs(push).sum(1) + _TINY
            pushes.append(
                torch.from_numpy((push / weight[:, None] * weight.sum()).astype(np.float32))
            )
            weights.append(weight)

        def loss(player: int, rows: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            found = log_policy(exact.inverse_temperature * logits, self._legal(player)[rows])
            return -(found * pushes[player][rows]).sum(1)

        rate = exact.descent_rate * left
        self._fit(weights, loss, self.descent_optimizer, rate, exact.descent_ema_decay)
        won = sum(each.value for each in best) / 2
        return {"learning_rate": rate, "best_responses_win": won}

    def _fit(
        self,
        weights: list[Floats],
        losses: Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor],
        optimizer: torch.optim.Optimizer,
        rate: float,
        average: float,
    ) -> float:
        """Learn from minibatches of both players' information sets. Return the mean loss.

        Args:
            weights: of each player, ``(infosets,)``. Sampling is in proportion to them.
            losses: function of a player, rows and their logits. Returns losses ``(rows,)``.
            optimizer: takes the steps.
            rate: learning rate.
            average: share of itself that the averaged network keeps over all steps.
        """
        exact, counters = self.config.exact, self.counters
        rng = np.random.default_rng(derived_seed(self.config.seed, 30 + counters.updates))
        sums = [np.cumsum(weight) for weight in weights]
        keep = average ** (1 / exact.minibatches)
        share, total = exact.batch_size // 2, 0.0

        def loss(drawn: Drawn) -> tuple[torch.Tensor, torch.Tensor]:
            mean = torch.zeros(())
            for player, (rows, position) in enumerate(zip(drawn, self._positions, strict=True)):
                logits, _ = self.learnt.outputs(position.observations[rows])
                mean = mean + losses(player, rows, logits).mean() / 2
            return mean, mean

        for _ in range(exact.minibatches):
            drawn = []
            for cumulative in sums:
                found = np.searchsorted(cumulative, rng.random(share) * cumulative[-1])
                drawn.append(torch.from_numpy(np.minimum(found, len(cumulative) - 1)))
            total += float(self.learnt.learn(loss, Drawn(*drawn)))
            self._step(rate, optimizer)
            self._update_average(keep)
        counters.decisions += exact.minibatches * 2 * share
        counters.gradient_epochs += 1
        return total / exact.minibatches

    def _log_policy(self, position: Position, sharpness: float = 1.0) -> torch.Tensor:
        """Return the log-probabilities in all information sets, with 0 for illegal actions."""
        parts = []
        with torch.inference_mode():
            for begin in range(0, len(position.legal), _AT_ONCE):
                rows = slice(begin, begin + _AT_ONCE)
                logits, _ = self.learnt(position.observations[rows])
                parts.append(log_policy(sharpness * logits, position.legal[rows]))
        return torch.cat(parts)

    def _action_values(
        self, player: int, chances: list[Floats], others: Floats
    ) -> tuple[Floats, Floats]:
        """Return the values of a player's actions, and the reach of its information sets.

        Args:
            player: the player, who continues with its `chances`.
            chances: sequence probabilities of both players.
            others: sequence probabilities with which the opponent continues.

        Returns:
            ``(infosets, actions)``: mean margins in points, 0 for illegal actions. And
            ``(infosets,)``: the probability of each information set by the deal and the opponent
            alone.
        """
        side, tree = self.tree.sides[player], self.tree
        other = tree.sides[1 - player].plan(others)
        values, reach = tree.gradient(player, other), tree.reach(player, other)
        for array in (values, reach):
            backward_mean(side.parent, side.first, chances[player], array)
        first = side.first[:-1]
        there = np.maximum(reach[first], 0.0)  # the same for all actions of an information set
        legal = self._positions[player].legal.numpy()
        q, each = np.zeros(legal.shape), np.repeat(there, np.diff(side.first))
        q[legal] = values[first[0] :] / np.maximum(each, 1e-12)
        return q, there

    def _own_reach(self, player: int, chances: list[Floats]) -> Floats:
        """Return a player's own reach probabilities of its information sets, ``(infosets,)``."""
        side = self.tree.sides[player]
        own: Floats = side.plan(chances[player])[side.parent]
        return own

    def _legal(self, player: int) -> torch.Tensor:
        return self._positions[player].legal

    # -- state -------------------------------------------------------------------------------------
    def _saved(self) -> dict[str, Saved]:
        saved = self._saved_weights() | {"descent_optimizer": Moments(self.descent_optimizer)}
        return saved | {"snapshot": self.opponents}

    # -- the player --------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """Return the weights of the sharpened policy by their names in a player's file."""
        named = super().tensors()
        last = max(int(name.split(".")[1]) for name in named)
        for name in (f"policy.{last}.weight", f"policy.{last}.bias"):
            named[name] = named[name] * np.float32(self.config.exact.inverse_temperature)
        return named


def _falling(begin: float, end: float, share: float) -> float:
    """Interpolate geometrically from `begin` to `end`."""
    return begin * (end / begin) ** share


def chances_of(side: Side, policy: Array, legal: NDArray[np.bool_]) -> Floats:
    """Return a policy ``(infosets, actions)`` as sequence probabilities. Ignore illegal entries."""
    chances = np.ones(side.num_sequences)
    table = np.where(legal, policy.astype(np.float64), 0.0)
    chances[len(side.hands) :] = (table / table.sum(1, keepdims=True))[legal]
    return chances
