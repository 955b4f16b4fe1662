"""One player's information sets and sequences in a game tree, and passes over them.

Arrays are in the order of the game: forward passes make plans, backward passes sum values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hearts_env.support.arrays import Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit

_ROUNDING, _PLAN_ROUNDING = 1e-6, 1e-9
"""The largest rounding error of a probability, and of a sum of plans as a share of its weight."""


@dataclass(frozen=True, eq=False)
class Side:
    """One player's part of a game tree: n information sets, m sequences.

    Attributes:
        hands: the hands that can be dealt, as masks. Empty sequence i belongs to ``hands[i]``.
        parent: the sequence before each information set, ``(n,) int32``.
        first: the first sequence of each information set, and m at the end, ``(n + 1,) int32``.
        top: the number of information sets in top histories (``walk.TOP``). They come first.
    """

    hands: Ints
    parent: Ints32
    first: Ints32
    top: int

    @property
    def num_infosets(self) -> int:
        """The number of information sets."""
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """The number of sequences, with the empty ones."""
        return int(self.first[-1])

    def uniform(self) -> Floats:
        """Return the uniform policy, one probability per sequence."""
        chances = np.ones(self.num_sequences)
        _even(self.first, chances)
        return chances

    def check(self, chances: Any, name: str = "policy") -> Floats:
        """Return `chances` as a policy: one probability per sequence, sum 1 per information set.

        Raises:
            HeartsError: if `chances` is not a policy. The message names the place.
        """
        array = np.ascontiguousarray(chances, np.float64)
        if array.shape != (self.num_sequences,):
            raise HeartsError(
                f"{name}: has shape {array.shape}; give one probability for each of "
                f"{self.num_sequences} sequences"
            )
        fits = (array >= 0) & (array <= 1 + _ROUNDING)
        if not fits.all():
            place = int(fits.argmin())
            raise HeartsError(
                f"{name}: the probability of sequence {place} is {array[place]}; give 0 to 1"
            )
        sums = np.add.reduceat(array, self.first[:-1]) if self.num_infosets else np.ones(1)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > _ROUNDING:
            raise HeartsError(
                f"{name}: the probabilities of information set {worst} sum to {sums[worst]:.6g}; "
                "give probabilities that sum to 1"
            )
        return array

    def check_sum(self, plans: Floats, weight: float, name: str) -> None:
        """Raise unless `plans` is a weighted sum of plans with this total weight.

        Raises:
            HeartsError: if it is not such a sum. The message names the place.
        """
        hands = len(self.hands)
        if not (
            plans.min() >= 0 and np.abs(plans[:hands] - weight).max() <= weight * _PLAN_ROUNDING
        ):
            raise HeartsError(
                f"{name}: not every hand has the weight {weight:g} of the iterations, or a plan is "
                "negative or NaN; solve it again"
            )
        if self.num_infosets:
            sums = np.add.reduceat(plans, self.first[:-1])
            sums -= plans[self.parent]
            worst = int(np.abs(sums, out=sums).argmax())
            if not sums[worst] <= weight * _PLAN_ROUNDING:
                raise HeartsError(
                    f"{name}: the plans of information set {worst} do not sum to the plan before "
                    "it; solve it again"
                )

    def plan(self, chances: Floats) -> Floats:
        """Return a policy's plan: the product of its probabilities up to each sequence."""
        plan = np.ones(self.num_sequences)
        follow(self.parent, self.first, chances, plan)
        return plan

    def chances(self, plan: Floats) -> Floats:
        """Return the policy of a plan, uniform where the plan has probability 0."""
        chances = self.uniform()
        _chances_of(self.parent, self.first, plan, chances)
        return chances


# ---- passes --------------------------------------------------------------------------------------
@jit
def follow(parent: Ints32, first: Ints32, chances: Floats, plan: Floats) -> None:
    """Make the plan of a policy, in place. The empty sequences are already set."""
    for i in range(len(parent)):
        reach = plan[parent[i]]
        for j in range(first[i], first[i + 1]):
            plan[j] = reach * chances[j]


@jit
def _even(first: Ints32, chances: Floats) -> None:
    """Write a uniform policy, in place."""
    for i in range(len(first) - 1):
        for j in range(first[i], first[i + 1]):
            chances[j] = 1.0 / (first[i + 1] - first[i])


@jit
def _chances_of(parent: Ints32, first: Ints32, plan: Floats, chances: Floats) -> None:
    """Write the policy of a plan where the plan's probability is above 0."""
    for i in range(len(parent)):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += plan[j]
        if total > 0.0:
            for j in range(first[i], first[i + 1]):
                chances[j] = plan[j] / total


@jit
def backward_best(parent: Ints32, first: Ints32, values: Floats) -> None:
    """Add the earnings of best play after each sequence to its value, in place."""
    for i in range(len(parent) - 1, -1, -1):
        best = values[first[i]]
        for j in range(first[i] + 1, first[i + 1]):
            best = max(best, values[j])
        values[parent[i]] += best


@jit
def take_best(first: Ints32, values: Floats, chances: Floats) -> None:
    """Set the probability of the best sequence (the first of equals) of each set to 1."""
    for i in range(len(first) - 1):
        best = first[i]
        for j in range(first[i] + 1, first[i + 1]):
            if values[j] > values[best]:
                best = j
        chances[best] = 1.0
