"""Learning from exact values: policy iteration of a network in games that can be listed.

Small decks have so few information sets that what every card is worth, in each of them and against
the present policy of both players, is computed and not sampled. In each update:

1. **Ask** the network for its policy in every information set.
2. **Compute** what each action is worth on average, Q, if both players go on with that policy.
3. **Learn**: make minibatches of information sets, drawn by how likely the player itself is to get
   there, and fit the network to the policy that a step of magnetic mirror descent leads to (Sokota
   et al. 2023), with step eta and the uniform policy as magnet:
   ``log p' = (log p + eta Q) / (1 + eta alpha)`` up to a constant.

The temperature alpha falls over the run, and with it how far from equilibrium the policy is that
such steps tend to; the steps become smaller, since large ones circle around it instead. All that
has been learnt lies in the network's weights: no table of the game is carried from one update to
the next.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hearts_env.arrays import Array, Floats
from hearts_env.encoders import write_many
from hearts_env.seeds import derived_seed
from hearts_env.solve.tree import DEFAULT_MEMORY, Side, backward_mean, format_gigabytes
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import ActorCritic, set_threads
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.learner import Tensors
from hearts_train.learn.network_learner import NetworkLearner

_AT_ONCE = 16_384
"""Information sets in a forward pass."""
_BYTES_AN_ACTION = 48
"""Of all arrays that an update has an entry in for each action of each information set."""
_EVERYWHERE = 1e-4
"""How likely an information set is to be learnt from at least, as a plan has it."""


class Position(NamedTuple):
    """All information sets of a player, a row each: what is seen there, and what may be done."""

    observations: torch.Tensor
    legal: torch.Tensor


class ExactLearner(NetworkLearner):
    """Both players of a small deck, learning from what every card is worth."""

    algorithm = "exact policy iteration"

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything, as ``Learner`` has it.

        Raises:
            HeartsError: if the game is not of two players, or too large to be listed or learnt.
        """
        super().__init__(config, 1, state)
        set_threads(config.threads)
        self._add_pool()
        self._check_memory()
        self._positions = [self._look(player) for player in range(2)]
        self._start(state)

    def _check_memory(self) -> None:
        """Refuse games whose information sets do not fit into memory with what is seen there."""
        number = sum(side.num_infosets for side in self.tree.sides)
        space = self.encoder.space(self.rules)
        seen = math.prod(space.shape) * np.dtype(space.dtype).itemsize
        gigabytes = number * (seen + self.rules.num_actions * _BYTES_AN_ACTION) / 1e9
        if gigabytes > DEFAULT_MEMORY:
            raise ConfigError(
                f"env.rules: {self.rules.name} has {number:,} information sets, which take "
                f"{format_gigabytes(gigabytes)} as {self.config.env.observation} shows them, of at "
                f"most {format_gigabytes(DEFAULT_MEMORY)}; take a smaller deck, or algorithm: ppo"
            )

    def _look(self, player: int) -> Position:
        side, space = self.tree.sides[player], self.encoder.space(self.rules)
        seen = np.zeros((side.num_infosets, *space.shape), space.dtype)
        legal = np.zeros((side.num_infosets, self.rules.num_actions), np.bool_)
        for begin, views in self.tree.blocks(player):
            rows = slice(begin, begin + len(views))
            games = np.arange(len(views))
            write_many(self.encoder, self.rules, views.vectors, games, views.players, seen[rows])
            legal[rows] = views.legal_table
        return Position(torch.from_numpy(seen), torch.from_numpy(legal))

    def _begin_games(self) -> None:
        """Nothing: no game is played."""

    def warm_up(self) -> None:
        """Compile what an update needs; leaves no trace in what follows."""
        self._worths(0, [side.uniform() for side in self.tree.sides])

    # -- learning ----------------------------------------------------------------------------------
    def _learn(self) -> dict[str, Any]:
        exact = self.config.exact
        logs = [self._log_policy(self.network, position) for position in self._positions]
        chances = [
            chances_of(side, log.exp().numpy(), position.legal.numpy())
            for side, log, position in zip(self.tree.sides, logs, self._positions, strict=True)
        ]
        alpha = _falling(exact.temperature, exact.temperature_end, self.progress)
        step = _falling(exact.step, exact.step_end, self.progress)
        targets, weights = [], []
        for player, log in enumerate(logs):
            worths, likely = self._worths(player, chances)
            pushed = log + step * torch.from_numpy(worths.astype(np.float32))
            targets.append(_log_softmax(pushed / (1 + step * alpha), self._legal(player)))
            weights.append(likely)
        figures = {"temperature": alpha, "value": self.tree.value(*chances)}
        return figures | self._fit(targets, weights)

    def _fit(self, targets: list[torch.Tensor], weights: list[Floats]) -> dict[str, Any]:
        """Learn the policies of `targets` in minibatches, each of both players' positions."""
        exact, counters = self.config.exact, self.counters
        rng = np.random.default_rng(derived_seed(self.config.seed, 30 + counters.updates))
        sums = [np.cumsum(weight) for weight in weights]
        keep = self.config.average ** (1 / exact.minibatches)
        share, divergence = exact.batch_size // 2, 0.0
        rate = exact.learning_rate + self.progress * (exact.learning_rate_end - exact.learning_rate)
        for _ in range(exact.minibatches):
            self.replicas.gradients[0].zero_()
            for player, position in enumerate(self._positions):
                drawn = np.searchsorted(sums[player], rng.random(share) * sums[player][-1])
                rows = torch.from_numpy(np.minimum(drawn, len(sums[player]) - 1))
                logits, _ = self._forward(self.network, position.observations[rows])
                found = _log_softmax(logits, position.legal[rows])
                target = targets[player][rows]
                loss = (target.exp() * (target - found)).sum(1).mean() / 2
                torch.autograd.backward([loss])
                divergence += float(loss.detach())
            self._step(rate)
            if self.averaged is not None:
                self.averaged.weights.lerp_(self.replicas.weights, 1 - keep)
        counters.decisions += exact.minibatches * 2 * share
        counters.gradient_epochs += 1
        return {"divergence": divergence / exact.minibatches}

    def _log_policy(self, network: ActorCritic, position: Position) -> torch.Tensor:
        """The logarithms of its chances in all information sets; 0 where they are illegal."""
        parts = []
        with torch.inference_mode():
            for begin in range(0, len(position.legal), _AT_ONCE):
                rows = slice(begin, begin + _AT_ONCE)
                logits, _ = self._forward(network, position.observations[rows])
                parts.append(_log_softmax(logits, position.legal[rows]))
        return torch.cat(parts)

    def _worths(self, player: int, chances: list[Floats]) -> tuple[Floats, Floats]:
        """What a player's actions are worth, and how often its information sets are learnt from.

        Returns:
            ``(infosets, actions)``, margins in points on average over what the player does not
            know, 0 where illegal; and weights ``(infosets,)``, above 0: its own chance to get
            there, times the root of that of everything else.
        """
        side, tree = self.tree.sides[player], self.tree
        other = tree.sides[1 - player].plan(chances[1 - player])
        values, reach = tree.gradient(player, other), tree.reach(player, other)
        for array in (values, reach):
            backward_mean(side.parent, side.first, chances[player], array)
        first = side.first[:-1]
        there = np.maximum(reach[first], 0.0)  # the same for all actions of an information set
        legal = self._positions[player].legal.numpy()
        worths, each = np.zeros(legal.shape), np.repeat(there, np.diff(side.first))
        worths[legal] = values[first[0] :] / np.maximum(each, 1e-12)
        own = side.plan(chances[player])[side.parent]
        return worths, own * np.sqrt(there * tree.num_deals) + _EVERYWHERE

    def _legal(self, player: int) -> torch.Tensor:
        return self._positions[player].legal

    # -- the player --------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The policy's weights under their names in a checkpoint, sharpened."""
        named = super().tensors()
        last = max(int(name.split(".")[1]) for name in named)
        for name in (f"policy.{last}.weight", f"policy.{last}.bias"):
            named[name] = named[name] * np.float32(self.config.exact.sharpness)
        return named


def _falling(begin: float, end: float, share: float) -> float:
    """What changes from `begin` to `end` by the same factor with each share of the budget."""
    return begin * (end / begin) ** share


def chances_of(side: Side, policy: Array, legal: NDArray[np.bool_]) -> Floats:
    """A policy as one chance a sequence.

    Args:
        side: whose.
        policy: ``(infosets, actions)``, what is illegal is not looked at.
        legal: ``(infosets, actions)``.
    """
    chances = np.ones(side.num_sequences)
    table = np.where(legal, policy.astype(np.float64), 0.0)
    chances[len(side.hands) :] = (table / table.sum(1, keepdims=True))[legal]
    return chances


def _log_softmax(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Logarithms of the chances of the legal actions; 0 for the others."""
    logs = torch.log_softmax(logits.masked_fill(~legal, -torch.inf), 1)
    return logs.masked_fill(~legal, 0.0)
