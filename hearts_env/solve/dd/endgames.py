"""The endgame table: the exact value of every position of a few cards, hearts broken, a byte each.

Cards of equal suit lengths are numbered by the choice of the leader's cards; the table is filled
from one card each upwards, each number of cards from the one before.
"""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.solve.dd.bounds import moons_after_sure, sure_tricks
from hearts_env.solve.dd.layout import (
    BROKEN,
    H_ALIKE,
    H_CHOICES,
    H_COUNT,
    H_ENDGAMES,
    H_LANE,
    H_MARKED,
    H_MARKED_LANE,
    H_MOON,
    H_ORDINAL,
    H_PLAIN,
    H_RANK,
    H_START,
    H_TRUMP_POINTS,
    INFINITE,
    KITTY,
    MOON_SHOT,
    MOONS,
    TRICK_F,
    TRICK_L,
    lane_of,
    suit_of,
)
from hearts_env.solve.dd.position import (
    Position,
    after,
    at_end,
    legal_replies,
    likely_lead,
    likely_reply,
    runs,
)
from hearts_env.support.bits import lowest, popcount
from hearts_env.support.jit import inner, jit


@jit
def write_ranks(mem: k.Vector, bits: int) -> None:
    """Write for every mask of up to `bits` bits how many smaller ones have as many bits set."""
    for n in range(bits + 1):
        mem[H_COUNT + n] = 0
    for mask in range(1 << bits):
        n = popcount(mask)
        by = (mask & 3) << 4
        mem[H_RANK + (mask >> 2)] |= mem[H_COUNT + n] << by
        mem[H_COUNT + n] += 1


@inner
def _place_of(mem: k.Vector, n: int, p: Position) -> int:
    """The place of a position of `n` cards each, hearts broken, in the endgame table.

    By the lengths of the suits, who may shoot, where the marked card is, and the rank of the
    leader's cards among all choices of n from the 2n cards.
    """
    a = p.a
    every = a | p.b
    if mem[H_ALIKE] and every & 0x7F < every >> 8 & 0x7F:
        # Clubs and diamonds count alike: the longer one is put first.
        a = a & ~0x7F7F | (a & 0x7F) << 8 | a >> 8 & 0x7F
        every = every & ~0x7F7F | (every & 0x7F) << 8 | every >> 8 & 0x7F
    end_1 = popcount(every & 0x7F)
    end_2 = popcount(every & 0x7F7F)
    end_3 = popcount(every & 0x7F7F7F)
    own = a & 0x7F | (a >> 8 & 0x7F) << end_1 | (a >> 16 & 0x7F) << end_2 | a >> 24 << end_3
    rank = mem[H_RANK + (own >> 2)] >> ((own & 3) << 4) & 0xFFFF
    lengths = end_1 | (end_2 - end_1) << 3 | (end_3 - end_2) << 6
    start = mem[H_START + (n << 9) + lengths]
    mark = 0
    where = 1
    if mem[H_MARKED_LANE]:
        where += popcount(every & mem[H_MARKED_LANE])
        if p.marks:
            mark = (lowest(p.marks) & 7) + 1
    moon = (p.flags & MOONS) >> 1
    return start + (moon * where + mark) * mem[H_CHOICES + n] + rank


@inner
def has_endgame(mem: k.Vector, n: int, flags: int) -> bool:
    """Whether the table has the positions of `n` cards each with these flags."""
    moons = flags & MOONS
    return (
        n <= mem[H_ENDGAMES]
        and flags & (BROKEN | KITTY) == BROKEN
        and (moons == 0 or mem[H_ORDINAL] != 0)
        and moons != MOONS
    )


@inner
def endgame_value(mem: k.Vector, n: int, p: Position) -> int:
    """The value of a position of `n` cards each in the endgame table."""
    place = _place_of(mem, n, p)
    value = (mem[place >> 3] >> ((place & 7) << 3) & 255) - 128
    if value == MOON_SHOT:
        return mem[H_MOON] - p.left
    if value == -MOON_SHOT:
        return p.left - mem[H_MOON]
    return value


@jit
def _value_from_smaller(mem: k.Vector, n: int, p: Position) -> int:
    """The value of a position of `n` cards each, hearts broken, from those of n - 1."""
    best = -INFINITE
    leads = runs(mem, p.a, p.marks)
    candidates = runs(mem, p.b, p.marks)
    while leads:
        x = likely_lead(mem, p.b, leads)
        leads &= ~x
        lane = lane_of(mem, x)
        replies = candidates & legal_replies(mem, p, lane)
        worst = INFINITE
        while replies and worst > best:
            y = likely_reply(mem, p, x, lane, replies)
            replies &= ~y
            q, points, followed = after(mem, p, x, y)
            if n == 1:
                value = at_end(mem, q.flags)
            else:
                flags = q.flags
                if flags & MOONS and mem[H_TRUMP_POINTS]:
                    flags = moons_after_sure(sure_tricks(mem, q.a, q.b), flags)
                value = endgame_value(mem, n - 1, Position(q.a, q.b, q.marks, q.left, flags))
            worst = min(worst, points - value if followed else value - points)
        best = max(best, worst)
    return best


@inner
def _store_value(mem: k.Vector, n: int, p: Position, value: int) -> None:
    """Write the value of a position of `n` cards each into the endgame table."""
    if 2 * value > mem[H_MOON] and mem[H_ORDINAL]:
        value = MOON_SHOT
    elif -2 * value > mem[H_MOON] and mem[H_ORDINAL]:
        value = -MOON_SHOT
    place = _place_of(mem, n, p)
    by = (place & 7) << 3
    mem[place >> 3] = mem[place >> 3] & ~(255 << by) | value + 128 << by


@jit
def write_endgames(mem: k.Vector, n: int, lengths: int) -> None:
    """Write the values of all positions of `n` cards each, hearts broken, from those of n - 1.

    Args:
        mem: The vector.
        n: How many cards each hand has.
        lengths: How many cards of the first three suits the two hands have: 3 bits each, from the
            lowest on; the other cards are of the last suit.
    """
    end_1 = lengths & 7
    end_2 = end_1 + (lengths >> 3 & 7)
    end_3 = end_2 + (lengths >> 6)
    every = _in_lanes((1 << 2 * n) - 1, end_1, end_2, end_3)
    left = 0
    for suit in range(4):
        left += popcount(every & mem[H_LANE + suit]) * mem[H_PLAIN + suit]
    lane = mem[H_MARKED_LANE]
    places = popcount(every & lane)
    marked = mem[H_MARKED + suit_of(mem, lane)] - mem[H_PLAIN + suit_of(mem, lane)] if lane else 0
    own = (1 << n) - 1
    while own < 1 << 2 * n:
        a = _in_lanes(own, end_1, end_2, end_3)
        b = every & ~a
        sure = sure_tricks(mem, a, b) if mem[H_TRUMP_POINTS] else 0
        for moon in range(3 if mem[H_ORDINAL] else 1):
            # Nobody looks up a moon that cannot be.
            if (moon == 1 and sure >> 8) or (moon == 2 and sure & 255):
                continue
            flags = BROKEN | moon << 1 | TRICK_L | TRICK_F
            for mark in range(places + 1):
                marks = (lane & -lane) << mark >> 1 & lane  # none, then each place in turn
                p = Position(a, b, marks, left + marked if mark else left, flags)
                _store_value(mem, n, p, _value_from_smaller(mem, n, p))
        # the next choice of n cards (Gosper)
        low = own & -own
        ripple = own + low
        own = ripple | (own ^ ripple) // low >> 2


@inner
def _in_lanes(cards: int, end_1: int, end_2: int, end_3: int) -> int:
    """Cards numbered without gaps, of which the first suits end where told, each in its lane."""
    return (
        cards & ((1 << end_1) - 1)
        | (cards >> end_1 & ((1 << end_2 - end_1) - 1)) << 8
        | (cards >> end_2 & ((1 << end_3 - end_2) - 1)) << 16
        | cards >> end_3 << 24
    )
