"""What each control variate saves: in deals, and in time with its own cost counted.

    python bench/variates.py --out docs/results/variates.json [--also A,B]

For each pairing the variance of the margins that is left, as a share, with an interval from the
bootstrap over deals; and processor milliseconds a duplicate deal, of the play and of the variate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import harness
from bench.control_variates import (
    Plays,
    adjusted,
    cards_luck,
    deal_value,
    draws_luck,
    play_pairs,
)
from hearts_agents import make_agent
from hearts_env import Rules
from hearts_env import kernel as k
from hearts_env.solve import TranspositionTable
from hearts_env.solve.beliefs import Policy
from hearts_env.support.arrays import Floats
from hearts_train.measure.display import short_names
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.statistics import percentiles

PAIRINGS = [
    ("standard_trump", "standard", "two_player"),
    ("pro", "standard", "two_player"),
    ("pimc", "pro", "two_player"),
    ("easy", "standard", "two_player"),
    ("equilibrium", "pro", "mini"),
]
CLONES = ("standard_trump", "standard"), ("pro", "standard")


def left(margins: Floats, variates: list[Floats]) -> dict[str, Any]:
    """The share of the variance that is left, and its 95 % interval."""
    rest = adjusted(margins, variates)
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(rest), size=len(rest)) for _ in range(500)]
    ratios = np.array([rest[rows].var() / margins[rows].var() for rows in drawn])
    share = float(rest.var() / margins.var())
    return {"left": share, "ci95": list(percentiles(ratios))}


def timed(work: Callable[[], Floats], deals: int) -> tuple[Floats, float]:
    """What `work` gives, and its processor milliseconds a duplicate deal."""
    begin = time.process_time()
    found = work()
    return found, 1000 * (time.process_time() - begin) / deals


Luck = Callable[[Rules, k.Vector, int, Policy, TranspositionTable], Floats]


def over_seats(
    find: Luck, plays: Plays, place: int, policy: Policy, table: TranspositionTable
) -> Floats:
    """Luck of the agent (place 0) or of its opponent, from the agent's side, in each pair."""
    sign = 1 if place == 0 else -1
    found = [
        find(plays.rules, plays.states[seat], seat if place == 0 else 1 - seat, policy, table)
        for seat in (0, 1)
    ]
    return sign * (found[0] + found[1]) / 2


def measure(agent: str, other: str, rules: str, deals: int, seed: int) -> dict[str, Any]:
    """All variates of a pairing."""
    play_pairs(agent, other, rules, 4, seed)  # compiled
    begin = time.process_time()
    plays = play_pairs(agent, other, rules, deals, seed)
    cost = 1000 * (time.process_time() - begin) / deals
    margins, table = plays.margins, TranspositionTable(plays.rules)
    policies = [make_agent(name, seed=0).action_probs for name in (agent, other)]

    works: dict[str, Callable[[], Floats]] = {
        "size of the deal's value": lambda: np.abs(deal_value(plays.rules, plays.states[0], 0)),
        **{
            f"clones {one} and {two}": lambda one=one, two=two: (
                evaluate(one, two, rules, deals, seed).margins
            )
            for one, two in CLONES
            if (one, two) != (agent, other)
        },
        "draws of both": lambda: (
            over_seats(draws_luck, plays, 0, policies[0], table)
            + over_seats(draws_luck, plays, 1, policies[1], table)
        ),
        "hidden cards of the opponent": lambda: over_seats(
            cards_luck, plays, 0, policies[1], table
        ),
        "hidden cards of the agent": lambda: over_seats(cards_luck, plays, 1, policies[0], table),
    }
    rows, hidden = [], []
    for name, work in works.items():
        variate, ms = timed(work, deals)
        if variate.any():
            rows.append({"variate": name, "ms": ms, "mean": float(variate.mean())})
            rows[-1] |= left(margins, [variate - (variate.mean() if "card" not in name else 0.0)])
            if name.startswith(("hidden", "draws")):
                hidden.append((variate, ms))
    both = [variate for variate, _ in hidden]
    rows.append({"variate": "draws and hidden cards", "ms": sum(ms for _, ms in hidden)})
    rows[-1] |= left(margins, both)
    value = deal_value(plays.rules, plays.states[0], 0)
    return {
        "agent": agent,
        "opponent": other,
        "rules": rules,
        "deals": deals,
        "ms": cost,
        "sd": float(margins.std()),
        "single_sd": float(plays.singles.std()),
        "cancelled": float(np.abs(value + deal_value(plays.rules, plays.states[0], 1)).max()),
        "single_left": left(plays.singles[:, 0], [value - value.mean()]),
        "duplicate_left": 2 * float(margins.var() / plays.singles.var()),
        "variates": rows,
    }


def main() -> None:
    """Measure, and write what was found."""
    parser = harness.options(__doc__)
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--also", metavar="A,B", help="Two agents more, like two networks.")
    args = parser.parse_args()
    pairings = list(PAIRINGS)
    if args.also:
        one, two = args.also.split(",")
        pairings += [(one, "pro", "two_player"), (one, two, "two_player")]
    found, short = [], short_names([name for row in pairings for name in row[:2]])
    for agent, other, rules in pairings:
        names = {"agent": short[agent], "opponent": short[other]}
        found.append(measure(agent, other, rules, args.deals, seed=3) | names)
        print(found[-1], flush=True)
    also = " --also A,B" if args.also else ""
    command = f"python bench/variates.py --deals {args.deals}{also}"
    harness.write(args.out, {"pairings": found}, command=command)


if __name__ == "__main__":
    main()
