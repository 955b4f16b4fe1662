"""Decisions that are learnt from more than once: the latest ones, or a fair sample of all.

What is zeros and ones is kept as bits, so that hundreds of thousands of decisions are a few
megabytes of a run's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.solve.tree import DEFAULT_MEMORY, format_gigabytes
from hearts_env.support.arguments import check_array
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError
from hearts_train.learn.config import ConfigError

Arrays = dict[str, Array]
Places = NDArray[np.int64]


class Column(NamedTuple):
    """What a memory keeps of each decision under one name."""

    shape: tuple[int, ...]
    dtype: np.dtype
    is_bits: bool = False
    """Whether there are zeros and ones only."""
    below: int | None = None
    """What its numbers, from 0, must be less than."""

    @property
    def size(self) -> int:
        """How many numbers there are of a decision."""
        return int(np.prod(self.shape))

    def empty(self, rows: int) -> Array:
        """Where this many rows can be kept."""
        if self.is_bits:
            return np.zeros((rows, -(-self.size // 8)), np.uint8)
        return np.zeros((rows, *self.shape), self.dtype)

    def pack(self, rows: Array) -> Array:
        """The rows as they are kept."""
        return np.packbits(rows.reshape(len(rows), self.size), axis=1) if self.is_bits else rows

    def unpack(self, kept: Array) -> Array:
        """The rows as they were given."""
        if not self.is_bits:
            return kept
        bits = np.unpackbits(kept, axis=1, count=self.size)
        return bits.reshape(len(kept), *self.shape).astype(self.dtype, copy=False)


def seen(encoder: Encoder, rules: Rules) -> Column:
    """What a decision's observation is kept as."""
    space = encoder.space(rules)
    is_bits = bool(space.dtype == np.int8 and (space.low == 0).all() and (space.high == 1).all())
    return Column(space.shape, space.dtype, is_bits)


def legal(rules: Rules) -> Column:
    """What a mask of the legal actions is kept as."""
    return Column((rules.num_actions,), np.dtype(np.int8), is_bits=True)


def action_number(rules: Rules) -> Column:
    """What the number of an action is kept as."""
    narrowest = np.uint8 if rules.num_actions < 256 else np.int64
    return Column((), np.dtype(narrowest), below=rules.num_actions)


def check_size(name: str, capacity: int, columns: Mapping[str, Column], observation: str) -> None:
    """Refuse a memory that takes too much of the machine's.

    Args:
        name: of the setting that says how many decisions it is for.
        capacity: these.
        columns: what is kept of each.
        observation: the name of the encoder.

    Raises:
        ConfigError: it takes more than ``DEFAULT_MEMORY``; the message has a number that fits.
    """
    row = sum(column.empty(1).nbytes for column in columns.values())
    if capacity * row > DEFAULT_MEMORY * 1e9:
        raise ConfigError(
            f"{name}: {capacity} decisions take {format_gigabytes(capacity * row / 1e9)} as "
            f"{observation} shows them, of at most {format_gigabytes(DEFAULT_MEMORY)}; give "
            f"{int(DEFAULT_MEMORY * 1e9 // row)} or less, or take another env.observation"
        )


class Memory:
    """The latest decisions, a bounded number of them: a newer one takes the place of the oldest."""

    def __init__(self, capacity: int, columns: Mapping[str, Column]) -> None:
        """An empty one for `capacity` decisions, each with something in every column."""
        self.capacity = capacity
        self.columns = columns
        self.count = 0
        """Decisions that were ever offered."""
        self._kept = {name: column.empty(capacity) for name, column in columns.items()}

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    def add(self, rows: Mapping[str, Array], rng: np.random.Generator) -> None:
        """Offer decisions, in the order in which they were made.

        Args:
            rows: for each column ``(n, *shape)``.
            rng: what decides which are kept, if that is drawn.
        """
        places = self._places(len(next(iter(rows.values()))), rng)
        chosen = np.flatnonzero(places < self.capacity)
        for name, column in self.columns.items():  # of several in one place the last stays
            self._kept[name][places[chosen]] = column.pack(rows[name][chosen])
        self.count += len(places)

    def _places(self, number: int, _: np.random.Generator) -> Places:
        """Where each of `number` decisions is kept; from ``capacity`` on: nowhere."""
        return (self.count + np.arange(number)) % self.capacity

    def read(self, places: Places) -> Arrays:
        """The decisions at these places, by column."""
        return {
            name: column.unpack(self._kept[name][places]) for name, column in self.columns.items()
        }

    # -- saving ------------------------------------------------------------------------------------
    def state(self) -> Arrays:
        """All that is kept, new arrays by name."""
        kept = {name: array[: len(self)].copy() for name, array in self._kept.items()}
        return kept | {"count": np.array(self.count)}

    def restore(self, state: Mapping[str, Array], name: str) -> None:
        """Go on from what ``state`` gave; messages call the memory `name`.

        Raises:
            HeartsError: if arrays are missing or of other shapes, as with another capacity.
        """
        count = int(check_array(f"{name}/count", state.get("count"), np.array(0)))
        if count < 0:
            raise HeartsError(
                f"{name}/count: it is not a whole number from 0; take another checkpoint"
            )
        for key, column in self.columns.items():
            own = self._kept[key][: min(count, self.capacity)]
            own[:] = check_array(f"{name}/{key}", state.get(key), own)
            if column.below is not None and not ((own >= 0) & (own < column.below)).all():
                raise HeartsError(
                    f"{name}/{key}: not all in [0, {column.below}); take another checkpoint"
                )
        self.count = count


class Reservoir(Memory):
    """A sample of all decisions ever offered, each as likely to be in it (Vitter 1985, alg. R).

    With a probability above 0 each new decision has at least that to get in, so that those of long
    ago fade away (exponential averaging: Osborne et al. 2014).
    """

    def __init__(
        self, capacity: int, columns: Mapping[str, Column], min_reservoir_prob: float = 0.0
    ) -> None:
        super().__init__(capacity, columns)
        self.min_reservoir_prob = min_reservoir_prob

    def _places(self, number: int, rng: np.random.Generator) -> Places:
        before = self.count + np.arange(number)
        chances = np.maximum(self.capacity / (before + 1), self.min_reservoir_prob)
        drawn = np.where(
            rng.random(number) < chances, rng.integers(self.capacity, size=number), self.capacity
        )
        return np.where(before < self.capacity, before, drawn)
