"""How often intervals miss the truth and sequential tests err, in simulations with known truth.

    python bench/error_rates.py --out docs/results/error_rates.json
    python bench/error_rates.py --part tests --out docs/results/sequential_tests.json
    python bench/error_rates.py --part duplicates --out docs/results/duplicates.json

Margins are those of real play. On `micro` the true margin is computed exactly, from the tree of the
game; on 28 cards it is that of a million other duplicate deals. For the sequential tests, margins
are drawn from those played and shifted, so that their mean is exactly what a hypothesis says.
Duplicate deals would leave half of the variance of single plays if the seats shared no luck.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from bench import harness
from hearts_agents import make_agent
from hearts_env import Rules
from hearts_env.solve.best_response import policy_of
from hearts_env.solve.tree import Tree
from hearts_env.support.arrays import Floats
from hearts_train.measure.contest import Contest
from hearts_train.measure.duel import Duel
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.statistics import (
    LEVEL,
    Z95,
    Interval,
    Question,
    SequentialTest,
    looks,
    mean_and_interval,
)

CELLS = 10_000_000
"""Counts that the bootstrap holds in memory at once."""
SIZES = (50, 200)
"""Duplicate deals of a simulated evaluation."""
PLAYED = [
    ("micro", "standard", "pro"),
    ("micro", "easy", "standard"),
    ("two_player", "standard_trump", "standard"),
    ("two_player", "easy", "standard"),
]
PAIRINGS = [
    ("standard_trump", "standard", "two_player"),
    ("pro", "standard", "two_player"),
    ("pimc", "pro", "two_player"),
    ("easy", "standard", "two_player"),
    ("equilibrium", "pro", "mini"),
]
"""Of which it is measured what duplicate deals leave."""
TESTS = [
    ("two_player", "standard_trump", "standard", Question(0.0, 1.0)),
    ("two_player", "easy", "standard", Question(0.0, 1.0, 0.01, 0.1)),
    ("two_player", "alike", "alike", Question(0.0, 0.2)),
    ("micro", "standard", "pro", Question(0.0, 0.5)),
    ("two_player", "standard", "random", Question(0.0, 1.0)),
]
"""Those of `alike` are of the first game, all but one in twenty replaced by 0."""


def bootstrap_interval(values: Floats, *, resamples: int = 2000, seed: int = 0) -> Interval:
    """The 95 % interval of the mean, by the percentile bootstrap (Efron 1979).

    Equal values are drawn together, as one draw from a multinomial distribution, so that a million
    margins, of which there are few different ones, take no longer than a thousand.
    """
    rng = np.random.default_rng(seed)
    levels, counts = np.unique(values, return_counts=True)
    means = np.empty(resamples)
    at_once = max(1, CELLS // len(levels))
    for begin in range(0, resamples, at_once):
        part = means[begin : begin + at_once]
        part[:] = rng.multinomial(len(values), counts / len(values), len(part)) @ levels
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means / len(values), [tail, 1 - tail])
    return float(low), float(high)


def exact_margin(rules: str, agent: str, other: str) -> float:
    """The expected margin of a duplicate deal of a small deck, from its tree."""
    tree = Tree(rules)
    sides = [policy_of(make_agent(name, seed=0), tree)[0] for name in (agent, other)]
    (a0, a1), (b0, b1) = sides
    return (tree.value(a0, b1) - tree.value(b0, a1)) / 2


def share(hits: int, of: int) -> dict[str, Any]:
    """A share and its 95 % interval (Wilson 1927)."""
    p, z = hits / of, Z95
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return {"share": p, "ci95": [(middle - half) / scale, (middle + half) / scale], "n": of}


def coverage(margins: Floats, truth: float, size: int, evaluations: int) -> dict[str, Any]:
    """How often the intervals of evaluations of `size` deals contain the truth."""
    normal = bootstrap = 0
    for number in range(evaluations):
        part = margins[number * size : (number + 1) * size]
        low, high = mean_and_interval(part)[1]
        normal += low <= truth <= high
        low, high = bootstrap_interval(part, seed=number)
        bootstrap += low <= truth <= high
    return {
        "deals": size,
        "normal": share(normal, evaluations),
        "bootstrap": share(bootstrap, evaluations),
    }


def test_once(
    question: Question, margins: Floats, truth: float, rng: np.random.Generator, reach: float
) -> SequentialTest:
    """A sequential test of margins drawn from these, whose mean is `truth`."""
    test, before = SequentialTest(question, reach), 0
    shift = truth - margins.mean()
    for end in looks(10_000_000):
        if test.add(rng.choice(margins, end - before) + shift).is_decided:
            break
        before = end
    return test


def error_rates(
    question: Question, margins: Floats, tests: int, estimates: int, reach: float
) -> list[dict[str, Any]]:
    """What sequential tests answer where the mean is `low`, half-way, `high`, or as played."""
    rng = np.random.default_rng(0)
    rows = []
    for truth in (question.low, question.middle, question.high, float(margins.mean())):
        answers = {"low": 0, "high": 0}
        deals, covered, plain, above = [], 0, 0, 0
        for number in range(tests):
            test = test_once(question, margins, truth, rng, reach)
            state = test.states[-1]
            answers[state.verdict] += 1
            deals.append(state.deals)
            if number < estimates:
                middle, (low, high) = test.estimate()
                covered += low <= truth <= high
                above += middle > truth
                plain += abs(state.mean - truth) <= Z95 * math.sqrt(state.variance / state.deals)
        rows.append(
            {
                "truth": truth,
                "low": share(answers["low"], tests),
                "high": share(answers["high"], tests),
                "mean_deals": float(np.mean(deals)),
                "p95_deals": float(np.quantile(deals, 0.95)),
                "fixed_deals": question.fixed_deals(float(margins.var())),
                "interval_covers": share(covered, estimates),
                "plain_interval_covers": share(plain, estimates),
                "estimate_above": share(above, estimates),
            }
        )
    return rows


def played(rules: str, agent: str, other: str, deals: int) -> Floats:
    """The margins of a pairing; of `alike` those of another, all but one in twenty level."""
    if agent != "alike":
        return evaluate(agent, other, rules, deals, seed=1).margins
    margins = evaluate("standard_trump", "standard", rules, deals, seed=1).margins
    return np.where(np.random.default_rng(1).random(deals) < 0.05, margins, 0.0)


def simulate_coverage(args: argparse.Namespace) -> dict[str, Any]:
    """The intervals of evaluations."""
    covers = []
    for rules, agent, other in PLAYED:
        margins = played(rules, agent, other, args.evaluations * max(SIZES))
        if rules == "micro":
            truth, source = exact_margin(rules, agent, other), "exact"
        else:
            truth = evaluate(agent, other, rules, args.truth_deals, seed=2).margin
            source = f"{args.truth_deals:,} other deals"
        for size in SIZES:
            row = coverage(margins, truth, size, args.evaluations)
            covers.append(
                {"rules": rules, "agent": agent, "opponent": other, "truth": truth}
                | {"truth_from": source, **row}
            )
            print(covers[-1], flush=True)
    return {"coverage": covers}


def simulate_tests(args: argparse.Namespace) -> dict[str, Any]:
    """Sequential tests, and the intervals after them."""
    tests = []
    for rules, agent, other, question in TESTS:
        reach = float(Rules.preset(rules).max_margin)
        margins = played(rules, agent, other, 200_000)
        rows = error_rates(question, margins, args.tests, args.estimates, reach)
        tests.append(
            {"rules": rules, "agent": agent, "opponent": other, "question": vars(question)}
            | {"sd": float(margins.std()), "level": float((margins == 0).mean()), "rows": rows}
        )
        print(tests[-1], flush=True)
    return {"tests": tests}


def compare_plays(args: argparse.Namespace) -> dict[str, Any]:
    """Standard deviations of the margins of single plays and of duplicate deals."""
    rows = []
    for agent, other, rules in PAIRINGS:
        contest = Contest([agent, other], rules, 3)
        duel = Duel(*contest.participants, contest.rules, contest.seed)
        scores = duel.play(0, args.deals).scores
        singles = (scores[:, 1] - scores[:, 0]).reshape(-1, 2).astype(np.float64)
        sd, single_sd = float(singles.mean(1).std()), float(singles.std())
        rows.append(
            {"agent": agent, "opponent": other, "rules": rules, "single_sd": single_sd, "sd": sd}
            | {"left": 2 * sd**2 / single_sd**2}
        )
        print(rows[-1], flush=True)
    return {"deals": args.deals, "rows": rows}


PARTS = {
    "coverage": simulate_coverage,
    "tests": simulate_tests,
    "duplicates": compare_plays,
}


def main() -> None:
    """Simulate, and write what was found."""
    parser = harness.options(__doc__)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--estimates", type=int, default=500)
    parser.add_argument("--truth-deals", type=int, default=1_000_000)
    parser.add_argument("--deals", type=int, default=400, help="of the part duplicates")
    parser.add_argument("--part", choices=PARTS, default="coverage")
    args = parser.parse_args()
    begin = time.process_time()
    found = PARTS[args.part](args)
    harness.write(args.out, {"cpu_seconds": time.process_time() - begin, **found})


if __name__ == "__main__":
    main()
