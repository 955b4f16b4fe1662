"""``flat``: one row of zeros and ones, for multilayer perceptrons."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env._jit import jit
from hearts_env.encoders.base import Array, BlockEncoder, Stateless
from hearts_env.encoders.features import (
    Block,
    card_blocks,
    feature,
    other_blocks,
    taken_blocks,
)
from hearts_env.rules import Rules
from hearts_env.view import PlayerView


class FlatEncoder(Stateless, BlockEncoder):
    """What the observer knows, as ``(size,) int8`` of zeros and ones.

    Left out: the order of play, who took tricks without points, and who dealt.
    """

    name = "flat"

    def blocks(self, rules: Rules) -> list[Block]:
        """Card sets, then who took the points, then the rest."""
        return card_blocks(rules) + taken_blocks(rules) + other_blocks(rules)

    def size(self, rules: Rules) -> int:
        """How long an observation is."""
        return sum(block.size for block in self.blocks(rules))

    def space(self, rules: Rules) -> spaces.Box:
        """``(size,) int8``, zeros and ones."""
        return spaces.Box(0, 1, (self.size(rules),), np.int8)

    def write(self, view: PlayerView, out: Array) -> None:
        """Write the observation of `view` over `out`, in place."""
        rules = view.rules
        write_row(rules.vector, self.plan(rules), view.vector, view.player, out)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write rows of zeros and ones, in place."""
        write_rows(rules.vector, self.plan(rules), states, games, players, out)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        facts, start = {}, 0
        for block in self.blocks(rules):
            bits = observation[start : start + block.size]
            facts[block.name] = sum(1 << int(j) for j in np.flatnonzero(bits))
            start += block.size
        return facts


@jit
def write_row(r: k.Vector, plan: k.Vector, s: k.Vector, player: int, out: NDArray[Any]) -> None:
    """Write the blocks of `plan` over the row `out`, one place a bit, in place."""
    start = 0
    for i in range(len(plan)):
        mask = feature(r, s, player, plan[i, 0], plan[i, 1])
        end = start + plan[i, 2]
        part = out[start:end]
        for j in range(len(part)):
            part[j] = mask >> j & 1
        start = end


@jit
def write_rows(
    r: k.Vector,
    plan: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[Any],
) -> None:
    """Write a row for each of `games` as `players` see them, in place."""
    for i in range(len(games)):
        write_row(r, plan, states[games[i]], players[i], out[i])
