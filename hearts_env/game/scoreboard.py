"""The score of a match: what each deal adds to the totals, and when they decide the match."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hearts_env.game.chips import Number, settle
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import whole_numbers
from hearts_env.support.errors import HeartsError, quoted


class Scoreboard:
    """The totals of a match, deal after deal; it knows results, not cards.

    ::

        board = Scoreboard(rules)
        while not board.is_over:
            ...                          # play a deal
            board.add(game.scores(), game.points())
        print(board.totals, board.winner)

    Attributes:
        rules: the rules; they say when a match ends and how deals are settled.
        in_chips: whether totals are chips (most win) instead of points (fewest win).
        totals: one a seat: ints, or Fractions of chips.
        pool: chips carried over to the next deal.
        last_net: what the last deal added to the totals, with a share of a pool that is left at
            the end of the match.
        num_deals: how many deals have been added.
        is_over: whether the match is decided, or has had ``rules.max_deals`` deals.
    """

    def __init__(self, rules: Rules | str, totals: Sequence[int] | None = None) -> None:
        """The scoreboard of a match that begins, or goes on from some totals.

        Args:
            rules: the rules, or a preset's name.
            totals: points or chips of each seat, whole; None: those of the first deal.

        Raises:
            HeartsError: if there is not one for each seat, or the match would be over.
        """
        self.rules = Rules.make(rules)
        self.in_chips = self.rules.settlement != "points"
        start: Number = Fraction(self.rules.stake) if self.in_chips else 0
        self.totals: list[Number] = [start] * self.rules.players
        self.pool = Fraction()
        self.last_net: list[Number] = [0] * self.rules.players
        self.num_deals = 0
        self.is_over = False
        self._plays_off = False  # all have passed the limit in one deal (tie="all_past_limit")
        if totals is not None:
            self._begin_with(totals)

    def _begin_with(self, totals: Sequence[int]) -> None:
        """Set totals, if a match goes on with them."""
        before = self.totals
        numbers = whole_numbers(totals)
        if numbers is None or numbers.shape != (len(before),):
            raise HeartsError(
                f"totals: {quoted(totals)} is not a score for each seat; "
                f"give {len(before)} whole numbers",
                value=totals,
            )
        self.totals = numbers.tolist()
        if self.in_chips:
            self.totals = [Fraction(total) for total in self.totals]
            if sum(self.totals) != sum(before):
                raise HeartsError(
                    f"totals: {quoted(totals)} chips are not {sum(before)} together; every seat "
                    f"has {self.rules.stake} at the start",
                    value=totals,
                )
        if self._is_decided(before):
            raise HeartsError(
                f"totals: with {quoted(list(map(int, self.totals)))} a match of "
                f"{self.rules.name!r} is over; give totals before a deal"
            )

    def add(self, scores: Sequence[int], points: Sequence[int]) -> None:
        """Enter the result of a deal, in place.

        Args:
            scores: the score of each seat, which counts where the rules settle in points.
            points: what is settled in chips, for each seat: ``chips.points_settled``.
        """
        before = self.totals
        self.num_deals += 1
        if self.in_chips:
            net, self.pool = settle(self.rules.settlement, points, self.pool)
        else:
            net = list(scores)  # type: ignore[arg-type]
        self.totals = [total + change for total, change in zip(before, net, strict=True)]
        self.is_over = self._is_decided(before) or self.num_deals == self.rules.max_deals
        if self.is_over and self.pool:  # a pool left at the end is divided equally
            self.totals = [total + self.pool / len(self.totals) for total in self.totals]
            self.pool = Fraction()
        self.last_net = [now - then for now, then in zip(self.totals, before, strict=True)]

    def _is_decided(self, before: Sequence[Number]) -> bool:
        rules, totals = self.rules, self.totals
        end = rules.end_score + (rules.end_when == "exceeded")  # scores are whole
        if not self.in_chips and rules.tie == "all_past_limit" and not self._plays_off:
            self._plays_off = min(totals) >= end and max(before) < end
            if self._plays_off:
                return False
        if len(self.leaders) > 1:  # a shared first place plays on
            return False
        if self.in_chips:
            best = totals[self.leaders[0]]
            lost = min(totals) <= 0
            return lost or (rules.target is not None and best - rules.stake >= rules.target)
        return self._plays_off or max(totals) >= end

    @property
    def leaders(self) -> list[int]:
        """The seats with the best total."""
        best = max(self.totals) if self.in_chips else min(self.totals)
        return [seat for seat, total in enumerate(self.totals) if total == best]

    @property
    def winner(self) -> int | None:
        """Who has won: the lowest total, or most chips; None before the end, or if it is shared."""
        leaders = self.leaders
        return leaders[0] if self.is_over and len(leaders) == 1 else None

    def clone(self) -> Scoreboard:
        """An independent scoreboard with the same totals."""
        board = copy.copy(self)
        board.totals = list(self.totals)
        board.last_net = list(self.last_net)
        return board

    def __deepcopy__(self, memo: dict[int, Any]) -> Scoreboard:
        return self.clone()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scoreboard):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        totals = ", ".join(str(total) for total in self.totals)
        return f"<Scoreboard {self.rules.name}: deals {self.num_deals}, totals {totals}>"
