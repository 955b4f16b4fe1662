"""What the environments' infos say of a deal: always the same keys, with the same types.

While a deal is played they hold the values of ``no_result``: zeros, -1 for nobody and "" for no
text. Nothing in them leads to a hidden card before the deal is over.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.rules.rules import Rules
from hearts_env.support.jit import DirectCall

_write_result = DirectCall(k.write_result)
NOBODY = np.int64(-1)
"""No seat; also no seed: before the end of an episode its seed stays secret."""


def no_result(rules: Rules, *, is_match: bool) -> dict[str, Any]:
    """What infos hold before a deal is over; nobody can write to its arrays."""
    result: dict[str, Any] = {
        "scores": np.zeros(rules.players, np.int64),
        "points": np.zeros(rules.players, np.int64),
        "shooter": NOBODY,
        "offender": NOBODY,
        "deal": "",
    }
    if rules.settlement != "points":
        result["chips"] = np.zeros(rules.players)
    if is_match:
        result |= {"totals": np.zeros(rules.players), "winner": NOBODY}
    return read_only_values(result)


def result_of(
    game: Game, match: Match | None = None, *, offender: int | None = None
) -> dict[str, Any]:
    """What infos hold after a deal has ended, but for its text: `DeferredDeal`.

    Nobody can write to its arrays, so that agents may share them.

    Args:
        game: the deal.
        match: the match around it, if it is one, the deal settled.
        offender: the seat that ended it by an illegal action; None: whoever the game names.
    """
    rules, n = game.rules, game.rules.players
    numbers = np.empty(2 * n + 2, np.int64)
    _write_result.call(rules.vector, game.vector, numbers)
    numbers = read_only(numbers)
    result: dict[str, Any] = {
        "scores": numbers[:n],
        "points": numbers[n:-2],
        "shooter": numbers[-2],
        "offender": numbers[-1] if offender is None else np.int64(offender),
        "deal": "",
    }
    if rules.settlement != "points":
        net = game.chips() if match is None or not game.is_over else match.last_net
        result["chips"] = read_only(np.array([float(chips) for chips in net]))
    if match is not None:
        result["totals"] = read_only(np.array([float(total) for total in match.totals]))
        result["winner"] = seat_number(match.winner)
    return result


def without_texts(info: dict[str, Any]) -> dict[str, Any]:
    """The entries of `info` that are numbers or arrays of them."""
    return {key: value for key, value in info.items() if not isinstance(value, str)}


class DeferredDeal(dict[str, Any]):
    """An info whose ``deal`` is written when it is first read; otherwise an ordinary dictionary.

    To write a deal as text takes about a hundred times as long as to play it in the compiled
    loop, and most programs that learn never read it. One that is made of another's items, as
    libraries that walk through nested data do, has the text among them.
    """

    __slots__ = ("_write",)

    def __init__(self, info: Any = (), write: Callable[[], Any] | None = None) -> None:
        """The items of `info`; `write` returns the value of ``deal``. None: it is among them."""
        dict.__init__(self, info)
        self._write = write

    def _complete(self) -> None:
        if self._write is not None:
            write, self._write = self._write, None
            super().__setitem__("deal", write())

    def __getitem__(self, key: str) -> Any:
        if key == "deal":
            self._complete()
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        if key == "deal":
            self._complete()
        return super().get(key, default)

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "deal":
            self._write = None
        super().__setitem__(key, value)

    def __iter__(self) -> Iterator[str]:
        """The keys; as this is not the method of ``dict``, ``dict(info)`` asks for each value."""
        return super().__iter__()

    def copy(self) -> DeferredDeal:
        """A shallow copy; its deal, too, is written when it is read."""
        return DeferredDeal(super().items(), self._write)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeferredDeal:
        return DeferredDeal(copy.deepcopy(dict(super().items()), memo), self._write)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _completing(name: str) -> Any:
    """The method of ``dict``, called when the deal has been written."""
    method = getattr(dict, name)

    @functools.wraps(method)
    def complete(self: DeferredDeal, *args: Any, **named: Any) -> Any:
        self._complete()
        return method(self, *args, **named)

    return complete


for _name in ("items", "values", "pop", "popitem", "setdefault", "update", "clear"):
    setattr(DeferredDeal, _name, _completing(_name))
for _name in ("delitem", "eq", "ne", "or", "ror", "ior", "repr"):
    setattr(DeferredDeal, f"__{_name}__", _completing(f"__{_name}__"))


def seat_number(seat: int | None) -> np.int64:
    """A seat as infos have it: -1 for nobody."""
    return NOBODY if seat is None else np.int64(seat)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of `array` that can be handed out again and again: nobody can write to it."""
    if array.dtype.hasobject:  # has no bytes of its own
        frozen = array.copy()
        frozen.flags.writeable = False
        return frozen
    row = np.frombuffer(array.tobytes(), array.dtype)
    return row if array.ndim == 1 else row.reshape(array.shape)


def read_only_values(info: dict[str, Any]) -> dict[str, Any]:
    """`info` with arrays that nobody can write to, so that agents and steps may share them."""
    return {
        key: read_only(value) if isinstance(value, np.ndarray) else value
        for key, value in info.items()
    }
