"""Checks of arguments that all environments share."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from hearts_env.errors import HeartsError, did_you_mean


def check_max_deals(max_deals: int | None, episode: str) -> int | None:
    """The number of deals after which a match is cut off, or None.

    Raises:
        HeartsError: it is none, or the episode is no match.
    """
    if max_deals is None:
        return None
    if episode != "match":
        raise HeartsError(
            f"max_deals: {max_deals!r}, but the episode is one deal; "
            'leave it out, or take episode="match"'
        )
    try:
        number = operator.index(max_deals)
    except TypeError:
        number = 0
    if number < 1 or isinstance(max_deals, bool):
        raise HeartsError(f"max_deals: {max_deals!r} is not a whole number from 1 on, or None")
    return number


def check_number(name: str, value: object, low: int, high: int) -> int:
    """`value` as a whole number from `low` to `high`.

    Raises:
        HeartsError: it is none.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise HeartsError(
            f"{name}: {value!r} is not a whole number; give {low} to {high}"
        ) from None
    if not low <= number <= high:
        raise HeartsError(f"{name}: {number} is out of range; give {low} to {high}")
    return number


def check_chance(name: str, value: object) -> float:
    """`value` as a probability.

    Raises:
        HeartsError: it is none.
    """
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (is_number and 0.0 <= float(value) <= 1.0):  # type: ignore[arg-type]
        raise HeartsError(f"{name}: {value!r} is no probability; give 0 to 1")
    return float(value)  # type: ignore[arg-type]


def check_is(name: str, value: object, kind: type, mend: str) -> None:
    """Refuse what is not of this kind.

    Raises:
        HeartsError: it is not; `mend` says what to give.
    """
    if not isinstance(value, kind):
        raise HeartsError(f"{name}: {type(value).__name__} is no {kind.__name__}; {mend}")


def check_choice(field: str, value: object, choices: Sequence[str]) -> str:
    """`value`, one of `choices`.

    Raises:
        HeartsError: it is not.
    """
    if not isinstance(value, str) or value not in choices:
        raise HeartsError(f"{field}: {value!r} is unknown; {did_you_mean(str(value), choices)}")
    return value


def check_any_seed(seed: object) -> int:
    """`seed` as a whole number from 0, of any size.

    Raises:
        HeartsError: it is negative or no whole number.
    """
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise HeartsError(f"seed: {seed!r} is not a whole number from 0; give one, or None")
    return number
