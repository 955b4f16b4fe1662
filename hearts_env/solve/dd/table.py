"""The transposition table: bounds of positions already searched.

A line of the table is 64 bytes, what the processor fetches at once. In rules whose positions fit
into one word an entry is two words, four to a line; else, in *wide* rules, four words, two to a
line:

| | word 0 | word 1 | word 2 | word 3 |
|---|---|---|---|---|
| narrow | key | bounds, key2 | | |
| wide | key | key2 | marks | bounds, generation |

A new entry goes to the front of its line, the others move on a place, and the last falls out.
"""

from __future__ import annotations

import numpy as np

from hearts_env import kernel as k
from hearts_env.solve.dd.layout import H_GENERATION, H_TABLE, H_TABLE_MASK, H_WIDE
from hearts_env.solve.dd.position import Position
from hearts_env.support.bits import lowest
from hearts_env.support.jit import inner, jit

NARROW_ZERO, WIDE_ZERO = 1 << 15, 1 << 27
"""Added to a bound, which then is not a negative number of 16 or 28 bits."""


@inner
def _line_of(mem: k.Vector, mixed: np.uint64) -> int:
    """Where the line begins to which these bits belong."""
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mem[H_TABLE] + ((np.int64(mixed >> np.uint64(34)) & mem[H_TABLE_MASK]) << 3)


@inner
def key_of(mem: k.Vector, p: Position) -> tuple[int, int, int]:
    """What tells a position from others (in wide rules, beside its marks), and its line's place."""
    flags = p.flags
    if mem[H_WIDE]:
        key = p.a | (flags & 1) << 13 | (flags & 6) << 28
        key2 = p.b | (flags & 8) << 10 | (flags & 48) << 25
        mixed = (
            np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            ^ np.uint64(key2) * np.uint64(0xC2B2AE3D27D4EB4F)
            ^ np.uint64(p.marks) * np.uint64(0xD6E8FEB86659FD93)
        )
        return key, key2, _line_of(mem, mixed ^ mixed >> np.uint64(29))
    mark = lowest(p.marks) & 7 if p.marks else 7
    key = (
        p.a
        | p.b << 32
        | (flags & 1) << 7
        | (flags & 2) << 14
        | (flags & 4) << 21
        | (mark & 1) << 31
        | (mark & 2) << 38
        | (mark & 4) << 45
    )
    key2 = flags >> 3
    mixed = np.uint64(key + key2) * np.uint64(0x9E3779B97F4A7C15)
    place = _line_of(mem, mixed ^ mixed >> np.uint64(32))
    return key, key2 | mem[H_GENERATION] << 3, place


@inner
def probe(
    mem: k.Vector, key: int, key2: int, marks: int, place: int, low: int, high: int
) -> tuple[int, int, int]:
    """Where in the line at `place` a position is, 0 for nowhere; and narrower bounds of it."""
    if mem[H_WIDE]:
        for i in range(place, place + 8, 4):
            if (
                mem[i] == key
                and mem[i + 1] == key2
                and mem[i + 2] == marks
                and mem[i + 3] >> 56 == mem[H_GENERATION]
            ):
                bounds = mem[i + 3]
                low = max(low, (bounds & 0xFFFFFFF) - WIDE_ZERO)
                return i, low, min(high, (bounds >> 28 & 0xFFFFFFF) - WIDE_ZERO)
        return 0, low, high
    for i in range(place, place + 8, 2):
        if mem[i] == key and mem[i + 1] >> 32 == key2:
            bounds = mem[i + 1]
            low = max(low, (bounds & 0xFFFF) - NARROW_ZERO)
            return i, low, min(high, (bounds >> 16 & 0xFFFF) - NARROW_ZERO)
    return 0, low, high


@inner
def store(
    mem: k.Vector, key: int, key2: int, marks: int, place: int, entry: int, low: int, high: int
) -> None:
    """Keep the bounds of a position, in its old `entry` if it is still there."""
    if mem[H_WIDE]:
        if entry == 0:
            entry = place
            for i in range(4):
                mem[place + 4 + i] = mem[place + i]
        mem[entry] = key
        mem[entry + 1] = key2
        mem[entry + 2] = marks
        mem[entry + 3] = low + WIDE_ZERO | high + WIDE_ZERO << 28 | mem[H_GENERATION] << 56
    else:
        if entry == 0 or mem[entry] != key:
            entry = place
            for i in range(place + 7, place + 1, -1):
                mem[i] = mem[i - 2]
        mem[entry] = key
        mem[entry + 1] = low + NARROW_ZERO | high + NARROW_ZERO << 16 | key2 << 32


MOST_GENERATIONS = (1 << 19) - 1, 127
"""For which an entry has room: in narrow and in wide rules."""


@jit
def forget(mem: k.Vector) -> None:
    """Make the table empty, in place; the endgame table after it stays."""
    mem[H_GENERATION] += 1
    if mem[H_GENERATION] > MOST_GENERATIONS[mem[H_WIDE]]:
        mem[H_GENERATION] = 1
        for i in range(mem[H_TABLE], mem[H_TABLE] + ((mem[H_TABLE_MASK] + 1) << 3)):
            mem[i] = 0
