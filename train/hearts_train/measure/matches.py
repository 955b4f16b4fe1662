"""Deals that were played one by one, strung together into matches, and settled in chips."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hearts_env import Rules, settle
from hearts_env.game.match import Scoreboard


def string_matches(
    rules: Rules, scores: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[int, float]:
    """String deals, one per row, into matches: how many ended, and how many the first column won.

    A shared first place, with which ``max_deals`` may end a match, counts in part.
    """
    finished, won = 0, Fraction()
    board = Scoreboard(rules)
    for row, taken in zip(scores.tolist(), points.tolist(), strict=True):
        board.add(row, taken)
        if board.is_over:
            leaders = board.leaders
            finished += 1
            won += Fraction(0 in leaders, len(leaders))
            board = Scoreboard(rules)
    return finished, float(won)


def chips_won(rules: Rules, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chips that the first column wins in each deal, one per row, settled on its own.

    There is no pool: chips that no player wins in a deal are not carried over.
    """
    kinds, places = np.unique(points, axis=0, return_inverse=True)
    net = [float(settle(rules.settlement, row)[0][0]) for row in kinds.tolist()]
    won: NDArray[np.float64] = np.array(net)[places.reshape(-1)]
    return won
