"""The double-dummy solver: its speed, what each technique gains, and a check by brute force.

    python bench/double_dummy.py [--deals 1000] [--seed 0]      speed and gains, as docs tell them
    python bench/double_dummy.py --verify 10000 [--seed 0]      random positions by brute force

Times are of one thread, in processor time of the process, which a busy machine disturbs less than
a clock on the wall; where not said otherwise the table is made empty before every deal.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from hearts_env import Game, HeartsError, Rules, kernel
from hearts_env._bits import lowest
from hearts_env.cards import ALL_CARDS, list_of
from hearts_env.hidden import worlds_of_two
from hearts_env.solve import Table, solve, solve_batch
from hearts_env.solve import double_dummy as dd

HEARTS = {card: 1 for card in ALL_CARDS if card[1] == "H"}
POINTS: list[dict[str, int]] = [
    {"QS": 13},
    {"JS": 10, "QS": 3},
    {**HEARTS, "QS": 13, "JD": -10},
    HEARTS,
    {**HEARTS, "AH": 5},
]
OPTIONS: dict[str, list[Any]] = {
    "trump": [None, "C", "D", "S", "H"],
    "first_lead": ["lowest_club", "any_club", "eldest_hand"],
    "break_on": ["heart", "void", None],
    "unbroken_lead": ["only_hearts", "spades_or_hearts", "queen_frees_hearts"],
    "points_on_first_trick": [True, False],
    "queen_any_time": [True, False],
    "queen_breaks_hearts": [True, False],
    "moon": ["others_plus", "self_minus", "choose", "none"],
    "moon_points": [0, 3, 7, 20, 26, 40],
    "no_trick_points": [0, 0, -5],
    "kitty_to": ["nobody", "nobody", "first_trick", "last_trick", "first_heart", "first_penalty"],
}


# ---- brute force --------------------------------------------------------------------------------
@numba.njit(error_model="numpy")
def brute_force(r: Any, states: Any, depth: int, player: int) -> int:
    """The margin of `player` if both play their best from ``states[depth]``, by trying all play.

    Plain minimax on the kernel: no bound, no table, no order. The rows below are overwritten.
    """
    s = states[depth]
    if s[kernel.PHASE] == kernel.OVER:
        return kernel.margin_sum(r, s, player)
    mine = s[kernel.PLAYER] == player
    best = -(1 << 40) if mine else 1 << 40
    legal = kernel.legal_mask(r, s)
    while legal:
        card = lowest(legal)
        legal &= legal - 1
        kernel.copy_state(s, states[depth + 1])
        kernel.play(r, states[depth + 1], card)
        value = brute_force(r, states, depth + 1, player)
        best = max(best, value) if mine else min(best, value)
    return best


def brute_values(game: Game) -> dict[int, int]:
    """The margin of the player to act after each legal action, by brute force."""
    states = np.zeros((2 * game.rules.hand_size + 3, kernel.STATE_SIZE), np.int64)
    values = {}
    for action in game.legal_actions():
        after = game.clone()
        after.play(action)
        states[0] = after.vector
        values[action] = int(brute_force(game.rules.vector, states, 0, game.player))
    return values


# ---- random rules and positions -----------------------------------------------------------------
def random_rules(rng: random.Random) -> Rules:
    """Rules of two players: a preset, some of its fields changed, or a deck of any cards."""
    while True:
        base = rng.choice(["two_player", "two_player", "mini", "micro", "any", "any"])
        if base == "any":
            ranks = rng.sample("23456789TJQKA", rng.randint(3, 9))
            removed = [card for card in ALL_CARDS if card[0] not in ranks]
            if rng.random() < 0.4:
                removed = rng.sample(ALL_CARDS, rng.randint(20, 40))
            size = rng.randint(1, min(7, (52 - len(removed)) // 2))
            fields: dict[str, Any] = {"removed": tuple(removed), "hand_size": size, "players": 2}
            share = 0.6
        else:
            fields = Rules.preset(base).to_dict()
            share = rng.choice([0, 0.15, 0.5])
        for name, choices in OPTIONS.items():
            if rng.random() < share:
                fields[name] = rng.choice(choices)
        if rng.random() < (0.3 if base == "any" else 0.1):
            fields["card_points"] = rng.choice(POINTS)
            if rng.random() < 0.5:
                deck = [card for card in ALL_CARDS if card not in fields["removed"]]
                cards = rng.sample(deck, rng.randint(1, len(deck)))
                fields["card_points"] = {card: rng.randint(-6, 8) for card in cards}
        try:
            return Rules(**fields)
        except HeartsError:
            continue


def random_position(rng: random.Random, rules: Rules, most: int = 6) -> Game | None:
    """A deal played on until both hold at most `most` cards; None if it ended on the way.

    In two of three deals one player takes all they can, so that moons stay alive.
    """
    game = Game.deal(rules, rng.getrandbits(40))
    stop = rng.randint(1, 2 * most)
    greedy = rng.choice([None, 0, 1])
    while game.phase == "play":
        sizes = [len(game.hand(seat)) for seat in (0, 1)]
        if max(sizes) <= most and (sum(sizes) <= stop or rng.random() < 0.1):
            return game
        legal = game.legal_actions()
        action = rng.choice(legal)
        if greedy is not None and game.player == greedy and rng.random() < 0.8:
            trumps = [card for card in legal if rules.deck[card][1] == rules.trump]
            action = max(
                trumps or legal, key=lambda card: "23456789TJQKA".index(rules.deck[card][0])
            )
        game.play(action)
    return None


def positions(seed: int, count: int, most: int = 6) -> Iterator[tuple[Game, Table]]:
    """Random positions, a few of each rule set, with a table that is kept for these."""
    rng = random.Random(f"double dummy {seed}")
    found = 0
    while found < count:
        rules = random_rules(rng)
        table = Table(rules, log2_bytes=15, endgames=rng.choice([0, 2, 4]))
        for _ in range(5):
            game = random_position(rng, rules, most)
            if game is not None and found < count:
                found += 1
                yield game, table


def verify(count: int, seed: int) -> int:
    """Compare `count` random positions with brute force; returns how many differ, and says so."""
    wrong = moons = 0
    start = time.perf_counter()
    for number, (game, table) in enumerate(positions(seed, count), 1):
        expected = brute_values(game)
        found = solve(game, table=table)
        s = game.vector
        penalties = [s[kernel.TAKEN + p] & game.rules.vector[kernel.R_PENALTY] for p in (0, 1)]
        moons += (penalties[0] == 0) != (penalties[1] == 0)
        if found.values != expected or found.value != max(expected.values()):
            wrong += 1
            print(f"differs: {found.values}, by brute force {expected}\n{game.to_text()}")
        if number % 1000 == 0:
            print(f"{number:,} positions, {wrong} wrong, {time.perf_counter() - start:.0f} s")
    print(f"{count:,} positions ({moons:,} with one player shooting), {wrong} wrong")
    return wrong


# ---- speed --------------------------------------------------------------------------------------
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
    options: int = 0,
    endgames: int = 5,
    kept: bool = False,
    all_cards: bool = False,
) -> tuple[list[int], list[int], list[int]]:
    """Solve the deals of `seeds`; returns nanoseconds, nodes and values of each."""
    table = Table(rules, endgames=endgames)
    memory = table.vector
    memory[dd.H_OPTIONS] = options
    r, out = rules.vector, np.empty(kernel.MAX_CARDS, np.int64)
    times, nodes, values = [], [], []
    for seed in (seeds[0], *seeds):  # the first one twice: compiled, loaded, pages touched
        s = Game.deal(rules, seed).vector
        other = int(s[kernel.HANDS + 1 - s[kernel.PLAYER]])
        if not kept:
            table.clear()
        start = time.process_time_ns()
        if all_cards:
            legal = dd.card_values(r, s, other, memory, out)
        else:
            value = dd.position_value(r, s, other, memory)
        times.append(time.process_time_ns() - start)
        nodes.append(int(memory[dd.H_NODES]))
        values.append(max(out[c] for c in list_of(int(legal))) if all_cards else int(value))
    return times[1:], nodes[1:], values[1:]


def measure_worlds(rules: Rules, seeds: range, endgames: int) -> tuple[list[int], list[int]]:
    """All cards in all worlds at the lead of trick 2, random first trick: nanoseconds, worlds."""
    table = Table(rules, endgames=endgames)
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
        dd.world_values(rules.vector, view.vector, hands[:count], table.vector, values)
        times.append(time.process_time_ns() - start)
        counts.append(count)
    return times[1:], counts[1:]


GAINS = [
    ("all of them", 0, 5),
    ("endgame table of 6 cards", 0, 6),
    ("endgame table of 7 cards", 0, 7),
    ("no endgame table", 0, 0),
    ("no endgame table, no sure tricks", dd.NO_SURE, 0),
    ("no endgame table, no bounds at all", dd.NO_SURE | dd.NO_BOUNDS, 0),
    ("no endgame table, no runs", dd.NO_RUNS, 0),
    ("no endgame table, no order", dd.NO_ORDER, 0),
    ("no endgame table, no runs, bounds, order", 31 & ~dd.NO_TABLE, 0),
    ("no endgame table, no transposition table", dd.NO_TABLE, 0),
]


def draw(times: Any, path: str) -> None:
    """How many deals take how long, as PNG."""
    from matplotlib.figure import Figure

    ms = np.asarray(times) / 1e6
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.hist(ms, bins=np.geomspace(ms.min(), ms.max(), 60), color="#2a7f62")
    for value, name in ((ms.mean(), "mean"), (ms.max(), "worst")):
        axes.axvline(value, color="#b23a48", linewidth=1)
        axes.annotate(
            f"{name} {value:.3g}",
            (value, axes.get_ylim()[1]),
            (-4, -10),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds to solve a full deal double dummy")
    axes.set_ylabel("deals")
    axes.set_title(f"{len(ms):,} deals of two_player", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> int:
    """Print the tables of docs/double_dummy.md, or verify."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="PNG", help="draw how long a deal takes")
    parser.add_argument("--verify", type=int, default=0, metavar="N")
    args = parser.parse_args()
    if args.verify:
        return int(verify(args.verify, args.seed) > 0)
    rules = Rules.preset("two_player")
    seeds = range(args.seed, args.seed + args.deals)
    head = "| nodes | ms, mean | median | 99 % | worst |\n|---|---:|---:|---:|---:|---:|"

    print(f"{args.deals:,} full deals of two_player, seeds from {args.seed}\n\n| {head}")
    times, nodes, _ = measure(rules, seeds)
    print(_line("table emptied before each", times, nodes))
    if args.plot:
        draw(times, args.plot)
    print(_line("table kept", *measure(rules, seeds, kept=True)[:2]))
    print(_line("endgames of 6, table kept", *measure(rules, seeds, kept=True, endgames=6)[:2]))
    for name in ("mini", "micro"):
        print(_line(name, *measure(Rules.preset(name), seeds)[:2]))

    part = seeds[: max(1, args.deals // 10)]
    print(f"\n{len(part):,} of them, techniques left out\n\n| {head}")
    first = None
    for name, options, endgames in GAINS:
        shown = part[: max(1, len(part) // 10)] if options & dd.NO_TABLE else part
        times, nodes, values = measure(rules, shown, options=options, endgames=endgames)
        first = first or values
        assert values == first[: len(values)], name
        print(_line(f"{name}{'' if shown is part else f' ({len(shown)} deals)'}", times, nodes))

    print("\n| all cards, all worlds, lead of trick 2 | ms, mean | median | worst |")
    print("|---|---:|---:|---:|")
    for endgames in (5, 6):
        times, counts = measure_worlds(rules, seeds[: min(args.deals, 1000)], endgames)
        ms = np.array(times) / 1e6
        label = f"endgames of {endgames}; {np.mean(counts):.0f} worlds, {max(counts)} at most"
        print(f"| {label} | {ms.mean():.2f} | {np.median(ms):.2f} | {ms.max():.2f} |")

    states = np.stack([Game.deal(rules, seed).vector for seed in seeds])
    print("\n| solve_batch, threads | deals/s, median of 5 on the clock |\n|---|---:|")
    for threads in (1, 2):
        solve_batch(states[:10], rules, num_threads=threads)
        spans = []
        for _ in range(5):
            start = time.perf_counter()
            solve_batch(states, rules, num_threads=threads)
            spans.append(time.perf_counter() - start)
        print(f"| {threads} | {len(states) / float(np.median(spans)):,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
