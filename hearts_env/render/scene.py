"""The content of a drawing of the card table, as plain data.

Renderers see only a `TablePicture`, so its maker decides how much the viewer may know. A closed
hand is only a number of cards, so no renderer can show its cards. Cards are names such as ``"QS"``
(rank, then suit). Seats are indices ``0 .. players - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SeatPicture:
    """One player as the viewer sees them.

    Attributes:
        name: the player's name, e.g. ``"player_0"``.
        hand: the cards in deck order, or their number if the viewer may not see them.
        points: the points of the cards taken in this deal so far.
        tricks: the number of tricks taken in this deal.
        taken: the penalty (and bonus) cards among the cards taken.
        voids: the suits, e.g. ``"C"``, in which this player has shown a void.
        total: the match score before this deal, or None outside a match. Chips may be fractions.
        passed: the cards given in the exchange, if the viewer may know them.
        received: the cards received in the exchange, if the viewer may know them.
        played: the cards that the player has played, in deck order. Empty before the end of the
            deal.
    """

    name: str
    hand: tuple[str, ...] | int
    points: int = 0
    tricks: int = 0
    taken: tuple[str, ...] = ()
    voids: tuple[str, ...] = ()
    total: int | Fraction | None = None
    passed: tuple[str, ...] = ()
    received: tuple[str, ...] = ()
    played: tuple[str, ...] = ()

    @property
    def num_cards(self) -> int:
        """The number of cards in the player's hand."""
        return self.hand if isinstance(self.hand, int) else len(self.hand)


@dataclass(frozen=True, slots=True)
class TablePicture:
    """The table as one viewer sees it, without anything hidden.

    Attributes:
        title: the name of the rules.
        seats: the players in seat order, 2 to 7 of them.
        phase: ``"pass"``, ``"play"``, ``"moon"`` or ``"over"``.
        viewer: the seat of the viewer, which is drawn at the bottom. None means an onlooker, for
            whom seat 0 is at the bottom.
        current_player: the seat to act, or None.
        legal: the cards that the viewer may play now, which are drawn raised. An onlooker who sees
            all hands sees the legal cards of the acting player. Empty if the viewer may not know
            them.
        trick: the cards on the table as ``(seat, card)``, the lead first.
        last_trick: the previous trick in the same form, or empty if there is none.
        last_taker: the seat that took `last_trick`.
        kitty: the cards of the kitty, or their number if the viewer may not see them.
        hearts_broken: True if hearts have been broken.
        trump: the trump suit, or None.
        message: the text across the table, e.g. the result. It may have several lines.
        winners: the seats with the lowest score. Empty before the end of the deal.
    """

    title: str
    seats: tuple[SeatPicture, ...]
    phase: str = "play"
    viewer: int | None = None
    current_player: int | None = None
    legal: tuple[str, ...] = ()
    trick: tuple[tuple[int, str], ...] = ()
    last_trick: tuple[tuple[int, str], ...] = ()
    last_taker: int | None = None
    kitty: tuple[str, ...] | int = 0
    hearts_broken: bool = False
    trump: str | None = None
    message: str = ""
    winners: tuple[int, ...] = ()

    @property
    def bottom(self) -> int:
        """The seat drawn at the bottom of the table."""
        return 0 if self.viewer is None else self.viewer

    @property
    def num_kitty(self) -> int:
        """The number of cards in the kitty."""
        return self.kitty if isinstance(self.kitty, int) else len(self.kitty)

    @property
    def trick_number(self) -> int:
        """The number of the current trick, from 1. After the play, the number of the last trick."""
        done = sum(seat.tricks for seat in self.seats)
        return done if done and self.phase in ("moon", "over") else done + 1

    @property
    def turn(self) -> str:
        """The turn in words, e.g. ``"player_1 to move"``, or empty if no player is to act."""
        return (
            "" if self.current_player is None else f"{self.seats[self.current_player].name} to move"
        )


def phase_title(phase: str) -> str:
    """Return the phase in the words of the rule book."""
    return {"pass": "exchange", "moon": "moon choice"}.get(phase, phase)


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun, e.g. ``"1 trick"``, ``"2 tricks"``."""
    return f"{count:,} {noun}" if abs(count) == 1 else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """Return the text with every invisible character replaced by ``?``.

    Names are untrusted: control characters would break XML and move a terminal's cursor.
    """
    return "".join(char if char.isprintable() else "?" for char in text)
