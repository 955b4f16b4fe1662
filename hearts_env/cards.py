"""The words of the rules: cards, suits and ranks, and what options can be, with their numbers.

A card is written rank then suit (``QS``). Within a rule set a card is a number, its place in the
deck: clubs, diamonds, spades, hearts, each suit low to high. Sets of cards are bit masks over
these numbers. The number of an option's value is its place below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hearts_env.support.errors import NotationError, quoted

RANKS = "23456789TJQKA"
SUITS = "CDSH"
CLUBS, DIAMONDS, SPADES, HEARTS = range(4)
SUIT_NAMES = ("clubs", "diamonds", "spades", "hearts")
ALL_CARDS: tuple[str, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS)

# What options of the rules can be, in the order of the rule book's table.
FIRST_LEADS = ("lowest_club", "any_club", "eldest_hand")
BREAKS = ("heart", "void", None)
UNBROKEN_LEADS = ("only_hearts", "spades_or_hearts", "queen_frees_hearts")
MOONS = ("others_plus", "self_minus", "choose", "none")
KITTIES = ("nobody", "first_trick", "last_trick", "first_heart", "first_penalty")
SETTLEMENTS = ("points", "simple", "sweepstakes", "howell")
DIRECTIONS = ("left", "right", "across", "hold")
MAX_ROTATION = 16
"""Directions of the exchange, at most."""

BYTE_ORDER_MARK = "\ufeff"
"""What some editors put at the start of a text."""

_ORDER = {card: place for place, card in enumerate(ALL_CARDS)}
_LETTERS = str.maketrans("♣♦♠♥", SUITS, "\ufe0e\ufe0f" + BYTE_ORDER_MARK)


def suit_of(card: str) -> int:
    """The suit of a card's name, 0..3 in the order clubs, diamonds, spades, hearts."""
    return SUITS.index(card[1])


def rank_of(card: str) -> int:
    """The rank of a card's name, 0 (the two) .. 12 (the ace)."""
    return RANKS.index(card[0])


def card_letters(text: str) -> str:
    """Return the rank and suit letters in `text`: upper case, T for 10, a letter per suit sign.

    Marks that phones and editors add are dropped: U+FE0E and U+FE0F, which select how a suit sign
    is drawn, and byte order marks.
    """
    return text.translate(_LETTERS).strip().upper().replace("10", "T")


def parse_card(text: object) -> str:
    """Return the card's name in its one spelling; reads lower case, ``10h`` and ``Q♠`` too.

    Raises:
        NotationError: if `text` is not a card.
    """
    name = card_letters(text) if isinstance(text, str) else ""
    if name not in _ORDER:
        raise NotationError(
            f"card: {quoted(text)} is not a card; write rank (2..9 T J Q K A) then suit (C D S H), "
            "like QS",
            value=text,
        )
    return name


def sort_cards(cards: Iterable[str]) -> tuple[str, ...]:
    """Cards in the order of the deck."""
    return tuple(sorted(cards, key=_ORDER.__getitem__))


class CardPoints(Mapping[str, int]):
    """Points by card, immutable and hashable; cards that are not named are worth nothing."""

    __slots__ = ("_points",)
    _points: Mapping[str, int]

    def __init__(self, points: Mapping[str, int]) -> None:
        by_card = {card: points[card] for card in sort_cards(points) if points[card]}
        object.__setattr__(self, "_points", MappingProxyType(by_card))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: points of cards cannot be changed; make other rules")

    def __getitem__(self, card: str) -> int:
        return self._points[card]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __hash__(self) -> int:
        return hash(tuple(self._points.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self._points) == dict(other)

    def __repr__(self) -> str:
        return repr(dict(self._points))

    def __reduce__(self) -> tuple[Any, ...]:
        return CardPoints, (dict(self._points),)


HEARTS_ONE = CardPoints({rank + "H": 1 for rank in RANKS})
HEARTS_AND_QUEEN = CardPoints({**HEARTS_ONE, "QS": 13})


def mask_of(cards: Iterable[int]) -> int:
    """The bit set of card numbers."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


def cards_of(mask: int) -> Iterator[int]:
    """The card numbers in a bit set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# Bit sets become lists 14 bits at a time: a look-up is several times quicker than a loop, and
# legal actions are asked for at every step. The tables are made when first needed.
_CHUNK = 14
_tables: list[list[tuple[int, ...]]] = []


def _make_tables() -> None:
    for shift in range(0, 56, _CHUNK):
        table: list[tuple[int, ...]] = [()]
        for bit in range(_CHUNK):
            table += [(*smaller, shift + bit) for smaller in table]
        _tables.append(table)


def list_of(mask: int) -> list[int]:
    """The card numbers in a bit set below 2**56, as an ascending list."""
    if not _tables:
        _make_tables()
    a, b, c, d = _tables
    if mask < 1 << 28:  # the deck of two players
        return [*a[mask & 16383], *b[mask >> 14]]
    return [*a[mask & 16383], *b[mask >> 14 & 16383], *c[mask >> 28 & 16383], *d[mask >> 42]]
