"""The fields that a game and a player's view share."""

from __future__ import annotations

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import SUITS, list_of
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_player

PHASES = ("pass", "play", "moon", "over")


class Position:
    """The fields of a state by name. In a view, everything hidden from its player is empty."""

    __slots__ = ("rules", "vector")

    rules: Rules
    vector: k.Vector

    def _cards(self, mask: int) -> tuple[str, ...]:
        deck = self.rules.deck
        return tuple([deck[i] for i in list_of(int(mask))])

    def _pile(self, field: int, player: int) -> tuple[str, ...]:
        """Return a seat's cards in a field that every seat has."""
        return self._cards(self.vector[field + k.SEAT * self._check(player)])

    def _each(self, field: int) -> list[int]:
        """Return the values of a field that every seat has, by seat."""
        return self.vector[k.every_seat(field, self.rules.players)].tolist()

    def _scores(self) -> list[int]:
        n = self.rules.players
        out = np.empty(2 * n + 2, np.int64)
        k.write_result(self.rules.vector, self.vector, out)
        return out[:n].tolist()

    def _seat(self, field: int) -> int | None:
        seat = int(self.vector[field])
        return None if seat < 0 else seat

    @property
    def phase(self) -> str:
        """The phase of the deal: ``pass``, ``play``, ``moon`` or ``over``."""
        return PHASES[self.vector[k.PHASE]]

    @property
    def is_over(self) -> bool:
        """True once the deal is finished."""
        return bool(self.vector[k.PHASE] == k.OVER)

    @property
    def current_player(self) -> int | None:
        """The seat of the player to act, or None when the game is over."""
        return self._seat(k.PLAYER)

    @property
    def trick(self) -> tuple[tuple[int, str], ...]:
        """The unfinished trick as (seat, card), in order of play."""
        end = int(self.vector[k.NUM_PLAYED])
        return self._plays(end - int(self.vector[k.TRICK_LEN]), end)

    @property
    def history(self) -> tuple[tuple[int, str], ...]:
        """Every card played as (seat, card), in order."""
        return self._plays(0, int(self.vector[k.NUM_PLAYED]))

    def _plays(self, begin: int, end: int) -> tuple[tuple[int, str], ...]:
        deck = self.rules.deck
        codes = k.plays(self.rules.vector, self.vector, begin, end)
        return tuple([(code >> k.SEAT_AT, deck[code & k.CARD_BITS]) for code in codes])

    @property
    def tricks(self) -> tuple[tuple[tuple[int, str], ...], ...]:
        """The finished tricks, each in order of play."""
        history, n = self.history, self.rules.players
        return tuple(history[i : i + n] for i in range(0, len(history) - n + 1, n))

    @property
    def trick_takers(self) -> tuple[int, ...]:
        """The seat that took each of the finished ``tricks``."""
        taken = [self.taken(p) for p in range(self.rules.players)]
        return tuple(
            next(p for p, cards in enumerate(taken) if trick[0][1] in cards)
            for trick in self.tricks
        )

    @property
    def trick_number(self) -> int:
        """The number of finished tricks."""
        return int(self.vector[k.TRICK_NUM])

    @property
    def leader(self) -> int | None:
        """The seat that led the unfinished trick or is to lead, or None outside play."""
        return self._seat(k.LEADER)

    @property
    def winner(self) -> int | None:
        """The seat that takes the unfinished trick as it stands, or None before its first card."""
        return self._seat(k.WINNER)

    @property
    def hearts_broken(self) -> bool:
        """True if hearts may be led freely."""
        return bool(self.vector[k.BROKEN])

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return int(self.vector[k.DEALER])

    @property
    def deal_number(self) -> int:
        """The number of this deal in its match, from 0."""
        return int(self.vector[k.DEAL_NUMBER])

    @property
    def direction(self) -> str:
        """The direction of this deal's exchange: ``left``, ``right``, ``across`` or ``hold``."""
        if not self.rules.pass_count:
            return "hold"
        rotation = self.rules.pass_rotation
        return rotation[self.deal_number % len(rotation)]

    @property
    def shooter(self) -> int | None:
        """The seat that shot the moon, once the last trick is taken, or None."""
        return self._seat(k.SHOOTER)

    @property
    def moon_choice(self) -> str | None:
        """A shooter's choice: ``off`` (points off oneself), ``others`` (the others pay) or None."""
        return {-1: None, 0: "off", 1: "others"}[int(self.vector[k.MOON_CHOICE])]

    @property
    def revoker(self) -> int | None:
        """The seat that ended the deal by an illegal action, or None."""
        return self._seat(k.REVOKER)

    @property
    def kitty_taker(self) -> int | None:
        """The seat that was awarded the kitty, or None."""
        return self._seat(k.KITTY_TAKER)

    @property
    def kitty(self) -> tuple[str, ...]:
        """The cards not dealt. In a view they are empty unless the kitty was awarded."""
        return self._cards(self.vector[k.KITTY])

    @property
    def totals(self) -> tuple[int, ...]:
        """Each seat's score before this deal of a match."""
        return tuple(self._each(k.TOTALS))

    @property
    def points(self) -> list[int]:
        """The points of the cards that each seat has taken, without a moon."""
        return self._each(k.POINTS)

    @property
    def tricks_taken(self) -> list[int]:
        """The number of tricks that each seat has taken."""
        return self._each(k.TRICKS)

    @property
    def voids(self) -> tuple[str, ...]:
        """The suits in which each seat has shown a void, like ``"CS"``."""
        return tuple(
            "".join(suit for i, suit in enumerate(SUITS) if shown >> i & 1)
            for shown in self._each(k.VOIDS)
        )

    def taken(self, player: int) -> tuple[str, ...]:
        """Return the cards that a seat has taken, including an awarded kitty."""
        return self._pile(k.TAKEN, player)

    def played(self, player: int) -> tuple[str, ...]:
        """Return the cards that a seat has played."""
        return self._pile(k.PLAYED, player)

    def cards_left(self, player: int) -> int:
        """Return the number of cards that a seat holds."""
        return int(k.cards_left(self.rules.vector, self.vector, self._check(player)))

    def _check(self, player: int) -> int:
        if player.__class__ is int and 0 <= player < self.rules.players:
            return player
        return check_player(player, self.rules.players)
