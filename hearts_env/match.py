"""Matches: deals until the end score, or until somebody's chips are gone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hearts_env.arguments import MAX_SEED, check_count, check_is, check_number, check_seed
from hearts_env.chips import Number, points_settled, settle
from hearts_env.errors import HeartsError, IllegalActionError
from hearts_env.game import Game, derived_seed
from hearts_env.rules import Rules

__all__ = ["Match"]


class Match:
    """Deals of one rule set, one after another, until the match is decided.

    ``match.game`` is the deal being played; ``match.play`` starts the next one by itself.
    Totals are points (low wins), or chips (high wins) where ``rules.settlement`` says so.
    ``last_net`` is what the last finished deal added to them, a share of the pool left at the end
    of the match with it.
    """

    def __init__(self, rules: Rules | str, seed: int, *, dealer: int | None = None) -> None:
        """A match whose deals follow from `seed`.

        Args:
            rules: the rules, or a preset's name.
            seed: 0 .. 2**63 - 1.
            dealer: seat that deals first; None: drawn from the seed.
        """
        self.rules = Rules.make(rules)
        self.seed = check_seed(seed)
        self._first_dealer = (
            None if dealer is None else check_count("dealer", dealer, self.rules.players)
        )
        self.in_chips = self.rules.settlement != "points"
        start: Number = Fraction(self.rules.stake) if self.in_chips else 0
        self.totals: list[Number] = [start] * self.rules.players
        self.pool = Fraction()
        self.is_over = False
        self.last_game: Game | None = None
        self.last_net: list[Number] = [0] * self.rules.players
        self._plays_off = False  # all have passed the limit in one deal (tie="all_past_limit")
        self.num_deals = 0
        self.game = self._deal()

    def deal_seed(self, number: int) -> int:
        """The seed of the deal with this number.

        Raises:
            HeartsError: it is not a whole number from 0.
        """
        return derived_seed(self.seed, check_number("number", number, 0, MAX_SEED))

    @property
    def first_dealer(self) -> int:
        """The seat that deals first; the next deals next."""
        return self._first_dealer or 0

    def _deal(self) -> Game:
        number, first = self.num_deals, self._first_dealer
        game = Game.deal(
            self.rules,
            self.deal_seed(number),
            deal_number=number,
            dealer=None if first is None else (first + number) % self.rules.players,
            totals=[int(total) for total in self.totals],
        )
        if first is None:  # the first deal has drawn it
            self._first_dealer = game.dealer
        return game

    def replace_deal(self, game: Game) -> None:
        """Play `game` instead of the deal drawn; before anything was played in it.

        Raises:
            HeartsError: something was played, or it is not a game of the same rules.
        """
        check_is("deal", game, Game, "give a Game")
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
            net, self.pool = settle(self.rules.settlement, points_settled(self.game), self.pool)
        else:
            net = list(self.game.scores())  # type: ignore[arg-type]
        self.totals = [total + change for total, change in zip(before, net, strict=True)]
        self.is_over = self._is_decided(before) or self.num_deals == self.rules.max_deals
        if not self.is_over:
            self.game = self._deal()
        elif self.pool:  # a pool left at the end is divided equally
            self.totals = [total + self.pool / len(self.totals) for total in self.totals]
            self.pool = Fraction()
        self.last_net = [now - then for now, then in zip(self.totals, before, strict=True)]

    def _is_decided(self, before: Sequence[Number]) -> bool:
        rules, totals = self.rules, self.totals
        best = max(totals) if self.in_chips else min(totals)
        end = rules.end_score + (rules.end_when == "exceeded")  # scores are whole
        if not self.in_chips and rules.tie == "all_past_limit" and not self._plays_off:
            self._plays_off = min(totals) >= end and max(before) < end
            if self._plays_off:
                return False
        if totals.count(best) > 1:  # a shared first place plays on
            return False
        if self.in_chips:
            lost = min(totals) <= 0
            return lost or (rules.target is not None and best - rules.stake >= rules.target)
        return self._plays_off or max(totals) >= end

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
        match.last_net = list(self.last_net)
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
