"""What observations forget: rows of a small deck, and the least exploitability of play by rows.

A policy that sees observations alone plays alike in all information sets of one row. How
exploitable it must be at least, its *floor*, is 0 where every information set has a row of its own.
Elsewhere it is bounded from above, by counterfactual regret minimisation of a player who has a
regret for each action of a row, the sum over its information sets, against one who tells all
information sets apart (Johanson et al. 2012: *Finding optimal abstract strategies in extensive-form
games*), both in either seat. The exploitability of its average is exact; with imperfect recall
nothing says that it is the least one.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hearts_env.encoders import ENCODERS
from hearts_env.solve.best_response import Profile, exploitability
from hearts_env.solve.regret import DEFAULT_ALGORITHM, update_of
from hearts_env.solve.side import backward_mean
from hearts_env.solve.tree import Tree
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.distinct import distinct
from hearts_env.support.interrupts import noted_interrupt
from hearts_env.support.progress import Progress, Show, silent

ITERATIONS = 200
_EVERY = 20
"""Iterations from one look at the exploitability to the next."""
_DIGEST = 16
"""Bytes that stand for an observation."""
COLUMNS = ("encoder", "rules", "information sets", "rows", "floor at most", "iterations", "seconds")


@dataclass(frozen=True)
class Floor:
    """What an encoder tells apart in a deck.

    Attributes:
        encoder: Its name.
        rules: The rules.
        infosets: Information sets of both players.
        rows: Different observations in them.
        exploitability: Of the best policy of rows that was found, points a deal; 0 where every
            information set has a row of its own.
        iterations: How many it took.
        seconds: How long.
        interrupted: Whether a signal ended it early.
    """

    encoder: str
    rules: str
    infosets: int
    rows: int
    exploitability: float
    iterations: int
    seconds: float
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return asdict(self)


def floors(
    decks: Sequence[str],
    encoders: Sequence[str] = (),
    iterations: int = ITERATIONS,
    show: Show = silent,
) -> list[Floor]:
    """The floors of some encoders, all by default; a signal ends it with those found so far.

    Encoders that tell the same information sets apart have the same policies, and share a result.
    """
    made: list[Floor] = []
    with noted_interrupt() as pressed:
        for tree in map(Tree, decks):
            found: dict[bytes, Floor] = {}
            for name in encoders or ENCODERS:
                with show(f"{name}, {tree.rules.name}") as progress:
                    rows = rows_of(tree, name)
                    if pressed():
                        return made
                    key = hashlib.blake2b(rows.tobytes()).digest()
                    if key not in found:
                        found[key] = _floor(tree, rows, iterations, progress, pressed)
                made.append(replace(found[key], encoder=name))
    return made


def _floor(
    tree: Tree, rows: Ints, iterations: int, progress: Progress, pressed: Callable[[], int]
) -> Floor:
    """The floor of an encoder that is not named yet."""
    begin, num_rows = time.perf_counter(), int(rows.max()) + 1
    is_whole = num_rows == len(rows)
    best, done = (0.0, iterations) if is_whole else (math.inf, 0)
    player, knowing = Minimiser(tree, rows), Minimiser(tree, np.arange(len(rows)))
    while done < iterations and not pressed():
        done += 1
        player.learn(knowing, done)
        knowing.learn(player, done)
        if done % _EVERY == 0 or done == iterations or pressed():
            best = min(best, exploitability(tree, player.average()))
        progress(done, iterations)
    return Floor(
        encoder="",
        rules=tree.rules.name,
        infosets=len(rows),
        rows=num_rows,
        exploitability=best,
        iterations=0 if is_whole else done,
        seconds=time.perf_counter() - begin,
        interrupted=done < iterations,
    )


def rows_of(tree: Tree, encoder: str) -> Ints:
    """The row of each information set, seat 0's before seat 1's, numbered as they first occur.

    The legal actions count as part of a row: the mask comes beside every observation.
    """
    digests = bytearray()
    for player in range(2):
        for _, views in tree.blocks(player):
            for one, legal in zip(views.observe(encoder), views.legal_masks, strict=True):
                row = one.tobytes() + legal.tobytes()
                digests += hashlib.blake2b(row, digest_size=_DIGEST).digest()
    return distinct(np.frombuffer(digests, np.uint8).reshape(-1, _DIGEST))[1]


class Minimiser:
    """A player in both seats who plays alike in all information sets of a row."""

    def __init__(self, tree: Tree, rows: Ints) -> None:
        """Begin with uniform play; `rows` has the row of each information set, as ``rows_of``."""
        self.tree = tree
        counts = np.concatenate([np.diff(side.first) for side in tree.sides])
        self._counts = np.zeros(int(rows.max()) + 1, np.int64)
        self._counts[rows] = counts
        self._starts = np.cumsum(self._counts) - self._counts
        # The place, among the actions of all rows, of every sequence but the empty ones.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = (np.repeat(self._starts[rows], counts) + within).astype(np.int32)
        cut = tree.sides[0].num_sequences - len(tree.sides[0].hands)
        self._places = (places[:cut], places[cut:])
        self._regrets = np.zeros(int(self._counts.sum()))
        self._sums = np.zeros_like(self._regrets)
        self._chances = self._shares(self._regrets)

    def learn(self, other: Minimiser, iteration: int) -> None:
        """A turn of regret minimisation in each seat, against what the other plays now."""
        _, keep, ahead, weight = update_of(DEFAULT_ALGORITHM, iteration)
        gained, sides = np.zeros_like(self._regrets), self.tree.sides
        for seat, side in enumerate(sides):
            hands, chances = len(side.hands), self._played(seat, self._chances)
            plan = sides[1 - seat].plan(other._played(1 - seat, other._chances))
            values = self.tree.gradient(seat, plan)
            backward_mean(side.parent, side.first, chances, values)
            means = np.add.reduceat((chances * values)[hands:], side.first[:-1] - hands)
            values[hands:] -= np.repeat(means, np.diff(side.first))
            gained += self._summed(seat, values[hands:])
            self._sums += self._summed(seat, weight * side.plan(chances)[hands:])
        # In place: decks of millions of rows take most of a small machine's memory.
        self._regrets *= keep
        self._regrets += gained
        np.maximum(self._regrets, 0.0, out=self._regrets)
        gained += self._regrets * ahead
        self._chances = self._shares(np.maximum(gained, 0.0, out=gained))

    def average(self) -> Profile:
        """The average of what it has played."""
        chances = self._shares(self._sums)
        return self._played(0, chances), self._played(1, chances)

    def _played(self, seat: int, chances: Floats) -> Floats:
        """The chances of a seat's sequences from those of the rows' actions."""
        return np.concatenate(
            [np.ones(len(self.tree.sides[seat].hands)), chances[self._places[seat]]]
        )

    def _summed(self, seat: int, numbers: Floats) -> Floats:
        """Numbers of a seat's sequences, the empty ones left out, summed over their rows."""
        total: Floats = np.bincount(self._places[seat], numbers, len(self._regrets))
        return total

    def _shares(self, weights: Floats) -> Floats:
        """The share of each weight in its row; equal ones where all are 0."""
        sums = np.repeat(np.add.reduceat(weights, self._starts), self._counts)
        even = np.repeat(1.0 / self._counts, self._counts)
        shares: Floats = np.divide(weights, sums, out=even, where=sums > 0)
        return shares


def rows_told(found: Sequence[Floor]) -> list[list[str]]:
    """A row of a table for each."""
    return [
        [
            one.encoder,
            one.rules,
            f"{one.infosets:,}",
            f"{one.rows:,}",
            f"{one.exploitability:.1e}" if one.exploitability else "0",
            f"{one.iterations:,}" + " (stopped)" * one.interrupted,
            f"{one.seconds:.0f}",
        ]
        for one in found
    ]
