"""Deep Monte Carlo: the network estimates the return of every card at the end of the deal.

All seats play epsilon-greedily, and the network is fitted to the returns: no bootstrapping, no
policy gradient (Zha et al. 2021, *DouZero*). Such a player does not mix its cards and need not
approach an equilibrium; it is a baseline for the other algorithms.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from hearts_env.support.arrays import Array, Floats, Floats32, Ints
from hearts_train.learn.config import between
from hearts_train.learn.games import SelfPlayGames
from hearts_train.learn.ppo import PPOLearner
from hearts_train.learn.ppo_kernel import FIGURES


class ActionValueLearner(PPOLearner):
    """A network of action values that plays all seats but those of its opponents.

    The outputs that are a policy's logits elsewhere are action values. A subclass sets how often it
    explores, and learns the values.
    """

    rates: tuple[str, ...] = ("learning_rate",)
    figures: tuple[str, ...] = ("value_loss",)

    @property
    def epsilon(self) -> float:
        """The probability of an action drawn without regard to its value."""
        raise NotImplementedError

    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        values, _ = super()._decide(thread, rows)
        legal = self.games[thread].rows.masks[rows] != 0
        best = np.where(legal, values, -np.inf).max(1).astype(np.float32)
        return epsilon_greedy(values, legal, self.epsilon), best

    def _fit(
        self, values: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor, size: int
    ) -> Floats:
        """Backpropagate the squared errors of action values; returns the sums of the metrics."""
        sums = np.zeros(len(FIGURES))
        loss = (values.gather(1, actions[:, None])[:, 0] - targets).square().sum()
        torch.autograd.backward([loss / size])
        sums[FIGURES.index("value_loss")] = float(loss.detach())
        return sums


def epsilon_greedy(values: Array, legal: NDArray[np.bool_], epsilon: float) -> Floats32:
    """Logits of the best legal action, or with probability `epsilon` of any, ``(n, actions)``."""
    rows = np.arange(len(values))
    best = np.where(legal, values, -np.inf).argmax(1)
    chances = np.where(legal, max(epsilon, 1e-12) / legal.sum(1, keepdims=True), 1.0)
    chances[rows, best] += 1.0 - epsilon
    logits: Floats32 = np.log(chances).astype(np.float32)
    return logits


class MonteCarloLearner(ActionValueLearner):
    """One network of action values that plays all seats but those of its opponents."""

    algorithm = "Deep Monte Carlo"

    @property
    def epsilon(self) -> float:
        """The probability of a card drawn without regard to its value."""
        settings = self.config.monte_carlo
        return between(settings.epsilon, settings.epsilon_end, self.progress)

    def _estimate(self, games: SelfPlayGames) -> Ints:
        """The return of every decision to the end of its deal.

        For deals under way, the network's value at the seat's last decision stands for the rest.
        """
        return games.estimate(1.0, 1.0)

    def _backward(
        self,
        games: SelfPlayGames,
        rows: Ints,
        size: int,
        observations: torch.Tensor,
        outputs: tuple[torch.Tensor, torch.Tensor],
    ) -> Floats:
        """The squared error of the played action's value against its return."""
        values, _ = outputs
        actions = torch.from_numpy(games.rows.actions[rows]).to(self.device)
        earned = torch.from_numpy(games.rows.returns[rows]).to(self.device)
        return self._fit(values, actions, earned, size)
