"""Lessons: positions of play with what a teacher says that every legal card is worth.

The teacher is ``pimc``'s: the mean double-dummy value of a card over all hidden worlds. It plays
both seats by a softmax of those values and now and then at random, so that the positions are those
of good play and of what is near it. Positions with one legal card teach nothing, and are left out.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.search import Memory, Pimc, mean_rows, working_memory
from hearts_env import BatchGame, Rules
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.seeds import derived_seed
from hearts_env.solve import TranspositionTable
from hearts_env.support.arrays import Array, Floats
from hearts_train.learn.replay import seen
from hearts_train.measure.crew import spread


class Lessons(NamedTuple):
    """Positions and their teaching, a row each.

    Attributes:
        observations: What the player to act sees, ``(n, *shape)`` of the encoder's dtype; or
            ``(n, bytes) uint8``, eight places in a byte as ``np.packbits`` has them.
        values: The mean double-dummy margin after each action, ``(n, num_actions) float32``; NaN
            where it is not legal.
    """

    observations: Array
    values: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[Lessons]) -> Lessons:
        """All rows of some lessons, in their order."""
        return cls(
            np.concatenate([part.observations for part in parts]),
            np.concatenate([part.values for part in parts]),
        )


@dataclass(frozen=True)
class Teaching:
    """Makes lessons: callable with the number of a block of deals, in any process.

    Attributes:
        rules: Of two players, without an exchange.
        encoder: What the learner sees, an encoder or its name.
        seed: What deals and draws follow from.
        temperature: Of the softmax by which cards are drawn, in points.
        random: The share of cards drawn without regard to their values.
        deals: In a block.
        packed: Whether observations are packed; only for encoders of zeros and ones.
    """

    rules: Rules
    encoder: str | Encoder = "flat"
    seed: int = 0
    temperature: float = 0.5
    random: float = 0.05
    deals: int = 256
    packed: bool = False

    def __post_init__(self) -> None:
        """Refuse rules that the teacher cannot play.

        Raises:
            HeartsError: if these are such.
        """
        Pimc().check_rules(self.rules)

    @cached_property
    def _memory(self) -> Memory:
        return working_memory(TranspositionTable(self.rules).vector)

    def __call__(self, number: int) -> Lessons:
        """The lessons of a block of deals."""
        seed = derived_seed(self.seed, number)
        rng = np.random.default_rng(seed)
        batch = BatchGame(
            self.rules, self.deals, seed, observation=self.encoder, autodeal=False, freeze=False
        )
        found = [self._none()]
        while not batch.done.all():
            waiting = np.flatnonzero(~batch.done)
            views = batch.views(games=waiting)
            legal = views.legal_table
            actions = legal.argmax(1)
            taught = legal.sum(1) > 1
            values = np.full(legal.shape, np.nan)
            some = views.subset(np.flatnonzero(taught))
            means = np.full((len(some), legal.shape[1]), np.nan)
            mean_rows(self.rules.vector, some.vectors, some.players, self._memory, means)
            values[taught] = means
            taught &= ~np.isnan(values).all(1)
            shown = batch.observe()[waiting[taught]]
            found.append(Lessons(shown, values[taught].astype(np.float32)))
            actions[taught] = self._drawn(values[taught], rng)
            batch.play(actions, games=waiting)
        lessons = Lessons.joined(found)
        if not self.packed:
            return lessons
        column = seen(make_encoder(self.encoder), self.rules)
        return lessons._replace(observations=column.pack(lessons.observations))

    def _none(self) -> Lessons:
        space = make_encoder(self.encoder).space(self.rules)
        values = np.empty((0, self.rules.num_actions), np.float32)
        return Lessons(np.empty((0, *space.shape), space.dtype), values)

    def _drawn(self, values: Floats, rng: np.random.Generator) -> Array:
        """An action for each row: by a softmax of the values, or any legal one."""
        is_random = rng.random(len(values)) < self.random
        scores = np.where(is_random[:, None], 0.0, values / self.temperature)
        scores[np.isnan(values)] = -np.inf
        drawn: Array = (scores + rng.gumbel(size=scores.shape)).argmax(1)
        return drawn


def gather(
    teaching: Teaching, blocks: range, *, workers: int | None = None, backend: str = "local"
) -> Generator[Lessons]:
    """The lessons of these blocks, in their order, made by any number of processes.

    Raises:
        HeartsError: see ``crew.spread``.
    """
    return spread(teaching, blocks, workers=workers, backend=backend)
