"""Pretraining: positions of play with a teacher's value of every legal card.

The teacher is ``pimc``: the mean double-dummy value of a card over all hidden worlds. It plays both
seats by a softmax of those values and sometimes at random, so that the positions are those of good
play and of deviations from it. Positions with one legal card are left out. Nothing here imports
torch: worker processes need only this to make positions.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator
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
from hearts_train.executor import spread
from hearts_train.learn.config import PretrainingConfig, between

_AT_ONCE = 64
"""Minibatches in an update."""


class Column(NamedTuple):
    """How observations are kept: zeros and ones are packed, eight in a byte."""

    shape: tuple[int, ...]
    """The shape of an observation."""
    dtype: np.dtype
    is_packed: bool

    @classmethod
    def of(cls, encoder: Encoder, rules: Rules) -> Column:
        """The column of an encoder's observations."""
        space = encoder.space(rules)
        is_bits = space.dtype == np.int8 and (space.low == 0).all() and (space.high == 1).all()
        return cls(space.shape, space.dtype, bool(is_bits))

    def pack(self, rows: Array) -> Array:
        """Return observations ``(n, *shape)`` as they are kept."""
        size = math.prod(self.shape)
        return np.packbits(rows.reshape(len(rows), size), axis=1) if self.is_packed else rows

    def unpack(self, kept: Array) -> Array:
        """Return kept rows as observations ``(n, *shape)``."""
        if not self.is_packed:
            return kept
        bits = np.unpackbits(kept, axis=1, count=math.prod(self.shape))
        return bits.reshape(len(kept), *self.shape).astype(self.dtype, copy=False)


class Positions(NamedTuple):
    """Positions and the teacher's values, a row each.

    Attributes:
        observations: What the player to act sees, packed as its ``Column`` has it.
        values: The mean double-dummy margin after each action, ``(n, num_actions) float32``; NaN
            where it is not legal.
    """

    observations: Array
    values: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[Positions]) -> Positions:
        """All rows of some parts, in order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Teacher:
    """Makes positions: callable with the number of a block of deals, in any process.

    Attributes:
        rules: Of two players, without an exchange.
        encoder: What the learner sees.
        seed: Seed of deals and draws.
        temperature: Of the softmax by which cards are drawn, in points.
        random: The share of cards drawn without regard to their values.
        deals: In a block.
    """

    rules: Rules
    encoder: Encoder
    seed: int = 0
    temperature: float = 0.5
    random: float = 0.05
    deals: int = 256

    def __post_init__(self) -> None:
        """Refuse rules that the teacher cannot play."""
        Pimc().check_rules(self.rules)

    @cached_property
    def _memory(self) -> PimcMemory:
        return working_memory(TranspositionTable(self.rules).vector)

    def __call__(self, number: int) -> Positions:
        """The positions of a block of deals."""
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
        """An action for each row: by a softmax of the values, or any legal one."""
        is_random = rng.random(len(values)) < self.random
        scores = np.where(is_random[:, None], 0.0, values / self.temperature)
        scores[np.isnan(values)] = -np.inf
        drawn: Array = (scores + rng.gumbel(size=scores.shape)).argmax(1)
        return drawn


class Pretraining:
    """All positions of a config, pass by pass in random orders that follow from its seed."""

    def __init__(
        self, config: PretrainingConfig, rules: Rules, encoder: Encoder, seed: int
    ) -> None:
        """Gather nothing yet; HeartsError if the teacher cannot play the rules."""
        self.config = config
        self._column = Column.of(encoder, rules)
        self._per_pass = max(1, round(self.config.positions / self.config.batch_size))
        self.size = self.config.passes * self._per_pass if self.config.positions else 0
        """Minibatches in all."""
        self._seed = derived_seed(seed, 20)
        self._pass, self._order = -1, np.empty(0, np.int64)
        self._positions: Positions | None = None
        if self.size:
            self._teacher = Teacher(
                rules,
                encoder,
                derived_seed(seed, 21),
                self.config.temperature,
                self.config.random,
            )

    def gather(self, workers: int = 1) -> Generator[float]:
        """Gather all positions, the same with any number of workers; yields the share done.

        Closing the generator ends the workers and discards their work.
        """
        found: list[Positions] = []
        count, block, some = 0, 0, 8 * workers
        while self._positions is None and count < self.config.positions:
            blocks = range(block, block + some)
            work = spread(self._teacher, blocks, workers=workers)
            with contextlib.closing(work) as parts:
                for part in parts:
                    found.append(part)
                    count += len(part.values)
                    yield min(1.0, count / self.config.positions)
            missing = self.config.positions - count
            block += some
            some = max(1, -(-missing * block // count))
        if found:
            joined = Positions.joined(found)
            self._positions = Positions(*(array[: self.config.positions] for array in joined))

    @property
    def positions(self) -> Positions:
        """All of them; gathered at the first use."""
        for _ in self.gather():
            pass
        assert self._positions is not None
        return self._positions

    def forget(self) -> None:
        """Free their memory."""
        self._positions = None

    def minibatches(self, step: int) -> range:
        """The next few of them, from `step` on."""
        return range(step, min(step + _AT_ONCE, self.size))

    def rows(self, step: int) -> NDArray[np.int64]:
        """The rows of a minibatch."""
        number, place = divmod(step, self._per_pass)
        if number != self._pass:
            rng = np.random.default_rng(derived_seed(self._seed, number))
            self._pass, self._order = number, rng.permutation(self.config.positions)
        return np.array_split(self._order, self._per_pass)[place]

    def learning_rate(self, step: int) -> float:
        """That of a minibatch."""
        rates = self.config.learning_rate, self.config.learning_rate_end
        return between(*rates, step / self.size)

    def observations(self, rows: NDArray[np.int64]) -> Array:
        """What the network sees in these rows."""
        return np.ascontiguousarray(self._column.unpack(self.positions.observations[rows]))
