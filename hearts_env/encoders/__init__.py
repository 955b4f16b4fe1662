"""Encoders, which write observations, and their registry by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

import numpy as np

from hearts_env.encoders.base import BatchEncoder, Encoder, shape_and_dtype
from hearts_env.encoders.flat import FlatEncoder, step_row
from hearts_env.encoders.history import HistoryEncoder, TextEncoder
from hearts_env.encoders.ranked import RankedEncoder, RecallEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import is_word
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError, did_you_mean, quoted
from hearts_env.views.view import PlayerView, view_of

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

    A second encoder of the same name replaces the first.

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


def writer_of(observation: str | Encoder) -> Writer:
    """Return the function that writes an encoder's observations from a state.

    Built-in encoders read the state directly. All others, including their subclasses, get a view.

    Raises:
        HeartsError: as ``make_encoder``.
    """
    encoder = make_encoder(observation)
    if type(encoder) in _OWN_TYPES:
        return encoder.write_state  # type: ignore[attr-defined]
    return lambda rules, state, player, out: encoder.write(view_of(rules, state, player), out)


def observation_form(observation: str | Encoder, rules: Rules) -> tuple[tuple[int, ...], Any]:
    """Return the shape and dtype of an observation, cached for built-in encoders.

    Raises:
        HeartsError: as ``make_encoder``.
    """
    encoder = make_encoder(observation)
    if type(encoder) in _OWN_TYPES:
        return shape_and_dtype(cast(Hashable, encoder), rules)
    space = encoder.space(rules)
    return space.shape, space.dtype


def _check(encoder: Encoder, argument: str) -> Encoder:
    if isinstance(encoder, type) or not isinstance(encoder, Encoder):
        raise HeartsError(
            f"{argument}: {quoted(encoder)} is not an encoder; it needs space(rules) and "
            "write(view, out)"
        )
    return encoder


def write_many(
    encoder: Encoder,
    rules: Rules,
    states: Array,
    games: Array,
    players: Array,
    out: Array,
) -> None:
    """Write many observations: with the encoder's ``write_many``, else view by view.

    The arguments are those of ``BatchEncoder.write_many``.
    """
    if isinstance(encoder, BatchEncoder) and _writes_many(cast(Hashable, type(encoder))):
        encoder.write_many(rules, states, games, players, out)
    else:
        BatchEncoder.write_many(encoder, rules, states, games, players, out)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=256)
def _writes_many(kind: Any) -> bool:
    """Return True if a class inherits no ``write_many`` that is older than its ``write``.

    A subclass that overrides ``write`` alone would otherwise get observations of its base class.
    """
    ways = {"write", "write_many"}
    return "write_many" in next(own for c in kind.__mro__ if (own := ways & vars(c).keys()))


def step_of(encoder: Encoder) -> Callable[[Array, Array, int, Array, Array], int] | None:
    """Return the compiled step that also writes the encoder's observations, or None."""
    # A subclass may write something else.
    return step_row if type(encoder) is FlatEncoder else None


def encode(encoder: Encoder, view: PlayerView) -> Array:
    """Return the observation of `view`, a new array of the encoder's space."""
    space = encoder.space(view.rules)
    out = np.zeros(space.shape, space.dtype)
    encoder.write(view, out)
    return out


__all__ = [
    "ENCODERS",
    "BatchEncoder",
    "Encoder",
    "FlatEncoder",
    "HistoryEncoder",
    "TextEncoder",
    "encode",
    "make_encoder",
    "register_encoder",
    "step_of",
    "write_many",
]
