"""Match equity: the chance to win a match of two, given both totals, by dynamic programming.

The results of deals are a distribution (``DealResults``), independent from deal to deal. A match is
then a Markov chain over the totals, and the chance to win it follows from those of the totals that
the next deal leads to::

    V(n + 1, totals) = sum over results of chance(result) * V(n, totals after it)

with n deals to come at most. Matches without a limit of deals are iterated until the chance that
one still goes on, from whatever totals, is at most `TOLERANCE`; since V(0) is a half where nothing
is decided, no value is wrong by more than half of that. It holds for every chain that ends, those
with cycles (chips, scores below 0) too. Where no score is below 0 the chain has none but play-offs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_env.game.chips import settle
from hearts_env.rules.rules import Rules
from hearts_env.solve.deal_results import DealResults, check_same_deals, shipped_results
from hearts_env.support.arguments import check_flag, check_is, check_number, whole_numbers
from hearts_env.support.arrays import Bools, Floats, Ints
from hearts_env.support.errors import HeartsError

TOLERANCE = 1e-12
"""The iteration ends when a match is unfinished with this probability at most."""
_CUT = 1e-9
"""The chance, from the start of a match, with which it may reach totals below the table."""
_MOST_CELLS = 25_000_000
"""Totals times results: the largest table, of 8 bytes each."""
_MOST_SWEEPS, _MOST_STEPS = 20_000, 3_000_000_000
"""Deals, and cells computed, after which a match that hardly ever ends is given up."""
_MOST_CACHED = 4096  # tables; one for each score at which a deal begins


class _After(NamedTuple):
    """The match after a deal; arrays of one shape."""

    own: Ints
    other: Ints
    over: Bools
    plays_off: Bools


def _follow(rules: Rules, own: Ints, other: Ints, plays_off: Bools, changes: Ints) -> _After:
    """What results lead to: for two players the same as ``Scoreboard.add``, for many at once.

    `own`, `other` and `plays_off` are ``(n, 1)``; `changes`, what results add to both totals, are
    ``(k, 2)``.
    """
    a, b = own + changes[:, 0], other + changes[:, 1]
    level, newly = a == b, np.zeros(np.broadcast_shapes(own.shape, changes[:, 0].shape), np.bool_)
    if rules.settlement != "points":
        ended = np.minimum(a, b) <= 0
        if rules.target is not None:
            ended |= np.maximum(a, b) - rules.stake >= rules.target
        return _After(a, b, ended & ~level, newly)
    end = _end(rules)
    if rules.tie == "all_past_limit":
        newly = ~plays_off & (np.minimum(a, b) >= end) & (np.maximum(own, other) < end)
    over = ~newly & ~level & (plays_off | (np.maximum(a, b) >= end))
    return _After(a, b, over, newly | plays_off)


def _end(rules: Rules) -> int:
    """The total that ends a match in points."""
    return rules.end_score + (rules.end_when == "exceeded")


class _States:
    """The states of a match of two before a deal, numbered.

    In points: both totals below the end, from `low` on; then play-offs, of which only the
    difference counts. In chips one's own total says all, since what one wins the other loses.
    """

    def __init__(self, rules: Rules, changes: Ints, low: int = 0) -> None:
        self.rules, self.low = rules, low
        if rules.settlement != "points":
            self.own = np.arange(1, 2 * rules.stake)
            self.other = 2 * rules.stake - self.own
            self.plays_off = np.zeros(len(self.own), np.bool_)
            return
        self.width = _end(rules) - low
        # Who is further behind than any result makes up for has lost as surely as at this distance.
        self.reach = int(np.abs(changes[:, 0] - changes[:, 1]).max()) + 1
        grid, spread = np.arange(low, _end(rules)), np.arange(-self.reach, self.reach + 1)
        own, other = np.maximum(spread, 0) + _end(rules), np.maximum(-spread, 0) + _end(rules)
        self.own = np.concatenate([np.repeat(grid, self.width), own])
        self.other = np.concatenate([np.tile(grid, self.width), other])
        self.plays_off = np.arange(len(self.own)) >= self.width**2

    @staticmethod
    def number_of(rules: Rules, changes: Ints, low: int) -> int:
        """How many states there would be."""
        if rules.settlement != "points":
            return 2 * rules.stake - 1
        return (_end(rules) - low) ** 2 + 2 * int(np.abs(changes[:, 0] - changes[:, 1]).max()) + 3

    def numbers(self, after: _After) -> Ints:
        """The numbers of the states of unfinished matches; anything where it is over."""
        if self.rules.settlement != "points":
            return np.clip(after.own, 1, len(self.own)) - 1
        apart = np.clip(after.own - after.other, -self.reach, self.reach)
        top = self.low + self.width - 1
        a, b = np.clip(after.own, self.low, top), np.clip(after.other, self.low, top)
        # Level at the limit continues as a play-off does.
        off = after.plays_off | (np.maximum(after.own, after.other) > top)
        inside = (a - self.low) * self.width + b - self.low
        return np.where(off, self.width**2 + apart + self.reach, inside)


class MatchEquity:
    """The chance that a player wins a match of two from any totals.

    Attributes:
        rules: The rules; they say when a match ends.
        results: The results of deals that it is computed from.
        num_states: How many states the chain has.
        sweeps: How many deals were looked ahead.
        going_on: The chance, at most, that a match lasts longer; none with ``max_deals``.
    """

    def __init__(self, rules: Rules | str, results: DealResults | None = None) -> None:
        """Compute the table.

        Args:
            rules: of two players; their end of a match may differ from that of the results.
            results: how often deals end with which scores; the first column is the player's. None:
                those that come with the package.

        Raises:
            HeartsError: if the rules are not for two players or other than those of the results,
                the table would be too large, or matches of such deals hardly ever end.
        """
        self.rules = rules = Rules.make(rules)
        results = shipped_results(rules) if results is None else results
        check_is("results", results, DealResults, "give DealResults, as load_results does")
        self.results = results
        if rules.players != 2:
            raise HeartsError(
                f"players: {rules.name!r} has {rules.players}; a table needs two players, for more "
                "draw matches from the results (docs/matches.md)"
            )
        check_same_deals(results, rules)
        # Who deals says who leads only where the eldest hand does.
        self._has_dealer = rules.first_lead == "eldest_hand"
        self._changes, self._chances = _distribution(rules, results, by_dealer=self._has_dealer)
        lowest = int(self._changes.min())
        if lowest < 0 and rules.settlement == "points":
            self._check_ties()
        self._by_scores: dict[tuple[int, int, bool, int], Floats] = {}
        self._solve(0)
        while lowest < 0 and rules.settlement == "points" and self._cut > _CUT:
            self._solve(2 * self._states.low + 2 * lowest)

    # -- questions --------------------------------------------------------------------------------
    def chance(
        self, own: int, other: int, *, deals: bool | None = None, deal_number: int = 0
    ) -> float:
        """The player's chance to win the match; a shared first place counts a half.

        Args:
            own: its total before a deal.
            other: the other's.
            deals: whether it deals next; None: the mean of both.
            deal_number: how many deals were played, which matters with ``max_deals`` only.

        Raises:
            HeartsError: if a match is over with these totals, or cannot have them.
        """
        return self._at(0, own, other, deals=deals, deal_number=deal_number)

    def deals_to_come(
        self, own: int, other: int, *, deals: bool | None = None, deal_number: int = 0
    ) -> float:
        """How many deals the match still has, in the mean; arguments as for ``chance``."""
        return self._at(1, own, other, deals=deals, deal_number=deal_number)

    def after(
        self, own: int, other: int, scores: Ints, *, dealt: bool, deal_number: int = 0
    ) -> Floats:
        """The player's chance after each of some results of the present deal, ``(n,) float64``.

        Args:
            own: its total before the deal.
            other: the other's.
            scores: ``(n, 2) int64``, its own score and the other's; points where chips are settled.
            dealt: whether it dealt this deal.
            deal_number: the number of this deal, from 0.

        Raises:
            HeartsError: if the match was over before the deal.
        """
        place, rules = self._place(own, other), self.rules
        changes = _changes(rules, scores)
        off = self._states.plays_off[place : place + 1]
        after = _follow(rules, np.array([own]), np.array([other]), off, changes)
        layer = self._layer(deal_number + 1)
        if layer is None:  # that was the last deal
            return _shares(rules, after)
        values = self._layers[layer][0][int(self._has_dealer and dealt)]  # the other deals next
        return np.where(after.over, _shares(rules, after), values[self._states.numbers(after)])

    def by_scores(self, own: int, other: int, *, dealt: bool, deal_number: int) -> Floats:
        """The player's chance by its own score and the other's in the present deal.

        Scores below 0 are at their place from the end, as Python counts. Where chips are settled
        and nobody has any, no match is being played, and both begin with the stake.

        Args:
            own: its total before the deal.
            other: the other's.
            dealt: whether it dealt this deal.
            deal_number: the number of this deal, from 0.

        Returns:
            ``(scores, scores) float64``; cached.
        """
        rules = self.rules
        if rules.settlement != "points" and own == other == 0:
            own = other = rules.stake
        key = (own, other, dealt, deal_number)
        if key not in self._by_scores:
            if len(self._by_scores) >= _MOST_CACHED:
                self._by_scores.clear()
            worth = sum(rules.card_points.get(card, 0) for card in rules.deck)
            most = max(worth, 0 if rules.moon == "none" else rules.moon_points)
            range_ = np.concatenate([np.arange(most + 1), np.arange(-most, 0)])
            scores = np.stack(np.meshgrid(range_, range_, indexing="ij"), axis=-1).reshape(-1, 2)
            if rules.settlement != "points":
                scores = np.maximum(scores, 0)
            found = self.after(own, other, scores, dealt=dealt, deal_number=deal_number)
            self._by_scores[key] = found.reshape(len(range_), -1)
        return self._by_scores[key]

    def grid(self, totals: Ints) -> Floats:
        """The chances for all pairs of some totals, own ones down, ``(n, n) float64``.

        Raises:
            HeartsError: if a match is over with some of them.
        """
        return np.array([[self.chance(int(a), int(b)) for b in totals] for a in totals])

    # -- helpers ----------------------------------------------------------------------------------
    def _at(
        self, what: int, own: int, other: int, *, deals: bool | None, deal_number: int
    ) -> float:
        number = check_number("deal_number", deal_number, 0, 10**9)
        place, layer = self._place(own, other), self._layer(number)
        if layer is None:
            raise HeartsError(
                f"deal_number: {deal_number} deals are all that a match has (max_deals "
                f"{self.rules.max_deals}); give a smaller number"
            )
        values = self._layers[layer][what][:, place]
        if deals is None or not self._has_dealer:
            return float(values.mean())
        return float(values[0 if check_flag("deals", deals) else 1])

    def _place(self, own: int, other: int) -> int:
        """The number of the state with these totals."""
        a = check_number("totals", own, -(10**12), 10**12)
        b = check_number("totals", other, -(10**12), 10**12)
        rules, end, off, over = self.rules, _end(self.rules), False, False
        if rules.settlement != "points":
            if a + b != 2 * rules.stake:
                raise HeartsError(
                    f"totals: {a} and {b} chips are not two stakes; give {2 * rules.stake} together"
                )
            gain = max(a, b) - rules.stake
            over = min(a, b) <= 0 or (rules.target is not None and gain >= rules.target)
        elif max(a, b) >= end and a != b:
            off = rules.tie == "all_past_limit" and min(a, b) >= end
            over = not off
        if over:
            raise HeartsError(
                f"totals: with {a} and {b} a match of {rules.name!r} is over; give totals before "
                "a deal"
            )
        after = _After(np.array(a), np.array(b), np.array(False), np.array(off))
        return int(self._states.numbers(after))

    def _layer(self, deal_number: int) -> int | None:
        """The place in the layers of what is known before that deal; None after the last deal."""
        if self.rules.max_deals is None:
            return 0
        left = self.rules.max_deals - deal_number
        return None if left < 1 else min(left, len(self._layers)) - 1

    def _check_ties(self) -> None:
        """Refuse what the play-off states do not hold: totals that fall below the limit again."""
        if (self._changes.max(axis=1) < 0).any() and self.rules.tie == "lowest_shared":
            raise HeartsError(
                "results: deals in which both scores are below 0 have no table with "
                "tie='lowest_shared'; take tie='all_past_limit'"
            )

    def _solve(self, low: int) -> None:
        """Iterate from the end of the match to its start, with totals from `low` on."""
        rules, changes = self.rules, self._changes
        cells = _States.number_of(rules, changes, low) * len(changes)
        if cells > _MOST_CELLS:
            field = "end_score" if rules.settlement == "points" else "stake"
            raise HeartsError(
                f"{field}: {getattr(rules, field):,} gives a table of {cells:,} cells; at most "
                f"{_MOST_CELLS:,} are computed: take a smaller one"
            )
        states = self._states = _States(rules, changes, low)
        own, other, off = states.own[:, None], states.other[:, None], states.plays_off[:, None]
        after = _follow(rules, own, other, off, changes)
        chain = _Chain(self._chances, np.where(after.over, len(own), states.numbers(after)))
        won = self._chances @ (_shares(rules, after) * after.over).T
        fell = self._chances @ (~after.over & (np.minimum(after.own, after.other) < low)).T
        on, length, cut = np.ones_like(won), np.zeros_like(won), np.zeros_like(won)
        value = on / 2
        if rules.max_deals is not None:
            value = on * _shares(rules, _After(states.own, states.other, off, off))
        self._layers: list[tuple[Floats, Floats]] = []
        self.num_states, self.sweeps = len(own), 0
        while on.max() > TOLERANCE and self.sweeps != rules.max_deals:
            if self.sweeps >= min(_MOST_SWEEPS, _MOST_STEPS // cells):
                raise HeartsError(
                    f"results: after {self.sweeps:,} deals a match continues with probability "
                    f"{on.max():.2g}; such matches hardly ever end"
                )
            length = length + on
            value, on = won + chain.mean(value), chain.mean(on)
            if fell.any():
                cut = fell + chain.mean(cut)
            self.sweeps += 1
            if rules.max_deals is None:
                self._layers.clear()
            self._layers.append((value, length))
        self.going_on = 0.0 if self.sweeps == rules.max_deals else float(on.max())
        self._cut = float(cut[:, self._place(0, 0)].max()) if fell.any() else 0.0


class _Chain(NamedTuple):
    """Where results lead."""

    chances: Floats
    """``(1 or 2, k)``, of each result; the second row where the other deals."""
    numbers: Ints
    """``(n, k)``, the state after each result; n where the match is over."""

    def mean(self, values: Floats) -> Floats:
        """The mean over the results of a value of the states after them, ``(1 or 2, n)``.

        It is 0 where the match is over. The other one deals next.
        """
        rows = []
        for chances, following in zip(self.chances, values[::-1], strict=True):
            rows.append(np.append(following, 0.0)[self.numbers] @ chances)
        return np.array(rows)


def _shares(rules: Rules, after: _After) -> Floats:
    """1 where the player is ahead, 0.5 where both are level, 0 where it is behind."""
    ahead = np.sign(after.other - after.own)
    if rules.settlement != "points":
        ahead = -ahead
    shares: Floats = (1.0 + ahead) / 2
    return shares


def _changes(rules: Rules, scores: Ints) -> Ints:
    """What results add to both totals, ``(n, 2) int64``: scores, or chips won."""
    rows = whole_numbers(scores)
    if rows is None or rows.ndim != 2 or rows.shape[1] != 2:
        raise HeartsError(
            "scores: not rows of two whole numbers; give one's own score and the other's"
        )
    if rules.settlement == "points" or not len(rows):
        return rows
    kinds, places = np.unique(rows, axis=0, return_inverse=True)
    net = [settle(rules.settlement, row)[0] for row in kinds.tolist()]  # of two players: whole
    return np.array([[int(x) for x in row] for row in net], np.int64)[places.reshape(-1)]


def _distribution(rules: Rules, results: DealResults, *, by_dealer: bool) -> tuple[Ints, Floats]:
    """What deals add to both totals, ``(n, 2)``, and the chance of each, ``(1 or 2, n)``.

    With `by_dealer` the first row is that of the deals that the player deals.
    """
    changes, places = np.unique(_changes(rules, results.scores), axis=0, return_inverse=True)
    counts = np.zeros((2, len(changes)))
    np.add.at(counts, (results.dealers, places.reshape(-1)), results.counts)
    if not by_dealer:
        counts = counts.sum(axis=0, keepdims=True)
    totals = counts.sum(axis=1, keepdims=True)
    if not totals.all():
        who = "the agent" if not totals[0] else "the other player"
        raise HeartsError(
            f"results: {who} dealt in none of them, and in {rules.name!r} the dealer matters; "
            "measure more deals"
        )
    return changes, counts / totals
