"""The double-dummy solver: positions and milliseconds, and what the endgame table gains.

    python bench/double_dummy.py --deals 100000 --out docs/results/double_dummy.json

Times are of one thread, in processor time of the process, which a busy machine disturbs less than
a clock on the wall; the table is made empty before every deal.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from bench import harness
from hearts_env import Game, Rules, kernel
from hearts_env.solve import TranspositionTable
from hearts_env.solve.beliefs import hidden_hands
from hearts_env.solve.dd import position
from hearts_env.solve.dd.search import position_value, world_values

RULES = Rules.preset("two_player")
MOST_WORLDS = 1000
"""Deals of which all worlds are solved."""


def full_deals(seeds: range, endgames: int) -> tuple[list[int], list[int]]:
    """Solve the deals of `seeds`; returns the nanoseconds and the positions of each."""
    table = TranspositionTable(RULES, endgames=endgames)
    times, nodes = [], []
    for seed in (seeds[0], *seeds):  # the first one twice: compiled, loaded, pages touched
        s = Game.deal(RULES, seed).vector
        other = int(s[kernel.HANDS + kernel.SEAT * (1 - s[kernel.PLAYER])])
        table.clear()
        start = time.process_time_ns()
        position_value(RULES.vector, s, other, table.vector)
        times.append(time.process_time_ns() - start)
        nodes.append(int(table.vector[position.H_NODES]))
    return times[1:], nodes[1:]


def all_worlds(seeds: range) -> tuple[list[int], list[int]]:
    """All cards in all worlds at the lead of trick 2, random first trick: nanoseconds, worlds."""
    table = TranspositionTable(RULES)
    times, counts = [], []
    for seed in (seeds[0], *seeds):
        rng, game = random.Random(seed), Game.deal(RULES, seed)
        for _ in range(2):
            game.play(rng.choice(game.legal_actions()))
        view = game.view(game.current_player or 0)
        hands = hidden_hands(view)
        values = np.empty((len(hands), len(view.legal_actions())), np.int64)
        table.clear()
        start = time.process_time_ns()
        world_values(RULES.vector, view.vector, hands, table.vector, values)
        times.append(time.process_time_ns() - start)
        counts.append(len(hands))
    return times[1:], counts[1:]


def row(name: str, times: list[int], nodes: list[int] | None = None) -> dict[str, Any]:
    """The figures of some solves."""
    ms = np.array(times) / 1e6
    figures = {"mean": ms.mean(), "median": np.median(ms), "p99": np.percentile(ms, 99)}
    made = {key: round(float(value), 4) for key, value in (figures | {"worst": ms.max()}).items()}
    shown = "" if nodes is None else f"{np.mean(nodes):,.0f}"
    print(name, shown, made, flush=True)
    return {"name": name, "nodes": shown, **made}


def main() -> None:
    """Measure, and write what was found."""
    parser = harness.options(__doc__)
    parser.add_argument("--deals", type=int, default=1000)
    deals = parser.parse_args().deals
    times, worlds = all_worlds(range(min(deals, MOST_WORLDS)))
    rows = [
        row("a full deal of `two_player`", *full_deals(range(deals), 5)),
        row("without the endgame table", *full_deals(range(deals), 0)),
        row(f"all legal cards in {np.mean(worlds):.0f} worlds", times),
    ]
    harness.write(parser.parse_args().out, {"deals": deals, "rows": rows})


if __name__ == "__main__":
    main()
