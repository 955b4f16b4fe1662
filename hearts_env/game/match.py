"""Matches: deals until the end score, or until somebody's chips are gone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hearts_env.game.chips import Number, points_settled
from hearts_env.game.game import Game
from hearts_env.game.scoreboard import Scoreboard
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import MAX_SEED, check_count, check_is, check_number, check_seed
from hearts_env.support.errors import HeartsError, IllegalActionError

__all__ = ["Match", "next_deal"]

_OVER = "action: the match is over; start another Match"


def next_deal(board: Scoreboard, seed: int, first_dealer: int | None) -> Game:
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


class Match:
    """Deals of one rule set, one after another, until the match is decided.

    ``match.game`` is the deal being played; ``match.play`` starts the next one by itself.
    ``match.board`` is the `Scoreboard`; its totals are points (low wins), or chips (high wins)
    where ``rules.settlement`` says so. ``last_game`` is the last finished deal, ``last_net`` what
    it added to the totals, with a share of a pool that is left at the end of the match.
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
        self.rules = Rules.make(rules)
        self.seed = check_seed(seed)
        if dealer is not None:
            dealer = check_count("dealer", dealer, self.rules.players)
        self.board = Scoreboard(self.rules, totals)
        self.is_over = False  # as the board has it; a plain field, since every action asks for it
        self.last_game: Game | None = None
        self.game = next_deal(self.board, self.seed, dealer)
        self.first_dealer = self.game.dealer
        """The seat that deals first; the next deals next."""

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
                "deal: it has begun or is of other rules; "
                "replace it before it begins, by one of these rules"
            )
        self.game = game

    # -- the score --------------------------------------------------------------------------------
    @property
    def totals(self) -> list[Number]:
        """The total of each seat after the finished deals, a new list."""
        return list(self.board.totals)

    @property
    def pool(self) -> Fraction:
        """Chips carried over to the next deal."""
        return self.board.pool

    @property
    def last_net(self) -> list[Number]:
        """What the last finished deal added to the totals, a new list."""
        return list(self.board.last_net)

    @property
    def num_deals(self) -> int:
        """How many deals are finished."""
        return self.board.num_deals

    @property
    def in_chips(self) -> bool:
        """Whether totals are chips."""
        return self.board.in_chips

    @property
    def winner(self) -> int | None:
        """Who has won: the lowest total, or most chips; None before the end, or if it is shared."""
        return self.board.winner

    # -- play -------------------------------------------------------------------------------------
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
        self.board.add(game.scores(), points_settled(game.rules, game.vector))
        self.is_over = self.board.is_over
        if not self.is_over:
            self.game = next_deal(self.board, self.seed, self.first_dealer)

    # -- copies -----------------------------------------------------------------------------------
    def clone(self) -> Match:
        """An independent match in the same state."""
        match = copy.copy(self)
        match.board = self.board.clone()
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
