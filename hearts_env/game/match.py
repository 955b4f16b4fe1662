"""Matches: deals until the end score, or until a player has no chips left."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

from hearts_env.game.chips import Number, points_settled, settle
from hearts_env.game.game import MAX_TOTAL, Game
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import check_count, check_is, check_numbers, check_seed
from hearts_env.support.errors import HeartsError, IllegalActionError, quoted

_OVER = "action: the match is over; start another Match"


class Standing:
    """The totals of a match and the rules that end it: the base of `Scoreboard` and `Match`."""

    def __init__(self, rules: Rules | str, totals: Sequence[int] | None = None) -> None:
        """Begin a match, or continue one.

        Args:
            rules: the rules, or a preset's name.
            totals: each seat's points or chips, whole numbers. If None, a match begins: 0 points
                or ``rules.stake`` chips each.

        Raises:
            HeartsError: if `totals` does not have one number per seat, or the match would be over.
        """
        self.rules = Rules.make(rules)
        self.in_chips = self.rules.settlement != "points"
        start: Number = Fraction(self.rules.stake) if self.in_chips else 0
        self._totals: list[Number] = [start] * self.rules.players
        self.pool = Fraction()
        self._last_net: list[Number] = [0] * self.rules.players
        self.num_deals = 0
        self.is_over = False
        self._plays_off = False  # one deal took all past the limit (tie="all_past_limit")
        if totals is not None:
            self._begin_with(totals)

    def _begin_with(self, totals: Sequence[int]) -> None:
        """Set the totals. Raise if the match would be over."""
        before = self._totals
        self._totals = check_numbers(
            "totals", totals, len(before), (-MAX_TOTAL, MAX_TOTAL)
        ).tolist()
        if self.in_chips:
            self._totals = [Fraction(total) for total in self._totals]
            if sum(self._totals) != sum(before):
                raise HeartsError(
                    f"totals: {quoted(totals)} chips are not {sum(before)} together; every seat "
                    f"has {self.rules.stake} at the start"
                )
        if self._is_decided(before):
            raise HeartsError(
                f"totals: with {quoted(list(map(int, self._totals)))} a match of "
                f"{self.rules.name!r} is over; give totals before a deal"
            )

    def _begin_before(self, game: Game) -> None:
        """Set the totals and the number of finished deals to their values before `game`."""
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
        """Each seat's total, a new list: ints for points, Fractions for chips."""
        return self._totals.copy()

    @property
    def last_net(self) -> list[Number]:
        """The change of each total in the last deal, a new list.

        After the last deal it includes the seat's share of a pool that is left over.
        """
        return self._last_net.copy()

    def _add(self, scores: Sequence[int], points: Sequence[int]) -> None:
        """Add the result of a deal. See ``Scoreboard.add``."""
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
        if len(self.leaders) > 1:  # a tie for first place: play on
            return False
        if self.in_chips:
            best = totals[self.leaders[0]]
            lost = min(totals) <= 0
            return lost or (rules.target is not None and best - rules.stake >= rules.target)
        return self._plays_off or max(totals) >= end

    @property
    def leaders(self) -> list[int]:
        """The seats with the best total: the lowest points or the most chips."""
        best = max(self._totals) if self.in_chips else min(self._totals)
        return [seat for seat, total in enumerate(self._totals) if total == best]

    @property
    def winner(self) -> int | None:
        """The seat that has won, or None before the end and if first place is shared."""
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
    """The totals of a match whose deals are played elsewhere.

    ::

        board = Scoreboard(rules)
        while not board.is_over:
            ...                          # play a deal
            board.add(game.scores(), game.points)
        print(board.totals, board.winner)

    Attributes:
        rules: the rules, which state how deals are settled and when the match ends.
        in_chips: True if totals are chips (most win), False if they are points (fewest win).
        pool: chips carried over to the next deal.
        num_deals: the number of deals added.
        is_over: True once the match is decided or ``rules.max_deals`` deals were played.
    """

    @classmethod
    def before(cls, game: Game) -> Scoreboard:
        """Return the scoreboard of a match before its deal `game`.

        The number of finished deals is ``game.deal_number``, and the totals are ``game.totals``. A
        match in chips starts with the stakes if all totals are 0. A game does not record the pool,
        so the pool is 0.

        Raises:
            HeartsError: if a match with these totals, or after this number of deals, is over.
        """
        board = Scoreboard(game.rules)
        board._begin_before(game)
        return board

    def add(self, scores: Sequence[int], points: Sequence[int]) -> None:
        """Add the result of a deal, in place.

        Args:
            scores: each seat's score, used if the rules settle in points.
            points: each seat's points to settle, used if the rules settle in chips. See
                ``chips.points_settled``.

        Raises:
            HeartsError: if the match is over, or an argument does not have one number per seat.
        """
        if self.is_over:
            raise HeartsError("scores: the match is over; begin another Scoreboard")
        name, given = ("points", points) if self.in_chips else ("scores", scores)
        check_numbers(name, given, self.rules.players)
        self._add(scores, points)


def next_deal(board: Standing, seed: int, first_dealer: int | None) -> Game:
    """Return the next deal of a match, not yet played.

    Args:
        board: the totals and the number of finished deals.
        seed: the seed of the match.
        first_dealer: the dealer of the first deal. If None, which is allowed for the first deal
            only, the dealer is drawn from the deal's seed.
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
    """A match: deals one after another until it is decided.

    Attributes:
        rules: the rules, which state how deals are settled and when the match ends.
        in_chips: True if totals are chips (most win), False if they are points (fewest win).
        pool: chips carried over to the next deal.
        num_deals: the number of finished deals.
        is_over: True once the match is decided or ``rules.max_deals`` deals were played.
        seed: the seed of the match, which determines the seeds of its deals.
        game: the current deal. ``play`` starts the next one automatically.
        last_game: the last finished deal, or None.
        first_dealer: the dealer of the first deal. The deal then moves one seat to the left.
    """

    def __init__(
        self,
        rules: Rules | str,
        seed: int,
        *,
        dealer: int | None = None,
        totals: Sequence[int] | None = None,
    ) -> None:
        """Begin a match and deal its first cards.

        Args:
            rules: the rules, or a preset's name.
            seed: an int from 0 to 2**63 - 1 that determines every deal.
            dealer: the seat that deals first. If None, it is drawn from the seed.
            totals: each seat's points or chips at the start, whole numbers. If None, 0 points or
                ``rules.stake`` chips each.

        Raises:
            HeartsError: if an argument is invalid, or a match with these totals is over.
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
        """Return a match that continues from a deal in progress.

        Its totals and number of deals are those of ``Scoreboard.before(game)``.

        Args:
            game: the current deal, which is copied. It must not be over.
            seed: the seed of the match, which determines all later deals.

        Raises:
            HeartsError: if the game is over, or a match with its totals is over.
        """
        check_is("game", game, Game, "give a Game")
        if game.is_over:
            raise HeartsError("game: it is over; give one in which a player is to act")
        first = (game.dealer - game.deal_number) % game.rules.players
        match = cls(game.rules, seed, dealer=first)
        match._begin_before(game)
        match.game = game.clone()
        return match

    # -- play -------------------------------------------------------------------------------------
    @property
    def current_player(self) -> int | None:
        """The seat of the player to act, or None when the match is over."""
        return self.game.current_player

    def legal_actions(self) -> list[int]:
        """Return the legal actions of the player to act, ascending."""
        return self.game.legal_actions()

    def play(self, action: int | str) -> None:
        """Play an action. The last of a deal settles it and starts the next one.

        Raises:
            IllegalActionError: if the action is illegal or the match is over. The match is
                unchanged.
        """
        if self.is_over:
            raise IllegalActionError(_OVER)
        self.game.play(action)
        if self.game.is_over:
            self._finish_deal()

    def revoke(self) -> None:
        """End the deal at the expense of the player to act. See ``Game.revoke``.

        Raises:
            IllegalActionError: if the match is over.
        """
        if self.is_over:
            raise IllegalActionError(_OVER)
        self.game.revoke()
        self._finish_deal()

    def _finish_deal(self) -> None:
        """Settle the deal, which is over, and start the next one unless the match ends."""
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
