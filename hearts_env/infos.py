"""What the environments' infos say about a deal: always the same keys, with the same types.

While a deal is played they hold the values of ``no_result``: zeros, -1 for nobody and "" for no
text. Nothing in them leads to a hidden card before the deal is over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env.game import Game
from hearts_env.match import Match
from hearts_env.rules import Rules

NOBODY = np.int64(-1)
"""No seat; also no seed: before the end of an episode its seed stays untold."""


def no_result(rules: Rules, *, is_match: bool) -> dict[str, Any]:
    """What infos hold before a deal is over; the arrays are new."""
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
    return result


def result_of(
    game: Game, match: Match | None = None, *, offender: int | None = None
) -> dict[str, Any]:
    """What infos hold about a deal that has ended; the arrays are new.

    Args:
        game: the deal.
        match: the match around it, if it is one, the deal settled.
        offender: the seat that ended it by an illegal action; None: whoever the game names.
    """
    result: dict[str, Any] = {
        "scores": np.array(game.scores(), np.int64),
        "points": np.array(game.points(), np.int64),
        "shooter": seat_number(game.shooter),
        "offender": seat_number(game.revoker if offender is None else offender),
        "deal": game.to_text(),
    }
    if game.rules.settlement != "points":
        net = game.chips() if match is None or not game.is_over else match.last_net
        result["chips"] = np.array([float(chips) for chips in net])
    if match is not None:
        result["totals"] = np.array([float(total) for total in match.totals])
        result["winner"] = seat_number(match.winner)
    return result


def seat_number(seat: int | None) -> np.int64:
    """A seat as infos have it: -1 for nobody."""
    return NOBODY if seat is None else np.int64(seat)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of `array` that can be handed out again and again: nobody can write to it."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def read_only_values(info: dict[str, Any]) -> dict[str, Any]:
    """`info` with arrays that nobody can write to, so that agents and steps may share them."""
    return {
        key: read_only(value) if isinstance(value, np.ndarray) else value
        for key, value in info.items()
    }
