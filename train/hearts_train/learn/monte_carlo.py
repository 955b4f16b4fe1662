"""Deep Monte Carlo: the network says what every card will have earned at the end of the deal.

All seats play the card that it prefers, now and then any other (epsilon-greedy), and the network is
fitted to what the seat then earned: no bootstrapping, no policy gradient (Zha et al. 2021,
*DouZero*). Such a player does not mix its cards, and need not come near an equilibrium: it is what
others are compared with.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from hearts_env.arrays import Array
from hearts_train.learn import selfplay_kernel as sk
from hearts_train.learn.learner import between
from hearts_train.learn.selfplay import Rows, SelfPlayLearner
from hearts_train.learn.selfplay_games import SelfPlayGames

Floats32 = NDArray[np.float32]


class MonteCarloLearner(SelfPlayLearner):
    """One network of action values that plays all seats but those of its opponents."""

    algorithm = "Deep Monte Carlo"

    @property
    def epsilon(self) -> float:
        """The chance of a card drawn without regard to its value."""
        settings = self.config.monte_carlo
        return between(settings.epsilon, settings.epsilon_end, self.progress)

    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        values, _ = super()._decide(thread, rows)
        legal = self.games[thread].rows.masks[rows] != 0
        best = np.where(legal, values, -np.inf).max(1).astype(np.float32)
        return epsilon_greedy(values, legal, self.epsilon), best

    def _estimate(self, games: SelfPlayGames) -> Rows:
        """What every decision earned up to the end of its deal.

        Of deals under way, what the network expects at the seat's last decision is the rest.
        """
        return games.estimate(1.0, 1.0)

    def _backward(
        self,
        games: SelfPlayGames,
        rows: Rows,
        size: int,
        clip: sk.Clip,
        observations: torch.Tensor,
        outputs: tuple[torch.Tensor, torch.Tensor],
        sums: NDArray[np.float64],
    ) -> None:
        """The square of what the action played is off by, from what it earned."""
        values, _ = outputs
        actions = torch.from_numpy(games.rows.actions[rows]).to(self.device)
        earned = torch.from_numpy(games.rows.returns[rows]).to(self.device)
        chosen = values.gather(1, actions[:, None])[:, 0]
        loss = (chosen - earned).square().sum()
        torch.autograd.backward([loss / size])
        sums[sk.FIGURES.index("value_loss")] = float(loss.detach())


def epsilon_greedy(values: Array, legal: NDArray[np.bool_], epsilon: float) -> Floats32:
    """Logits of the best legal action, or with chance `epsilon` of any, ``(n, actions)``."""
    rows = np.arange(len(values))
    best = np.where(legal, values, -np.inf).argmax(1)
    chances = np.where(legal, max(epsilon, 1e-12) / legal.sum(1, keepdims=True), 1.0)
    chances[rows, best] += 1.0 - epsilon
    logits: Floats32 = np.log(chances).astype(np.float32)
    return logits
