"""Replay buffers: the latest decisions, or a uniform sample of all (a reservoir).

Tensors of zeros and ones are packed into bits, so that hundreds of thousands of decisions are a few
megabytes of a run's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.solve.tree import DEFAULT_MEMORY, format_gigabytes
from hearts_env.support.arguments import check_array
from hearts_env.support.arrays import Array, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import ConfigError


class Column(NamedTuple):
    """A column of a buffer: one array of each decision."""

    shape: tuple[int, ...]
    dtype: np.dtype
    is_bits: bool = False
    """Whether there are zeros and ones only."""
    below: int | None = None
    """The upper bound, exclusive, of its numbers from 0."""

    @property
    def size(self) -> int:
        """How many numbers a decision has."""
        return int(np.prod(self.shape))

    def empty(self, rows: int) -> Array:
        """An array for this many rows."""
        if self.is_bits:
            return np.zeros((rows, -(-self.size // 8)), np.uint8)
        return np.zeros((rows, *self.shape), self.dtype)

    def pack(self, rows: Array) -> Array:
        """The rows as stored."""
        return np.packbits(rows.reshape(len(rows), self.size), axis=1) if self.is_bits else rows

    def unpack(self, stored: Array) -> Array:
        """The rows as given."""
        if not self.is_bits:
            return stored
        bits = np.unpackbits(stored, axis=1, count=self.size)
        return bits.reshape(len(stored), *self.shape).astype(self.dtype, copy=False)


def seen(encoder: Encoder, rules: Rules) -> Column:
    """The column of observations."""
    space = encoder.space(rules)
    is_bits = bool(space.dtype == np.int8 and (space.low == 0).all() and (space.high == 1).all())
    return Column(space.shape, space.dtype, is_bits)


def legal(rules: Rules) -> Column:
    """The column of legal-action masks."""
    return Column((rules.num_actions,), np.dtype(np.int8), is_bits=True)


def action_number(rules: Rules) -> Column:
    """The column of actions."""
    narrowest = np.uint8 if rules.num_actions < 256 else np.int64
    return Column((), np.dtype(narrowest), below=rules.num_actions)


def check_size(name: str, capacity: int, columns: Mapping[str, Column], observation: str) -> None:
    """Refuse a buffer that takes more than ``DEFAULT_MEMORY`` with a number that fits.

    `name` is the setting of its capacity, in decisions; `observation` the name of the encoder.
    """
    row = sum(column.empty(1).nbytes for column in columns.values())
    if capacity * row > DEFAULT_MEMORY * 1e9:
        raise ConfigError(
            f"{name}: {capacity} decisions take {format_gigabytes(capacity * row / 1e9)} as "
            f"{observation} shows them, of at most {format_gigabytes(DEFAULT_MEMORY)}; give "
            f"{int(DEFAULT_MEMORY * 1e9 // row)} or less, or take another env.observation"
        )


class Memory:
    """A ring buffer of the latest decisions: a new one replaces the oldest."""

    def __init__(self, capacity: int, columns: Mapping[str, Column]) -> None:
        """Make an empty buffer for `capacity` decisions with these columns."""
        self.capacity = capacity
        self.columns = columns
        self.count = 0
        """The decisions ever offered."""
        self._stored = {name: column.empty(capacity) for name, column in columns.items()}

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    def add(self, rows: Mapping[str, Array], rng: np.random.Generator) -> None:
        """Offer decisions in the order in which they were made, for each column ``(n, *shape)``.

        `rng` draws which ones enter a reservoir.
        """
        places = self._places(len(next(iter(rows.values()))), rng)
        chosen = np.flatnonzero(places < self.capacity)
        for name, column in self.columns.items():  # the last one written to a place stays
            self._stored[name][places[chosen]] = column.pack(rows[name][chosen])
        self.count += len(places)

    def _places(self, number: int, _: np.random.Generator) -> Ints:
        """The place of each of `number` decisions; ``capacity`` or more: not stored."""
        return (self.count + np.arange(number)) % self.capacity

    def read(self, places: Ints) -> Tensors:
        """The decisions at these places, by column."""
        return {
            name: column.unpack(self._stored[name][places]) for name, column in self.columns.items()
        }

    # -- saving ------------------------------------------------------------------------------------
    def state(self) -> Tensors:
        """The whole buffer, new arrays by name."""
        stored = {name: array[: len(self)].copy() for name, array in self._stored.items()}
        return stored | {"count": np.array(self.count)}

    def restore(self, state: Mapping[str, Array], name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        count = int(check_array(f"{name}/count", state.get("count"), np.array(0)))
        if count < 0:
            raise HeartsError(
                f"{name}/count: it is not a whole number from 0; take another checkpoint"
            )
        for key, column in self.columns.items():
            own = self._stored[key][: min(count, self.capacity)]
            own[:] = check_array(f"{name}/{key}", state.get(key), own)
            if column.below is not None and not ((own >= 0) & (own < column.below)).all():
                raise HeartsError(
                    f"{name}/{key}: not all in [0, {column.below}); take another checkpoint"
                )
        self.count = count


class Reservoir(Memory):
    """A reservoir: a uniform sample of all decisions ever offered (Vitter 1985, alg. R).

    With a minimum probability above 0 each new decision enters with at least that, so that old ones
    fade (exponential averaging: Osborne et al. 2014).
    """

    def __init__(
        self, capacity: int, columns: Mapping[str, Column], min_reservoir_prob: float = 0.0
    ) -> None:
        super().__init__(capacity, columns)
        self.min_reservoir_prob = min_reservoir_prob

    def _places(self, number: int, rng: np.random.Generator) -> Ints:
        before = self.count + np.arange(number)
        chances = np.maximum(self.capacity / (before + 1), self.min_reservoir_prob)
        drawn = np.where(
            rng.random(number) < chances, rng.integers(self.capacity, size=number), self.capacity
        )
        return np.where(before < self.capacity, before, drawn)
