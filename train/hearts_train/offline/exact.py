"""What every legal card of a decision is worth, exactly, in games of two."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.search import Memory, mean_rows, working_memory
from hearts_env import Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve import TranspositionTable
from hearts_env.solve.dd.search import card_values
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.jit import jit
from hearts_env.views.hidden import worlds_of_two
from hearts_train.offline.options import knows_mean_values


class Values(NamedTuple):
    """The margins that decisions lead to, for the player to act; double dummy play from there on.

    Attributes:
        seen: ``(n, num_actions) float64``, with the cards as they lie; NaN where the action is not
            legal or not a card to play.
        mean: The same, the mean over all worlds of the view; NaN too where there are more than
            ``MAX_HANDS`` worlds, or an exchange has told something of them.
        worlds: ``(n,) int64``, how many worlds there are; 0 where `mean` is unknown.
    """

    seen: Floats
    mean: Floats
    worlds: NDArray[np.int64]


class Worth:
    """Computes values under one set of rules; its memory serves one thread."""

    def __init__(self, rules: Rules) -> None:
        """For games of two."""
        self.rules = rules

    @cached_property
    def _memory(self) -> Memory:
        return working_memory(TranspositionTable(self.rules).vector)

    def of(self, views: BatchView, others: Ints) -> Values:
        """The values of all legal cards in many views; `others` are the other players' hands."""
        shape = (len(views), self.rules.num_actions)
        found = Values(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(views), int))
        r, memory = self.rules.vector, self._memory
        _seen_rows(r, views.vectors, others, memory.table, memory.values, found.seen)
        if knows_mean_values(self.rules):
            mean_rows(r, views.vectors, views.players, memory, found.mean)
            _count_rows(r, views.vectors, views.players, memory.hands, memory.scratch, found.worlds)
        return found


@jit
def _seen_rows(
    r: k.Vector,
    vectors: k.Vector,
    others: k.Vector,
    table: k.Vector,
    values: k.Vector,
    out: Floats,
) -> None:
    """Write the values of each row's legal cards, the other's hand seen, into `out`."""
    for i in range(len(vectors)):
        v = vectors[i]
        if v[k.PHASE] != k.PLAY:
            continue
        legal = card_values(r, v, others[i], table, values)
        if legal < 0:
            continue
        while legal:
            out[i, lowest(legal)] = values[lowest(legal)]
            legal &= legal - 1


@jit
def _count_rows(
    r: k.Vector,
    vectors: k.Vector,
    players: k.Vector,
    hands: k.Vector,
    scratch: k.Vector,
    out: k.Vector,
) -> None:
    """Write how many worlds each view allows into `out`; 0 where they are too many to solve."""
    for i in range(len(vectors)):
        if vectors[i][k.PHASE] != k.PLAY:
            continue
        n = worlds_of_two(r, vectors[i], players[i], hands, scratch)
        out[i] = n if n <= len(hands) else 0
