"""Read the values of fields as users write them: cards, points, directions and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hearts_env.cards import DIRECTIONS, MAX_ROTATION, parse_card, sort_cards
from hearts_env.support.arguments import check_number, is_word
from hearts_env.support.errors import NotationError, RulesError, did_you_mean, quoted

MAX_POINTS = 10**6  # with at most 52 cards, every sum stays far inside 64 bits
_PYTHON_WORDS = {"None": None, "True": True, "False": False}


def one_of(value: object, choices: tuple[Any, ...]) -> str:
    """Return the part of a message that names valid choices."""
    if isinstance(value, str):
        if value == "None" and None in choices:
            return "write None without quotes"
        return did_you_mean(value, choices)
    return "known: " + ", ".join(str(c) for c in choices)


def read_value(text: str) -> Any:
    """Return the value of a field in ``Rules.from_text``: JSON, a word of Python, or text."""
    if text in _PYTHON_WORDS:
        return _PYTHON_WORDS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or a number of thousands of digits
        return text


def as_cards(name: str, cards: object) -> tuple[str, ...]:
    """Return cards in deck order, from a list or a text with spaces."""
    if isinstance(cards, str):
        cards = cards.split()
    try:
        names = [parse_card(card) for card in cards]  # type: ignore[attr-defined]
    except TypeError:
        raise RulesError(
            f'{name}: {quoted(cards)} is not a list of cards; write ["2D", "2C"]'
        ) from None
    except NotationError as error:
        raise RulesError(f"{name}: {error}") from None
    for card in names:
        if names.count(card) > 1:
            raise RulesError(f"{name}: {card} is named twice; name each card once")
    return sort_cards(names)


def as_points(points: object) -> Mapping[str, int]:
    """Return the points of cards from a mapping: read-only, in deck order, without zeros."""
    if not isinstance(points, Mapping):
        raise RulesError(
            f'card_points: {quoted(points)} does not map cards to points; write {{"QS": 13}}'
        )
    by_card: dict[str, int] = {}
    for card, worth in points.items():
        (name,) = as_cards("card_points", [card])
        if name in by_card:
            raise RulesError(f"card_points: {name} is named twice; name each card once")
        by_card[name] = check_number(
            f"card_points[{name}]", worth, -MAX_POINTS, MAX_POINTS, RulesError
        )
    return MappingProxyType({card: by_card[card] for card in sort_cards(by_card) if by_card[card]})


def as_rotation(rotation: object) -> tuple[str, ...]:
    """Return the directions of passing, from one word or a list."""
    words = (rotation,) if isinstance(rotation, str) else rotation
    fix = f"give 1 to {MAX_ROTATION} of {', '.join(DIRECTIONS)}"
    if not isinstance(words, list | tuple) or not 1 <= len(words) <= MAX_ROTATION:
        raise RulesError(f"pass_rotation: {quoted(rotation)} cannot be used; {fix}")
    for word in words:
        if not (is_word(word) and word in DIRECTIONS):
            raise RulesError(f"pass_rotation: {quoted(word)} is not a direction; {fix}")
    return tuple(words)
