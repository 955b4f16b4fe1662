"""Regrets of a game tree: one player's turn of counterfactual regret minimisation, compiled.

Four ways to count the regrets r of iteration t into the sum R, to choose by it, and to weigh the
plans:

| algorithm | regrets | chances | weight |
|---|---|---|---|
| `cfr+`: Tammelin 2014 | R = max(R + r, 0) | R | t |
| `pcfr+`: Farina, Kroer, Sandholm 2021 | R = max(R + r, 0) | max(R + r, 0) | t^2 |
| `pdcfr+`: Xu et al. 2024 | R = max(d R + r, 0) | max(d' R + r, 0) | t^5 |
| `dcfr`: Brown, Sandholm 2019 | R = d R + r | max(R, 0) | t^2 |

In the chances of `pcfr+` and `pdcfr+` the same r is added once more, as a prediction of the next
one. In `pdcfr+` d is (t - 1)^2.3 / ((t - 1)^2.3 + 1), d' the next d; in `dcfr` it is t^1.5 / (t^1.5
+ 1) where R > 0, else 1/2.

One turn is one pass back over the player's lines and information sets, which collects what each
sequence earns and changes regrets and chances, and one pass forward, which makes the new plan. Both
go branch by branch (``hearts_env.solve.walk``), so that threads take branches of their own. What
they have earned for top sequences is added up afterwards, in their order: the result does not
depend on the number of threads.
"""

from __future__ import annotations

import functools

from hearts_env.support.arrays import Array, Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError, did_you_mean
from hearts_env.support.jit import jit

ALGORITHMS = ("pdcfr+", "pcfr+", "cfr+", "dcfr")
DEFAULT_ALGORITHM = "pdcfr+"

PLUS, PREDICTIVE, DISCOUNTED, BEST = range(4)
KINDS = {"cfr+": PLUS, "pcfr+": PREDICTIVE, "pdcfr+": PREDICTIVE, "dcfr": DISCOUNTED}
_WEIGHT = {"cfr+": 1.0, "pcfr+": 2.0, "pdcfr+": 5.0, "dcfr": 2.0}

Update = tuple[int, float, float, float]
"""How one iteration counts: its kind; d and d' of the table above; and the weight of its plans."""

BEST_RESPONSE: Update = (BEST, 1.0, 1.0, 0.0)
"""Nothing is changed: every information set earns what its best sequence does."""

Lines = tuple[Ints32, Ints32, Array]
"""Of a ``Tree``, for one player: its own last sequences, the other's, and margins of seat 0."""

Sets = tuple[Ints32, Ints32, int]
"""Of a ``Side``: parent and first, and how many sequences are empty or of top histories."""

Memory = tuple[Floats, Floats, Floats]
"""The arrays of a player, one number a sequence: values, chances, regrets. The values are zero
before and after: they carry what later information sets earn back to the sequences that lead there.
"""


def check_algorithm(algorithm: str) -> str:
    """The name of an algorithm.

    Raises:
        HeartsError: if no algorithm has that name.
    """
    if algorithm not in ALGORITHMS:
        raise HeartsError(
            f"algorithm: {algorithm!r} is unknown; {did_you_mean(str(algorithm), ALGORITHMS)}",
            value=algorithm,
        )
    return algorithm


@functools.cache
def update_of(algorithm: str, t: int) -> Update:
    """How iteration `t` of an algorithm counts."""
    weight = float(t) ** _WEIGHT[algorithm]
    keep = ahead = 1.0
    if algorithm == "dcfr":
        keep = _discount(t, 1.5)
    elif algorithm == "pdcfr+":
        keep, ahead = _discount(t - 1, 2.3), _discount(t, 2.3)
    return KINDS[algorithm], keep, ahead, weight


def _discount(t: int, power: float) -> float:
    """The factor of a regret at iteration t."""
    whole = float(t) ** power
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
    kind, keep, ahead, _ = update
    for i in range(end - 1, begin - 1, -1):
        low = first[i]
        high = first[i + 1]
        mean = 0.0
        if kind == BEST:
            mean = values[low]
            for j in range(low, high):
                mean = max(mean, values[j])
                values[j] = 0.0
        else:
            for j in range(low, high):
                mean += chances[j] * values[j]
        if parent[i] < base:
            top[parent[i]] += mean
        else:
            values[parent[i]] += mean
        if kind == BEST:
            continue
        total = 0.0
        for j in range(low, high):
            regret = values[j] - mean
            values[j] = 0.0
            old = regrets[j]
            if kind == DISCOUNTED:
                new = old * (keep if old > 0.0 else 0.5) + regret
                choose = max(new, 0.0)
            else:
                new = max(old * keep + regret, 0.0)
                choose = max(new * ahead + regret, 0.0) if kind == PREDICTIVE else new
            regrets[j] = new
            chances[j] = choose
            total += choose
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
