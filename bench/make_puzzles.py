"""Finds the puzzles that come with the package, in deals played by its own players.

    python bench/make_puzzles.py

Deals of the seeds from 0 on are played, by pairs of players in turn; a deal gives one puzzle at
most. What ``Judge.judge`` takes for a puzzle is checked twice more: its
solution must stay the best card where the worlds are weighed as if ``champion`` had played the
other hand, and in the last four tricks the equilibrium must play it more often than not. Of each
level the first ones are taken, in order of their gaps, and the whole is written to
``train/hearts_train/measure/puzzles.jsonl``.
"""

from __future__ import annotations

import argparse
import itertools
import json
from dataclasses import asdict, dataclass

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_agents.search import Pimc
from hearts_env import Game, PlayerView
from hearts_env.solve import solve_worlds
from hearts_env.solve.beliefs import belief
from hearts_env.support.files import write_whole
from hearts_train.console import note, progress
from hearts_train.measure.puzzles import FILE, LEVELS, RULES, Puzzle
from hearts_train.web.review import EPSILON, endgame_of

PLAYERS = ("champion", "pro", "standard", "pimc", "standard_trump", "easy")
GAP = 2.0
"""Points by which the best card leads at least."""
LEGAL = 3
"""Cards that may be played at least."""
MISSING = ("standard", "pro")
"""Who misses every puzzle."""
RATING = ("standard", "standard_trump", "pro", "pro_trump", "champion")
"""Whose choices rate a puzzle."""


@dataclass(frozen=True)
class Verdict:
    """What makes a position a puzzle.

    Attributes:
        means: the mean margin of each legal card over all worlds.
        best: the card with the highest.
        gap: by how much it leads.
        missed: those of `RATING` who choose another.
    """

    means: dict[str, float]
    best: str
    gap: float
    missed: tuple[str, ...]

    @property
    def level(self) -> int:
        """How hard it is, from 1 to 3."""
        if "champion" in self.missed:
            return 3
        return 2 if {"standard_trump", "pro_trump"} <= set(self.missed) else 1


class Judge:
    """Tells puzzles from other positions; it keeps its players."""

    def __init__(self) -> None:
        self._pimc = Pimc(seed=0)
        self._players: dict[str, Agent] = {name: make_agent(name, seed=0) for name in RATING}

    def judge(self, view: PlayerView) -> Verdict | None:
        """What makes a position a puzzle; None: it is not a puzzle."""
        legal = view.legal_actions()
        if view.phase != "play" or len(legal) < LEGAL:
            return None
        margins = self._pimc.margins(view)
        second, first = sorted(margins)[-2:]
        if first - second < GAP:
            return None
        best = legal[margins.index(first)]
        missed = tuple(name for name, agent in self._players.items() if agent.act(view) != best)
        if not set(MISSING) <= set(missed):
            return None
        deck = view.rules.deck
        means = {deck[action]: margin for action, margin in zip(legal, margins, strict=True)}
        return Verdict(means, deck[best], first - second, missed)


def line_of(puzzle: Puzzle) -> str:
    """A line of the file."""
    return json.dumps(asdict(puzzle), separators=(",", ":")) + "\n"


class Search:
    """Plays deals and looks for puzzles."""

    def __init__(self) -> None:
        self._players: dict[str, Agent] = {name: make_agent(name, seed=0) for name in PLAYERS}
        self._pairs = list(itertools.product(PLAYERS, repeat=2))
        self._judge = Judge()

    def in_deal(self, seed: int, wanted: set[int]) -> Puzzle | None:
        """The puzzle with the widest gap in the deal of a seed, of one of the levels wanted."""
        names = self._pairs[seed % len(self._pairs)]
        game, found = Game.deal(RULES, seed), []
        for name in names:
            self._players[name].reseed(seed)
        while game.player is not None:
            view = game.view(game.player)
            verdict = self._judge.judge(view)
            if verdict is not None and verdict.level in wanted:
                found.append((verdict.gap, game.clone(), verdict))
            game.play(self._players[names[game.player]].act(view))
        for _, position, verdict in sorted(found, key=lambda one: -one[0]):
            if self.is_sound(position.view(position.player or 0), verdict):
                return _puzzle(position, verdict, names)
        return None

    def is_sound(self, view: PlayerView, verdict: Verdict) -> bool:
        """Whether the solution holds against a champion, and in the equilibrium of the end."""
        champion = self._players["champion"]
        weights = belief(view, champion.action_probs, epsilon=EPSILON).weights
        _, margins = solve_worlds(view)
        means = weights @ margins
        names = [view.rules.deck[action] for action in view.legal_actions()]
        if names[int(np.argmax(means))] != verdict.best:
            return False
        solved = endgame_of(view, champion)
        return solved is None or solved["chances"][verdict.best] > 0.5


def _puzzle(game: Game, verdict: Verdict, names: tuple[str, str]) -> Puzzle:
    start = game.start()
    hands = ("".join(start.hand(0)), "".join(start.hand(1)))
    play = "".join(card for _, card in game.history)
    gap = round(verdict.gap, 2)
    missed, level = verdict.missed, verdict.level
    return Puzzle(hands, game.dealer, play, verdict.best, gap, missed, level, names)


def main() -> None:
    """Read the command line, search, and write the file."""
    parser = argparse.ArgumentParser(description="Find the puzzles of the package.")
    parser.add_argument("--each", type=int, default=100, help="puzzles of each level")
    given = parser.parse_args()
    search = Search()
    found: dict[int, list[Puzzle]] = {level: [] for level in range(1, LEVELS + 1)}
    with progress("puzzles") as report:
        for seed in itertools.count():
            wanted = {level for level, ones in found.items() if len(ones) < given.each}
            report(sum(map(len, found.values())), LEVELS * given.each)
            if not wanted:
                break
            one = search.in_deal(seed, wanted)
            if one is not None:
                found[one.level].append(one)
    ordered = [one for level in found for one in sorted(found[level], key=lambda one: -one.gap)]
    text = "".join(line_of(one) for one in ordered)
    write_whole(FILE, text.encode())
    note(f"{FILE.name}: {len(ordered)} puzzles of {seed} deals, {len(text):,} bytes")


if __name__ == "__main__":
    main()
