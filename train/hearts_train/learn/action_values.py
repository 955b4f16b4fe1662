"""Learners whose network says what every action is worth, and who mostly do the best of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hearts_env.support.arrays import Array, Floats32
from hearts_train.learn.selfplay import SelfPlayLearner


class ActionValueLearner(SelfPlayLearner):
    """A network of action values that plays all seats but those of its opponents.

    The outputs that are logits of a policy elsewhere are the values. An algorithm is a subclass
    that says how often it explores, and learns the values.
    """

    rates: tuple[str, ...] = ("learning_rate",)
    figures: tuple[str, ...] = ("value_loss",)

    @property
    def epsilon(self) -> float:
        """The chance of an action drawn without regard to its value."""
        raise NotImplementedError

    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        values, _ = super()._decide(thread, rows)
        legal = self.games[thread].rows.masks[rows] != 0
        best = np.where(legal, values, -np.inf).max(1).astype(np.float32)
        return epsilon_greedy(values, legal, self.epsilon), best


def epsilon_greedy(values: Array, legal: NDArray[np.bool_], epsilon: float) -> Floats32:
    """Logits of the best legal action, or with chance `epsilon` of any, ``(n, actions)``."""
    rows = np.arange(len(values))
    best = np.where(legal, values, -np.inf).argmax(1)
    chances = np.where(legal, max(epsilon, 1e-12) / legal.sum(1, keepdims=True), 1.0)
    chances[rows, best] += 1.0 - epsilon
    logits: Floats32 = np.log(chances).astype(np.float32)
    return logits
