"""The tests' full counts: ``make verify``; results go to tests/data/verification.md.

Each check is cut into tasks of some seconds, which two processes work through. ``--only NAME``
runs one check (and again another) and renews its part of the page; ``--scale 0.01`` runs a
hundredth of everything to see whether it works, and writes nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from hypothesis import HealthCheck, given, seed, settings

from hearts_env import Game, Rules
from hearts_env.encoders import ENCODERS, encode
from hearts_env.render import render_ansi, render_rgb, render_svg
from hearts_env.rules.presets import GAMES
from hearts_env.solve import solve_double_dummy
from hearts_env.views.picture import picture_of
from tests.brute_force import brute_values, one_may_shoot, positions
from tests.learners import WAYS, assert_nothing_hidden_shows, decisions
from tests.lockstep import (
    MATCH_FIELDS,
    assert_same,
    every_deal,
    every_line,
    lockstep_deals,
    naive_of,
    single_changes,
)
from tests.naive import naive_world_bound, naive_worlds
from tests.perft import DATA, count_lines, naive_count, report
from tests.reshuffle import reshuffled
from tests.strategies import rule_sets
from tests.test_view import HARD_RULES, naive_at, random_positions
from tests.verification import PAGE, section, write_page

Counts = dict[str, int]


@dataclass(frozen=True)
class Task:
    """A piece of a check: `work` returns what it counted, or raises on the first fault."""

    check: str
    row: str
    work: Callable[[], Counts]
    weight: float  # how long it takes, in any unit


@dataclass(frozen=True)
class Check:
    """One kind of comparison, and its tasks for a share of the full counts."""

    name: str
    says: str
    tasks: Callable[[float], Iterator[Task]]


def row_of(name: str, players: int) -> str:
    """A game as the tables name it."""
    return f"`{name}`, {players} players"


def chunked(
    check: str, row: str, work: Callable[..., Counts], total: float, size: int, weight: float
) -> Iterator[Task]:
    """Tasks of at most `size` that make up `total`: `work` is given the first, and how many."""
    whole = max(1, round(total))
    for first in range(0, whole, size):
        number = min(size, whole - first)
        yield Task(check, row, functools.partial(work, first, number), number * weight)


# ---- lockstep ------------------------------------------------------------------------------------
def deals_of(players: int, scale: float) -> int:
    """How many deals of each game: 100,000 of the two-player presets, else 20,000."""
    return max(1, round((100_000 if players == 2 else 20_000) * scale))


def is_short(name: str) -> bool:
    """Whether it is one of the three presets of two-player Hearts."""
    return name in ("two_player", "mini", "micro")


def lockstep_tasks(scale: float) -> Iterator[Task]:
    for name, players in GAMES:
        rules = Rules.preset(name, players)
        work = functools.partial(lockstep_work, rules)
        deals = deals_of(2 if is_short(name) else 4, scale)
        yield from chunked("lockstep", row_of(name, players), work, deals, 1000, cards_of(rules))


def lockstep_work(rules: Rules, first_seed: int, deals: int) -> Counts:
    return {"deals": deals, "positions": deals + lockstep_deals(rules, deals, first_seed)}


def option_tasks(scale: float) -> Iterator[Task]:
    for name, players in GAMES:
        changed = [
            rules
            for field, rules in single_changes(Rules.preset(name, players))
            if field not in MATCH_FIELDS
        ]
        each = -(-deals_of(2 if is_short(name) else 4, scale) // len(changed))
        for number, rules in enumerate(changed):
            yield Task(
                "options",
                row_of(name, players),
                functools.partial(option_work, rules, 1_000_000 * (number + 1), each),
                each * cards_of(rules),
            )


def option_work(rules: Rules, first_seed: int, deals: int) -> Counts:
    return {"rule sets": 1, **lockstep_work(rules, first_seed, deals)}


def random_rules_tasks(scale: float) -> Iterator[Task]:
    return chunked("random rules", "drawn by hypothesis", random_rules_work, 500 * scale, 25, 2000)


def random_rules_work(first: int, number: int) -> Counts:
    counts = {"rule sets": 0, "deals": 0, "positions": 0}

    @seed(first)
    @settings(
        database=None, deadline=None, max_examples=number, suppress_health_check=list(HealthCheck)
    )
    @given(rule_sets())
    def compare(rules: Rules) -> None:
        found = lockstep_work(rules, counts["deals"] + 1000 * first, 40)
        for key, count in {"rule sets": 1, **found}.items():
            counts[key] += count

    compare()
    return counts


# ---- every line ----------------------------------------------------------------------------------
def micro_tasks(scale: float) -> Iterator[Task]:
    return chunked("micro", "`micro`, every deal", micro_work, 560 * scale, 40, 1500)


def micro_work(first: int, number: int) -> Counts:
    counts = {"deals": 0, "lines": 0, "positions": 0, "worlds": 0}
    for deal in list(every_deal(Rules.preset("micro")))[first : first + number]:
        counts["deals"] += 1
        for game, naive in every_line(deal):
            assert_same(game, naive)
            counts["positions"] += 1
            counts["lines"] += game.is_over
            for player in range(2):
                expected = naive_worlds(game.rules, naive.knowledge(player))
                assert set(game.view(player).worlds()) == expected, game.to_text()
                counts["worlds"] += len(expected)
    return counts


def mini_tasks(scale: float) -> Iterator[Task]:
    row = "`mini`, every deal (kernel alone)"
    return chunked("mini", row, mini_work, 16_632 * scale, 1200, 100)


def mini_work(first: int, number: int) -> Counts:
    lines = positions = 0
    for place, deal in enumerate(every_deal(Rules.preset("mini"))):
        if first <= place < first + number:
            counts = count_lines(deal, 11)
            assert counts[10] == 0
            lines += int(counts[9])
            positions += 1 + int(counts.sum())
    return {"deals": number, "lines": lines, "positions": positions}


def perft_tasks(scale: float) -> Iterator[Task]:
    cases = json.loads(DATA.read_text())
    for case in cases[: max(1, round(len(cases) * scale))]:
        lines = case["lines"]
        yield Task(
            "perft", "tests/data/perft.json", functools.partial(perft_work, case), sum(lines) * 5
        )


def perft_work(case: dict[str, Any]) -> Counts:
    game = Game.from_text("\n".join(case["deal"]))
    depth = len(case["lines"])
    assert naive_count(naive_of(game), depth) == case["lines"], game.to_text()
    assert count_lines(game, depth).tolist() == case["lines"], report(game, depth)
    return {"deals": 1, "lines": sum(case["lines"])}


# ---- views ---------------------------------------------------------------------------------------
def worlds_tasks(scale: float) -> Iterator[Task]:
    for name in HARD_RULES:
        work = functools.partial(worlds_work, name)
        yield from chunked("worlds", name, work, 100 * scale, 10, 30_000)


def worlds_work(name: str, first_seed: int, deals: int) -> Counts:
    rules = HARD_RULES[name]
    counts = {"deals": deals, "views": 0, "tried": 0, "worlds": 0}
    for number in range(first_seed, first_seed + deals):
        for game in random_positions(rules, number):
            naive = naive_at(game)
            for player in range(rules.players):
                known = naive.knowledge(player)
                bound = naive_world_bound(rules, known)
                if bound > 1700:
                    continue
                view = game.view(player)
                expected = naive_worlds(rules, known)
                assert set(view.worlds()) == expected, game.to_text()
                assert view.num_worlds == len(expected), game.to_text()
                counts["views"] += 1
                counts["tried"] += bound
                counts["worlds"] += len(expected)
    return counts


def hidden_tasks(scale: float) -> Iterator[Task]:
    for name, players in GAMES:
        rules = Rules.preset(name, players)
        # Worlds of six or seven players take long to count, and images to draw.
        deals = 1000 if is_short(name) else 200 if players < 6 else 20
        drawn = 20 if is_short(name) else 2
        row, cards = row_of(name, players), cards_of(rules)
        work = functools.partial(hidden_work, rules, 0, images=True)
        yield from chunked("hidden", row, work, drawn * scale, 2, cards * 1200)
        work = functools.partial(hidden_work, rules, drawn, images=False)
        weight = cards * (60 if players < 6 else 600)
        yield from chunked("hidden", row, work, (deals - drawn) * scale, 10, weight)


def cards_of(rules: Rules) -> int:
    """How many cards are played in a deal."""
    return rules.players * rules.hand_size


def hidden_work(rules: Rules, skipped: int, first: int, deals: int, images: bool) -> Counts:
    counts = {"deals": deals, "decisions": 0, "redealt": 0, "arrays": 0, "images": 0}
    for number in range(skipped + first, skipped + first + deals):
        rng = random.Random(number)
        for game in random_positions(rules, number):
            mover = rng.randrange(rules.players) if game.player is None else game.player
            other = rng.randrange(rules.players)
            counts["decisions"] += 1
            for player in {mover, other}:
                redealt = reshuffled(game, player, rng.randrange(2**32))
                assert_looks_the_same(game, redealt, player, images=images)
                counts["redealt"] += redealt != game
                counts["arrays"] += len(ENCODERS)
                counts["images"] += images
    return counts


def assert_looks_the_same(game: Game, redealt: Game, player: int, *, images: bool) -> None:
    """The view, its text, every encoding and every picture."""
    view, twin = game.view(player), redealt.view(player)
    assert np.array_equal(view.vector, twin.vector), game.to_text()
    assert view.to_text() == twin.to_text()
    assert view.legal_actions() == twin.legal_actions()
    for name, encoder in ENCODERS.items():
        seen = encode(encoder, view)
        assert np.array_equal(seen, encode(encoder, twin)), (name, game.to_text())
        for position in (game, redealt):  # straight from the state
            assert np.array_equal(position.observe(player=player, observation=name), seen), name
    pictures = [picture_of(g, render_for=player) for g in (game, redealt)]
    assert render_ansi(pictures[0]) == render_ansi(pictures[1])
    if images:
        assert render_svg(pictures[0]) == render_svg(pictures[1])
        assert np.array_equal(render_rgb(pictures[0], 480), render_rgb(pictures[1], 480))


def environment_tasks(scale: float) -> Iterator[Task]:
    for name, players in GAMES:
        rules = Rules.preset(name, players)
        deals = 200 if is_short(name) else 20
        row, work = row_of(name, players), functools.partial(environment_work, rules)
        yield from chunked("environments", row, work, deals * scale, 5, cards_of(rules) * 4000)


def environment_work(rules: Rules, first_seed: int, deals: int) -> Counts:
    counts = {"deals": deals, "decisions": 0, "redealt": 0, "compared": 0}
    for number in range(first_seed, first_seed + deals):
        player = number % rules.players
        for place, game in enumerate(decisions(rules, number, player, 3)):
            options = {
                "observation": [*ENCODERS][(number + place) % len(ENCODERS)],
                "reward": ("margin", "trick", "points", "win")[(number + place) % 4],
                "render_mode": ("ansi", "svg")[place % 2],
            }
            counts["decisions"] += 1
            for way in WAYS:
                differs = assert_nothing_hidden_shows(way, game, player, number, **options)
                counts["compared"] += 1
            counts["redealt"] += differs
    return counts


# ---- the solver ----------------------------------------------------------------------------------
def double_dummy_tasks(scale: float) -> Iterator[Task]:
    row = "random rules for two"
    return chunked("double dummy", row, double_dummy_work, 10_000 * scale, 250, 15_000)


def double_dummy_work(seed: int, number: int) -> Counts:
    counts = {"positions": number, "cards": 0, "one may shoot": 0}
    for game, table in positions(seed, number):
        solution = solve_double_dummy(game, table=table)
        expected = brute_values(game)
        assert solution.values == expected, f"{solution.values}, not {expected}\n{game.to_text()}"
        assert solution.value == max(expected.values()), game.to_text()
        counts["cards"] += len(expected)
        counts["one may shoot"] += one_may_shoot(game)
    return counts


CHECKS = [
    Check(
        "lockstep",
        "Random deals played at random, compared with the naive second implementation "
        "(tests/naive.py) after each action: phase, player, legal actions, hands, trick, taken "
        "cards, points, scores, broken hearts, exchange, kitty, moon. Every tenth deal ends with a "
        "revoke at some point.",
        lockstep_tasks,
    ),
    Check(
        "options",
        "The same with each single option changed to each other value that the rules accept.",
        option_tasks,
    ),
    Check(
        "random rules",
        "The same under rule sets drawn at random: decks, hands, all options.",
        random_rules_tasks,
    ),
    Check(
        "micro",
        "Every deal of `micro` and every line of play, compared with the naive implementation at "
        "every position, and each player's possible worlds compared with brute force.",
        micro_tasks,
    ),
    Check("mini", "Every deal of `mini` and every line of play, counted.", mini_tasks),
    Check(
        "perft",
        "Lines of play to each depth from committed deals, counted by both implementations.",
        perft_tasks,
    ),
    Check(
        "worlds",
        "`view.worlds()` and `view.num_worlds` compared with brute force: of all assignments of "
        "the unseen cards, those from which the naive implementation can replay all that was seen.",
        worlds_tasks,
    ),
    Check(
        "hidden",
        "The cards that a player cannot know are dealt again, consistently with all that was "
        "shown, and the history is replayed: the view, its text, the legal actions, every encoding "
        "and every rendering (as text; in some deals as SVG and pixels too) stay the same, for the "
        "player to act and another one.",
        hidden_tasks,
    ),
    Check(
        "environments",
        "The same through `hearts_v0` and the Gymnasium, vector and stable-baselines3 "
        "environments, with another seed: everything that a learner gets from the reset to a "
        "decision (observations, masks, rewards, ends, every info, what is drawn) is the same to "
        "the last byte. Encoders, rewards and ways of drawing take turns.",
        environment_tasks,
    ),
    Check(
        "double dummy",
        "Positions of up to 6 cards each, from presets and random rules for two: the value of "
        "every legal card compared with plain minimax that tries all play.",
        double_dummy_tasks,
    ),
]


# ---- running -------------------------------------------------------------------------------------
def run_task(task: Task) -> tuple[Task, Counts, float, str]:
    """The task's counts and seconds; the fault in words, if there was one."""
    began = time.perf_counter()
    try:
        counts, fault = task.work(), ""
    except Exception as error:
        counts, fault = {}, f"{task.check}, {task.row}: {type(error).__name__}: {error}"
    return task, counts, time.perf_counter() - began, fault


def run(tasks: list[Task], processes: int) -> dict[str, dict[str, Counts]]:
    """Counts by check and row, seconds among them in thousandths; exits at the first fault."""
    results: dict[str, dict[str, Counts]] = {}
    random.Random(0).shuffle(tasks)  # so that the share done shows the time left
    total, done, said = sum(task.weight for task in tasks), 0.0, 0
    with multiprocessing.Pool(processes) as pool:
        for task, counts, seconds, fault in pool.imap_unordered(run_task, tasks):
            if fault:
                pool.terminate()
                sys.exit(fault)
            row = results.setdefault(task.check, {}).setdefault(task.row, {})
            for key, count in {**counts, "thousandths": round(seconds * 1000)}.items():
                row[key] = row.get(key, 0) + count
            done += task.weight
            if said < int(100 * done / total):
                said = int(100 * done / total)
                print(f"{said} %", flush=True)
    return results


def section_of(check: Check, rows: dict[str, Counts], order: list[str]) -> str:
    """The part of the page about one check."""
    keys = [key for key in next(iter(rows.values())) if key != "thousandths"]
    shown = {row: rows[row] for row in order if row in rows}
    if len(rows) > 1:
        names = [*keys, "thousandths"]
        total = {key: sum(counts.get(key, 0) for counts in shown.values()) for key in names}
        shown["**all**"] = total
    table = [
        [row, *(counts.get(key, 0) for key in keys), counts["thousandths"] / 1000]
        for row, counts in shown.items()
    ]
    return section(check.name, check.says, ["", *keys, "seconds"], table)


def main() -> None:
    names = [check.name for check in CHECKS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", action="append", choices=names, help="a check; may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full counts")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    checks = [check for check in CHECKS if check.name in (arguments.only or names)]
    tasks = [task for check in checks for task in check.tasks(arguments.scale)]
    order = list(dict.fromkeys(task.row for task in tasks))
    try:
        results = run(tasks, arguments.processes)
    except KeyboardInterrupt:
        print("stopped; nothing was written")
        raise SystemExit(130) from None
    sections = {check.name: section_of(check, results[check.name], order) for check in checks}
    print(*sections.values(), sep="\n")
    if arguments.scale == 1.0:
        write_page(sections)
        print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
