"""Names and numbers of cards, suits and ranks, and the values of the rules' options.

A card is written as rank and suit (``QS``). Within a rule set a card is a number, its place in the
deck: clubs, diamonds, spades, hearts, each suit low to high. Sets of cards are bit masks over
these numbers. The number of an option's value is its place in the tuples below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from hearts_env.support.errors import NotationError, quoted

RANKS = "23456789TJQKA"
SUITS = "CDSH"
CLUBS, DIAMONDS, SPADES, HEARTS = range(4)
SUIT_NAMES = ("clubs", "diamonds", "spades", "hearts")
ALL_CARDS: tuple[str, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS)

# The values of the rules' options, in the order of the rule book's table.
FIRST_LEADS = ("lowest_club", "any_club", "eldest_hand")
BREAKS = ("heart", "void", None)
UNBROKEN_LEADS = ("only_hearts", "spades_or_hearts", "queen_frees_hearts")
MOONS = ("others_plus", "self_minus", "choose", "none")
KITTIES = ("nobody", "first_trick", "last_trick", "first_heart", "first_penalty")
SETTLEMENTS = ("points", "simple", "sweepstakes", "howell")
DIRECTIONS = ("left", "right", "across", "hold")
MOON_CHOICES = {"moon:off": "have the points taken off", "moon:others": "let the others pay"}
"""The two ways to use a moon, in words that follow "to"."""
MAX_ROTATION = 16
"""The most directions of the exchange."""

BYTE_ORDER_MARK = "\ufeff"
"""A mark that some editors write at the start of a text."""

_ORDER = {card: place for place, card in enumerate(ALL_CARDS)}
# Letters for suit signs. U+FE0E and U+FE0F, which phones add to suit signs, are dropped.
_LETTERS = str.maketrans("♣♦♠♥", SUITS, "\ufe0e\ufe0f" + BYTE_ORDER_MARK)

_SIGNS = str.maketrans({"T": "10"} | dict(zip(SUITS, "♣♦♠♥", strict=True)))


def card_text(card: str) -> str:
    """Return a card as people read it, such as ``10♠``."""
    return card.translate(_SIGNS)


def suit_of(card: str) -> int:
    """Return the suit of a card's name: 0 to 3 for clubs, diamonds, spades, hearts."""
    return SUITS.index(card[1])


def rank_of(card: str) -> int:
    """Return the rank of a card's name, from 0 (the two) to 12 (the ace)."""
    return RANKS.index(card[0])


def parse_card(text: object) -> str:
    """Return a card's name from any spelling, such as ``qs``, ``10h`` or ``Q♠``.

    Raises:
        NotationError: if `text` is not a card.
    """
    name = ""
    if isinstance(text, str):
        name = text.translate(_LETTERS).strip().upper().replace("10", "T")
    if name not in _ORDER:
        raise NotationError(
            f"card: {quoted(text)} is not a card; write rank (2..9 T J Q K A) then suit (C D S H), "
            "like QS"
        )
    return name


def sort_cards(cards: Iterable[str]) -> tuple[str, ...]:
    """Return cards in deck order."""
    return tuple(sorted(cards, key=_ORDER.__getitem__))


HEARTS_ONE: Mapping[str, int] = MappingProxyType({rank + "H": 1 for rank in RANKS})
HEARTS_AND_QUEEN: Mapping[str, int] = MappingProxyType({**HEARTS_ONE, "QS": 13})


def mask_of(cards: Iterable[int]) -> int:
    """Return the bit mask of card numbers."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


def cards_of(mask: int) -> Iterator[int]:
    """Yield the card numbers in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# Every step lists legal actions, and a look-up of 14 bits at a time is several times faster than a
# loop. The tables are made on first use.
_CHUNK = 14
_tables: list[list[tuple[int, ...]]] = []


def _make_tables() -> None:
    for shift in range(0, 56, _CHUNK):
        table: list[tuple[int, ...]] = [()]
        for bit in range(_CHUNK):
            table += [(*smaller, shift + bit) for smaller in table]
        _tables.append(table)


def list_of(mask: int) -> list[int]:
    """Return the card numbers in a bit mask below 2**56, ascending."""
    if not _tables:
        _make_tables()
    a, b, c, d = _tables
    if mask < 1 << 28:  # the deck of two players
        return [*a[mask & 16383], *b[mask >> 14]]
    return [*a[mask & 16383], *b[mask >> 14 & 16383], *c[mask >> 28 & 16383], *d[mask >> 42]]
