"""Knowledge about positions without a search, and the vector `mem` for given rules.

- Bounds follow from the points at stake and from trumps that surely take a trick.
- The *transposition table* holds bounds of positions already searched. A line has 64 bytes, the
  unit that the processor fetches. If positions fit into one word, an entry has two words and a line
  four entries. In other, *wide* rules an entry has four words and a line two entries:

  | | word 0 | word 1 | word 2 | word 3 |
  |---|---|---|---|---|
  | narrow | key | bounds, key2 | | |
  | wide | key | key2 | marks | bounds, generation |

  A new entry goes to the front of its line, the others move on, and the last one drops out.
- The *endgame table* holds the exact value of every position of a few cards with hearts broken, one
  byte each. Positions with equal suit lengths are numbered by the choice of the leader's cards. The
  table is filled from one card per hand upwards: the values of n cards follow from the values of n
  - 1.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import SPADES, SUITS
from hearts_env.rules.rules import Rules
from hearts_env.solve.dd import position as d
from hearts_env.support.bits import lowest, popcount
from hearts_env.support.jit import inner, jit


# ---- bounds --------------------------------------------------------------------------------------
@jit
def write_sure_tricks(mem: k.Vector, length: int) -> None:
    """Write, for every holding of up to `length` trumps, how many tricks they surely take.

    If a trump does not take its trick, a higher trump has beaten it, and each trump beats only one.
    So a trump that cannot be matched with a higher trump of the other hand takes a trick under any
    play. The element of the holding ``own`` of ``n`` trumps is ``own + 2**n``. It counts the own
    tricks, plus 256 times the tricks of the other hand.
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
            mem[d.H_SURE + own + (1 << n)] = sure


@inner
def sure_tricks(mem: k.Vector, a: int, b: int) -> int:
    """Return the leader's tricks that trumps surely take, plus 256 times the follower's tricks."""
    trump = mem[d.H_RULES + k.R_TRUMP]
    lane = mem[d.H_LANE + trump]
    own = a & lane
    return mem[d.H_SURE + ((own + (own | b & lane)) >> (trump << mem[d.H_SHIFT])) + 1]


@inner
def moons_after_sure(sure: int, flags: int) -> int:
    """Return the flags, given the tricks that trumps with points surely take.

    A player who takes penalty cards keeps the opponent from shooting the moon.
    """
    if sure & 255:
        flags &= ~d.MOON_F
    if sure >> 8:
        flags &= ~d.MOON_L
    return flags


@inner
def bounds(mem: k.Vector, p: d.TrickPosition) -> tuple[int, int, int]:
    """Return a lower and an upper bound of the value, and the flags without impossible moons."""
    flags = p.flags
    if p.a == 0:
        value = d.at_end(mem, flags)
        return value, value, flags
    left = p.left
    slack = mem[d.H_SLACK]
    low = -left - slack
    high = left + slack
    if mem[d.H_TRUMP_POINTS]:
        sure = sure_tricks(mem, p.a, p.b)
        flags = moons_after_sure(sure, flags)
        high -= 2 * (sure & 255) * mem[d.H_TRUMP_POINTS]
        low += 2 * (sure >> 8) * mem[d.H_TRUMP_POINTS]
    if left == 0 and flags & d.MOON_L and flags & d.MOON_F:
        flags &= ~d.MOONS
    if flags & d.MOON_L:
        high = max(high, mem[d.H_MOON] - left + slack)
    if flags & d.MOON_F:
        low = min(low, left - mem[d.H_MOON] - slack)
    return low, high, flags


# ---- the transposition table ---------------------------------------------------------------------
NARROW_ZERO, WIDE_ZERO = 1 << 15, 1 << 27
"""Added to a bound so that it is not negative, in 16 or in 28 bits."""


@inner
def _line_of(mem: k.Vector, mixed: np.uint64) -> int:
    """Return the start of the line for a mixed key."""
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mem[d.H_TABLE] + ((np.int64(mixed >> np.uint64(34)) & mem[d.H_TABLE_MASK]) << 3)


@inner
def key_of(mem: k.Vector, p: d.TrickPosition) -> tuple[int, int, int]:
    """Return the key of a position, its key2 (in wide rules with marks) and its line's place."""
    flags = p.flags
    if mem[d.H_WIDE]:
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
    return key, key2 | mem[d.H_GENERATION] << 3, place


@inner
def probe(
    mem: k.Vector, key: int, key2: int, marks: int, place: int, low: int, high: int
) -> tuple[int, int, int]:
    """Return a position's entry in the line at `place`, or 0, and the bounds that it narrows."""
    if mem[d.H_WIDE]:
        for i in range(place, place + 8, 4):
            if (
                mem[i] == key
                and mem[i + 1] == key2
                and mem[i + 2] == marks
                and mem[i + 3] >> 56 == mem[d.H_GENERATION]
            ):
                word = mem[i + 3]
                low = max(low, (word & 0xFFFFFFF) - WIDE_ZERO)
                return i, low, min(high, (word >> 28 & 0xFFFFFFF) - WIDE_ZERO)
        return 0, low, high
    for i in range(place, place + 8, 2):
        if mem[i] == key and mem[i + 1] >> 32 == key2:
            word = mem[i + 1]
            low = max(low, (word & 0xFFFF) - NARROW_ZERO)
            return i, low, min(high, (word >> 16 & 0xFFFF) - NARROW_ZERO)
    return 0, low, high


@inner
def store(
    mem: k.Vector, key: int, key2: int, marks: int, place: int, entry: int, low: int, high: int
) -> None:
    """Store the bounds of a position, in its old `entry` if that is still there."""
    if mem[d.H_WIDE]:
        if entry == 0:
            entry = place
            for i in range(4):
                mem[place + 4 + i] = mem[place + i]
        mem[entry] = key
        mem[entry + 1] = key2
        mem[entry + 2] = marks
        mem[entry + 3] = low + WIDE_ZERO | high + WIDE_ZERO << 28 | mem[d.H_GENERATION] << 56
    else:
        if entry == 0 or mem[entry] != key:
            entry = place
            for i in range(place + 7, place + 1, -1):
                mem[i] = mem[i - 2]
        mem[entry] = key
        mem[entry + 1] = low + NARROW_ZERO | high + NARROW_ZERO << 16 | key2 << 32


MOST_GENERATIONS = (1 << 19) - 1, 127
"""The largest generation of an entry, in narrow and in wide rules."""


@jit
def forget(mem: k.Vector) -> None:
    """Empty the transposition table, in place. The endgame table stays."""
    mem[d.H_GENERATION] += 1
    if mem[d.H_GENERATION] > MOST_GENERATIONS[mem[d.H_WIDE]]:
        mem[d.H_GENERATION] = 1
        for i in range(mem[d.H_TABLE], mem[d.H_TABLE] + ((mem[d.H_TABLE_MASK] + 1) << 3)):
            mem[i] = 0


# ---- the endgame table ---------------------------------------------------------------------------
@jit
def write_ranks(mem: k.Vector, bits: int) -> None:
    """Write, for every mask of up to `bits` bits, how many smaller masks have as many bits set."""
    for n in range(bits + 1):
        mem[d.H_COUNT + n] = 0
    for mask in range(1 << bits):
        n = popcount(mask)
        by = (mask & 3) << 4
        mem[d.H_RANK + (mask >> 2)] |= mem[d.H_COUNT + n] << by
        mem[d.H_COUNT + n] += 1


@inner
def _place_of(mem: k.Vector, n: int, p: d.TrickPosition) -> int:
    """Return the place in the endgame table of a position of `n` cards per hand, hearts broken.

    The place follows from the lengths of the suits, the possible shooter, the place of the marked
    card, and the rank of the leader's cards among all choices of n from the 2n cards.
    """
    a = p.a
    every = a | p.b
    if mem[d.H_ALIKE] and every & 0x7F < every >> 8 & 0x7F:
        # Clubs and diamonds count alike: put the longer one first.
        a = a & ~0x7F7F | (a & 0x7F) << 8 | a >> 8 & 0x7F
        every = every & ~0x7F7F | (every & 0x7F) << 8 | every >> 8 & 0x7F
    end_1 = popcount(every & 0x7F)
    end_2 = popcount(every & 0x7F7F)
    end_3 = popcount(every & 0x7F7F7F)
    own = a & 0x7F | (a >> 8 & 0x7F) << end_1 | (a >> 16 & 0x7F) << end_2 | a >> 24 << end_3
    rank = mem[d.H_RANK + (own >> 2)] >> ((own & 3) << 4) & 0xFFFF
    lengths = end_1 | (end_2 - end_1) << 3 | (end_3 - end_2) << 6
    start = mem[d.H_START + (n << 9) + lengths]
    mark = 0
    where = 1
    if mem[d.H_MARKED_LANE]:
        where += popcount(every & mem[d.H_MARKED_LANE])
        if p.marks:
            mark = (lowest(p.marks) & 7) + 1
    moon = (p.flags & d.MOONS) >> 1
    return start + (moon * where + mark) * mem[d.H_CHOICES + n] + rank


@inner
def has_endgame(mem: k.Vector, n: int, flags: int) -> bool:
    """Return whether the table has the positions of `n` cards per hand with these flags."""
    moons = flags & d.MOONS
    return (
        n <= mem[d.H_ENDGAMES]
        and flags & (d.BROKEN | d.KITTY) == d.BROKEN
        and (moons == 0 or mem[d.H_ORDINAL] != 0)
        and moons != d.MOONS
    )


@inner
def endgame_value(mem: k.Vector, n: int, p: d.TrickPosition) -> int:
    """Return the value of a position of `n` cards per hand in the endgame table."""
    place = _place_of(mem, n, p)
    value = (mem[place >> 3] >> ((place & 7) << 3) & 255) - 128
    if value == d.MOON_SHOT:
        return mem[d.H_MOON] - p.left
    if value == -d.MOON_SHOT:
        return p.left - mem[d.H_MOON]
    return value


@jit
def _value_from_smaller(mem: k.Vector, n: int, p: d.TrickPosition) -> int:
    """Return the value of a position of `n` cards per hand, from the values for n - 1 cards."""
    best = -d.INFINITE
    leads = d.runs(mem, p.a, p.marks)
    candidates = d.runs(mem, p.b, p.marks)
    while leads:
        x = d.likely_lead(mem, p.b, leads)
        leads &= ~x
        lane = d.lane_of(mem, x)
        replies = candidates & d.legal_replies(mem, p, lane)
        worst = d.INFINITE
        while replies and worst > best:
            y = d.likely_reply(mem, p, x, lane, replies)
            replies &= ~y
            q, points, followed = d.after(mem, p, x, y)
            if n == 1:
                value = d.at_end(mem, q.flags)
            else:
                flags = q.flags
                if flags & d.MOONS and mem[d.H_TRUMP_POINTS]:
                    flags = moons_after_sure(sure_tricks(mem, q.a, q.b), flags)
                value = endgame_value(mem, n - 1, d.TrickPosition(q.a, q.b, q.marks, q.left, flags))
            worst = min(worst, points - value if followed else value - points)
        best = max(best, worst)
    return best


@inner
def _store_value(mem: k.Vector, n: int, p: d.TrickPosition, value: int) -> None:
    """Write the value of a position of `n` cards per hand into the endgame table."""
    if 2 * value > mem[d.H_MOON] and mem[d.H_ORDINAL]:
        value = d.MOON_SHOT
    elif -2 * value > mem[d.H_MOON] and mem[d.H_ORDINAL]:
        value = -d.MOON_SHOT
    place = _place_of(mem, n, p)
    by = (place & 7) << 3
    mem[place >> 3] = mem[place >> 3] & ~(255 << by) | value + 128 << by


@jit
def write_endgames(mem: k.Vector, n: int, lengths: int) -> None:
    """Write the values of all positions of `n` cards per hand. The values for n - 1 are there.

    Args:
        mem: the vector of the table. Hearts are broken in all positions.
        n: the number of cards per hand.
        lengths: the number of cards of the first three suits in both hands: 3 bits each, from the
            lowest on. All other cards are of the last suit.
    """
    end_1 = lengths & 7
    end_2 = end_1 + (lengths >> 3 & 7)
    end_3 = end_2 + (lengths >> 6)
    every = _in_lanes((1 << 2 * n) - 1, end_1, end_2, end_3)
    left = 0
    for suit in range(4):
        left += popcount(every & mem[d.H_LANE + suit]) * mem[d.H_PLAIN + suit]
    lane = mem[d.H_MARKED_LANE]
    places = popcount(every & lane)
    marked = (
        mem[d.H_MARKED + d.suit_of(mem, lane)] - mem[d.H_PLAIN + d.suit_of(mem, lane)]
        if lane
        else 0
    )
    own = (1 << n) - 1
    while own < 1 << 2 * n:
        a = _in_lanes(own, end_1, end_2, end_3)
        b = every & ~a
        sure = sure_tricks(mem, a, b) if mem[d.H_TRUMP_POINTS] else 0
        for moon in range(3 if mem[d.H_ORDINAL] else 1):
            # An impossible moon is never looked up.
            if (moon == 1 and sure >> 8) or (moon == 2 and sure & 255):
                continue
            flags = d.BROKEN | moon << 1 | d.TRICK_L | d.TRICK_F
            for mark in range(places + 1):
                marks = (lane & -lane) << mark >> 1 & lane  # none, then each place in turn
                p = d.TrickPosition(a, b, marks, left + marked if mark else left, flags)
                _store_value(mem, n, p, _value_from_smaller(mem, n, p))
        # the next choice of n cards (Gosper)
        low = own & -own
        ripple = own + low
        own = ripple | (own ^ ripple) // low >> 2


@inner
def _in_lanes(cards: int, end_1: int, end_2: int, end_3: int) -> int:
    """Spread cards, numbered without gaps, to the lanes of their suits.

    The first three suits end at `end_1` to `end_3`.
    """
    return (
        cards & ((1 << end_1) - 1)
        | (cards >> end_1 & ((1 << end_2 - end_1) - 1)) << 8
        | (cards >> end_2 & ((1 << end_3 - end_2) - 1)) << 16
        | cards >> end_3 << 24
    )


# ---- the vector ----------------------------------------------------------------------------------
Kind = tuple[int, int, int]
"""The form of a suit's points: PLAIN, MARKS or MANY, and the points of plain and marked cards."""


def make_memory(rules: Rules, log2_bytes: int, endgames: int) -> k.Vector:
    """Return the vector with the rules in the form for the search, its stack, and both tables.

    A moon adds `H_MOON` to the value of the last trick. In the presets it beats every other result
    of the shooter (all but two points), so only its order among the outcomes matters. `H_MOON` is
    then a number beyond all others, and the table serves deals with any dead cards. In other rules
    it is the shooter's points so far plus `moon_points`.
    """
    r = rules.vector
    suits = [[i for i, card in enumerate(rules.deck) if card[1] == suit] for suit in SUITS]
    worths = [[int(r[k.R_POINTS_OF + i]) for i in cards] for cards in suits]
    penalties = [p for points in worths for p in points if p > 0]
    bonus = -sum(p for points in worths for p in points if p < 0)
    slack = bonus - rules.no_trick_points
    ordinal = slack == 0 and rules.moon_points >= sum(penalties) - 2 * min(penalties, default=0)
    named = _names_queen(rules)
    queen = int(r[k.R_QUEEN])
    kinds = [_kind(suits[s], worths[s], queen if named and s == SPADES else 0) for s in range(4)]
    num_marked = sum(worths[s].count(kind[2]) for s, kind in enumerate(kinds) if kind[0] == d.MARKS)
    wide = (
        max(map(len, suits)) > 7
        or num_marked > 1
        or any(kind[0] == d.MANY for kind in kinds)
        or sum(penalties) + slack + rules.moon_points > 8000
    )
    alike = kinds[0] == kinds[1] and kinds[0][0] == d.PLAIN and rules.trump not in ("C", "D")
    # Values must fit into a byte, and not depend on earlier tricks.
    fitting = not wide and rules.no_trick_points == 0 and sum(penalties) + bonus < d.MOON_SHOT
    endgames = min(endgames, rules.hand_size - 1) if fitting else 0
    starts, num_bytes = _endgame_starts(list(map(len, suits)), endgames, kinds, alike=alike)
    size = 1 << log2_bytes - 3
    mem = np.zeros(d.HEADER_SIZE + size + 8 + num_bytes // 8 + 8, np.int64)
    mem[d.H_SHIFT], mem[d.H_WIDE], mem[d.H_GENERATION] = 4 if wide else 3, wide, 1
    # Entries of the table share cache lines of 64 bytes.
    mem[d.H_TABLE] = d.HEADER_SIZE + -(mem.ctypes.data // 8 + d.HEADER_SIZE) % 8
    mem[d.H_TABLE_MASK] = size // 8 - 1
    mem[d.H_LIMIT] = d.DEFAULT_NODES
    mem[d.H_ORDINAL], mem[d.H_SLACK] = ordinal, slack
    mem[d.H_MOON] = ((1 << 26) if wide else (1 << 14)) if ordinal else 0
    mem[d.H_RULES : d.H_RULES + k.R_SUIT_MASK] = r[: k.R_SUIT_MASK]
    _write_suits(mem, worths, kinds)
    if named and queen:
        mem[d.H_QUEEN_MODE] = kinds[SPADES][0]
        mem[d.H_QUEEN] = queen >> suits[SPADES][0] << (SPADES << int(mem[d.H_SHIFT]))
    mem[d.H_ENDGAMES], mem[d.H_ALIKE] = endgames, alike
    if endgames:
        _write_endgames(mem, starts, len(mem) - num_bytes // 8 - 1 << 3)
    return mem


def _names_queen(rules: Rules) -> bool:
    """Return whether a rule names the queen of spades."""
    return (
        rules.queen_any_time
        or rules.queen_breaks_hearts
        or rules.unbroken_lead == "queen_frees_hearts"
    )


def _write_suits(mem: k.Vector, worths: list[list[int]], kinds: list[Kind]) -> None:
    """Write the points of the cards of each suit, and the trumps."""
    for s, (kind, plain, marked) in enumerate(kinds):
        mem[d.H_LANE + s] = ((1 << (13 if mem[d.H_WIDE] else 7)) - 1) << (s << int(mem[d.H_SHIFT]))
        mem[d.H_KIND + s], mem[d.H_PLAIN + s], mem[d.H_MARKED + s] = kind, plain, marked
        mem[d.H_POINTS + 16 * s : d.H_POINTS + 16 * s + len(worths[s])] = worths[s]
        if kind == d.MANY:
            mem[d.H_MANY] |= mem[d.H_LANE + s]
    trump = int(mem[d.H_RULES + k.R_TRUMP])
    if trump >= 0:
        mem[d.H_TRUMP_LANE] = mem[d.H_LANE + trump]
        kind, plain, _ = kinds[trump]
        if kind == d.PLAIN and plain > 0:
            mem[d.H_TRUMP_POINTS] = plain
            write_sure_tricks(mem, len(worths[trump]))


def _write_endgames(mem: k.Vector, starts: dict[int, int], first: int) -> None:
    """Fill the endgame table, which begins at byte `first`."""
    for place, start in starts.items():
        mem[d.H_START + place] = first + start
    for s in range(4):
        if mem[d.H_KIND + s] == d.MARKS:
            mem[d.H_MARKED_LANE] = mem[d.H_LANE + s]
    write_ranks(mem, 2 * d.MAX_ENDGAME)
    for n in range(1, int(mem[d.H_ENDGAMES]) + 1):
        mem[d.H_CHOICES + n] = math.comb(2 * n, n)
    for place in sorted(starts):  # fewer cards first
        write_endgames(mem, place >> 9, place & 511)


def _endgame_starts(
    lengths: list[int], endgames: int, kinds: list[Kind], *, alike: bool
) -> tuple[dict[int, int], int]:
    """Return where the positions of each combination of suit lengths begin, and their number."""
    starts: dict[int, int] = {}
    size = 0
    marked = [s for s, kind in enumerate(kinds) if kind[0] == d.MARKS]
    if alike:
        lengths = [max(lengths[:2]), *lengths[1:]]  # put the longer first
    for n in range(1, endgames + 1):
        for parts in itertools.product(*(range(length + 1) for length in lengths)):
            if sum(parts) == 2 * n and not (alike and parts[0] < parts[1]):
                starts[n << 9 | parts[0] | parts[1] << 3 | parts[2] << 6] = size
                where = parts[marked[0]] + 1 if marked else 1
                size += 3 * where * math.comb(2 * n, n)
    return starts, size


def _kind(cards: list[int], worths: list[int], queen: int) -> Kind:
    """Return the form of a suit's points: its kind, and the points of plain and of marked cards.

    `queen` is 0 unless a rule names the queen and this is her suit. Then she alone is marked.
    """
    if queen:
        place = next(i for i, card in enumerate(cards) if queen >> card & 1)
        others = set(worths[:place] + worths[place + 1 :])
        return (
            (d.MARKS, min(others, default=0), worths[place]) if len(others) < 2 else (d.MANY, 0, 0)
        )
    by_count = sorted(set(worths), key=worths.count, reverse=True)
    if len(by_count) < 2:
        return d.PLAIN, sum(by_count), 0
    return (d.MARKS, by_count[0], by_count[1]) if len(by_count) == 2 else (d.MANY, 0, 0)
