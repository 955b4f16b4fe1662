"""What is known of a position without looking further."""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.solve.dd.layout import (
    H_FAR,
    H_LANE,
    H_MOON,
    H_OPTIONS,
    H_SHIFT,
    H_SLACK,
    H_SURE,
    H_TRUMP,
    H_TRUMP_POINTS,
    MOON_F,
    MOON_L,
    MOONS,
    NO_BOUNDS,
    NO_SURE,
)
from hearts_env.solve.dd.position import Position, at_end
from hearts_env.support.jit import inner, jit


@jit
def write_sure_tricks(mem: k.Vector, length: int) -> None:
    """Write for every holding of up to `length` trumps how many tricks they surely take.

    A trump that does not take its trick was beaten by a higher one, each by another: what cannot
    be matched with a higher trump of the other side will take a trick, however it is played. The
    element of the holding ``own`` of ``n`` trumps is ``own + 2**n``: own tricks, and the other
    side's times 256.
    """
    for n in range(length + 1):
        for own in range(1 << n):
            sure = 0
            for side in range(2):
                higher = 0
                tricks = 0
                for place in range(n - 1, -1, -1):
                    if own >> place & 1 == side:
                        higher += 1
                    elif higher > 0:
                        higher -= 1
                    else:
                        tricks += 1
                sure |= tricks << 8 * side
            mem[H_SURE + own + (1 << n)] = sure


@inner
def sure_tricks(mem: k.Vector, a: int, b: int) -> int:
    """The tricks that trumps surely take: the leader's, and the follower's times 256."""
    lane = mem[H_LANE + mem[H_TRUMP]]
    own = a & lane
    return mem[H_SURE + ((own + (own | b & lane)) >> (mem[H_TRUMP] << mem[H_SHIFT])) + 1]


@inner
def moons_after_sure(sure: int, flags: int) -> int:
    """The flags, given the tricks that trumps with points surely take.

    Whoever takes penalty cards keeps the other from shooting the moon.
    """
    if sure & 255:
        flags &= ~MOON_F
    if sure >> 8:
        flags &= ~MOON_L
    return flags


@inner
def bounds(mem: k.Vector, p: Position) -> tuple[int, int, int]:
    """A lower and an upper bound of the value, and the flags without moons that cannot be."""
    flags = p.flags
    if p.a == 0:
        value = at_end(mem, flags)
        return value, value, flags
    left = p.left
    slack = mem[H_SLACK]
    low = -left - slack
    high = left + slack
    if mem[H_TRUMP_POINTS] and mem[H_OPTIONS] & NO_SURE == 0:
        sure = sure_tricks(mem, p.a, p.b)
        flags = moons_after_sure(sure, flags)
        high -= 2 * (sure & 255) * mem[H_TRUMP_POINTS]
        low += 2 * (sure >> 8) * mem[H_TRUMP_POINTS]
    if left == 0 and flags & MOON_L and flags & MOON_F:
        flags &= ~MOONS
    if flags & MOON_L:
        high = max(high, mem[H_MOON] - left + slack)
    if flags & MOON_F:
        low = min(low, left - mem[H_MOON] - slack)
    if mem[H_OPTIONS] & NO_BOUNDS:
        return -mem[H_FAR], mem[H_FAR], flags
    return low, high, flags
