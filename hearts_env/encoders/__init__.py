"""Encoders, which write observations, and their registry by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hearts_env.encoders.base import BatchEncoder, Encoder
from hearts_env.encoders.flat import FlatEncoder, step_row
from hearts_env.encoders.history import HistoryEncoder, TextEncoder
from hearts_env.encoders.ranked import RankedEncoder, RecallEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import is_word
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError, did_you_mean, quoted
from hearts_env.views.view import view_of

ENCODERS: dict[str, Any] = {
    encoder.name: encoder
    for encoder in (
        FlatEncoder(),
        RankedEncoder(),
        RecallEncoder(),
        HistoryEncoder(),
        TextEncoder(),
    )
}
"""All encoders by name."""

_OWN = frozenset(ENCODERS)
_OWN_TYPES = frozenset(map(type, ENCODERS.values()))

Writer = Callable[[Rules, Array, int, Array], None]
"""Writes the observation of a seat: called with rules, state, seat and array."""

OWN_WRITERS: Mapping[str, Writer] = {name: own.write_state for name, own in ENCODERS.items()}
"""The writers of the package's encoders, which read only what the seat may know."""


def register_encoder(name: str, encoder: Encoder) -> None:
    """Register an encoder under a name, which every `observation` argument then accepts.

    A later encoder of the same name replaces the earlier one.

    Raises:
        HeartsError: if `name` is not text or is the name of a built-in encoder, or `encoder` is
            not an Encoder.
    """
    _check(encoder, "encoder")
    if not is_word(name):
        raise HeartsError(f"name: {quoted(name)} is not text; give the encoder a name")
    if name in _OWN:
        raise HeartsError(f"name: {name!r} is a reserved name; choose another")
    ENCODERS[name] = encoder


def make_encoder(observation: str | Encoder) -> Encoder:
    """Return the encoder of a name, or `observation` itself if it is an encoder.

    Raises:
        HeartsError: if the name is unknown, or the object is not an Encoder.
    """
    if isinstance(observation, str):
        if observation not in ENCODERS:
            raise HeartsError(
                f"observation: no encoder {quoted(observation)}; "
                f"{did_you_mean(observation, ENCODERS)}"
            )
        return ENCODERS[observation]
    return observation if type(observation) in _OWN_TYPES else _check(observation, "observation")


class Encoding:
    """An encoder bound to rules, which writes the observations of states.

    Built-in encoders read states directly. All others, including their subclasses, get views.

    Attributes:
        encoder: the encoder.
        rules: the rules.
        shape: the shape of one observation.
        dtype: the dtype of observations.
        step: the compiled step that also writes the next observation, or None.
    """

    def __init__(self, encoder: Encoder, rules: Rules) -> None:
        """Bind an encoder. ``encoding`` keeps the bindings of built-in encoders."""
        space = encoder.space(rules)
        self.encoder, self.rules = encoder, rules
        self.shape, self.dtype = space.shape, space.dtype
        fast: Any = encoder
        is_own = type(encoder) in _OWN_TYPES
        self._write = fast.write_state if is_own else self._write_view
        self._write_many = (
            fast.write_many
            if _writes_many(type(encoder))
            else functools.partial(BatchEncoder.write_many, fast)  # view by view
        )
        # A subclass may write something else.
        self.step = step_row if type(encoder) is FlatEncoder else None

    def observe(self, state: Array, player: int, out: Array | None = None) -> Array:
        """Return the observation that `player` has of `state`, a new array if `out` is None.

        Raises:
            HeartsError: if a built-in encoder cannot write to `out`.
        """
        if out is None:
            out = np.zeros(self.shape, self.dtype)
        self._write(self.rules, state, player, out)
        return out

    def observe_many(
        self, states: Array, games: Array, players: Array, out: Array | None = None
    ) -> Array:
        """Return the observation that ``players[i]`` has of ``states[games[i]]`` for each i.

        The arguments are those of ``BatchEncoder.write_many``. If `out` is None, the result is a
        new array.
        """
        if out is None:
            out = np.zeros((len(games), *self.shape), self.dtype)
        self._write_many(self.rules, states, games, players, out)
        return out

    def _write_view(self, rules: Rules, state: Array, player: int, out: Array) -> None:
        self.encoder.write(view_of(rules, state, player), out)

    def __reduce__(self) -> tuple[Any, ...]:
        return encoding, (self.encoder, self.rules)


_own_encoding = functools.lru_cache(maxsize=256)(Encoding)


def encoding(observation: str | Encoder, rules: Rules) -> Encoding:
    """Return an encoder, or the encoder of a name, bound to rules.

    The bindings of built-in encoders are kept, because making a space is slow.

    Raises:
        HeartsError: if ``make_encoder`` refuses `observation`.
    """
    encoder: Any = make_encoder(observation)
    bind = _own_encoding if type(encoder) in _OWN_TYPES else Encoding
    return bind(encoder, rules)


def _writes_many(kind: type) -> bool:
    """Return True if the most derived class with ``write`` or ``write_many`` has ``write_many``.

    A subclass that overrides ``write`` alone would otherwise get observations of its base class.
    """
    ways = {"write", "write_many"}
    return issubclass(kind, BatchEncoder) and "write_many" in next(
        own for c in kind.__mro__ if (own := ways & vars(c).keys())
    )


def _check(encoder: Encoder, argument: str) -> Encoder:
    if isinstance(encoder, type) or not isinstance(encoder, Encoder):
        raise HeartsError(
            f"{argument}: {quoted(encoder)} is not an encoder; it needs space(rules) and "
            "write(view, out)"
        )
    return encoder


__all__ = [
    "ENCODERS",
    "BatchEncoder",
    "Encoder",
    "Encoding",
    "FlatEncoder",
    "HistoryEncoder",
    "TextEncoder",
    "encoding",
    "make_encoder",
    "register_encoder",
]
