"""What one player may come to decide in a game tree, and the passes over it.

Forward passes make plans, backward passes sum values: the arrays are in the order of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hearts_env.support.arrays import Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit


@dataclass(frozen=True, eq=False)
class Side:
    """What one player may come to decide; n information sets, m sequences.

    Attributes:
        hands: The hands that can be dealt, as masks; empty sequence i is that of ``hands[i]``.
        parent: The sequence that leads to each information set, ``(n,) int32``.
        first: The first sequence of each information set, and behind them m, ``(n + 1,) int32``.
        top: How many information sets belong to top histories (``walk.TOP``); they come first.
    """

    hands: Ints
    parent: Ints32
    first: Ints32
    top: int

    @property
    def num_infosets(self) -> int:
        """How many information sets there are."""
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """How many sequences there are, the empty ones with them."""
        return int(self.first[-1])

    def uniform(self) -> Floats:
        """The chances of a player who takes every legal action equally often, one a sequence."""
        chances = np.ones(self.num_sequences)
        _even(self.first, chances)
        return chances

    def check(self, chances: Any, name: str = "policy") -> Floats:
        """Chances that make a policy: one a sequence, none negative, 1 in each information set.

        Raises:
            HeartsError: they do not; it is said where.
        """
        array = np.ascontiguousarray(chances, np.float64)
        if array.shape != (self.num_sequences,):
            raise HeartsError(
                f"{name}: has shape {array.shape}; give one probability for each of "
                f"{self.num_sequences} sequences"
            )
        if not np.isfinite(array).all() or (array < 0).any():
            place = int(np.flatnonzero(~np.isfinite(array) | (array < 0))[0])
            raise HeartsError(
                f"{name}: the probability of sequence {place} is {array[place]}; give 0 to 1"
            )
        sums = np.add.reduceat(array, self.first[:-1]) if self.num_infosets else np.ones(1)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > 1e-6:
            raise HeartsError(
                f"{name}: the probabilities of information set {worst} sum to {sums[worst]:.6g}; "
                "give probabilities that sum to 1"
            )
        return array

    def plan(self, chances: Floats) -> Floats:
        """The plan of a policy: the product of its chances on the way to each sequence."""
        plan = np.ones(self.num_sequences)
        follow(self.parent, self.first, chances, plan)
        return plan

    def chances(self, plan: Floats) -> Floats:
        """The policy of a plan; uniform where the plan has probability 0."""
        chances = self.uniform()
        _chances_of(self.parent, self.first, plan, chances)
        return chances


# ---- passes --------------------------------------------------------------------------------------
@jit
def follow(parent: Ints32, first: Ints32, chances: Floats, plan: Floats) -> None:
    """Make the plan of a policy, in place; the empty sequences have been set."""
    for i in range(len(parent)):
        reach = plan[parent[i]]
        for j in range(first[i], first[i + 1]):
            plan[j] = reach * chances[j]


@jit
def _even(first: Ints32, chances: Floats) -> None:
    """Write the chances of even play, in place."""
    for i in range(len(first) - 1):
        for j in range(first[i], first[i + 1]):
            chances[j] = 1.0 / (first[i + 1] - first[i])


@jit
def _chances_of(parent: Ints32, first: Ints32, plan: Floats, chances: Floats) -> None:
    """Write the policy of a plan where its probability is above 0."""
    for i in range(len(parent)):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += plan[j]
        if total > 0.0:
            for j in range(first[i], first[i + 1]):
                chances[j] = plan[j] / total


@jit
def backward_best(parent: Ints32, first: Ints32, values: Floats) -> None:
    """Add to each sequence's value what best play earns after it, in place."""
    for i in range(len(parent) - 1, -1, -1):
        best = values[first[i]]
        for j in range(first[i] + 1, first[i + 1]):
            best = max(best, values[j])
        values[parent[i]] += best


@jit
def take_best(first: Ints32, values: Floats, chances: Floats) -> None:
    """Set the chance of each information set's best sequence to 1, the first of several."""
    for i in range(len(first) - 1):
        best = first[i]
        for j in range(first[i] + 1, first[i + 1]):
            if values[j] > values[best]:
                best = j
        chances[best] = 1.0


@jit
def backward_mean(parent: Ints32, first: Ints32, chances: Floats, values: Floats) -> None:
    """Add to each sequence's value what a policy earns after it, in place."""
    for i in range(len(parent) - 1, -1, -1):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += chances[j] * values[j]
        values[parent[i]] += total
