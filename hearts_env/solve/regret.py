"""Regrets of a game tree: one player's turn of counterfactual regret minimisation, compiled.

The algorithm is PDCFR+ (Xu et al. 2024). In iteration t, an action has the regret r, and the
discounts are d = (t - 1)^2.3 / ((t - 1)^2.3 + 1) and d' = t^2.3 / (t^2.3 + 1):

- the sum of regrets becomes R = max(d R + r, 0);
- the next policy is proportional to max(d' R + r, 0), where r predicts the next regret;
- the plan has the weight t^5 in the average.

A turn is one pass back over the player's lines and information sets, and one pass forward. The
first collects the earnings of each sequence and updates regrets and probabilities. The second makes
the new plan. Both go branch by branch (``hearts_env.solve.walk``), so threads take whole branches.
Earnings of top sequences are added up afterwards in the order of branches, so the result does not
depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

from hearts_env.support.arrays import Array, Floats, Ints, Ints32
from hearts_env.support.jit import jit

Sets = tuple[Ints32, Ints32, int]
"""The information sets of a ``Side`` (parent and first), and the number of leading sequences with
values in a separate array: none, or the empty and top sequences."""

Lines = tuple[Ints32, Ints32, Array]
"""A player's lines in a ``Tree``: its own last sequences, the opponent's, and seat 0's margins."""

Memory = tuple[Floats, Floats, Floats]
"""A player's arrays, one number per sequence: values, chances, regrets. The values are zero before
and after. During a pass they carry the earnings of later information sets back to the sequences
before them."""


class Update(NamedTuple):
    """The weights of one iteration: d, d' and the weight of its plans (see the module)."""

    keep: float
    ahead: float
    weight: float


def update_of(t: int) -> Update:
    """Return the weights of iteration `t`."""
    return Update(_discount(t - 1), _discount(t), float(t) ** 5)


def total_weight(t: int) -> float:
    """Return the sum of the weights of iterations 1 to `t`."""
    return float(t * t * (t + 1) * (t + 1) * (2 * t * t + 2 * t - 1) // 12)


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
    """Pass back over a stretch of the tree, in place.

    Args:
        marks: lines and information sets of the player that bound the blocks of the stretch.
        lines: the lines, for this player.
        plan: the opponent's plan, one number per sequence.
        sign: 1 for seat 0, and -1 for seat 1, whose margin is the opposite.
        sets: the player's information sets.
        memory: the player's arrays.
        top: the earnings of each empty or top sequence.
        update: the weights of this iteration.
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
    """Update regrets and probabilities of the information sets from `begin` to before `end`.

    The work is done in place, from the last information set to the first. Earnings go to the
    sequence before each information set.
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
    """Add a plan, times `weight`, to the average, for sequences from `begin` to before `end`."""
    for j in range(begin, end):
        average[j] += weight * plan[j]
