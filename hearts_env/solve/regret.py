"""Regrets of a game tree: one player's turn of counterfactual regret minimisation, compiled.

The algorithm is PDCFR+ (Xu et al. 2024). Of iteration t, with the regret r of an action and the
discounts d = (t - 1)^2.3 / ((t - 1)^2.3 + 1) and d' = t^2.3 / (t^2.3 + 1):

- the sum of regrets becomes R = max(d R + r, 0);
- the next policy plays in proportion to max(d' R + r, 0), where r predicts the next regret;
- the plan counts t^5 times in the average.

One turn is one pass back over the player's lines and information sets, which collects what each
sequence earns and changes regrets and chances, and one pass forward, which makes the new plan. Both
go branch by branch (``hearts_env.solve.walk``), so that threads take branches of their own. What
they have earned for top sequences is added up afterwards, in their order: the result does not
depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

from hearts_env.support.arrays import Array, Floats, Ints, Ints32
from hearts_env.support.jit import jit

Sets = tuple[Ints32, Ints32, int]
"""The information sets of a ``Side``: parent and first; and how many sequences, the first ones,
have their values in an array apart (none, or those that are empty or of top histories)."""

Lines = tuple[Ints32, Ints32, Array]
"""Of a ``Tree``, for one player: its own last sequences, the other's, and margins of seat 0."""

Memory = tuple[Floats, Floats, Floats]
"""The arrays of a player, one number a sequence: values, chances, regrets. The values are zero
before and after: they carry what later information sets earn back to the sequences that lead there.
"""


class Update(NamedTuple):
    """How one iteration counts: d and d' of the module's text, and the weight of its plans."""

    keep: float
    ahead: float
    weight: float


def update_of(t: int) -> Update:
    """Return how iteration `t` counts."""
    return Update(_discount(t - 1), _discount(t), float(t) ** 5)


def _discount(t: int) -> float:
    """Return the factor of a regret after iteration t."""
    whole = float(t) ** 2.3
    return whole / (whole + 1.0)


# ---- compiled ------------------------------------------------------------------------------------
@jit
def go_back(
    marks: Ints,
    lines: Lines,
    plan: Floats,
    sign: int,
    sets: Sets,
    memory: Memory,
    top: Floats,
    update: Update,
) -> None:
    """The pass back over a stretch of the tree, in place.

    Args:
        marks: Lines and information sets of the player between which it goes, block by block.
        lines: The lines, for this player.
        plan: The other player's plan, one number for each of its sequences.
        sign: -1 for the player whose margins are the opposite.
        sets: The player's information sets.
        memory: The player's arrays.
        top: What has been earned for each of the sequences that are empty or of top histories.
        update: How this iteration counts.
    """
    own, other, margins = lines
    base, values = sets[2], memory[0]
    for block in range(len(marks) - 1, 0, -1):
        for line in range(marks[block - 1, 0], marks[block, 0]):
            earned = margins[line] * plan[other[line]] * sign
            if own[line] < base:
                top[own[line]] += earned
            else:
                values[own[line]] += earned
        improve(marks[block - 1, 1], marks[block, 1], sets, memory, top, update)


@jit
def improve(begin: int, end: int, sets: Sets, memory: Memory, top: Floats, update: Update) -> None:
    """Change regrets and chances of the information sets from `begin` to before `end`, in place.

    From the last to the first; what each earns goes to the sequence that leads to it.
    """
    parent, first, base = sets
    values, chances, regrets = memory
    keep, ahead, _ = update
    for i in range(end - 1, begin - 1, -1):
        low = first[i]
        high = first[i + 1]
        mean = 0.0
        for j in range(low, high):
            mean += chances[j] * values[j]
        if parent[i] < base:
            top[parent[i]] += mean
        else:
            values[parent[i]] += mean
        total = 0.0
        for j in range(low, high):
            regret = values[j] - mean
            values[j] = 0.0
            summed = max(regrets[j] * keep + regret, 0.0)
            share = max(summed * ahead + regret, 0.0)
            regrets[j] = summed
            chances[j] = share
            total += share
        if total > 0.0:
            inverse = 1.0 / total
            for j in range(low, high):
                chances[j] *= inverse
        else:
            even = 1.0 / (high - low)
            for j in range(low, high):
                chances[j] = even


@jit
def weigh(begin: int, end: int, plan: Floats, weight: float, average: Floats) -> None:
    """Add a plan, times `weight`, to the average, from one sequence to before another."""
    for j in range(begin, end):
        average[j] += weight * plan[j]
