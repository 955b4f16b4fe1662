"""Variance-reduced policy optimisation: PPO with a critic that sees all hands (Fan, Farina 2026).

The advantage estimate of ``ppo.py`` has the noise of every later card, drawn at random by both
players, and of the hands that its values do not see. In the paper (arXiv 2605.19235) the critic is
Q(s, a), of the whole state s. The cards, once dealt, decide everything but what is played, so that
a right Q leaves no noise but that of the deal. With V(s) = sum_a pi(a) Q(s, a), the return of a
decision is the trace of Expected SARSA(lambda) over the decisions of the deal:

    G_t = r_t + gamma (V(s_t+1) + lambda (G_t+1 - Q(s_t+1, a_t+1)))

and its advantage G_t - V(s_t). What follows the next decision counts by how far it went beyond what
Q expected of it: with lambda 1 that has the right mean whatever Q says, and the noise of the errors
of Q alone. In games of two with a sum of zero the next decision is that of whoever is next, and V,
Q and G change their sign with the player; else that of the same seat.

Q is the value head of the network: it takes the trunk's features, which the policy has too, and the
hands of the other seats. It is fitted to G of the action drawn. The player does not need it. All
else is as in ``ppo.py``; ``gae_lambda`` is lambda. Advantages shrink as Q learns: normalised, they
would outweigh the entropy bonus and the magnet more and more.
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
from hearts_train.learn.ppo import Decisions, Learner


class VRPOGames(SelfPlayGames):
    """Games, the hands that are hidden at each decision, and what each action was held to be worth.

    Attributes:
        hands: ``(rows, (players - 1) * actions) int8``: the other seats' cards, from the left.
        worth: ``(rows, actions) float32``: Q.
    """

    def __init__(self, rules: Rules, *more: Any, **settings: Any) -> None:
        """As of ``SelfPlayGames``."""
        super().__init__(rules, *more, **settings)
        if rules.players == 2 and self.rewarder.kind != "points":
            self.chains = 1
        capacity = len(self.observations)
        self.hands = np.zeros((capacity, (rules.players - 1) * rules.num_actions), np.int8)
        self.worth = np.zeros((capacity, rules.num_actions), np.float32)

    def _saved(self) -> Tensors:
        return super()._saved() | {"hands": self.hands, "worth": self.worth}


class VRPOLearner(Learner):
    """One network that plays all seats but those of its opponents, and a critic of all hands."""

    algorithm = "variance-reduced policy optimisation (VRPO) of every seat"
    kind_of_games = VRPOGames
    games: VRPOGames

    @property
    def _critic_sizes(self) -> tuple[int, int]:
        actions = self.rules.num_actions
        return (self.rules.players - 1) * actions, actions

    def _decide(self, own: slice) -> tuple[Floats32, Floats32]:
        games = self.games
        reveal(self.rules.players, games.batch.states, games.hands[own])
        observations, hands = (
            torch.from_numpy(array[own]) for array in (games.observations, games.hands)
        )
        outputs = self._forward(observations, hands)
        logits, worth = (output.cpu().numpy() for output in outputs)
        games.worth[own] = worth
        values = np.empty(len(worth), np.float32)
        expect(logits, worth, games.batch.legal, values)
        return logits, values

    def estimate(self) -> Ints:
        """Write advantages and returns; return the rows that can be learnt from.

        Their values are then those of the actions drawn, which the returns are for.
        """
        ppo, games = self.config.ppo, self.games
        estimate_by_worth(games.rollout, games.worth, games.size, ppo.gamma, ppo.gae_lambda)
        ready = games.ready()
        games.rollout.values[ready] = games.worth[ready, games.rollout.actions[ready]]
        return ready

    def evaluate(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        """Return the logits, and what the critic expects of the actions drawn."""
        logits, worth = self._forward(batch.observations, batch.hands)
        return logits, worth.gather(1, batch.actions[:, None])[:, 0]


@jit
def reveal(players: int, states: Ints, hands: Bytes) -> None:
    """Write the hands of all but the player whose turn it is, the next seat's first.

    Args:
        players: seats.
        states: ``(games, STATE_SIZE)``.
        hands: ``(games, (players - 1) * actions)``, written: 1 for each card.
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
def expect(logits: Floats32, worth: Floats32, legal: Ints, values: Floats32) -> None:
    """Write the mean worth of the legal actions under the softmax of their logits, ``(rows,)``."""
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
            mean += weight * worth[i, j]
            mask &= mask - 1
        values[i] = mean / total


@jit
def estimate_by_worth(
    rollout: Rollout, worth: Floats32, size: int, gamma: float, gae_lambda: float
) -> None:
    """Write advantages and returns of the first `size` rows; those of `PENDING` rows say nothing.

    Args:
        rollout: the list of decisions; ``values`` are V.
        worth: ``(rows, actions)``: Q.
        size: how many rows there are.
        gamma: the discount of a decision.
        gae_lambda: lambda.
    """
    for i in range(size - 1, -1, -1):
        after, found = rollout.nexts[i], rollout.rewards[i]
        if after == PENDING:  # its reward is not known yet: what Q expects is all there is
            found = worth[i, rollout.actions[i]]
        elif after != END:
            surprise = rollout.returns[after] - worth[after, rollout.actions[after]]
            follows = rollout.values[after] + gae_lambda * surprise
            found += gamma * (follows if rollout.seats[after] == rollout.seats[i] else -follows)
        rollout.returns[i] = found
        rollout.advantages[i] = found - rollout.values[i]
