"""Matches: deals until the end score, or until somebody's chips are gone; and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

from hearts_env.game.chips import Number, points_settled, settle
from hearts_env.game.game import MAX_TOTAL, Game
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import (
    MAX_SEED,
    check_count,
    check_is,
    check_number,
    check_numbers,
    check_seed,
)
from hearts_env.support.errors import HeartsError, IllegalActionError, quoted

_OVER = "action: the match is over; start another Match"


class Standing:
    """The totals of a match and how it ends: what `Scoreboard` and `Match` have in common."""

    def __init__(self, rules: Rules | str, totals: Sequence[int] | None = None) -> None:
        """The scoreboard of a match that begins, or continues from some totals.

        Args:
            rules: the rules, or a preset's name.
            totals: points or chips of each seat, whole; None: those of the first deal.

        Raises:
            HeartsError: if there is not one for each seat, or the match would be over.
        """
        self.rules = Rules.make(rules)
        self.in_chips = self.rules.settlement != "points"
        start: Number = Fraction(self.rules.stake) if self.in_chips else 0
        self._totals: list[Number] = [start] * self.rules.players
        self.pool = Fraction()
        self._last_net: list[Number] = [0] * self.rules.players
        self.num_deals = 0
        self.is_over = False
        self._plays_off = False  # all have passed the limit in one deal (tie="all_past_limit")
        if totals is not None:
            self._begin_with(totals)

    def _begin_with(self, totals: Sequence[int]) -> None:
        """Set totals, if a match continues with them."""
        before = self._totals
        self._totals = check_numbers(
            "totals", totals, len(before), (-MAX_TOTAL, MAX_TOTAL)
        ).tolist()
        if self.in_chips:
            self._totals = [Fraction(total) for total in self._totals]
            if sum(self._totals) != sum(before):
                raise HeartsError(
                    f"totals: {quoted(totals)} chips are not {sum(before)} together; every seat "
                    f"has {self.rules.stake} at the start",
                    value=totals,
                )
        if self._is_decided(before):
            raise HeartsError(
                f"totals: with {quoted(list(map(int, self._totals)))} a match of "
                f"{self.rules.name!r} is over; give totals before a deal"
            )

    def _begin_before(self, game: Game) -> None:
        """Set totals and the number of deals to those before `game`."""
        if any(game.totals):
            self._begin_with(game.totals)
        self.num_deals, last = game.deal_number, self.rules.max_deals
        if last is not None and self.num_deals >= last:
            raise HeartsError(
                f"game: its deal number is {self.num_deals}, and a match of {self.rules.name!r} "
                f"has {last} deals; give a game of an earlier deal"
            )

    @property
    def totals(self) -> list[Number]:
        """The total of each seat, a new list: ints, or Fractions of chips."""
        return self._totals.copy()

    @property
    def last_net(self) -> list[Number]:
        """What the last deal added to the totals, a new list.

        With a share of a pool that is left at the end of the match.
        """
        return self._last_net.copy()

    def _add(self, scores: Sequence[int], points: Sequence[int]) -> None:
        """Enter the result of a deal, in place: ``Scoreboard.add``."""
        before = self._totals
        self.num_deals += 1
        if self.in_chips:
            net, self.pool = settle(self.rules.settlement, points, self.pool)
        else:
            net = list(scores)  # type: ignore[arg-type]
        self._totals = [total + change for total, change in zip(before, net, strict=True)]
        self.is_over = self._is_decided(before) or self.num_deals == self.rules.max_deals
        if self.is_over and self.pool:  # a pool left at the end is divided equally
            self._totals = [total + self.pool / len(self._totals) for total in self._totals]
            self.pool = Fraction()
        self._last_net = [now - then for now, then in zip(self._totals, before, strict=True)]

    def _is_decided(self, before: Sequence[Number]) -> bool:
        rules, totals = self.rules, self._totals
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
        best = max(self._totals) if self.in_chips else min(self._totals)
        return [seat for seat, total in enumerate(self._totals) if total == best]

    @property
    def winner(self) -> int | None:
        """Who has won: the lowest total, or most chips; None before the end, or if it is shared."""
        leaders = self.leaders
        return leaders[0] if self.is_over and len(leaders) == 1 else None

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        board = object.__new__(type(self))
        board.__dict__.update(self.__dict__)  # its lists are replaced, never changed
        return board

    def __copy__(self) -> Self:
        return self.clone()

    def __repr__(self) -> str:
        totals = ", ".join(map(str, self._totals))
        kind = type(self).__name__
        return f"<{kind} {self.rules.name}: deals {self.num_deals}, totals {totals}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Standing):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class Scoreboard(Standing):
    """The totals of a match, deal after deal; it knows results, not cards.

    ::

        board = Scoreboard(rules)
        while not board.is_over:
            ...                          # play a deal
            board.add(game.scores(), game.points)
        print(board.totals, board.winner)

    Attributes:
        rules: the rules; they say when a match ends and how deals are settled.
        in_chips: whether totals are chips (most win) instead of points (fewest win).
        pool: chips carried over to the next deal.
        num_deals: how many deals have been added.
        is_over: whether the match is decided, or has had ``rules.max_deals`` deals.
    """

    @classmethod
    def before(cls, game: Game) -> Scoreboard:
        """Return the score of the match in which `game` is played, as far as the game knows it.

        Its deal number counts as deals already played. Its totals count unless all are 0: then
        they are those of a new match. A pool of chips is unknown, so there is none.

        Raises:
            HeartsError: if no deal is played with these totals, or after that many deals.
        """
        board = Scoreboard(game.rules)
        board._begin_before(game)
        return board

    def add(self, scores: Sequence[int], points: Sequence[int]) -> None:
        """Enter the result of a deal, in place.

        Args:
            scores: the score of each seat, which counts where the rules settle in points.
            points: what is settled in chips, for each seat: ``chips.points_settled``.
        """
        self._add(scores, points)


def next_deal(board: Standing, seed: int, first_dealer: int | None) -> Game:
    """The deal that follows in the match of `seed` with this score.

    Args:
        board: the score so far.
        seed: of the match.
        first_dealer: the seat that dealt first; None, for the first deal: drawn from its seed.
    """
    number, rules = board.num_deals, board.rules
    return Game.deal(
        rules,
        derived_seed(seed, number),
        deal_number=number,
        dealer=None if first_dealer is None else (first_dealer + number) % rules.players,
        totals=[int(total) for total in board.totals],
    )


class Match(Standing):
    """A match: deals one after another until it is decided, and their totals.

    Totals are points (low wins), or chips (high wins) where ``rules.settlement`` says so.

    Attributes:
        rules: the rules; they say when a match ends and how deals are settled.
        in_chips: whether totals are chips (most win) instead of points (fewest win).
        pool: chips carried over to the next deal.
        num_deals: how many deals are finished.
        is_over: whether the match is decided, or has had ``rules.max_deals`` deals.
        seed: that of the match, from which those of its deals follow.
        game: the deal being played; ``play`` starts the next one by itself.
        last_game: the last finished deal; None before there is one.
        first_dealer: the seat that deals first; the next deals next.
    """

    def __init__(
        self,
        rules: Rules | str,
        seed: int,
        *,
        dealer: int | None = None,
        totals: Sequence[int] | None = None,
    ) -> None:
        """A match whose deals follow from `seed`.

        Args:
            rules: the rules, or a preset's name.
            seed: 0 .. 2**63 - 1.
            dealer: seat that deals first; None: drawn from the seed.
            totals: points or chips of each seat at the start, whole; None: those of a new match.

        Raises:
            HeartsError: if an argument is invalid, or the match is over with these totals.
        """
        rules = Rules.make(rules)
        self.seed = check_seed(seed)
        if dealer is not None:
            dealer = check_count("dealer", dealer, rules.players)
        super().__init__(rules, totals)
        self.last_game: Game | None = None
        self.game = next_deal(self, self.seed, dealer)
        self.first_dealer = self.game.dealer

    @classmethod
    def from_game(cls, game: Game, seed: int) -> Match:
        """Return the match in which `game` is played, which goes on from where it stands.

        The score is that of ``Scoreboard.before(game)``. The game is copied.

        Args:
            game: the present deal, not over.
            seed: of the match, from which later deals follow.

        Raises:
            HeartsError: if the game is over, or the match is with its totals.
        """
        check_is("game", game, Game, "give a Game")
        if game.is_over:
            raise HeartsError("game: it is over; give one in which a player is to act")
        first = (game.dealer - game.deal_number) % game.rules.players
        match = cls(game.rules, seed, dealer=first)
        match._begin_before(game)
        match.game = game.clone()
        return match

    def deal_seed(self, number: int) -> int:
        """The seed of the deal with this number.

        Raises:
            HeartsError: if `number` is not an integer in [0, 2**63).
        """
        return derived_seed(self.seed, check_number("number", number, 0, MAX_SEED))

    def replace_deal(self, game: Game) -> None:
        """Play `game` instead of the deal drawn; before anything was played in it.

        Raises:
            HeartsError: if something was played in `game`, or it has other rules.
        """
        check_is("deal", game, Game, "give a Game")
        if self.game.actions or game.rules != self.rules:
            raise HeartsError(
                "deal: an action was played, or its rules are others; "
                "replace a deal before its first action, by one of the same rules"
            )
        self.game = game

    # -- play -------------------------------------------------------------------------------------
    @property
    def current_player(self) -> int | None:
        """The seat whose turn it is; None when the match is over."""
        return self.game.current_player

    def legal_actions(self) -> list[int]:
        """What the player to act may do, ascending."""
        return self.game.legal_actions()

    def play(self, action: int | str) -> None:
        """Do an action; after the last of a deal, settle it and start the next deal or end.

        Raises:
            IllegalActionError: if the rules do not allow it; the match is unchanged.
        """
        if self.is_over:
            raise IllegalActionError(_OVER)
        self.game.play(action)
        if self.game.is_over:
            self.finish_deal()

    def revoke(self) -> None:
        """End the deal as after an illegal action at the card table.

        Raises:
            IllegalActionError: if the match is over.
        """
        if self.is_over:
            raise IllegalActionError(_OVER)
        self.game.revoke()
        self.finish_deal()

    def finish_deal(self) -> None:
        """Enter the deal, which is over, and start the next one unless the match has ended."""
        game = self.last_game = self.game
        self._add(game.scores(), points_settled(game.rules, game.vector))
        if not self.is_over:
            self.game = next_deal(self, self.seed, self.first_dealer)

    def clone(self) -> Self:
        """Return an independent match in the same state."""
        match = super().clone()
        match.game = self.game.clone()
        match.last_game = self.last_game and self.last_game.clone()
        return match
