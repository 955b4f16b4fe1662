"""What the end of a deal is worth for a match of two: the chance to win it from the totals after.

One home for all players that play for the match: those that search double dummy
(``hearts_agents.match_player``), and those that play deals to their end.
"""

from __future__ import annotations

import numpy as np

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.solve.deal_results import DealResults, shipped_results
from hearts_env.solve.match_equity import MatchEquity
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.jit import jit

_LEAST_SLOPE = 1e-3
"""Chance a point. Where a match is nearly decided a point is worth less; nobody plays for that."""
_MOST_KEPT = 4096  # tables; one for each score at which a deal begins


class MatchTable:
    """The chances to win a match by the scores of the present deal."""

    def __init__(self, rules: Rules, results: DealResults | None = None) -> None:
        """The chances under some rules of two players.

        Args:
            rules: of the match.
            results: how deals end; None: those that come with the package.

        Raises:
            HeartsError: if there are no results of such deals, or no table of such a match.
        """
        self.rules = rules
        self.most = most_points(rules)
        self._equity = MatchEquity(rules, shipped_results(rules) if results is None else results)
        self._known: dict[tuple[int, int, bool, int], Floats] = {}

    def chances(self, own: int, other: int, *, dealt: bool, deal_number: int) -> Floats:
        """The chances of a player by its own score and the other's in the present deal.

        Scores below 0 are at their place from the end, as Python counts. Where chips are settled
        and nobody has any, no match is being played, and both begin with the stake.

        Args:
            own: its total before the deal.
            other: the other's.
            dealt: whether it dealt this deal.
            deal_number: the number of this deal, from 0.

        Returns:
            ``(scores, scores) float64``.
        """
        rules = self.rules
        if rules.settlement != "points" and own == other == 0:
            own = other = rules.stake
        key = (own, other, dealt, deal_number)
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            range_ = np.concatenate([np.arange(self.most + 1), np.arange(-self.most, 0)])
            scores = np.stack(np.meshgrid(range_, range_, indexing="ij"), axis=-1).reshape(-1, 2)
            if rules.settlement != "points":
                scores = np.maximum(scores, 0)
            found = self._equity.after(own, other, scores, dealt=dealt, deal_number=deal_number)
            self._known[key] = found.reshape(len(range_), -1)
        return self._known[key]


class MatchWorth:
    """What deals that are over are worth for the match, in points of margin.

    The chance to win the match, less what it is when the deal is even, divided by what a point of
    margin changes there. So what is a little better for the match can be weighed against the
    preferences of a policy as margins are.
    """

    def __init__(self, rules: Rules, results: DealResults | None = None) -> None:
        """The worth of deals under some rules; arguments and errors as of ``MatchTable``."""
        self.rules = rules
        self._table = MatchTable(rules, results)

    def __call__(self, states: Ints, seats: Ints) -> Floats:
        """What each of some states is worth to a seat: a ``Worth`` of ``solve.response``."""
        rows = np.arange(len(states))
        begins = np.empty((len(states), 4), np.int64)
        for column, seat in enumerate((seats, 1 - seats)):
            begins[:, column] = states[rows, k.TOTALS + k.SEAT * seat]
        begins[:, 2] = states[:, k.DEALER] == seats
        begins[:, 3] = states[:, k.DEAL_NUMBER]
        scores = np.empty((len(states), 2), np.int64)
        _write_scores(self.rules.vector, states, seats, scores)
        half = sum(self.rules.card_points.get(card, 0) for card in self.rules.deck) // 2
        found = np.empty(len(states))
        kinds, numbers = np.unique(begins, axis=0, return_inverse=True)
        for number, (own, other, dealt, deal_number) in enumerate(kinds.tolist()):
            some = np.flatnonzero(numbers.reshape(-1) == number)
            table = self._table.chances(own, other, dealt=bool(dealt), deal_number=deal_number)
            middle = table[half, half]
            slope = (table[0, half] - table[half, 0]) / (2 * half)
            chances = table[scores[some, 0], scores[some, 1]]
            found[some] = (chances - middle) / max(slope, _LEAST_SLOPE)
        return found


def most_points(rules: Rules) -> int:
    """The largest score, or gain by a moon, of rules whose card points are not below 0."""
    worth = sum(rules.card_points.get(card, 0) for card in rules.deck)
    return max(worth, 0 if rules.moon == "none" else rules.moon_points)


@jit
def _write_scores(r: k.Vector, states: Ints, seats: Ints, out: Ints) -> None:
    """Write the score of each seat in its state, and the other's."""
    for i in range(len(states)):
        out[i, 0] = k.score(r, states[i], seats[i])
        out[i, 1] = k.score(r, states[i], 1 - seats[i])
