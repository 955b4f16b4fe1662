"""The double-dummy solver: its speed, and what the endgame table gains.

    python bench/double_dummy.py [--deals 1000] [--seed 0]

Times are of one thread, in processor time of the process, which a busy machine disturbs less than
a clock on the wall; where not said otherwise the table is made empty before every deal.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from bench import harness
from hearts_env import Game, Rules, kernel
from hearts_env.cards import list_of
from hearts_env.solve import TranspositionTable, solve_batch
from hearts_env.solve.dd import position
from hearts_env.solve.dd.search import card_values, position_value, world_values
from hearts_env.views.hidden import worlds_of_two


def _line(name: str, times: Any, nodes: Any) -> str:
    ms = np.asarray(times) / 1e6
    return (
        f"| {name} | {np.mean(nodes):,.0f} | {ms.mean():.3f} | {np.median(ms):.3f} "
        f"| {np.percentile(ms, 99):.3f} | {ms.max():.3f} |"
    )


def measure(
    rules: Rules,
    seeds: range,
    *,
    endgames: int = 5,
    keep: bool = False,
    all_cards: bool = False,
) -> tuple[list[int], list[int], list[int]]:
    """Solve the deals of `seeds`; returns nanoseconds, nodes and values of each."""
    table = TranspositionTable(rules, endgames=endgames)
    memory = table.vector
    r, out = rules.vector, np.empty(kernel.MAX_CARDS, np.int64)
    times, nodes, values = [], [], []
    for seed in (seeds[0], *seeds):  # the first one twice: compiled, loaded, pages touched
        s = Game.deal(rules, seed).vector
        other = int(s[kernel.HANDS + kernel.SEAT * (1 - s[kernel.PLAYER])])
        if not keep:
            table.clear()
        start = time.process_time_ns()
        if all_cards:
            legal = card_values(r, s, other, memory, out)
        else:
            value = position_value(r, s, other, memory)
        times.append(time.process_time_ns() - start)
        nodes.append(int(memory[position.H_NODES]))
        values.append(max(out[c] for c in list_of(int(legal))) if all_cards else int(value))
    return times[1:], nodes[1:], values[1:]


def measure_worlds(rules: Rules, seeds: range, endgames: int) -> tuple[list[int], list[int]]:
    """All cards in all worlds at the lead of trick 2, random first trick: nanoseconds, worlds."""
    table = TranspositionTable(rules, endgames=endgames)
    scratch = np.zeros(256, np.int64)
    times, counts = [], []
    for seed in (seeds[0], *seeds):
        rng = random.Random(seed)
        game = Game.deal(rules, seed)
        for _ in range(2):
            game.play(rng.choice(game.legal_actions()))
        view = game.view(game.player or 0)
        hands = np.zeros(256, np.int64)
        count = int(worlds_of_two(rules.vector, view.vector, view.player, hands, scratch))
        values = np.empty((count, len(view.legal_actions())), np.int64)
        table.clear()
        start = time.process_time_ns()
        world_values(rules.vector, view.vector, hands[:count], table.vector, values)
        times.append(time.process_time_ns() - start)
        counts.append(count)
    return times[1:], counts[1:]


def main() -> None:
    """Print the tables of docs/worlds.md."""
    parser = harness.options(__doc__, has_out=False)
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rules = Rules.preset("two_player")
    seeds = range(args.seed, args.seed + args.deals)
    head = "| nodes | ms, mean | median | 99 % | worst |\n|---|---:|---:|---:|---:|---:|"

    print(f"{args.deals:,} full deals of two_player, seeds from {args.seed}\n\n| {head}")
    print(_line("table emptied before each", *measure(rules, seeds)[:2]))
    print(_line("table kept", *measure(rules, seeds, keep=True)[:2]))
    print(_line("endgames of 6, table kept", *measure(rules, seeds, keep=True, endgames=6)[:2]))
    for name in ("mini", "micro"):
        print(_line(name, *measure(Rules.preset(name), seeds)[:2]))

    for endgames in (0, 6, 7):
        found = measure(rules, seeds, endgames=endgames)
        print(_line(f"endgame table of {endgames} cards", *found[:2]))

    print("\n| all cards, all worlds, lead of trick 2 | ms, mean | median | worst |")
    print("|---|---:|---:|---:|")
    for endgames in (5, 6):
        times, counts = measure_worlds(rules, seeds[: min(args.deals, 1000)], endgames)
        ms = np.array(times) / 1e6
        label = f"endgames of {endgames}; {np.mean(counts):.0f} worlds, {max(counts)} at most"
        print(f"| {label} | {ms.mean():.2f} | {np.median(ms):.2f} | {ms.max():.2f} |")

    games = [Game.deal(rules, seed) for seed in seeds]
    print("\n| solve_batch, threads | deals/s, median of 5 on the clock |\n|---|---:|")
    for threads in (1, 2):
        solve_batch(games[:10], num_threads=threads)
        spans = []
        for _ in range(5):
            start = time.perf_counter()
            solve_batch(games, num_threads=threads)
            spans.append(time.perf_counter() - start)
        print(f"| {threads} | {len(games) / float(np.median(spans)):,.0f} |")


if __name__ == "__main__":
    main()
