"""What a drawing of the card table shows, as plain data.

A `TablePicture` is everything the renderers ever see. Whoever makes one decides what the viewer
may know; a closed hand is here a number and nothing else, so no renderer can give it away. Cards
are names such as ``"QS"`` (rank, then suit), seats are indices ``0 .. players - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hearts_env.cards import ALL_CARDS, SUITS

MIN_SEATS = 2
MAX_SEATS = 7


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

    def __post_init__(self) -> None:
        """Refuses what cannot be drawn, by a ValueError that names the field."""
        where = f" of {self.name!r}"
        for field in ("hand", "taken", "passed", "received", "played"):
            _check_cards(field + where, getattr(self, field))
        _check_cards("tricks" + where, self.tricks)
        for suit in self.voids:
            _check_suit("voids" + where, suit)

    @property
    def num_cards(self) -> int:
        """How many cards the player holds."""
        return self.hand if isinstance(self.hand, int) else len(self.hand)

    @property
    def open_cards(self) -> tuple[str, ...]:
        """The cards of the hand where they may be shown, else nothing."""
        return () if isinstance(self.hand, int) else self.hand


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
        message: What to say across the table, e.g. the result; lines are split at newlines.
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

    def __post_init__(self) -> None:
        """Refuses what cannot be drawn, by a ValueError that names the field."""
        players = len(self.seats)
        if not MIN_SEATS <= players <= MAX_SEATS:
            raise ValueError(
                f"seats: a table has {MIN_SEATS} to {MAX_SEATS} players, not {players}"
            )
        seats: dict[str, tuple[int | None, ...]] = {"winners": self.winners}
        for field in ("viewer", "current_player", "last_taker"):
            seats[field] = (getattr(self, field),)
        for field in ("trick", "last_trick"):
            plays: tuple[tuple[int, str], ...] = getattr(self, field)
            seats[field] = tuple(seat for seat, _ in plays)
            _check_cards(field, tuple(card for _, card in plays))
        for field, given in seats.items():
            for seat in given:
                if seat is not None and not 0 <= seat < players:
                    raise ValueError(f"{field}: there is no seat {seat} among {players}")
        _check_cards("legal", self.legal)
        _check_cards("kitty", self.kitty)
        if self.trump is not None:
            _check_suit("trump", self.trump)

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


def _check_cards(field: str, cards: tuple[str, ...] | int) -> None:
    """Refuse names that are not cards, or a count below 0."""
    if isinstance(cards, int):
        if cards < 0:
            raise ValueError(f"{field}: a count cannot be {cards}")
        return
    for card in cards:
        if card not in ALL_CARDS:
            raise ValueError(f"{field}: {card!r} is not a card; write rank then suit, e.g. 'QS'")


def _check_suit(field: str, suit: str) -> None:
    if suit not in tuple(SUITS):
        raise ValueError(f"{field}: {suit!r} is not a suit; the suits are C, D, S and H")
