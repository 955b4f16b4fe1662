"""Variance-reduced policy optimisation: PPO with a critic that sees all hands (Fan, Farina 2026).

The advantages of ``ppo.py`` are noisy. The players' later choices are random, and the value head
does not see the hidden hands. In the paper (arXiv 2605.19235) the critic is Q(s, a) of the whole
state s. After the deal only the players' choices are random, so an exact Q removes all noise except
that of the deal. With V(s) = sum_a pi(a) Q(s, a), the return of a decision is the Expected
SARSA(lambda) trace over the decisions of the deal:

    G_t = r_t + gamma (V(s_t+1) + lambda (G_t+1 - Q(s_t+1, a_t+1)))

Its advantage is G_t - V(s_t). Later decisions enter only through the difference between their
return and Q. With lambda = 1 the estimate is unbiased for any Q, and its noise comes from the
errors of Q alone. In zero-sum games of two, t + 1 is the next decision of either seat, and V, Q and
G change sign with the player. In other games it is the next decision of the same seat.

Q is the value head of the network. Its inputs are the trunk's features, which it shares with the
policy, and the hands of the other seats. Its target is G, for the action drawn. The trained player
does not need it. Everything else is as in ``ppo.py``, with ``gae_lambda`` as lambda. Advantages
shrink as Q improves. Normalising them would let the policy term swamp the entropy and magnet terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Bytes, Floats32, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.jit import jit
from hearts_env.support.tensors import Tensors
from hearts_train.learn.games import END, PENDING, Rollout, SelfPlayGames
from hearts_train.learn.ppo import PPO, Decisions


class VRPOGames(SelfPlayGames):
    """Self-play games with the hidden hands and Q at each decision.

    Attributes:
        hands: ``(rows, (players - 1) * actions) int8``: the other seats' cards, next seat first.
        q_values: ``(rows, actions) float32``: Q.
    """

    def __init__(self, rules: Rules, *more: Any, **settings: Any) -> None:
        """Make the arrays, with the arguments of ``SelfPlayGames``."""
        super().__init__(rules, *more, **settings)
        if rules.players == 2 and self.rewarder.kind != "points":
            self.num_chains = 1
        capacity = len(self.observations)
        self.hands = np.zeros((capacity, (rules.players - 1) * rules.num_actions), np.int8)
        self.q_values = np.zeros((capacity, rules.num_actions), np.float32)

    def observe(self) -> slice:
        """Add a row per game, with the observation and the hidden hands. Return these rows."""
        rows = super().observe()
        reveal(self.rules.players, self.batch.states, self.hands[rows])
        return rows

    def _saved(self) -> Tensors:
        return super()._saved() | {"hands": self.hands, "q_values": self.q_values}


class VRPOLearner(PPO):
    """A PPO learner with a critic that sees all hands."""

    algorithm = "variance-reduced policy optimisation (VRPO) of every seat"
    kind_of_games = VRPOGames
    games: VRPOGames

    @property
    def critic_sizes(self) -> tuple[int, int]:  # type: ignore[override]
        """The sizes of the critic: it sees the other hands, and has a value per action."""
        actions = self.rules.num_actions
        return (self.rules.players - 1) * actions, actions

    def decide(self, rows: slice) -> tuple[Floats32, Floats32]:
        """Return logits and V. Q is written to ``games.q_values``."""
        games = self.games
        given = (torch.from_numpy(array[rows]) for array in (games.observations, games.hands))
        logits, q_values = (output.cpu().numpy() for output in self.network(*given))
        games.q_values[rows] = q_values
        values = np.empty(len(q_values), np.float32)
        expect(logits, q_values, games.batch.legal, values)
        return logits, values

    def estimate(self) -> Ints:
        """Write advantages and returns. Return the rows to learn from.

        Replace the values of these rows by Q of the actions drawn. The returns are the targets of
        Q.
        """
        ppo, games = self.config.ppo, self.games
        estimate_by_q(games.rollout, games.q_values, games.size, ppo.gamma, ppo.gae_lambda)
        ready = games.ready()
        games.rollout.values[ready] = games.q_values[ready, games.rollout.actions[ready]]
        return ready

    def inputs(self, batch: Decisions) -> tuple[Tensor, ...]:
        """Return observations and hands."""
        return batch.observations, batch.hands

    def outputs(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        """Return the logits, and Q of the actions drawn."""
        logits, q_values = super().outputs(batch)
        return logits, q_values.gather(1, batch.actions[:, None])[:, 0]


@jit
def reveal(players: int, states: Ints, hands: Bytes) -> None:
    """Write the hands of all players except the one to act, next seat first.

    Args:
        players: the number of players.
        states: ``(games, STATE_SIZE)``.
        hands: ``(games, (players - 1) * actions)``, written: 1 for each card held.
    """
    hands[:] = 0
    actions = hands.shape[1] // (players - 1)
    for g in range(len(states)):
        for other in range(1, players):
            seat = (states[g, k.PLAYER] + other) % players
            cards = states[g, k.HANDS + k.SEAT * seat]
            while cards:
                hands[g, (other - 1) * actions + lowest(cards)] = 1
                cards &= cards - 1


@jit
def expect(logits: Floats32, q_values: Floats32, legal: Ints, values: Floats32) -> None:
    """Write V: the mean of Q over legal actions, weighted by the softmax of their logits.

    Args:
        logits: ``(rows, actions)``.
        q_values: ``(rows, actions)``: Q.
        legal: ``(rows,)``, bit masks over actions.
        values: ``(rows,)``, written: V.
    """
    for i in range(len(legal)):
        highest, mask = np.float32(-np.inf), legal[i]
        while mask:
            highest = max(highest, logits[i, lowest(mask)])
            mask &= mask - 1
        total, mean, mask = 0.0, 0.0, legal[i]
        while mask:
            j = lowest(mask)
            weight = np.exp(logits[i, j] - highest)
            total += weight
            mean += weight * q_values[i, j]
            mask &= mask - 1
        values[i] = mean / total


@jit
def estimate_by_q(
    rollout: Rollout, q_values: Floats32, size: int, gamma: float, gae_lambda: float
) -> None:
    """Write advantages and returns of the first `size` rows. Nothing reads those of `PENDING` rows.

    Args:
        rollout: the list of decisions. Its ``values`` are V.
        q_values: ``(rows, actions)``: Q.
        size: the number of rows.
        gamma: the discount per decision.
        gae_lambda: lambda.
    """
    for i in range(size - 1, -1, -1):
        after, found = rollout.nexts[i], rollout.rewards[i]
        if after == PENDING:  # its reward is not known yet, so take Q
            found = q_values[i, rollout.actions[i]]
        elif after != END:
            surprise = rollout.returns[after] - q_values[after, rollout.actions[after]]
            follows = rollout.values[after] + gae_lambda * surprise
            found += gamma * (follows if rollout.seats[after] == rollout.seats[i] else -follows)
        rollout.returns[i] = found
        rollout.advantages[i] = found - rollout.values[i]
