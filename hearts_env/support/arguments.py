"""Checks of arguments for everything that users call, so that all messages read alike.

A whole number is any value that ``operator.index`` takes, except True and False. Each ``check_``
function returns the value in Python's own type, or raises `HeartsError` or a subclass. The
message names the argument, the value and the fix.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env.support.errors import (
    DealError,
    HeartsError,
    IllegalActionError,
    did_you_mean,
    quoted,
)

MAX_SEED = 2**63 - 1
_TEXT = (str, bytes, bytearray, memoryview)


def whole(value: object) -> int | None:
    """Return `value` as an int of any size, or None if it is not a whole number."""
    if value.__class__ is int:  # the usual case
        return value
    if isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype == "?"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def only(value: object) -> object:
    """Return the element of an array of size one, and anything else unchanged."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(())[()]
    return value


def listed(value: object) -> Sequence[Any] | None:
    """Return the elements of a list, tuple, range or array. Return None for other values.

    Text and bytes are sequences of characters, not lists: b"2C" is not the numbers 50 and 67.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, _TEXT):
        return value
    return None


def is_word(value: object) -> bool:
    """Return whether a value is text. An array compared with a word does not give a bool.

    This is a function because type checkers reject the test on values declared as text.
    """
    return isinstance(value, str)


def check_number(
    name: str,
    value: object,
    low: int,
    high: int | None,
    error: type[HeartsError] = HeartsError,
    other: str = "",
) -> int:
    """Return `value` as a whole number from `low` to `high`, without a bound if `high` is None.

    `other` ends the message with another choice, such as ", or None".
    """
    number = whole(value)
    if number is not None and low <= number and (high is None or number <= high):
        return number
    wrong = "is not a whole number" if number is None else "is out of range"
    span = f"{low:,} or more" if high is None else f"{low:,} to {_show(high)}"
    raise error(f"{name}: {quoted(value)} {wrong}; give {span}{other}")


def _show(bound: int) -> str:
    """Return a bound as text for a message."""
    return "2**63 - 1" if bound == MAX_SEED else f"{bound:,}"


def check_count(name: str, value: object, bound: int) -> int:
    """Return `value` as a whole number from 0 to `bound` - 1, or raise `DealError`."""
    return check_number(name, value, 0, bound - 1, DealError)


def check_seed(seed: object) -> int:
    """Return `seed` as a whole number from 0 to 2**63 - 1, or raise `DealError`."""
    return check_number("seed", seed, 0, MAX_SEED, DealError)


def check_any_seed(seed: object) -> int:
    """Return the seed of an agent as a whole number of 0 or more, of any size."""
    return check_number("seed", seed, 0, None, other=", or None")


def check_player(player: object, players: int) -> int:
    """Return `player` as a seat from 0 to `players` - 1."""
    return check_number("player", player, 0, players - 1)


def check_max_deals(max_deals: int | None, episode: str) -> int | None:
    """Return the number of deals after which a match is cut off, or None."""
    if max_deals is None:
        return None
    if episode != "match":
        raise HeartsError(
            f"max_deals: {quoted(max_deals)}, but the episode is one deal; "
            'leave it out, or take episode="match"'
        )
    return check_number("max_deals", max_deals, 1, None, other=", or None")


def check_chance(name: str, value: object) -> float:
    """Return `value` as a probability."""
    return check_range(name, value, 0, 1)


def check_range(name: str, value: object, low: float, high: float, other: str = "") -> float:
    """Return `value` as a number from `low` to `high`. `other` ends the message."""
    number = _finite(value)
    if number is None or not low <= number <= high:
        raise HeartsError(
            f"{name}: {quoted(value)} is not in [{low:g}, {high:g}]; give a number that is{other}"
        )
    return number


def check_positive(name: str, value: object, other: str = "") -> float:
    """Return `value` as a number above 0. `other` ends the message."""
    number = _finite(value)
    if number is None or number <= 0:
        raise HeartsError(f"{name}: {quoted(value)} is not a number above 0; give one{other}")
    return number


def check_finite(name: str, value: object) -> float:
    """Return `value` as a number of either sign."""
    number = _finite(value)
    if number is None:
        raise HeartsError(f"{name}: {quoted(value)} is not a finite number; give one")
    return number


def _finite(value: object) -> float | None:
    """Return `value` as a float, or None if it is not a finite number within a float's range."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def check_flag(name: str, value: object, error: type[HeartsError] = HeartsError) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{name}: {quoted(value)} is unknown; give True or False")
    return bool(value)


def check_is(
    name: str, value: object, kind: type, fix: str, error: type[HeartsError] = HeartsError
) -> None:
    """Raise unless a value has the type `kind`. `fix` ends the message."""
    if not isinstance(value, kind):
        raise error(f"{name}: {type(value).__name__} is not a {kind.__name__}; {fix}")


def check_path(name: str, value: object, error: type[HeartsError] = HeartsError) -> Path:
    """Return `value` as a path if it is a text or a path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if isinstance(text, str) and "\0" not in text:
        return Path(text)
    raise error(f"{name}: {quoted(value)} is not a path; give a text or a pathlib.Path")


def check_choice(field: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        near = did_you_mean(quoted(value).strip("\"'"), choices)
        raise HeartsError(f"{field}: {quoted(value)} is unknown; {near}")
    return value


def check_array(
    name: str, value: object, like: NDArray[Any], *, has_infinite: bool = False
) -> NDArray[Any]:
    """Return `value` if it is an array of finite numbers with the shape and dtype of `like`.

    With `has_infinite`, a number need not be finite where the number of `like` is not.
    """
    if not isinstance(value, np.ndarray) or (value.shape, value.dtype) != (like.shape, like.dtype):
        found = f"{value.shape} {value.dtype}" if isinstance(value, np.ndarray) else "no array"
        raise HeartsError(f"{name}: found {found}; give {like.shape} {like.dtype}")
    if value.dtype.kind == "f":
        is_fine = np.isfinite(value) | (~np.isfinite(like) if has_infinite else False)
        if not is_fine.all():
            raise HeartsError(f"{name}: not all values are finite; correct them")
    return value


def whole_numbers(value: object) -> NDArray[np.int64] | None:
    """Return `value` as a contiguous, writeable int64 array, or None if it has no whole numbers.

    An array that already fits is returned without a copy. Compiled functions get only this kind of
    array, because each kind would compile them again.
    """
    if isinstance(value, _TEXT):
        return None
    try:
        array: NDArray[Any] = np.asarray(value)
    except (ValueError, TypeError, OverflowError):  # such as lists of unequal length
        return None
    if array.dtype.kind not in "iu":
        return None
    if array.dtype == np.int64 and array.flags.carray:
        return array
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        return None
    return array.astype(np.int64, order="C")


def check_numbers(
    name: str,
    value: object,
    size: int,
    span: tuple[int, int] | None = None,
    error: type[HeartsError] = HeartsError,
) -> NDArray[np.int64]:
    """Return `size` whole numbers within `span`, as ``whole_numbers`` does."""
    found = whole_numbers(value)
    if (
        found is None
        or found.shape != (size,)
        or (span and ((found < span[0]).any() or (found > span[1]).any()))
    ):
        shown = quoted(value)
        if isinstance(value, np.ndarray):
            shown = f"shape {value.shape} and dtype {value.dtype}"
        between = "" if span is None else f" from {_show(span[0])} to {_show(span[1])}"
        fix = f"give {size} whole numbers{between}"
        raise error(f"{name}: {shown} does not fit; {fix}")
    return found


def action_number(action: object) -> int:
    """Return an action as an int, or raise `IllegalActionError`."""
    number = whole(only(action))
    if number is None:
        raise IllegalActionError(
            f"action: {quoted(action)} is not a whole number; action i is the card rules.deck[i]"
        )
    return number
