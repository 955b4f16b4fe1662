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

One turn is one pass back over the player's information sets, which collects what each sequence
earns and changes regrets and chances, and one pass forward, which makes the new plan. Hands of one
player never meet in a sequence, so that threads take hands of their own. All sums are made in the
same order whatever the number of threads: the result does not depend on it.
"""

from __future__ import annotations

from hearts_env.support.arrays import Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError, did_you_mean
from hearts_env.support.jit import jit

ALGORITHMS = ("pdcfr+", "pcfr+", "cfr+", "dcfr")
DEFAULT_ALGORITHM = "pdcfr+"

PLUS, PREDICTIVE, DISCOUNTED = range(3)
KINDS = {"cfr+": PLUS, "pcfr+": PREDICTIVE, "pdcfr+": PREDICTIVE, "dcfr": DISCOUNTED}
_WEIGHT = {"cfr+": 1.0, "pcfr+": 2.0, "pdcfr+": 5.0, "dcfr": 2.0}

Update = tuple[int, float, float, float]
"""How one iteration counts: its kind; d and d' of the table above; and the weight of its plans."""

Arrays = tuple[Ints32, Ints32, Ints, Ints32, Ints32]
"""Of a ``Side``: parent, first, start, column and payoff."""

Memory = tuple[Floats, Floats, Floats, Floats, Floats]
"""The arrays of a player, one number a sequence: values, chances, regrets, plan, average."""


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
def take_turn(
    begin: int,
    end: int,
    side: Arrays,
    other_plan: Floats,
    scale: float,
    memory: Memory,
    update: Update,
) -> None:
    """One player's turn in the information sets from `begin` to before `end`, in place.

    Args:
        begin: The first information set.
        end: The one behind the last.
        side: The player's part of the tree.
        other_plan: The other player's plan, one number for each of its sequences.
        scale: How likely each deal is.
        memory: The player's arrays. The values are zero where it matters before and
            after: they carry what later information sets earn back to the sequences that lead
            there.
        update: How this iteration counts.
    """
    parent, first, start, column, payoff = side
    values, chances, regrets, plan, average = memory
    kind, keep, ahead, weight = update
    for i in range(end - 1, begin - 1, -1):
        low = first[i]
        high = first[i + 1]
        mean = 0.0
        for j in range(low, high):
            earned = 0.0
            for line in range(start[j], start[j + 1]):
                earned += payoff[line] * other_plan[column[line]]
            values[j] += earned * scale
            mean += chances[j] * values[j]
        values[parent[i]] += mean
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
    for i in range(begin, end):
        reach = plan[parent[i]]
        for j in range(first[i], first[i + 1]):
            now = reach * chances[j]
            plan[j] = now
            average[j] += weight * now
