"""Deals that were played one by one, strung together into matches, and settled in chips."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hearts_env import Match, Rules, settle
from hearts_env.game import Game


@dataclass
class _PlayedDeal:
    """What a match asks of a finished game."""

    own_scores: list[int]
    own_points: list[int]
    revoker: int | None = None

    def scores(self) -> list[int]:
        return self.own_scores

    def points(self) -> list[int]:
        return self.own_points


class _Ledger(Match):
    """The book-keeping of a match whose deals were played elsewhere."""

    def _deal(self) -> Game:
        return cast(Game, _PlayedDeal([], []))

    def add(self, scores: list[int], points: list[int]) -> None:
        """Enter a deal."""
        self.game = cast(Game, _PlayedDeal(scores, points))
        self.finish_deal()


def string_matches(
    rules: Rules, scores: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[int, float]:
    """Strings deals, one a row, into matches: how many ended, and how many the first column won.

    A first place shared (a match may end so by ``max_deals``) counts in part.
    """
    finished, won = 0, Fraction()
    match = _Ledger(rules, 0)
    for row, taken in zip(scores.tolist(), points.tolist(), strict=True):
        match.add(row, taken)
        if match.is_over:
            best = max(match.totals) if match.in_chips else min(match.totals)
            finished += 1
            won += Fraction(match.totals[0] == best, match.totals.count(best))
            match = _Ledger(rules, 0)
    return finished, float(won)


def chips_won(rules: Rules, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chips that the first column wins in each deal, one a row, settled on its own.

    Without a pool: what nobody wins of a deal is nobody's.
    """
    kinds, places = np.unique(points, axis=0, return_inverse=True)
    net = [float(settle(rules.settlement, row)[0][0]) for row in kinds.tolist()]
    won: NDArray[np.float64] = np.array(net)[places.reshape(-1)]
    return won
