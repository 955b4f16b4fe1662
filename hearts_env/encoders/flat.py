"""``flat``: one row of zeros and ones, for multilayer perceptrons; ``bits``: eight in a byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.base import BatchEncoder
from hearts_env.encoders.features import Block, observation_blocks, pack
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.bits import put_bits, put_word, stack_words
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import DirectCall, called, inlined, jit

_ndarray = np.ndarray
_BYTES = np.dtype(np.uint8)


@inlined
def write_row(r: k.Vector, s: k.Vector, player: int, out: NDArray[Any]) -> None:
    """Write what `player` knows over the row `out`, in place.

    A row of int8 has a place for each bit, a row of uint8 one for eight.
    """
    words = stack_words()
    pack(r, s, player, False, words)
    write_words(words, out)


@inlined
def write_words(words: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """Write the bits of `words` over the row `out`, in the way of its dtype, in place."""
    if out.dtype == _BYTES:  # decided when it is compiled
        store(words, out)
    else:
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


@inlined
def store(words: NDArray[np.uint64], out: NDArray[Any]) -> None:
    """Write the bits of `words` over the row `out`, eight a place, in place."""
    size = len(out)
    full = size >> 3
    for w in range(full):
        put_bits(out, 8 * w, words[w])
    rest = size & 7
    if rest and full:  # the last 8 places, some of them once more
        shift = np.uint64(8 * rest)
        last = words[full - 1] >> shift | words[full] << (np.uint64(64) - shift)
        put_bits(out, size - 8, last)
    else:
        for j in range(8 * rest):
            if j & 7 == 0:
                out[j >> 3] = 0
            out[j >> 3] |= (words[0] >> np.uint64(j) & np.uint64(1)) << np.uint64(7 - (j & 7))


@called
def write_one(r: k.Vector, s: k.Vector, player: int, out: NDArray[Any]) -> bool:
    """``write_row`` for a row of somebody else's: whether it was long enough and not too long."""
    words = stack_words()
    size = pack(r, s, player, False, words)
    fits = len(out) == (-(-size // 8) if out.dtype == _BYTES else size)
    if fits:
        write_words(words, out)
    return fits


@called
def step_row(
    r: k.Vector, s: k.Vector, action: int, mask: NDArray[np.int8], out: NDArray[Any]
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
    _dtype: Any = np.dtype(np.int8)
    _entry = DirectCall(write_one)
    _write_rows = staticmethod(write_rows)

    def blocks(self, rules: Rules) -> list[Block]:
        """Card sets, then who took the points, then the rest."""
        return observation_blocks(rules, all_taken=False)

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
            and out.dtype is self._dtype
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


class BitsEncoder(FlatEncoder):
    """The bits of ``flat`` as ``(ceil(size / 8),) uint8``, in the order of ``np.packbits``.

    For buffers, and for memory that has far to go.
    """

    name = "bits"
    _dtype = np.dtype(np.uint8)
    _entry = DirectCall(write_one)

    def space(self, rules: Rules) -> spaces.Box:
        """``(ceil(size / 8),) uint8``; the bits that the last byte has too many are 0."""
        return spaces.Box(0, 255, (-(-self.size(rules) // 8),), np.uint8)

    def unpack(self, rules: Rules, observations: Array) -> Array:
        """The observations as ``flat`` has them: ``(..., bytes) uint8 -> (..., size) int8``.

        Raises:
            HeartsError: if they are not of uint8, or not as many bytes as these rules need.
        """
        size = self.size(rules)
        given, needed = np.asarray(observations), -(-size // 8)
        if given.dtype != np.uint8 or given.shape[-1:] != (needed,):
            raise HeartsError(
                f"observations: shape {given.shape} and dtype {given.dtype}; needed are {needed} "
                "bytes each, dtype uint8"
            )
        return np.unpackbits(given, axis=-1, count=size).view(np.int8)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        return super().decode(rules, self.unpack(rules, observation))
