"""Pretraining: the network learns the teacher's values before it plays.

The target of the logits is the teacher's value of each legal card in points, up to a constant. The
loss is the squared error. With ``target: action`` it is the cross-entropy with the teacher's
preferred card. The target of the value head is the value of the best card divided by the largest
margin. The positions come from ``teacher.py``.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_train.executor import spread
from hearts_train.learn.config import PretrainingConfig, between
from hearts_train.learn.shared import Figures, SharedNetwork
from hearts_train.learn.teacher import Column, Positions, Teacher

_AT_ONCE = 64
"""Minibatches per update."""
_TIE = 1e-4
"""Card values that differ by less are equal. They are means of whole numbers, over at most 105
worlds in two_player."""


class Lesson(NamedTuple):
    """A minibatch of pretraining, on the device of the network."""

    observations: Tensor
    """``(n, *shape)``, of the encoder's dtype."""
    card_values: Tensor
    """``(n, actions)``: the teacher's value of each card, NaN for illegal ones."""


class Pretraining:
    """The positions of a config, in a random order per pass that follows from its seed."""

    passes = 10
    """Passes through all positions."""
    batch_size = 1024
    """Positions per minibatch."""
    learning_rates = 2e-3, 1e-4
    """The first and the last learning rate. Between them it falls linearly."""

    def __init__(
        self, config: PretrainingConfig, rules: Rules, encoder: Encoder, seed: int
    ) -> None:
        """Prepare to gather. Raise HeartsError if the teacher cannot play the rules."""
        self.config, self.rules = config, rules
        self._column = Column.of(encoder, rules)
        self._per_pass = max(1, round(self.config.positions / self.batch_size))
        self.size = self.passes * self._per_pass if self.config.positions else 0
        """Minibatches of all passes."""
        self._seed = derived_seed(seed, 20)
        self._pass, self._order = -1, np.empty(0, np.int64)
        self._positions: Positions | None = None
        if self.size:
            self._teacher = Teacher(rules, encoder, derived_seed(seed, 21))

    def gather(self, workers: int = 1) -> Generator[float]:
        """Gather all positions, yielding the share done. The number of workers changes nothing.

        Closing the generator ends the workers and discards their work.
        """
        size, found, count = self.config.positions, list[Positions](), 0
        if not size or self._positions is not None:
            return
        with contextlib.closing(spread(self._teacher, itertools.count(), workers=workers)) as parts:
            for part in parts:
                found.append(part)
                count += len(part.values)
                yield min(1.0, count / size)
                if count >= size:
                    break
        self._positions = Positions(*(array[:size] for array in Positions.joined(found)))

    @property
    def positions(self) -> Positions:
        """All positions, gathered on first use."""
        for _ in self.gather():
            pass
        assert self._positions is not None
        return self._positions

    def forget(self) -> None:
        """Free the memory of the positions."""
        self._positions = None

    def minibatches(self, step: int) -> range:
        """Return the indices of the next minibatches, from `step` on."""
        return range(step, min(step + _AT_ONCE, self.size))

    def rows(self, step: int) -> NDArray[np.int64]:
        """Return the rows of a minibatch."""
        number, place = divmod(step, self._per_pass)
        if number != self._pass:
            rng = np.random.default_rng(derived_seed(self._seed, number))
            self._pass, self._order = number, rng.permutation(self.config.positions)
        return np.array_split(self._order, self._per_pass)[place]

    def take(self, rows: NDArray[np.int64]) -> Positions:
        """Return the positions in these rows, with observations as the encoder writes them."""
        kept, values = (array[rows] for array in self.positions)
        return Positions(np.ascontiguousarray(self._column.unpack(kept)), values)

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of a minibatch."""
        return between(*self.learning_rates, step / self.size)

    def learn(
        self, steps: range, network: SharedNetwork, step: Callable[[float], None]
    ) -> dict[str, Any]:
        """Learn some minibatches. Return the figures to log.

        Args:
            steps: the indices of minibatches (see ``minibatches``).
            network: the network, whose gradient is written.
            step: takes a step of the optimiser with this learning rate.
        """
        sums, count = dict[str, float](), 0

        def loss(batch: Lesson) -> tuple[Tensor, Figures]:
            return self.loss(*network.outputs(batch.observations), batch)

        for number in steps:
            given = self.take(self.rows(number))
            batch = Lesson(*(torch.from_numpy(one).to(network.weights.device) for one in given))
            size, rate = len(batch.card_values), self.learning_rate(number)
            for name, figure in network.backward(loss, batch).items():
                sums[name] = sums.get(name, 0.0) + size * figure.item()
            count += size
            step(rate)
        means = {name: total / count for name, total in sums.items()}
        return {"learning_rate": rate, "pretraining": steps.stop / self.size} | means

    def loss(self, logits: Tensor, values: Tensor, batch: Lesson) -> tuple[Tensor, Figures]:
        """Return the mean loss of a minibatch, and the figures to log.

        Args:
            logits: ``(n, actions)``, of the network.
            values: ``(n,)``, of the network.
            batch: the minibatch.
        """
        legal = ~batch.card_values.isnan()
        best = batch.card_values.nan_to_num(-torch.inf).amax(1)
        value_error = (values - best / self.rules.max_margin).square().mean()
        if self.config.target == "action":  # the lowest of equally good cards
            preferred = (batch.card_values >= best[:, None] - _TIE).int().argmax(1)
            error = cross_entropy(logits.masked_fill(~legal, -torch.inf), preferred)
        else:
            count = legal.sum(1, keepdim=True)
            errors = torch.where(legal, logits - batch.card_values.nan_to_num(), 0.0)
            centred = torch.where(legal, errors - errors.sum(1, keepdim=True) / count, 0.0)
            error = (centred.square().sum(1) / count[:, 0]).mean()
        figures = {"pretraining_error": error, "pretraining_value_error": value_error}
        return error + value_error, figures
