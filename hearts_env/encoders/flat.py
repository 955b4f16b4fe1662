"""``flat``: one row of zeros and ones, for multilayer perceptrons."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.base import BatchEncoder
from hearts_env.encoders.features import Block, observation_blocks, pack
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.bits import put_word, stack_words
from hearts_env.support.jit import DirectCall, called, inlined, jit

_ndarray = np.ndarray
_int8 = np.dtype(np.int8)


@inlined
def write_row(r: k.Vector, s: k.Vector, player: int, out: NDArray[np.int8]) -> None:
    """Write what `player` knows over the row `out`, in place."""
    words = stack_words()
    pack(r, s, player, words)
    spread(words, out)


@inlined
def spread(words: NDArray[np.uint64], out: NDArray[np.int8]) -> None:
    """Write the bits of `words` over the row `out`, one place a bit, in place."""
    size = len(out)
    full = size >> 6
    for w in range(full):
        put_word(out, 64 * w, words[w])
    rest = size & 63
    if rest and full:  # the last 64 places, some of them once more
        last = words[full - 1] >> np.uint64(rest) | words[full] << np.uint64(64 - rest)
        put_word(out, size - 64, last)
    elif rest:
        for j in range(rest):
            out[j] = words[0] >> np.uint64(j) & np.uint64(1)


@called
def write_one(r: k.Vector, s: k.Vector, player: int, out: NDArray[np.int8]) -> bool:
    """Do as ``write_row`` if `out` has the right length; return whether it has."""
    words = stack_words()
    fits = len(out) == pack(r, s, player, words)
    if fits:
        spread(words, out)
    return fits


@called
def step_row(
    r: k.Vector, s: k.Vector, action: int, mask: NDArray[np.int8], out: NDArray[np.int8]
) -> int:
    """Do `action`; write what the next player may do over `mask`, and what it knows over `out`.

    Returns the ``status``, or -1: illegal, nothing has changed. At the end both stay as they were.
    """
    status = k.step(r, s, action)
    if status >= 0 and s[k.PHASE] != k.OVER:
        k.spread_mask(status & k.LEGAL, mask)
        write_row(r, s, s[k.PLAYER], out)
    return status


@jit
def write_rows(
    r: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write a row for each of `games` as `players` see them, in place."""
    for i in range(len(games)):
        write_row(r, states[games[i]], players[i], out[i])


class FlatEncoder(BatchEncoder):
    """What the observer knows, as ``(size,) int8`` of zeros and ones.

    Left out: the order of play, who took tricks without points, and who dealt.
    """

    name = "flat"
    _entry = DirectCall(write_one)
    _write_rows = staticmethod(write_rows)

    def blocks(self, rules: Rules) -> list[Block]:
        """Card sets, then who took the points, then the rest."""
        return observation_blocks(rules)

    def size(self, rules: Rules) -> int:
        """How long an observation is."""
        return sum(block.size for block in self.blocks(rules))

    def space(self, rules: Rules) -> spaces.Box:
        """``(size,) int8``, zeros and ones."""
        return spaces.Box(0, 1, (self.size(rules),), np.int8)

    def write_state(self, rules: Rules, state: k.Vector, player: int, out: Array) -> None:
        """``write`` for the view that `player` has of `state`, which need not be made."""
        if not (
            out.__class__ is _ndarray
            and out.dtype is _int8
            and out.ndim == 1
            and out.flags.carray
            and self._entry.call(rules.vector, state, player, out)
        ):  # it is refused, or lies in a file or not side by side
            super().write_state(rules, state, player, out)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write rows of zeros and ones, in place."""
        self._write_rows(rules.vector, states, games, players, out)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        facts, start = {}, 0
        for block in self.blocks(rules):
            bits = observation[start : start + block.size]
            facts[block.name] = sum(1 << int(j) for j in np.flatnonzero(bits))
            start += block.size
        return facts
