"""Matches: deals until the end score, and the three ways to settle a deal in chips."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

from hearts_env.errors import HeartsError, IllegalActionError, did_you_mean
from hearts_env.game import Game, check_count, check_seed, derived_seed
from hearts_env.rules import SETTLEMENTS, Rules

Number = int | Fraction


def settle(
    method: str, points: Sequence[Number], pool: Number = 0
) -> tuple[list[Fraction], Fraction]:
    """What each player wins in chips by a deal, and the pool that is carried over; exact.

    Args:
        method: ``simple``, ``sweepstakes`` or ``howell``.
        points: points that each player took (not negative).
        pool: chips carried over from the deals before.

    Returns:
        (net of each player, new pool); sum(net) + new pool == pool.

    Raises:
        HeartsError: an unknown method, or negative or inexact points or pool.
    """
    if method not in SETTLEMENTS[1:]:
        raise HeartsError(
            f"settlement: {method!r} is unknown; {did_you_mean(method, SETTLEMENTS[1:])}"
        )
    if len(points) < 2 or not all(isinstance(p, Rational) and p >= 0 for p in points):
        raise HeartsError(
            f"points: {list(points)!r} cannot be settled in chips; give each player's points, none "
            "negative"
        )
    if not isinstance(pool, Rational) or pool < 0:
        raise HeartsError(f"pool: {pool!r} is no number of chips; give an int or a Fraction")
    paid = [Fraction(p) for p in points]
    total, pool, n = sum(paid, Fraction()), Fraction(pool), len(paid)
    if method == "howell":  # everyone pays h (n - 1) and takes out T - h
        return [total - n * h for h in paid], pool
    pot = pool + total
    if method == "simple":
        winners = [h == min(paid) for h in paid]
    else:
        winners = [h == 0 for h in paid]
        if not any(winners) or sum(winners) == n - 1:
            return [-h for h in paid], pot
    share = pot / sum(winners)
    return [won * share - h for won, h in zip(winners, paid, strict=True)], Fraction()


class Match:
    """Deals of one rule set, one after another, until the match is decided.

    ``match.game`` is the deal being played; ``match.play`` starts the next one by itself.
    Totals are points (low wins), or chips (high wins) where ``rules.settlement`` says so.
    """

    def __init__(self, rules: Rules | str, seed: int, *, dealer: int = 0) -> None:
        """A match whose deals follow from `seed`; `dealer` deals first."""
        self.rules = Rules.make(rules)
        self.seed = check_seed(seed)
        self.first_dealer = check_count("dealer", dealer, self.rules.players)
        self.in_chips = self.rules.settlement != "points"
        start: Number = Fraction(self.rules.stake) if self.in_chips else 0
        self.totals: list[Number] = [start] * self.rules.players
        self.pool = Fraction()
        self.is_over = False
        self.last_game: Game | None = None
        self.num_deals = 0
        self.game = self._deal()

    def deal_seed(self, number: int) -> int:
        """The seed of the deal with this number."""
        return derived_seed(self.seed, number)

    def _deal(self) -> Game:
        number = self.num_deals
        return Game.deal(
            self.rules,
            self.deal_seed(number),
            deal_number=number,
            dealer=(self.first_dealer + number) % self.rules.players,
            totals=[int(total) for total in self.totals],
        )

    def replace_deal(self, game: Game) -> None:
        """Play `game` instead of the deal drawn; before anything was played in it."""
        if self.game.actions or game.rules != self.rules:
            raise HeartsError("deal: only a deal not yet begun, of the same rules, can be replaced")
        self.game = game

    @property
    def player(self) -> int | None:
        """The seat whose turn it is; None when the match is over."""
        return self.game.player

    def legal_actions(self) -> list[int]:
        """What the player to act may do, ascending."""
        return self.game.legal_actions()

    def play(self, action: int | str) -> None:
        """Do an action; after the last of a deal, settle it and start the next deal or end.

        Raises:
            IllegalActionError: the rules do not allow it; the match is unchanged.
        """
        if self.is_over:
            raise IllegalActionError("action: the match is over; start another Match")
        self.game.play(action)
        if self.game.is_over:
            self.finish_deal()

    def revoke(self) -> None:
        """End the deal as after an illegal action at the card table."""
        if self.is_over:
            raise IllegalActionError("action: the match is over; start another Match")
        self.game.revoke()
        self.finish_deal()

    def finish_deal(self) -> None:
        """Settle ``game``, which is over, and start the next deal or end the match.

        ``play`` and ``revoke`` do it by themselves; this is for deals played elsewhere.
        """
        self.last_game = self.game
        self.num_deals += 1
        before = self.totals
        if self.in_chips:
            # A revoke is charged like points taken; chips know no moon.
            points = self.game.points() if self.game.revoker is None else self.game.scores()
            net, self.pool = settle(self.rules.settlement, points, self.pool)
        else:
            net = list(self.game.scores())  # type: ignore[arg-type]
        self.totals = [total + change for total, change in zip(before, net, strict=True)]
        self.is_over = self._is_decided(before) or self.num_deals == self.rules.max_deals
        if not self.is_over:
            self.game = self._deal()
        elif self.pool:  # a pool left at the end is divided equally
            self.totals = [total + self.pool / len(self.totals) for total in self.totals]
            self.pool = Fraction()

    def _is_decided(self, before: Sequence[Number]) -> bool:
        rules, totals = self.rules, self.totals
        best = max(totals) if self.in_chips else min(totals)
        if totals.count(best) > 1:  # a shared first place plays on
            return False
        if self.in_chips:
            lost = min(totals) <= 0
            return lost or (rules.target is not None and best - rules.stake >= rules.target)
        end = rules.end_score + (rules.end_when == "exceeded")  # scores are whole
        if max(totals) < end:
            return False
        all_now = min(totals) >= end and max(before) < end
        return not (rules.tie == "all_past_limit" and all_now)

    @property
    def winner(self) -> int | None:
        """Who has won: the lowest total, or most chips; None before the end, or if it is shared."""
        if not self.is_over:
            return None
        best = max(self.totals) if self.in_chips else min(self.totals)
        return self.totals.index(best) if self.totals.count(best) == 1 else None

    def clone(self) -> Match:
        """An independent match in the same state."""
        match = copy.copy(self)
        match.totals = list(self.totals)
        match.game = self.game.clone()
        match.last_game = self.last_game and self.last_game.clone()
        return match

    def __deepcopy__(self, memo: dict[int, Any]) -> Match:
        return self.clone()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Match):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        totals = ", ".join(str(total) for total in self.totals)
        return f"<Match {self.rules.name}: deal {self.num_deals}, totals {totals}>"
