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

from hearts_train.learn import selfplay_kernel as sk
from hearts_train.learn.action_values import ActionValueLearner
from hearts_train.learn.learner import between
from hearts_train.learn.selfplay import Rows
from hearts_train.learn.selfplay_games import SelfPlayGames


class MonteCarloLearner(ActionValueLearner):
    """One network of action values that plays all seats but those of its opponents."""

    algorithm = "Deep Monte Carlo"

    @property
    def epsilon(self) -> float:
        """The chance of a card drawn without regard to its value."""
        settings = self.config.monte_carlo
        return between(settings.epsilon, settings.epsilon_end, self.progress)

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
