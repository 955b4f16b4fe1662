"""The content of a drawing of the card table, as plain data.

Renderers see nothing but a `TablePicture`. Its maker decides how much the viewer may know. A closed
hand is a number and nothing else, so no renderer can give it away. Cards
are names such as ``"QS"`` (rank, then suit), seats are indices ``0 .. players - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SeatPicture:
    """One player as the viewer sees them.

    Attributes:
        name: The player's name, e.g. ``"player_0"``.
        hand: The cards in deck order where they may be shown, else how many there are.
        points: Points of the cards taken in this deal so far.
        tricks: How many tricks the player has taken in this deal.
        taken: The penalty (and bonus) cards among the cards taken.
        voids: Suits, e.g. ``"C"``, which all know the player to be out of.
        total: The match score before this deal (chips may be fractions), None outside a match.
        passed: Cards given in the exchange, where the viewer may know them.
        received: Cards got in the exchange, where the viewer may know them.
        played: Once the deal is over, the cards that the player has played, in deck order.
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
        """How many cards the player holds."""
        return self.hand if isinstance(self.hand, int) else len(self.hand)


@dataclass(frozen=True, slots=True)
class TablePicture:
    """The table as one viewer sees it: all that is drawn, and nothing hidden.

    Attributes:
        title: The name of the rules.
        seats: The players in seat order, 2 to 7 of them.
        phase: ``"pass"``, ``"play"``, ``"moon"`` or ``"over"``.
        viewer: The seat that looks, drawn at the bottom; None for an onlooker (seat 0 is then
            at the bottom).
        current_player: The seat whose turn it is, None when nobody's.
        legal: The cards the viewer may play now (for an onlooker who sees all hands: the mover);
            drawn raised. Empty where the viewer may not know them.
        trick: The cards on the table as ``(seat, card)``, the lead first.
        last_trick: The trick before this one, likewise; empty before there is one.
        last_taker: Who took `last_trick`.
        kitty: The cards of the kitty where they may be shown, else how many there are.
        hearts_broken: Whether hearts have been broken.
        trump: The trump suit, or None.
        message: Text across the table, e.g. the result; lines are split at newlines.
        winners: The seats with the lowest score, once the deal is over.
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
        """How many cards the kitty has."""
        return self.kitty if isinstance(self.kitty, int) else len(self.kitty)

    @property
    def trick_number(self) -> int:
        """The number of the trick being played, from 1; after the last one, of the last."""
        done = sum(seat.tricks for seat in self.seats)
        return done if done and self.phase in ("moon", "over") else done + 1

    @property
    def turn(self) -> str:
        """Whose turn it is in words, e.g. ``"player_1 to move"``; empty when nobody's."""
        return (
            "" if self.current_player is None else f"{self.seats[self.current_player].name} to move"
        )


def phase_title(phase: str) -> str:
    """The phase in the words of the rule book."""
    return {"pass": "exchange", "moon": "moon choice"}.get(phase, phase)


def count_text(count: int, noun: str) -> str:
    """A count with its noun in the right number, e.g. ``"1 trick"``, ``"2 tricks"``."""
    return f"{count:,} {noun}" if abs(count) == 1 else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """The text with every character that is not visible replaced by ``?``.

    Names come from outside; control characters would break XML and move a terminal's cursor.
    """
    return "".join(char if char.isprintable() else "?" for char in text)
