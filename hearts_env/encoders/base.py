"""The protocol of encoders, and a base class for fast ones."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from gymnasium import spaces

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.views.view import PlayerView, view_of


@runtime_checkable
class Encoder(Protocol):
    """Writes a player's view as an array. Any object with these two methods is an encoder."""

    def space(self, rules: Rules) -> spaces.Box:
        """Return the space of one observation: shape, dtype and bounds."""

    def write(self, view: PlayerView, out: Array) -> None:
        """Write the observation of `view` over `out`, an array of the space's shape and dtype."""


class BatchEncoder:
    """A base class for encoders that write many observations in one call of `write_many`.

    `write_many` gets states, possibly with hidden cards, and must read only what the observer may
    know. Encoders of one class with equal fields are equal.
    """

    name = ""

    def space(self, rules: Rules) -> spaces.Box:
        """Return the space of one observation."""
        raise NotImplementedError

    def write(self, view: PlayerView, out: Array) -> None:
        """Write the observation of `view` over `out`, in place.

        Raises:
            HeartsError: if `out` does not have the space's shape and dtype. Nothing is written.
        """
        self.write_state(view.rules, view.vector, view.player, out)

    def write_state(self, rules: Rules, state: k.Vector, player: int, out: Array) -> None:
        """Write the observation that `player` has of `state`, without making a view."""
        check_row(self, rules, out)
        rows = out.view(np.ndarray)[np.newaxis]
        self.write_many(rules, state[np.newaxis], _FIRST, np.array([player]), rows)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write the observation that ``players[i]`` has of ``states[games[i]]`` over ``out[i]``.

        Args:
            rules: the rules of all states.
            states: ``(num_states, rules.state_size) int64``.
            games: rows of `states`, ``(n,) int64``.
            players: the observing seats, ``(n,) int64``.
            out: ``(n, *shape)`` of the space's dtype, written in place.
        """
        for row, (game, player) in enumerate(zip(games.tolist(), players.tolist(), strict=True)):
            self.write(view_of(rules, states[game], player), out[row])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_FIRST = np.zeros(1, np.int64)


def check_row(encoder: Encoder, rules: Rules, out: Array) -> None:
    """Raise unless `out` can hold an observation. Compiled code would write out of bounds."""
    shape, dtype = _shape_and_dtype(cast(Hashable, encoder), rules)
    is_array = isinstance(out, np.ndarray)  # or a memmap
    if is_array and out.shape == shape and out.dtype == dtype and out.flags.writeable:
        return
    needed = f"needed is a NumPy array of shape {shape} and dtype {dtype} that can be written to"
    if not is_array:
        raise HeartsError(f"out: {quoted(out)}; {needed}")
    found = f"shape {out.shape} and dtype {out.dtype}" + ", read-only" * (not out.flags.writeable)
    raise HeartsError(f"out: {found}; {needed}")


@functools.lru_cache(maxsize=256)
def _shape_and_dtype(encoder: Hashable, rules: Rules) -> tuple[tuple[int, ...], Any]:
    """Return the shape and dtype of an observation, cached because making a space is slow."""
    space = cast(Encoder, encoder).space(rules)
    return space.shape, space.dtype
