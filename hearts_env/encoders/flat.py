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
    """Write the observation of `player` over the row `out`, in place."""
    words = stack_words()
    pack(r, s, player, words)
    spread(words, out)


@inlined
def spread(words: NDArray[np.uint64], out: NDArray[np.int8]) -> None:
    """Write the bits of `words` over the row `out`, one element per bit, in place."""
    size = len(out)
    full = size >> 6
    for w in range(full):
        put_word(out, 64 * w, words[w])
    rest = size & 63
    if rest and full:  # the last 64 elements, some of them a second time
        last = words[full - 1] >> np.uint64(rest) | words[full] << np.uint64(64 - rest)
        put_word(out, size - 64, last)
    elif rest:
        for j in range(rest):
            out[j] = words[0] >> np.uint64(j) & np.uint64(1)


@called
def write_one(r: k.Vector, s: k.Vector, player: int, out: NDArray[np.int8]) -> bool:
    """Do ``write_row`` if `out` has the right length, and return whether it has."""
    words = stack_words()
    fits = len(out) == pack(r, s, player, words)
    if fits:
        spread(words, out)
    return fits


@called
def step_row(
    r: k.Vector, s: k.Vector, action: int, mask: NDArray[np.int8], out: NDArray[np.int8]
) -> int:
    """Play an action. Write the next player's mask over `mask` and its observation over `out`.

    Return the new ``status``, or -1 if the action is illegal. In that case nothing has changed. At
    the end of the deal, `mask` and `out` are not written.
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
    """Write the observations of `players` in `games` over the rows of `out`, in place."""
    for i in range(len(games)):
        write_row(r, states[games[i]], players[i], out[i])


class FlatEncoder(BatchEncoder):
    """The observer's knowledge as zeros and ones, ``(size,) int8``.

    It omits the order of play, the takers of tricks without points, and the dealer.
    """

    name = "flat"
    _entry = DirectCall(write_one)
    _write_rows = staticmethod(write_rows)

    def blocks(self, rules: Rules) -> list[Block]:
        """Return the blocks of an observation in order."""
        return observation_blocks(rules)

    def size(self, rules: Rules) -> int:
        """Return the length of an observation."""
        return sum(block.size for block in self.blocks(rules))

    def space(self, rules: Rules) -> spaces.Box:
        """Return the space ``(size,) int8`` of zeros and ones."""
        return spaces.Box(0, 1, (self.size(rules),), np.int8)

    def write_state(self, rules: Rules, state: k.Vector, player: int, out: Array) -> None:
        """Write the observation that `player` has of `state`, without making a view."""
        if not (
            out.__class__ is _ndarray
            and out.dtype is _int8
            and out.ndim == 1
            and out.flags.carray
            and self._entry.call(rules.vector, state, player, out)
        ):  # raise, or write to an array that is a memmap or not contiguous
            super().write_state(rules, state, player, out)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write rows of zeros and ones, in place. See ``BatchEncoder.write_many``."""
        self._write_rows(rules.vector, states, games, players, out)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Return every block of an observation as a bit mask, by name."""
        facts, start = {}, 0
        for block in self.blocks(rules):
            bits = observation[start : start + block.size]
            facts[block.name] = sum(1 << int(j) for j in np.flatnonzero(bits))
            start += block.size
        return facts
