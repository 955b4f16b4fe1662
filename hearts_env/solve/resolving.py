"""Safe resolving: one player's part of an endgame, solved so that no hand of the other gains by it.

An endgame (``hearts_env.solve.endgame``) is solved for ranges. That of the player itself is known:
it has played by its own policy. That of the other one is a guess, and who is known to have guessed
can be led into endgames where the guess is wrong. So the other player is given a choice at the
root (Burch, Johanson, Bowling 2014: *Solving imperfect information games using decomposition*):
with each hand it may leave, and take what a best response to the player's policy, unsolved, would
have won with that hand. A solution that leaves every hand no more than this cannot be exploited
more than the policy alone, wherever the other one comes from.

Of solutions that are safe so, some are better than others. So the other player's hands get two
weights, added up: one by the guess, without a choice, and one by the choice. The first pulls
towards what is right against the range; the second holds the hands for which it would cost, no
longer strictly, but as far as that is worth it. How much of either is best is measured in
docs/equilibrium.md.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from hearts_env.solve.best_response import best_response
from hearts_env.solve.equilibrium import DEFAULT_ALGORITHM, Solver
from hearts_env.solve.regret import update_of
from hearts_env.solve.side import follow
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import check_chance, check_player
from hearts_env.support.arrays import Floats
from hearts_env.support.errors import HeartsError

GUESSED = 0.9
"""The weight of the range, in which the likeliest hand has 1; the choice has the rest."""


class SafeSolver(Solver):
    """Regret minimisation of one player's part of an endgame.

    Attributes:
        player: Whose part it is. Only its chances are of use; the other's come from a game in which
            it could have left.
    """

    def __init__(
        self, tree: Tree, player: int, policy: Floats, *, guessed: float = GUESSED
    ) -> None:
        """Begin with uniform play.

        Args:
            tree: the endgame; ``tree.sides[p].reach`` are the ranges.
            player: whose part is solved.
            policy: what it would play unsolved: its chances, one a sequence.
            guessed: the weight of the other's range, in which the likeliest hand has 1; its choice
                has the rest of 1. 0: strictly safe; 1: unsafe.

        Raises:
            HeartsError: `policy` is not a policy, or another argument is out of range.
        """
        super().__init__(tree, DEFAULT_ALGORITHM, num_threads=1)
        self.player = check_player(player, 2)
        self.guessed = check_chance("guessed", guessed)
        self._left = best_response(tree, 1 - player, policy).hand_values  # by leaving
        hands = len(self._left)
        self._hand_regrets = np.zeros((2, hands))
        self._enter(np.full(hands, 0.5))

    def step(self) -> None:
        """One iteration: the player's turn, the other's, and the choice of its hands."""
        begin = time.perf_counter()
        self.iteration += 1
        update = update_of(self.algorithm, self.iteration)
        player, other = self.player, 1 - self.player
        self._turn(player, update)
        hands = len(self._left)
        self._values[other][:hands] = 0.0
        self._turn(other, update)
        earned = self._values[other][:hands]
        earned += self.tree.gradient(other, self._plans[player], hands)
        gain = earned - self._left
        # Regrets of staying and of leaving: each what it wins more than both on average.
        self._hand_regrets[0] += (1.0 - self._stay) * gain
        self._hand_regrets[1] -= self._stay * gain
        np.maximum(self._hand_regrets, 0.0, out=self._hand_regrets)
        total = self._hand_regrets.sum(0)
        self._enter(np.where(total > 0.0, self._hand_regrets[0] / np.maximum(total, 1e-300), 0.5))
        self.seconds += time.perf_counter() - begin

    def save(self, path: str | Path) -> None:
        """Not for endgames solved for one player: what is left at the root is not in such a file.

        Raises:
            HeartsError: always.
        """
        raise HeartsError(
            f"{path}: an endgame solved for one player cannot be saved; solve it for both"
        )

    def _enter(self, stay: Floats) -> None:
        """Set how often the other player goes on with each of its hands."""
        other = self.tree.sides[1 - self.player]
        plan = self._plans[1 - self.player]
        self._stay = stay
        plan[: len(stay)] = self.guessed * other.reach + (1.0 - self.guessed) * stay
        follow(other.parent, other.first, self._chances[1 - self.player], plan)
