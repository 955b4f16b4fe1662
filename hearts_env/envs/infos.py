"""The environments' infos about a deal, with the same keys and types at every step.

During a deal infos have the constant values of ``no_result``, which reveal no hidden card: zeros,
and -1 for no seat.
"""

from __future__ import annotations

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
"""No seat, or no single opponent."""


def no_result(rules: Rules, *, is_match: bool) -> dict[str, Any]:
    """Return the info values during a deal. The arrays are read-only."""
    result: dict[str, Any] = {
        "scores": np.zeros(rules.players, np.int64),
        "points": np.zeros(rules.players, np.int64),
        "shooter": NOBODY,
        "offender": NOBODY,
    }
    if rules.settlement != "points":
        result["chips"] = np.zeros(rules.players)
    if is_match:
        result |= {"totals": np.zeros(rules.players), "winner": NOBODY}
    return read_only_values(result)


def result_of(
    game: Game, match: Match | None = None, *, offender: int | None = None
) -> dict[str, Any]:
    """Return the info values after a deal. The arrays are read-only, so agents may share them.

    Args:
        game: the deal.
        match: the match in which the deal has been settled. If None, the episode is a single deal.
        offender: the seat that ended the episode by an illegal action. If None, ``game.revoker``.
    """
    rules, n = game.rules, game.rules.players
    numbers = np.empty(2 * n + 2, np.int64)
    _write_result.call(rules.vector, game.vector, numbers)
    numbers.setflags(write=False)  # which makes its slices read-only, too
    result: dict[str, Any] = {
        "scores": numbers[:n],
        "points": numbers[n:-2],
        "shooter": numbers[-2],
        "offender": numbers[-1] if offender is None else np.int64(offender),
    }
    if rules.settlement != "points":
        net = game.chips() if match is None or not game.is_over else match.last_net
        result["chips"] = read_only(np.array([float(chips) for chips in net]))
    if match is not None:
        result["totals"] = read_only(np.array([float(total) for total in match.totals]))
        result["winner"] = seat_number(match.winner)
    return result


def seat_number(seat: int | None) -> np.int64:
    """Return a seat as an int64, -1 for None."""
    return NOBODY if seat is None else np.int64(seat)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy of `array`, which cannot be made writeable."""
    row = np.frombuffer(array.tobytes(), array.dtype)
    return row if array.ndim == 1 else row.reshape(array.shape)


def read_only_values(info: dict[str, Any]) -> dict[str, Any]:
    """Return `info` with read-only arrays, which agents and steps may share."""
    return {
        key: read_only(value) if isinstance(value, np.ndarray) else value
        for key, value in info.items()
    }
