"""The lessons of a recipe as minibatches, and what a network is to learn from one."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.learner import between
from hearts_train.learn.lessons import Lessons, Teaching, gather
from hearts_train.learn.replay import seen

_AT_ONCE = 64
"""Minibatches in an update."""
_TIE = 1e-4
"""Worths no further apart are equal: they are means of whole numbers, in two_player over at most
105 worlds."""


class Course:
    """All lessons of a recipe, pass by pass in random orders that follow from its seed."""

    def __init__(self, config: TrainConfig, rules: Rules, encoder: Encoder) -> None:
        """Nothing is gathered yet.

        Raises:
            HeartsError: if there are to be lessons and the teacher cannot play these rules.
        """
        self.config = config.lessons
        self._workers = config.threads
        self._seen = seen(encoder, rules)
        self._per_pass = max(1, round(self.config.positions / self.config.batch_size))
        self.size = self.config.passes * self._per_pass if self.config.positions else 0
        """Minibatches in all."""
        self._seed = derived_seed(config.seed, 20)
        self._pass, self._order = -1, np.empty(0, np.int64)
        self._lessons: Lessons | None = None
        if self.size:
            self._teaching = Teaching(
                rules,
                encoder,
                derived_seed(config.seed, 21),
                self.config.temperature,
                self.config.random,
                packed=self._seen.is_bits,
            )

    def gather(self) -> Generator[float]:
        """Gather all lessons, the same ones by any number of workers; which share there is so far.

        Closing the generator ends the workers, and what they have found is lost.
        """
        found: list[Lessons] = []
        count, block, some = 0, 0, 8 * self._workers
        while self._lessons is None and count < self.config.positions:
            blocks = range(block, block + some)
            with contextlib.closing(gather(self._teaching, blocks, workers=self._workers)) as parts:
                for part in parts:
                    found.append(part)
                    count += len(part.values)
                    yield min(1.0, count / self.config.positions)
            missing = self.config.positions - count
            block += some
            some = max(1, -(-missing * block // count))
        if found:
            joined = Lessons.joined(found)
            self._lessons = Lessons(*(array[: self.config.positions] for array in joined))

    @property
    def lessons(self) -> Lessons:
        """All of them; gathered at the first use."""
        for _ in self.gather():
            pass
        assert self._lessons is not None
        return self._lessons

    def forget(self) -> None:
        """Free their memory."""
        self._lessons = None

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

    def observations(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """What the network sees in these rows."""
        found = self._seen.unpack(self.lessons.observations[rows])
        return torch.from_numpy(np.ascontiguousarray(found))

    def losses(
        self, rows: NDArray[np.int64], logits: torch.Tensor, values: torch.Tensor, scale: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums over the rows of the squared errors, of the logits and of the values.

        The logits of the legal cards are to be their worths times ``sharpness``, whatever their
        mean; with ``imitate`` it is not their error but the cross-entropy with the card that the
        teacher prefers, the lowest of equally good ones. The value is to be the worth of the best
        card, divided by `scale`.
        """
        worths = torch.from_numpy(self.lessons.values[rows]).to(logits.device)
        legal = ~worths.isnan()
        best = worths.nan_to_num(-torch.inf).amax(1)
        of_values = (values - best / scale).square().sum()
        if self.config.imitate:
            preferred = (worths >= best[:, None] - _TIE).int().argmax(1)
            of_legal = logits.masked_fill(~legal, -torch.inf)
            return cross_entropy(of_legal, preferred, reduction="sum"), of_values
        count = legal.sum(1, keepdim=True)
        errors = torch.where(legal, logits - self.config.sharpness * worths.nan_to_num(), 0.0)
        centred = torch.where(legal, errors - errors.sum(1, keepdim=True) / count, 0.0)
        of_logits = (centred.square().sum(1) / count[:, 0]).sum()
        return of_logits, of_values
