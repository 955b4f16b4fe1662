"""Checks of arguments, for everything that users call: one home, so that all answer alike.

A whole number is what ``operator.index`` takes, but for True and False; a message names the
argument, the value and what to give.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
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

RENAMED = {"mask": "action_mask", "texts": "text_infos"}
"""Arguments that have another name now, by the old one."""


def unexpected_keyword(function: str, name: str, known: Sequence[str]) -> TypeError:
    """The error for an unknown keyword `name` of `function`: Python's own words, then the hint.

    Libraries look for these words in the message. TorchRL's ``GymEnv`` tries ``frameskip``, and
    continues without it where they are there.
    """
    new = RENAMED.get(name, "")
    hint = f"it is called {new!r} now" if new in known else did_you_mean(name, known)
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}; {hint}")


def whole(value: object) -> int | None:
    """`value` as an int, of any size; None if it is not a whole number."""
    if value.__class__ is int:  # as mostly
        return value
    if isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype == "?"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def only(value: object) -> object:
    """The element of an array that has just one; anything else as it is."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(())[()]
    return value


def is_word(value: object) -> bool:
    """Whether it is text at all: arrays and the like cannot even be compared with a word.

    A function, as the type checker would refuse to ask this of what is declared to be text.
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
    """`value` as a whole number from `low` to `high`.

    Args:
        name: the argument, which begins the message.
        value: what was given.
        low: the least allowed.
        high: the greatest allowed; None: any.
        error: what is raised.
        other: ends the message: what else could be given.

    Raises:
        HeartsError: if it is not a whole number, or out of range.
    """
    number = whole(value)
    if number is not None and low <= number and (high is None or number <= high):
        return number
    wrong = "is not a whole number" if number is None else "is out of range"
    span = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
    raise error(f"{name}: {quoted(value)} {wrong}; give {span}{other}", value=value)


def check_count(name: str, value: object, bound: int) -> int:
    """`value` as a whole number from 0 to `bound` - 1.

    Raises:
        DealError: if `value` is something else.
    """
    return check_number(name, value, 0, bound - 1, DealError)


def check_seed(seed: object) -> int:
    """`seed` as a whole number from 0 to 2**63 - 1.

    Raises:
        DealError: if `seed` is something else.
    """
    number = whole(seed)
    if number is None:
        raise DealError(
            f"seed: {quoted(seed)} is not a whole number; give one from 0 to 2**63 - 1", value=seed
        )
    if not 0 <= number <= MAX_SEED:
        raise DealError(
            f"seed: {quoted(number)} is out of range; give one from 0 to 2**63 - 1", value=seed
        )
    return number


def check_any_seed(seed: object) -> int:
    """`seed` as a whole number from 0, of any size.

    Raises:
        HeartsError: if it is negative or not a whole number.
    """
    number = whole(seed)
    if number is None or number < 0:
        raise HeartsError(
            f"seed: {quoted(seed)} is not a whole number from 0; give one, or None", value=seed
        )
    return number


def check_player(player: object, players: int) -> int:
    """`player` as one of the seats.

    Raises:
        HeartsError: if `player` is not a seat, a whole number from 0 to `players` - 1.
    """
    return check_number("player", player, 0, players - 1)


def check_max_deals(max_deals: int | None, episode: str) -> int | None:
    """The number of deals after which a match is cut off, or None.

    Raises:
        HeartsError: if it is not a number of deals, or the episode is not a match.
    """
    if max_deals is None:
        return None
    if episode != "match":
        raise HeartsError(
            f"max_deals: {quoted(max_deals)}, but the episode is one deal; "
            'leave it out, or take episode="match"',
            value=max_deals,
        )
    return check_number("max_deals", max_deals, 1, None, other=", or None")


def check_chance(name: str, value: object) -> float:
    """`value` as a probability.

    Raises:
        HeartsError: if it is not a number in [0, 1].
    """
    return check_range(name, value, 0, 1)


def check_range(name: str, value: object, low: float, high: float, other: str = "") -> float:
    """`value` as a number from `low` to `high`.

    Args:
        name: the argument, which begins the message.
        value: what was given.
        low: the least allowed.
        high: the greatest allowed.
        other: ends the message.

    Raises:
        HeartsError: if it is not a number, or out of range.
    """
    number = _finite(value)
    if number is None or not low <= number <= high:
        raise HeartsError(
            f"{name}: {quoted(value)} is not in [{low:g}, {high:g}]; give a number that is{other}",
            value=value,
        )
    return number


def check_positive(name: str, value: object, other: str = "") -> float:
    """`value` as a number above 0; `other` ends the message, and says what else could be given.

    Raises:
        HeartsError: if it is not a number, or infinite.
    """
    number = _finite(value)
    if number is None or number <= 0:
        raise HeartsError(
            f"{name}: {quoted(value)} is not a number above 0; give one{other}", value=value
        )
    return number


def check_finite(name: str, value: object) -> float:
    """`value` as a number of either sign.

    Raises:
        HeartsError: if it is not a number, or infinite.
    """
    number = _finite(value)
    if number is None:
        raise HeartsError(f"{name}: {quoted(value)} is not a finite number; give one", value=value)
    return number


def _finite(value: object) -> float | None:
    """`value` as a float; None if it is not a number, not finite, or too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def check_flag(name: str, value: object, error: type[HeartsError] = HeartsError) -> bool:
    """`value`, True or False.

    Raises:
        HeartsError: if it is anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise error(f"{name}: {quoted(value)} is unknown; give True or False", value=value)
    return bool(value)


def check_is(
    name: str, value: object, kind: type, fix: str, error: type[HeartsError] = HeartsError
) -> None:
    """Refuse a value of another type.

    Raises:
        HeartsError: if `value` is of another kind; `fix` says what to give.
    """
    if not isinstance(value, kind):
        raise error(f"{name}: {type(value).__name__} is not a {kind.__name__}; {fix}")


def is_plain_name(value: object) -> bool:
    """Whether a value can name something on a command line and in messages, on one line.

    That is text that can be printed, without space at its ends, and that is not an option.
    """
    return (
        isinstance(value, str)
        and value.isprintable()
        and value.strip() == value != ""
        and not value.startswith("-")
    )


def check_choice(field: str, value: object, choices: Sequence[str]) -> str:
    """`value`, one of `choices`.

    Raises:
        HeartsError: if `value` is not one of them.
    """
    if not isinstance(value, str) or value not in choices:
        near = did_you_mean(quoted(value).strip("\"'"), choices)
        raise HeartsError(f"{field}: {quoted(value)} is unknown; {near}", value=value)
    return value


def check_array(name: str, value: object, like: NDArray[Any]) -> NDArray[Any]:
    """`value`, an array of the shape and dtype of `like`, with finite numbers only.

    Raises:
        HeartsError: if `value` is something else.
    """
    if not isinstance(value, np.ndarray) or (value.shape, value.dtype) != (like.shape, like.dtype):
        found = f"{value.shape} {value.dtype}" if isinstance(value, np.ndarray) else "no array"
        raise HeartsError(f"{name}: found {found}; needed is {like.shape} {like.dtype}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise HeartsError(f"{name}: not all values are finite; correct them")
    return value


def array_in_memory(name: str, value: object) -> NDArray[Any]:
    """`value` as a NumPy array that shares its memory: one of NumPy, or of the CPU and DLPack.

    Raises:
        HeartsError: if `value` is something else, or lies elsewhere.
    """
    if isinstance(value, np.ndarray):
        return value
    kind = type(value).__name__
    if not isinstance(value, type) and hasattr(value, "__dlpack_device__"):
        try:
            if int(value.__dlpack_device__()[0]) in _MAIN_MEMORY:
                first, second = np.asarray(value), np.asarray(value)
                if np.may_share_memory(first, second) or not first.size:  # neither is a copy
                    return first
        except Exception as error:  # any library's: it wants a gradient, or knows another dtype
            raise HeartsError(f"{name}: {kind}: {str(error)[:200]}; give a NumPy array") from None
    raise HeartsError(f"{name}: {kind} is not an array in main memory; give a NumPy array")


_MAIN_MEMORY = (1, 3)
"""DLPack's numbers of the CPU's memory, and of that which a GPU can reach too."""


def whole_numbers(value: object) -> NDArray[np.int64] | None:
    """`value` as a contiguous, writeable int64 array; None: it is not an array of whole numbers.

    An array that is all that already is returned itself. Compiled functions get nothing else, or
    they would be compiled once more for every other kind of array.
    """
    try:
        array: NDArray[Any] = np.asarray(value)
    except (ValueError, TypeError, OverflowError):  # lists of unequal length
        return None
    if array.dtype.kind not in "iu":
        return None
    if array.dtype == np.int64 and array.flags.carray:
        return array
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        return None
    return array.astype(np.int64, order="C")


def check_actions(actions: object, size: int) -> NDArray[np.int64]:
    """`actions` as ``whole_numbers``, one for each of `size` games.

    Raises:
        HeartsError: if they are something else.
    """
    found = whole_numbers(actions)
    if found is None or found.shape != (size,):
        shown = quoted(actions)
        if isinstance(actions, np.ndarray):
            shown = f"shape {actions.shape} and dtype {actions.dtype}"
        raise HeartsError(f"actions: {shown}; give one whole number for each of {size} games")
    return found


def check_seeds(seeds: object, size: int) -> NDArray[np.int64]:
    """`seeds` as ``whole_numbers``, one for each of `size` games.

    Raises:
        DealError: if they are something else, or one is below 0.
    """
    found = whole_numbers(seeds)
    if found is None or found.shape != (size,) or (found < 0).any():
        raise DealError(
            f"seeds: {quoted(seeds)} cannot be used; give {size} whole numbers from 0 to 2**63 - 1",
            value=seeds,
        )
    return found


def illegal_actions(
    games: NDArray[np.int64], actions: NDArray[np.int64], *, any_over: bool
) -> IllegalActionError:
    """What is raised for the illegal `actions` of these games, of which some may be over."""
    shown = ", ".join(f"game {g}: {a}" for g, a in zip(games[:5], actions[:5], strict=True))
    shown += ", ..." if len(games) > 5 else ""
    waits = ", and reset finished games" if any_over else ""
    return IllegalActionError(
        f"actions: {len(games)} illegal ({shown}), nothing was played; "
        f"take them from the masks{waits}"
    )
