"""The teacher of pretraining: positions with its value of every legal card.

The teacher is ``pimc``. The value of a card is its mean double-dummy margin over all hidden worlds.
The teacher plays both seats by a softmax of these values, and sometimes at random, so the positions
come from good play and deviations from it. Positions with one legal card are left out. Nothing here
imports torch, so worker processes start quickly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.search import Pimc, PimcMemory, mean_rows, working_memory
from hearts_env import BatchGame, Rules
from hearts_env.encoders import Encoder
from hearts_env.seeds import derived_seed
from hearts_env.solve import TranspositionTable
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import HeartsError
from hearts_train.learn.config import ConfigError

_TEMPERATURE = 0.5
"""The temperature, in points, of the softmax by which the teacher plays."""
_RANDOM = 0.05
"""The share of the teacher's cards that are drawn uniformly."""


class Column(NamedTuple):
    """The form in which observations are stored: zeros and ones are packed, eight per byte."""

    shape: tuple[int, ...]
    """The shape of an observation."""
    dtype: np.dtype
    is_packed: bool

    @classmethod
    def of(cls, encoder: Encoder, rules: Rules) -> Column:
        """Return the column of an encoder's observations."""
        space = encoder.space(rules)
        is_bits = space.dtype == np.int8 and (space.low == 0).all() and (space.high == 1).all()
        return cls(space.shape, space.dtype, bool(is_bits))

    def pack(self, rows: Array) -> Array:
        """Return observations ``(n, *shape)`` in stored form."""
        size = math.prod(self.shape)
        return np.packbits(rows.reshape(len(rows), size), axis=1) if self.is_packed else rows

    def unpack(self, kept: Array) -> Array:
        """Return stored rows as observations ``(n, *shape)``."""
        if not self.is_packed:
            return kept
        bits = np.unpackbits(kept, axis=1, count=math.prod(self.shape))
        return bits.reshape(len(kept), *self.shape).astype(self.dtype, copy=False)


class Positions(NamedTuple):
    """Positions and the teacher's values, one per row.

    Attributes:
        observations: the observations of the player to act, stored as a ``Column``.
        values: the mean double-dummy margin after each action, ``(n, num_actions) float32``. NaN
            for illegal actions.
    """

    observations: Array
    values: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[Positions]) -> Positions:
        """Concatenate parts."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Teacher:
    """Makes the positions of a block of deals, given its number, in any process.

    Attributes:
        rules: the rules, for two players without an exchange.
        encoder: the encoder of the learner's observations.
        seed: the seed of deals and draws.
        deals: the number of deals per block.
    """

    rules: Rules
    encoder: Encoder
    seed: int = 0
    deals: int = 256

    def __post_init__(self) -> None:
        """Raise if the teacher cannot play the rules."""
        try:
            Pimc().check_rules(self.rules)
        except HeartsError as error:
            raise ConfigError(f"pretraining.positions: {error}") from None

    @cached_property
    def _memory(self) -> PimcMemory:
        return working_memory(TranspositionTable(self.rules).vector)

    def __call__(self, number: int) -> Positions:
        """Return the positions of a block of deals."""
        seed = derived_seed(self.seed, number)
        rng = np.random.default_rng(seed)
        batch = BatchGame(
            self.rules, self.deals, seed, observation=self.encoder, autodeal=False, freeze=False
        )
        column = Column.of(self.encoder, self.rules)
        found = []
        while not batch.done.all():
            waiting = np.flatnonzero(~batch.done)
            views = batch.views(games=waiting)
            legal = views.legal_table
            actions = legal.argmax(1)
            has_choice = legal.sum(1) > 1
            values = np.full(legal.shape, np.nan)
            some = views.subset(np.flatnonzero(has_choice))
            means = np.full((len(some), legal.shape[1]), np.nan)
            mean_rows(self.rules.vector, some.vectors, some.players, self._memory, means)
            values[has_choice] = means
            has_choice &= ~np.isnan(values).all(1)
            shown = batch.observe()[waiting[has_choice]]
            found.append(Positions(column.pack(shown), values[has_choice].astype(np.float32)))
            actions[has_choice] = self._drawn(values[has_choice], rng)
            batch.play(actions, games=waiting)
        return Positions.joined(found)

    def _drawn(self, values: Floats, rng: np.random.Generator) -> Array:
        """Draw an action per row, by a softmax of the values or uniformly."""
        is_random = rng.random(len(values)) < _RANDOM
        scores = np.where(is_random[:, None], 0.0, values / _TEMPERATURE)
        scores[np.isnan(values)] = -np.inf
        drawn: Array = (scores + rng.gumbel(size=scores.shape)).argmax(1)
        return drawn
