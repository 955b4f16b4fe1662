"""Two-player Hearts with all cards seen: the exact value of a position and of each card.

Alpha-beta in zero windows (Pearl's Scout 1980, MTD(f): Plaat et al. 1996) over positions between
two tricks, with a transposition table of positions in relative ranks, as Ginsberg (1996) and
Haglund (2010) have it for bridge. `docs/double_dummy.md` tells what each technique gains.

A position between two tricks is four numbers and some flags. `a` are the leader's cards, `b` the
follower's, each a bit mask of four lanes, one a suit, in which a bit is the rank *among the cards
that are left*: whoever holds the highest diamond left, holds the highest bit of ``a | b`` in that
lane. So cards between which nobody holds any are neighbours, a trick is taken off by shifting
bits together, and positions that differ only in cards already gone are one. `marks` tells the
cards of a suit that are not worth what the others are (in most rules the queen of spades alone);
in suits of three or more worths it has the cards themselves. A value is the margin that the
leader makes from here on (the follower's points less the leader's); while a player may still
shoot the moon, the last trick adds its worth, see `H_MOON`.

The caller owns all memory: one int64 vector `mem` with the rules as the search reads them, its
stack, the transposition table, and the endgame table with the exact values of all positions of a
few cards. Of the functions below only those that are given `mem` and do not say that they return
something from it change it; nothing compiled allocates or raises. The search keeps its own stack
instead of calling itself: numba cannot load a recursive function from its cache (its issue 6061).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env._bits import highest, lowest, popcount
from hearts_env._jit import inlined, jit
from hearts_env._workers import Workers
from hearts_env.arguments import check_is, check_number
from hearts_env.batch import BatchGame
from hearts_env.cards import HEARTS, SPADES, SUITS, list_of, mask_of
from hearts_env.errors import HeartsError
from hearts_env.game import Game
from hearts_env.hidden import unseen_mask
from hearts_env.rules import Rules
from hearts_env.view import PlayerView, World

# ---- the vector: rules, root, tables ------------------------------------------------------------
H_SHIFT = 0  # 3: lanes of 8 bits, for suits of up to 7 cards; 4: of 16
H_WIDE = 1  # positions do not fit into one word
H_GENERATION = 2  # entries of another one are forgotten
H_TABLE, H_TABLE_MASK = 3, 4  # where the transposition table begins; number of its lines less 1
H_NODES, H_LIMIT, H_STOPPED = 5, 6, 7  # positions looked into, how many may be, were too many
H_MOON = 8  # what a moon adds in the end: see `_make_vector`
H_ORDINAL = 9  # a moon beats everything else: `H_MOON` is a symbol, not a number of points
H_NO_TRICK, H_BREAK_ON, H_COMPANY, H_QUEEN_ANY, H_QUEEN_BREAKS = range(10, 15)  # of the rules
H_KITTY_TO, H_KITTY_POINTS, H_KITTY_PENALTY = 15, 16, 17
H_SLACK = 18  # by how much points at stake, bonuses apart, can be wrong
H_TRUMP = 19
H_TRUMP_LANE = 20  # the bits of trumps; 0: no trump
H_TRUMP_POINTS = 21  # of each of them; 0 where they differ, or there are none
H_QUEEN_MODE, H_QUEEN = 22, 23  # kind of the queen's suit if a rule names her, and her place there
H_MANY = 24  # the lanes of suits of kind MANY
H_MARKED_LANE = 25  # the suit that has marked cards, where there is a table of endgames
H_ALIKE = 26  # there clubs and diamonds may be exchanged
H_ENDGAMES = 27  # that table has positions of up to so many cards each
H_FAR = 28  # beyond every value
H_OPTIONS = 29  # techniques switched off
H_LANE = 32  # 4: the bits of each suit
H_PLAIN = 36  # 4: points of its cards ...
H_MARKED = 40  # 4: ... and of its marked ones
H_KIND = 44  # 4: PLAIN, MARKS or MANY
H_ROOT = 48  # 5: a, b, marks, points at stake, flags
H_CHOICES = 56  # 8: how many choices of n cards out of 2n there are
H_COUNT = 64  # 16: for `write_ranks`
H_POINTS = 80  # 4 x 16: points of the cards of a suit of kind MANY
H_OUT = 144  # 52: what `card_values` writes for `world_values`
H_START = 256  # 8 x 512: where positions of n cards in suits of three lengths begin, in bytes
H_RANK = H_START + 4096  # 2**14 of 16 bits: see `write_ranks`
H_SURE = H_RANK + 4096  # 2**14: see `write_sure_tricks`
H_STACK = H_SURE + (1 << 14)
PLAIN, MARKS, MANY = range(3)  # all cards worth the same, two worths, more

# What a position tells beside the cards: hearts are broken; the leader, the follower may yet
# shoot the moon; the leader, the follower has taken a trick (or it does not matter); the kitty is
# still to be awarded.
BROKEN, MOON_L, MOON_F, TRICK_L, TRICK_F, KITTY = 1, 2, 4, 8, 16, 32

# ---- the stack: a frame for each trick that is being searched -----------------------------------
F_A, F_B, F_MARKS, F_LEFT, F_FLAGS, F_TARGET, F_BEST, F_WORST, F_LEADS, F_LEAD = range(10)
F_REPLIES, F_CANDIDATES, F_POINTS, F_FOLLOWED = range(10, 14)
F_KEY, F_KEY2, F_PLACE, F_ENTRY, F_LOW, F_HIGH = range(14, 20)
FRAME = 20
STACK_SIZE = FRAME * 32
HEADER_SIZE = H_STACK + STACK_SIZE

ALL = -1  # no restriction of leads or replies
INFINITE = 1 << 60
MOON_SHOT = 127  # in the endgame table: the leader shoots the moon; negative: the follower does
MAX_ENDGAME = 7
# Techniques that can be switched off, to measure them
NO_TABLE, NO_RUNS, NO_BOUNDS, NO_ORDER, NO_SURE = 1, 2, 4, 8, 16

DEFAULT_NODES = 100_000_000
_MAX_KEPT = 8  # rule sets whose tables are kept


# ---- cards of a position ------------------------------------------------------------------------
@inlined
def points_at(mem: k.Vector, marks: int, suit: int, bit: int) -> int:
    """The points of the card at `bit`."""
    kind = mem[H_KIND + suit]
    if kind == PLAIN:
        return mem[H_PLAIN + suit]
    if kind == MARKS:
        return mem[H_MARKED + suit] if marks & bit else mem[H_PLAIN + suit]
    place = lowest(_nth(mem, marks, suit, bit)) - (suit << mem[H_SHIFT])
    return mem[H_POINTS + 16 * suit + place]


@jit
def _nth(mem: k.Vector, marks: int, suit: int, bit: int) -> int:
    """The card, as it stands in `marks` of a suit of kind MANY, that has rank `bit` among them."""
    live = marks & mem[H_LANE + suit]
    for _ in range(lowest(bit) - (suit << mem[H_SHIFT])):
        live &= live - 1
    return live & -live


@jit
def queen_at(mem: k.Vector, marks: int) -> int:
    """The bit of the queen of spades, where a rule names her; 0 if nobody holds her."""
    if mem[H_QUEEN_MODE] == PLAIN:
        return 0
    live = marks & mem[H_LANE + SPADES]
    if mem[H_QUEEN_MODE] == MARKS:
        return live
    queen = mem[H_QUEEN]
    if live & queen == 0:
        return 0
    return 1 << ((SPADES << mem[H_SHIFT]) + popcount(live & (queen - 1)))


@inlined
def drop(cards: int, above: int) -> int:
    """`cards` without the one at the lowest bit of `above`; those above it go down, in its lane."""
    return (cards & ~above) | ((cards >> 1) & above)


@jit
def _drop_mark(mem: k.Vector, marks: int, suit: int, bit: int, above: int) -> int:
    """`marks` after the card at `bit` has gone, where there are suits of kind MANY."""
    if mem[H_KIND + suit] == MANY:
        return marks & ~_nth(mem, marks, suit, bit)
    return drop(marks, above)


@inlined
def _swapped(flags: int) -> int:
    """The flags as the other side sees them."""
    up = (flags & (MOON_L | TRICK_L)) << 1
    down = (flags & (MOON_F | TRICK_F)) >> 1
    return flags & ~(MOON_L | MOON_F | TRICK_L | TRICK_F) | up | down


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


@jit
def forget(mem: k.Vector) -> None:
    """Make the table empty, in place."""
    mem[H_GENERATION] += 1
    if mem[H_GENERATION] > (127 if mem[H_WIDE] else (1 << 19) - 1):
        mem[H_GENERATION] = 1
        for i in range(mem[H_TABLE], len(mem)):
            mem[i] = 0


# ---- the rules between two tricks ---------------------------------------------------------------
@inlined
def _runs(mem: k.Vector, hand: int, marks: int) -> int:
    """The highest card of each run: neighbours of equal points, of which one is enough."""
    split = marks | mem[H_MANY]
    return hand & (~(hand >> 1) | split | split >> 1)


@inlined
def _legal_leads(mem: k.Vector, a: int, marks: int, flags: int) -> int:
    """The cards that the leader may lead, after the first trick."""
    if flags & BROKEN:
        return a
    company = 0
    if mem[H_COMPANY] == k.SPADES_OR_HEARTS:
        company = mem[H_LANE + SPADES]
    elif mem[H_COMPANY] == k.QUEEN_FREES_HEARTS:
        company = queen_at(mem, marks)
    others = a & ~mem[H_LANE + HEARTS]
    return others if others & ~company else a


@inlined
def _legal_replies(mem: k.Vector, b: int, marks: int, lane: int) -> int:
    """The cards that the follower may play on a lead of the suit `lane`, after the first trick."""
    follow = b & lane
    if follow == 0:
        return b
    if mem[H_QUEEN_ANY]:
        return follow | b & queen_at(mem, marks)
    return follow


@inlined
def _likely_lead(mem: k.Vector, b: int, leads: int) -> int:
    """The lead to try first: a card that the follower can only go under, else in a suit they have.

    Of these the highest of the first suit. To be on lead is worth a lot in this game.
    """
    has = 0
    over = 0
    for suit in range(4):
        lane = mem[H_LANE + suit]
        theirs = b & lane
        if theirs:
            has |= lane
            over |= lane & -(1 << highest(theirs))
    good = leads & over
    if good == 0:
        good = leads & has
        if good == 0:
            good = leads
    return 1 << highest(good & mem[H_LANE + (lowest(good) >> mem[H_SHIFT])])


@inlined
def _likely_reply(mem: k.Vector, b: int, marks: int, x: int, lane: int, replies: int) -> int:
    """The reply to try first: the lowest card that takes the trick, else the highest of the suit.

    Void in the suit: the highest trump, then the queen, then the highest card.
    """
    if b & lane:
        above = replies & -x & lane
        return above & -above if above else 1 << highest(replies)
    trumps = replies & mem[H_TRUMP_LANE]
    if trumps:
        return 1 << highest(trumps)
    if replies & marks:
        return replies & marks & -(replies & marks)
    return 1 << highest(replies)


@inlined
def _after(
    mem: k.Vector, a: int, b: int, marks: int, left: int, flags: int, x: int, y: int
) -> tuple[int, int, int, int, int, int, bool]:
    """The position after a trick of the lead `x` and the reply `y`, as the next leader sees it.

    Returns:
        a, b, marks, points left, flags, points of the trick, and whether the follower took it.
    """
    shift = mem[H_SHIFT]
    suit_x = lowest(x) >> shift
    suit_y = lowest(y) >> shift
    lane_x = mem[H_LANE + suit_x]
    if suit_x == suit_y:
        follower_takes = y > x
    else:
        follower_takes = suit_y == mem[H_TRUMP]
    has_heart = suit_x == HEARTS or suit_y == HEARTS
    if has_heart:
        flags |= BROKEN
    elif flags & BROKEN == 0:
        if suit_x != suit_y and mem[H_BREAK_ON] == k.BREAK_VOID and b & lane_x == 0:
            flags |= BROKEN
        if mem[H_QUEEN_BREAKS] and (x | y) & queen_at(mem, marks):
            flags |= BROKEN
    x_points = points_at(mem, marks, suit_x, x)
    y_points = points_at(mem, marks, suit_y, y)
    points = x_points + y_points
    penalty = max(x_points, 0) + max(y_points, 0)
    if flags & KITTY:
        to = mem[H_KITTY_TO]
        if (
            to == k.KITTY_FIRST
            or (to == k.KITTY_LAST and a & (a - 1) == 0)
            or (to == k.KITTY_HEART and has_heart)
            or (to == k.KITTY_PENALTY and penalty > 0)
        ):
            flags &= ~KITTY
            points += mem[H_KITTY_POINTS]
            penalty += mem[H_KITTY_PENALTY]
    # Take both cards off, the higher bit first.
    above_x = lane_x & -x
    above_y = mem[H_LANE + suit_y] & -y
    first = max(above_x & -above_x, above_y & -above_y)
    above_1 = above_x if first == x else above_y
    above_2 = above_y if first == x else above_x
    if mem[H_MANY]:
        if first == x:
            marks = _drop_mark(mem, marks, suit_x, x, above_x)
            marks = _drop_mark(mem, marks, suit_y, y, above_y)
        else:
            marks = _drop_mark(mem, marks, suit_y, y, above_y)
            marks = _drop_mark(mem, marks, suit_x, x, above_x)
    elif marks:
        marks = drop(drop(marks & ~x & ~y, above_1), above_2)
    a = drop(drop(a, above_1), above_2)
    b = drop(drop(b, above_1), above_2)
    if follower_takes:
        flags |= TRICK_F
        if penalty:
            flags &= ~MOON_L
        return b, a, marks, left - penalty, _swapped(flags), points, True
    flags |= TRICK_L
    if penalty:
        flags &= ~MOON_F
    return a, b, marks, left - penalty, flags, points, False


@inlined
def _at_end(mem: k.Vector, flags: int) -> int:
    """What the leader makes, cards apart, when all are played."""
    moon = flags & (MOON_L | MOON_F)
    if moon not in (0, MOON_L | MOON_F):
        value = mem[H_MOON]
        if flags & KITTY:  # never awarded
            value -= mem[H_KITTY_PENALTY]
        return value if moon == MOON_L else -value
    value = 0
    if flags & TRICK_L == 0:
        value -= mem[H_NO_TRICK]
    if flags & TRICK_F == 0:
        value += mem[H_NO_TRICK]
    return value


@inlined
def _sure_tricks(mem: k.Vector, a: int, b: int) -> int:
    """The tricks that trumps surely take: the leader's, and the follower's times 256."""
    lane = mem[H_LANE + mem[H_TRUMP]]
    own = a & lane
    return mem[H_SURE + ((own + (own | b & lane)) >> (mem[H_TRUMP] << mem[H_SHIFT])) + 1]


# ---- the endgame table --------------------------------------------------------------------------
@inlined
def _endgame_place(mem: k.Vector, n: int, a: int, b: int, marks: int, moon: int) -> int:
    """The place of a position of `n` cards each, hearts broken, in the endgame table.

    By the lengths of the suits, who may shoot, where the marked card is, and the rank of the
    leader's cards among all choices of n from the 2n cards.
    """
    every = a | b
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
        if marks:
            mark = (lowest(marks) & 7) + 1
    return start + (moon * where + mark) * mem[H_CHOICES + n] + rank


@inlined
def _endgame(mem: k.Vector, n: int, a: int, b: int, marks: int, left: int, flags: int) -> int:
    """The value of a position in the endgame table."""
    place = _endgame_place(mem, n, a, b, marks, (flags & (MOON_L | MOON_F)) >> 1)
    value = (mem[place >> 3] >> ((place & 7) << 3) & 255) - 128
    if value == MOON_SHOT:
        return mem[H_MOON] - left
    if value == -MOON_SHOT:
        return left - mem[H_MOON]
    return value


@jit
def _from_endgames(
    mem: k.Vector,
    n: int,
    a: int,
    b: int,
    marks: int,
    left: int,
    flags: int,
) -> int:
    """The value of a position of `n` cards each, hearts broken, from those of n - 1."""
    best = -INFINITE
    leads = _runs(mem, a, marks)
    candidates = _runs(mem, b, marks)
    while leads:
        x = _likely_lead(mem, b, leads)
        leads &= ~x
        lane = mem[H_LANE + (lowest(x) >> mem[H_SHIFT])]
        replies = candidates & _legal_replies(mem, b, marks, lane)
        worst = INFINITE
        while replies and worst > best:
            y = _likely_reply(mem, b, marks, x, lane, replies)
            replies &= ~y
            a2, b2, marks2, left2, flags2, points, followed = _after(
                mem, a, b, marks, left, flags, x, y
            )
            if n == 1:
                value = _at_end(mem, flags2)
            else:
                if flags2 & (MOON_L | MOON_F) and mem[H_TRUMP_POINTS]:
                    sure = _sure_tricks(mem, a2, b2)
                    if sure & 255:
                        flags2 &= ~MOON_F
                    if sure >> 8:
                        flags2 &= ~MOON_L
                value = _endgame(mem, n - 1, a2, b2, marks2, left2, flags2)
            worst = min(worst, points - value if followed else value - points)
        best = max(best, worst)
    return best


@jit
def write_endgames(mem: k.Vector, n: int) -> None:
    """Write the values of all positions of `n` cards each, hearts broken, from those of n - 1."""
    shift = mem[H_SHIFT]
    for lengths in range(512):
        if mem[H_START + (n << 9) + lengths] == 0:
            continue
        l0, l1, l2 = lengths & 7, lengths >> 3 & 7, lengths >> 6
        l3 = 2 * n - l0 - l1 - l2
        every = (1 << l0) - 1 | ((1 << l1) - 1) << 8 | ((1 << l2) - 1) << 16 | ((1 << l3) - 1) << 24
        where = popcount(every & mem[H_MARKED_LANE]) + 1 if mem[H_MARKED_LANE] else 1
        left_plain = 0
        for suit in range(4):
            left_plain += popcount(every & mem[H_LANE + suit]) * mem[H_PLAIN + suit]
        own = (1 << n) - 1
        while own < 1 << 2 * n:
            a = (
                own & ((1 << l0) - 1)
                | (own >> l0 & ((1 << l1) - 1)) << 8
                | (own >> l0 + l1 & ((1 << l2) - 1)) << 16
                | own >> l0 + l1 + l2 << 24
            )
            b = every & ~a
            sure = _sure_tricks(mem, a, b) if mem[H_TRUMP_POINTS] else 0
            for moon in range(3 if mem[H_ORDINAL] else 1):
                # Nobody looks up a moon that cannot be.
                if (moon == 1 and sure >> 8) or (moon == 2 and sure & 255):
                    continue
                for mark in range(where):
                    marks = 0
                    left = left_plain
                    if mark:
                        suit = lowest(mem[H_MARKED_LANE]) >> shift
                        marks = 1 << ((suit << shift) + mark - 1)
                        left += mem[H_MARKED + suit] - mem[H_PLAIN + suit]
                    flags = BROKEN | moon << 1 | TRICK_L | TRICK_F
                    value = _from_endgames(mem, n, a, b, marks, left, flags)
                    if 2 * value > mem[H_MOON] and mem[H_ORDINAL]:
                        value = MOON_SHOT
                    elif -2 * value > mem[H_MOON] and mem[H_ORDINAL]:
                        value = -MOON_SHOT
                    place = _endgame_place(mem, n, a, b, marks, moon)
                    by = (place & 7) << 3
                    mem[place >> 3] = mem[place >> 3] & ~(255 << by) | value + 128 << by
            # the next choice of n cards (Gosper)
            low = own & -own
            ripple = own + low
            own = ripple | (own ^ ripple) // low >> 2


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


# ---- the search ---------------------------------------------------------------------------------
@jit
def search(mem: k.Vector, target: int, lead_only: int, reply_only: int) -> int:
    """A bound of the value of the root, for its leader, that tells whether it reaches `target`.

    At least `target`: a lower bound; less: an upper bound (fail-soft).

    Args:
        mem: The vector of a `Table`, with the root in it.
        target: What the leader wants.
        lead_only: The leads allowed at the root, as a mask; `ALL`: what the rules allow after
            the first trick.
        reply_only: The replies allowed at the root; `ALL`: what the rules allow.
    """
    shift = mem[H_SHIFT]
    wide = mem[H_WIDE]
    slack = mem[H_SLACK]
    trump_points = mem[H_TRUMP_POINTS]
    options = mem[H_OPTIONS]
    endgames = mem[H_ENDGAMES]
    endgame_moons = mem[H_ORDINAL]
    budget = mem[H_LIMIT] - mem[H_NODES]
    nodes = 0
    a = mem[H_ROOT]
    b = mem[H_ROOT + 1]
    marks = mem[H_ROOT + 2]
    left = mem[H_ROOT + 3]
    flags = mem[H_ROOT + 4]
    restricted = lead_only != ALL
    frame = H_STACK
    entering = True
    value = 0
    while True:
        known = True
        if entering:
            # ---- a position: its value, or a bound that is enough, or a new frame ----------------
            entering = False
            low = -left - slack
            high = left + slack
            if a == 0:
                low = high = _at_end(mem, flags)
            else:
                if trump_points and options & NO_SURE == 0:
                    sure = _sure_tricks(mem, a, b)
                    if sure & 255:
                        # The leader takes penalty cards: the other shoots no moon.
                        flags &= ~MOON_F
                        high -= 2 * (sure & 255) * trump_points
                    if sure >> 8:
                        flags &= ~MOON_L
                        low += 2 * (sure >> 8) * trump_points
                if left == 0 and flags & MOON_L and flags & MOON_F:
                    flags &= ~(MOON_L | MOON_F)
                if flags & MOON_L:
                    high = max(high, mem[H_MOON] - left + slack)
                if flags & MOON_F:
                    low = min(low, left - mem[H_MOON] - slack)
                if options & NO_BOUNDS:
                    low = -mem[H_FAR]
                    high = mem[H_FAR]
            key = key2 = place = entry = 0
            if high < target or low >= target:
                pass
            elif restricted and frame == H_STACK:
                known = False
            else:
                n = popcount(a)
                if (
                    n <= endgames
                    and flags & (BROKEN | KITTY) == BROKEN
                    and (flags & (MOON_L | MOON_F) == 0 or endgame_moons)
                    and flags & (MOON_L | MOON_F) != MOON_L | MOON_F
                ):
                    low = high = _endgame(mem, n, a, b, marks, left, flags)
                elif options & NO_TABLE:
                    known = False
                elif wide:
                    key = a | (flags & 1) << 13 | (flags & 6) << 28
                    key2 = b | (flags & 8) << 10 | (flags & 48) << 25
                    mixed = (
                        np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
                        ^ np.uint64(key2) * np.uint64(0xC2B2AE3D27D4EB4F)
                        ^ np.uint64(marks) * np.uint64(0xD6E8FEB86659FD93)
                    )
                    mixed ^= mixed >> np.uint64(29)
                    mixed *= np.uint64(0xBF58476D1CE4E5B9)
                    place = mem[H_TABLE] + (
                        (np.int64(mixed >> np.uint64(34)) & mem[H_TABLE_MASK]) << 3
                    )
                    known = False
                    for i in range(place, place + 8, 4):
                        if (
                            mem[i] == key
                            and mem[i + 1] == key2
                            and mem[i + 2] == marks
                            and mem[i + 3] >> 56 == mem[H_GENERATION]
                        ):
                            entry = i
                            bounds = mem[i + 3]
                            high = min(high, (bounds >> 28 & 0xFFFFFFF) - (1 << 27))
                            low = max(low, (bounds & 0xFFFFFFF) - (1 << 27))
                            known = high < target or low >= target
                            break
                else:
                    mark = lowest(marks) & 7 if marks else 7
                    key = (
                        a
                        | b << 32
                        | (flags & 1) << 7
                        | (flags & 2) << 14
                        | (flags & 4) << 21
                        | (mark & 1) << 31
                        | (mark & 2) << 38
                        | (mark & 4) << 45
                    )
                    key2 = flags >> 3
                    mixed = np.uint64(key + key2) * np.uint64(0x9E3779B97F4A7C15)
                    mixed ^= mixed >> np.uint64(32)
                    mixed *= np.uint64(0xBF58476D1CE4E5B9)
                    place = mem[H_TABLE] + (
                        (np.int64(mixed >> np.uint64(34)) & mem[H_TABLE_MASK]) << 3
                    )
                    key2 |= mem[H_GENERATION] << 3
                    known = False
                    for i in range(place, place + 8, 2):
                        if mem[i] == key and mem[i + 1] >> 32 == key2:
                            entry = i
                            bounds = mem[i + 1]
                            high = min(high, (bounds >> 16 & 0xFFFF) - (1 << 15))
                            low = max(low, (bounds & 0xFFFF) - (1 << 15))
                            known = high < target or low >= target
                            break
            if known:
                value = low if low >= target else high
                if frame == H_STACK:
                    break
                frame -= FRAME
            else:
                nodes += 1
                if nodes > budget:
                    mem[H_STOPPED] = 1
                    value = target
                    break
                leads = a if restricted and frame == H_STACK else _legal_leads(mem, a, marks, flags)
                candidates = b
                if options & NO_RUNS == 0:
                    leads &= _runs(mem, a, marks)
                    candidates = _runs(mem, b, marks)
                if restricted and frame == H_STACK:
                    leads &= lead_only
                mem[frame + F_A] = a
                mem[frame + F_B] = b
                mem[frame + F_MARKS] = marks
                mem[frame + F_LEFT] = left
                mem[frame + F_FLAGS] = flags
                mem[frame + F_TARGET] = target
                mem[frame + F_BEST] = -INFINITE
                mem[frame + F_LEADS] = leads
                mem[frame + F_LEAD] = 0
                mem[frame + F_REPLIES] = 0
                mem[frame + F_CANDIDATES] = candidates
                mem[frame + F_KEY] = key
                mem[frame + F_KEY2] = key2
                mem[frame + F_PLACE] = place
                mem[frame + F_ENTRY] = entry
                mem[frame + F_LOW] = low
                mem[frame + F_HIGH] = high

        # ---- the frame: take in the value of a trick that was tried, then go on to the next ------
        a = mem[frame + F_A]
        b = mem[frame + F_B]
        marks = mem[frame + F_MARKS]
        target = mem[frame + F_TARGET]
        best = mem[frame + F_BEST]
        leads = mem[frame + F_LEADS]
        x = mem[frame + F_LEAD]
        replies = mem[frame + F_REPLIES]
        if known:
            if mem[frame + F_FOLLOWED]:
                value = mem[frame + F_POINTS] - value
            else:
                value -= mem[frame + F_POINTS]
            worst = min(mem[frame + F_WORST], value)
            mem[frame + F_WORST] = worst
            if worst < target:
                replies = 0  # the follower has an answer to this lead
            if replies == 0 and worst > best:
                best = worst
                mem[frame + F_BEST] = best
                if best >= target:
                    leads = 0
        if replies == 0:
            if leads == 0:
                # ---- the position is done: keep what was found -----------------------------------
                place = mem[frame + F_PLACE]
                if place:
                    low = mem[frame + F_LOW]
                    high = mem[frame + F_HIGH]
                    if best >= target:
                        low = max(low, best)
                    else:
                        high = min(high, best)
                    key = mem[frame + F_KEY]
                    entry = mem[frame + F_ENTRY]
                    if wide:
                        if entry == 0:
                            entry = place
                            for i in range(4):
                                mem[place + 4 + i] = mem[place + i]
                        mem[entry] = key
                        mem[entry + 1] = mem[frame + F_KEY2]
                        mem[entry + 2] = marks
                        bounds = low + (1 << 27) | high + (1 << 27) << 28
                        mem[entry + 3] = bounds | mem[H_GENERATION] << 56
                    else:
                        if entry == 0 or mem[entry] != key:
                            # The others move on a place, and the one kept longest falls out.
                            entry = place
                            for i in range(place + 7, place + 1, -1):
                                mem[i] = mem[i - 2]
                        mem[entry] = key
                        bounds = low + (1 << 15) | high + (1 << 15) << 16
                        mem[entry + 1] = bounds | mem[frame + F_KEY2] << 32
                value = best
                if frame == H_STACK:
                    break
                frame -= FRAME
                continue
            # ---- the next lead -------------------------------------------------------------------
            x = leads & -leads if options & NO_ORDER else _likely_lead(mem, b, leads)
            mem[frame + F_LEADS] = leads & ~x
            mem[frame + F_LEAD] = x
            mem[frame + F_WORST] = INFINITE
            lane = mem[H_LANE + (lowest(x) >> shift)]
            replies = mem[frame + F_CANDIDATES]
            if reply_only != ALL and frame == H_STACK:
                replies &= reply_only
            else:
                replies &= _legal_replies(mem, b, marks, lane)
        else:
            lane = mem[H_LANE + (lowest(x) >> shift)]
        # ---- the next reply ----------------------------------------------------------------------
        if options & NO_ORDER:
            y = replies & -replies
        else:
            y = _likely_reply(mem, b, marks, x, lane, replies)
        mem[frame + F_REPLIES] = replies & ~y
        left = mem[frame + F_LEFT]
        flags = mem[frame + F_FLAGS]
        a, b, marks, left, flags, points, followed = _after(mem, a, b, marks, left, flags, x, y)
        mem[frame + F_POINTS] = points
        mem[frame + F_FOLLOWED] = followed
        target = points - target + 1 if followed else target + points
        frame += FRAME
        entering = True
    mem[H_NODES] += nodes
    return value


# ---- from the kernel's states -------------------------------------------------------------------
@jit
def _exact(mem: k.Vector, guess: int, lead_only: int, reply_only: int) -> int:
    """The value of the root for its leader, from a guess by zero windows (MTD(f))."""
    low = -INFINITE
    high = INFINITE
    target = guess
    while low < high and not mem[H_STOPPED]:
        value = search(mem, target, lead_only, reply_only)
        if value >= target:
            low = value
            target = value + 1
        else:
            high = value
            target = value
    return low


@jit
def _set_root(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """Write the position of a state into `mem`; returns the mover's margin of the points so far."""
    player = s[k.PLAYER]
    leader = s[k.LEADER]
    leaders = s[k.HANDS + player]
    live = leaders | other
    if s[k.TRICK_LEN] == 1:
        # The card that was led goes back into its hand: it is the only lead then.
        leaders = other | s[k.TRICK_MASK]
        live |= s[k.TRICK_MASK]
    follower = 1 - leader
    a = b = marks = left = 0
    for suit in range(4):
        lane = suit << mem[H_SHIFT]
        cards = live & r[k.R_SUIT_MASK + suit]
        first = lowest(r[k.R_SUIT_MASK + suit])
        bit = 1 << lane
        while cards:
            card = lowest(cards)
            cards &= cards - 1
            if leaders >> card & 1:
                a |= bit
            else:
                b |= bit
            points = r[k.R_POINTS_OF + card]
            left += max(points, 0)
            if mem[H_KIND + suit] == MANY:
                marks |= 1 << (lane + card - first)
            elif mem[H_KIND + suit] == MARKS:
                if mem[H_QUEEN_MODE] == MARKS and suit == SPADES:
                    marked = r[k.R_QUEEN] >> card & 1 != 0
                else:
                    marked = points == mem[H_MARKED + suit]
                if marked:
                    marks |= bit
            bit <<= 1
    flags = 0
    if s[k.BROKEN]:
        flags |= BROKEN
    leader_has = s[k.TAKEN + leader] & r[k.R_PENALTY]
    follower_has = s[k.TAKEN + follower] & r[k.R_PENALTY]
    if r[k.R_MOON] != k.MOON_NONE:
        if follower_has == 0:
            flags |= MOON_L
        if leader_has == 0:
            flags |= MOON_F
    if s[k.TRICKS + leader] or r[k.R_NO_TRICK] == 0:
        flags |= TRICK_L
    if s[k.TRICKS + follower] or r[k.R_NO_TRICK] == 0:
        flags |= TRICK_F
    kitty_points = kitty_penalty = 0
    if r[k.R_KITTY_TO] != k.KITTY_NOBODY and s[k.KITTY_TAKER] < 0:
        kitty = r[k.R_DECK] & ~live & ~s[k.PLAYED] & ~s[k.PLAYED + 1]
        flags |= KITTY
        kitty_points = k.mask_points(r, kitty)
        kitty_penalty = k.mask_points(r, kitty & r[k.R_PENALTY])
        left += kitty_penalty
    moon = mem[H_MOON]
    if not mem[H_ORDINAL]:
        moon = r[k.R_MOON_POINTS] + left + k.mask_points(r, leader_has | follower_has)
    if (
        moon != mem[H_MOON]
        or kitty_points != mem[H_KITTY_POINTS]
        or kitty_penalty != mem[H_KITTY_PENALTY]
    ):
        # These are no part of a stored position.
        mem[H_MOON] = moon
        mem[H_KITTY_POINTS] = kitty_points
        mem[H_KITTY_PENALTY] = kitty_penalty
        forget(mem)
    mem[H_ROOT] = a
    mem[H_ROOT + 1] = b
    mem[H_ROOT + 2] = marks
    mem[H_ROOT + 3] = left
    mem[H_ROOT + 4] = flags
    mem[H_STOPPED] = mem[H_NODES] = 0
    return s[k.POINTS + 1 - player] - s[k.POINTS + player]


@jit
def _settled(r: k.Vector, mem: k.Vector, before: int, value: int) -> int:
    """The mover's margin of the whole deal, from that of the points so far and the value."""
    if mem[H_ORDINAL]:
        if 2 * value > mem[H_MOON]:
            return r[k.R_MOON_POINTS]
        if -2 * value > mem[H_MOON]:
            return -r[k.R_MOON_POINTS]
    return before + value


@jit
def _run_of(r: k.Vector, mem: k.Vector, hand: int, live: int, card: int) -> int:
    """The bit at which the root has the highest card of the run that `card` is part of.

    `hand` is the root's mask of the cards of its holder, `live` all cards held, as the deck has
    them.
    """
    suit = r[k.R_SUIT_OF + card]
    below = live & r[k.R_SUIT_MASK + suit] & ((1 << card) - 1)
    bit = 1 << ((suit << mem[H_SHIFT]) + popcount(below))
    split = mem[H_ROOT + 2] | mem[H_MANY]
    split |= split >> 1
    while hand & bit << 1 and split & bit == 0:
        bit <<= 1
    return bit


@jit
def _first_replies(
    r: k.Vector, s: k.Vector, mem: k.Vector, other: int, live: int, card: int
) -> int:
    """The replies to the lead of `card`, restricted on a first trick that forbids points."""
    if s[k.TRICK_NUM] or r[k.R_POINTS_FIRST]:
        return ALL
    harmless = other & ~r[k.R_PENALTY]
    if harmless == 0 or other & r[k.R_SUIT_MASK + r[k.R_SUIT_OF + card]]:
        return ALL
    if r[k.R_QUEEN_ANY_TIME]:
        harmless |= other & r[k.R_QUEEN]
    replies = 0
    while harmless:
        replies |= _run_of(r, mem, mem[H_ROOT + 1], live, lowest(harmless))
        harmless &= harmless - 1
    return replies


@jit
def card_values(r: k.Vector, s: k.Vector, other: int, mem: k.Vector, out: k.Vector) -> int:
    """Write the margin of the player to act after each legal card into ``out[card]``.

    Args:
        r: The rules, of two players.
        s: A state in the play, or the view of the player to act: the other's hand is not read.
        other: The other player's cards.
        mem: The vector of a `Table` of these rules, which learns.
        out: 52 numbers; those of other cards are left alone.

    Returns:
        The legal cards as a mask; -1 if `H_LIMIT` was not enough.
    """
    before = _set_root(r, s, other, mem)
    player = s[k.PLAYER]
    legal = k.legal_mask(r, s)
    leading = s[k.TRICK_LEN] == 0
    live = s[k.HANDS + player] | other | s[k.TRICK_MASK]
    hand = mem[H_ROOT] if leading else mem[H_ROOT + 1]
    lead = ALL
    if not leading:
        lead = _run_of(r, mem, mem[H_ROOT], live, lowest(s[k.TRICK_MASK]))
    last = 0
    value = 0
    cards = legal
    while cards:
        card = highest(cards)
        cards &= ~(1 << card)
        run = _run_of(r, mem, hand, live, card)
        if run != last:  # else it is worth what its neighbour is
            last = run
            if leading:
                replies = _first_replies(r, s, mem, other, live, card)
                value = _exact(mem, value, run, replies)
            else:
                value = -_exact(mem, -value, lead, run)
        out[card] = _settled(r, mem, before, value)
    return -1 if mem[H_STOPPED] else legal


@jit
def position_value(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """The margin of the player to act, as ``card_values`` has it, under best play."""
    before = _set_root(r, s, other, mem)
    leading = s[k.TRICK_LEN] == 0
    if leading and s[k.TRICK_NUM] > 0:
        return _settled(r, mem, before, _exact(mem, 0, ALL, ALL))
    player = s[k.PLAYER]
    live = s[k.HANDS + player] | other | s[k.TRICK_MASK]
    hand = mem[H_ROOT] if leading else mem[H_ROOT + 1]
    lead = ALL
    if not leading:
        lead = _run_of(r, mem, mem[H_ROOT], live, lowest(s[k.TRICK_MASK]))
    best = -INFINITE
    last = 0
    cards = k.legal_mask(r, s)
    while cards:
        card = highest(cards)
        cards &= ~(1 << card)
        run = _run_of(r, mem, hand, live, card)
        if run == last:
            continue
        last = run
        # Only what is better than the best so far need be known exactly (Scout).
        if leading:
            replies = _first_replies(r, s, mem, other, live, card)
            if best == -INFINITE:
                best = _exact(mem, 0, run, replies)
            else:
                value = search(mem, best + 1, run, replies)
                if value > best:
                    best = _exact(mem, value, run, replies)
        elif best == -INFINITE:
            best = -_exact(mem, 0, lead, run)
        elif -search(mem, -best, lead, run) > best:
            best = -_exact(mem, -best - 1, lead, run)
    return _settled(r, mem, before, best)


@jit
def world_values(r: k.Vector, v: k.Vector, hands: k.Vector, mem: k.Vector, values: k.Vector) -> int:
    """Write ``card_values`` for each of the other's possible `hands` into a row of `values`.

    `v` is the view of the player to act; the columns are its legal cards, ascending. Returns how
    many rows were written: all, unless `H_LIMIT` was not enough.
    """
    out = mem[H_OUT : H_OUT + k.MAX_CARDS]
    for i in range(len(hands)):
        legal = card_values(r, v, hands[i], mem, out)
        if legal < 0:
            return i
        column = 0
        while legal:
            values[i, column] = out[lowest(legal)]
            column += 1
            legal &= legal - 1
    return len(hands)


@jit
def _is_possible(r: k.Vector, s: k.Vector) -> bool:
    """Whether the cards of a state in the play are where they can be."""
    trick = s[k.TRICK_LEN]
    player = s[k.PLAYER]
    leader = s[k.LEADER]
    if (
        trick not in (0, 1)
        or leader not in (0, 1)
        or player != (leader if trick == 0 else 1 - leader)
    ):
        return False
    everything = 0
    for p in range(2):
        hand = s[k.HANDS + p]
        played = s[k.PLAYED + p]
        if hand & ~r[k.R_DECK] or hand & everything or popcount(hand | played) != r[k.R_HAND_SIZE]:
            return False
        if popcount(hand) + popcount(played) != r[k.R_HAND_SIZE]:
            return False
        if popcount(played) != s[k.TRICK_NUM] + (trick if p == leader else 0):
            return False
        everything |= hand | played
    if s[k.TRICK_MASK] & ~s[k.PLAYED + leader] or popcount(s[k.TRICK_MASK]) != trick:
        return False
    return s[k.HANDS + player] != 0


@jit
def position_values(r: k.Vector, states: k.Vector, mem: k.Vector, values: k.Vector) -> int:
    """Write the margin of the player to act of each state, seat 0's where a game is over.

    Returns how many were written: all, or those before one that cannot be or, with `H_STOPPED`
    set, for which `H_LIMIT` was not enough.
    """
    mem[H_STOPPED] = 0
    for i in range(len(states)):
        s = states[i]
        if s[k.PHASE] == k.OVER:
            values[i] = k.margin_sum(r, s, 0)
        elif s[k.PHASE] == k.MOON:
            # The shooter is as far ahead under either choice.
            player = s[k.PLAYER]
            values[i] = r[k.R_MOON_POINTS]
            values[i] += k.mask_points(r, s[k.TAKEN + 1 - player] & ~r[k.R_PENALTY])
            values[i] -= k.mask_points(r, s[k.TAKEN + player] & ~r[k.R_PENALTY])
        elif s[k.PHASE] != k.PLAY or not _is_possible(r, s):
            return i
        else:
            values[i] = position_value(r, s, s[k.HANDS + 1 - s[k.PLAYER]], mem)
            if mem[H_STOPPED]:
                return i
    return len(states)


# ---- Python -------------------------------------------------------------------------------------
def _make_vector(rules: Rules, log2_bytes: int, endgames: int) -> k.Vector:
    """The rules as the search reads them, its stack, an empty table and that of the endgames.

    A moon adds `H_MOON` to the value of the last trick. Where it beats whatever else the shooter
    could make (two points short of all, in the presets), only its order among the outcomes
    matters to the search, so it is a number beyond all others there and the table serves deals
    with any cards dead. Elsewhere it is the points that the shooter has by then, back, and
    `moon_points`.
    """
    r = rules.vector
    suits = [[i for i, card in enumerate(rules.deck) if card[1] == suit] for suit in SUITS]
    worths = [[int(r[k.R_POINTS_OF + i]) for i in cards] for cards in suits]
    penalties = [p for points in worths for p in points if p > 0]
    bonus = -sum(p for points in worths for p in points if p < 0)
    slack = bonus - rules.no_trick_points
    ordinal = slack == 0 and rules.moon_points >= sum(penalties) - 2 * min(penalties, default=0)
    queen = int(r[k.R_QUEEN])
    named = (
        rules.queen_any_time
        or rules.queen_breaks_hearts
        or rules.unbroken_lead == "queen_frees_hearts"
    )
    kinds = [_kind(suits[s], worths[s], queen if named and s == SPADES else 0) for s in range(4)]
    num_marked = sum(worths[s].count(kind[2]) for s, kind in enumerate(kinds) if kind[0] == MARKS)
    wide = (
        max(map(len, suits)) > 7
        or num_marked > 1
        or any(kind[0] == MANY for kind in kinds)
        or sum(penalties) + slack + rules.moon_points > 8000
    )
    size = 1 << log2_bytes - 3
    alike = kinds[0] == kinds[1] and kinds[0][0] == PLAIN and rules.trump not in ("C", "D")
    # Values must fit into a byte, and not depend on what was played before.
    fitting = not wide and rules.no_trick_points == 0 and sum(penalties) + bonus < MOON_SHOT
    endgames = min(endgames, rules.hand_size - 1) if fitting else 0
    starts, num_bytes = _endgame_starts(list(map(len, suits)), endgames, kinds, alike=alike)
    mem = np.zeros(HEADER_SIZE + size + 8 + num_bytes // 8 + 8, np.int64)
    shift = 4 if wide else 3
    mem[H_SHIFT], mem[H_WIDE], mem[H_GENERATION], mem[H_LIMIT] = shift, wide, 1, DEFAULT_NODES
    # Entries of the table share cache lines of 64 bytes.
    mem[H_TABLE] = HEADER_SIZE + -(mem.ctypes.data // 8 + HEADER_SIZE) % 8
    mem[H_TABLE_MASK] = size // 8 - 1
    mem[H_ORDINAL] = ordinal
    mem[H_FAR] = (1 << 27) - 1 if wide else (1 << 15) - 1
    mem[H_MOON] = ((1 << 26) if wide else (1 << 14)) if ordinal else 0
    mem[H_NO_TRICK], mem[H_SLACK] = rules.no_trick_points, slack
    mem[H_BREAK_ON], mem[H_COMPANY] = r[k.R_BREAK_ON], r[k.R_UNBROKEN_LEAD]
    mem[H_KITTY_TO], mem[H_TRUMP] = r[k.R_KITTY_TO], r[k.R_TRUMP]
    if named and queen:
        mem[H_QUEEN_MODE] = kinds[SPADES][0]
        mem[H_QUEEN] = queen >> suits[SPADES][0] << (SPADES << shift)
        mem[H_QUEEN_ANY], mem[H_QUEEN_BREAKS] = rules.queen_any_time, rules.queen_breaks_hearts
    for s, (kind, plain, marked) in enumerate(kinds):
        mem[H_LANE + s] = ((1 << (13 if wide else 7)) - 1) << (s << shift)
        mem[H_KIND + s], mem[H_PLAIN + s], mem[H_MARKED + s] = kind, plain, marked
        mem[H_POINTS + 16 * s : H_POINTS + 16 * s + len(suits[s])] = worths[s]
        if kind == MANY:
            mem[H_MANY] |= mem[H_LANE + s]
    if rules.trump is not None:
        mem[H_TRUMP_LANE] = mem[H_LANE + SUITS.index(rules.trump)]
        kind, plain, _ = kinds[SUITS.index(rules.trump)]
        if kind == PLAIN and plain > 0:
            mem[H_TRUMP_POINTS] = plain
            write_sure_tricks(mem, len(suits[SUITS.index(rules.trump)]))
    mem[H_ENDGAMES] = endgames
    mem[H_ALIKE] = alike
    if endgames:
        first = len(mem) - num_bytes // 8 - 1 << 3
        for place, start in starts.items():
            mem[H_START + place] = first + start
        for n in range(1, endgames + 1):
            mem[H_CHOICES + n] = math.comb(2 * n, n)
        for s, (kind, _, _) in enumerate(kinds):
            if kind == MARKS:
                mem[H_MARKED_LANE] = mem[H_LANE + s]
        write_ranks(mem, 2 * MAX_ENDGAME)
        for n in range(1, endgames + 1):
            write_endgames(mem, n)
    return mem


def _endgame_starts(
    lengths: list[int], endgames: int, kinds: list[tuple[int, int, int]], *, alike: bool
) -> tuple[dict[int, int], int]:
    """Where the positions of n cards in suits of given lengths begin, and how many there are."""
    starts: dict[int, int] = {}
    size = 0
    marked = [s for s, kind in enumerate(kinds) if kind[0] == MARKS]
    if alike:
        lengths = [max(lengths[:2]), *lengths[1:]]  # the longer is put first
    for n in range(1, endgames + 1):
        for parts in itertools.product(*(range(length + 1) for length in lengths)):
            if sum(parts) == 2 * n:
                starts[n << 9 | parts[0] | parts[1] << 3 | parts[2] << 6] = size
                if alike and parts[0] < parts[1]:
                    continue
                where = parts[marked[0]] + 1 if marked else 1
                size += 3 * where * math.comb(2 * n, n)
    return starts, size


def _kind(cards: list[int], worths: list[int], queen: int) -> tuple[int, int, int]:
    """How a suit's points are kept: its kind, the points of plain and of marked cards.

    `queen` is 0 unless a rule names the queen and this is her suit: then she alone is marked.
    """
    if queen:
        place = next(i for i, card in enumerate(cards) if queen >> card & 1)
        others = set(worths[:place] + worths[place + 1 :])
        return (MARKS, min(others, default=0), worths[place]) if len(others) < 2 else (MANY, 0, 0)
    found = sorted(set(worths), key=worths.count, reverse=True)
    if len(found) < 2:
        return PLAIN, sum(found), 0
    return (MARKS, found[0], found[1]) if len(found) == 2 else (MANY, 0, 0)


@dataclass(frozen=True)
class Solution:
    """What best play leads to, for the player to act.

    Attributes:
        value: the margin of the whole deal (the other's score less one's own) if both play on as
            well as they can, all cards seen; of a game that is over, seat 0's.
        best: the actions that reach it, ascending; none when the game is over.
        values: the margin after each legal action.
        nodes: how many positions were looked at.
    """

    value: int
    best: list[int]
    values: dict[int, int]
    nodes: int = 0


class Table:
    """The memory of the solver for one rule set: found bounds, kept from call to call.

    Positions are stored by what matters of them alone, so that what one deal taught serves the
    next. A table belongs to one thread at a time.
    """

    def __init__(self, rules: Rules | str, *, log2_bytes: int = 20, endgames: int = 5) -> None:
        """An empty table.

        Args:
            rules: the rules, or a preset's name.
            log2_bytes: what it learns has ``2 ** log2_bytes`` bytes; 14 to 34.
            endgames: with how many cards each all positions are solved now and kept beside; 0 to
                7. Where the deck or the points do not suit that table (`docs/double_dummy.md`),
                none are.

        Raises:
            HeartsError: the rules are not for two players, or a number is out of range.
        """
        self.rules = _check_rules(Rules.make(rules))
        log2_bytes = check_number("log2_bytes", log2_bytes, 14, 34)
        endgames = check_number("endgames", endgames, 0, MAX_ENDGAME)
        self.vector = _make_vector(self.rules, log2_bytes, endgames)

    def clear(self) -> None:
        """Forget everything found so far."""
        forget(self.vector)

    def __repr__(self) -> str:
        return f"<Table of {self.rules.name}: {self.vector.nbytes / 2**20:.1f} MiB>"


def solve(game: Game, *, table: Table | None = None, max_nodes: int = DEFAULT_NODES) -> Solution:
    """The value of a position and of each legal action, both hands seen and both played perfectly.

    Args:
        game: a game of two players, after the exchange; it is not changed.
        table: memory to use, by one thread at a time; None: some that is kept for each rule set.
        max_nodes: give up after so many positions in all; a deal of `two_player` needs a
            few hundred, 26 cards each without trump a million or two.

    Raises:
        HeartsError: more players than two, an exchange under way, a table of other rules, or
            `max_nodes` was not enough.
    """
    check_is("game", game, Game, "give a game with all cards seen; a view has solve_worlds")
    rules = _check_rules(game.rules)
    if game.is_over:
        return Solution(int(game.margins()[0]), [], {})
    s = game.vector
    if s[k.PHASE] == k.PASS:
        raise HeartsError(
            "phase: the exchange is not over; play it first, the solver begins with the first lead"
        )
    if s[k.PHASE] == k.MOON:
        values = {}
        for action in game.legal_actions():
            after = game.clone()
            after.play(action)
            values[action] = int(after.margins()[int(s[k.PLAYER])])
        return _solution(values, 0)
    out = np.empty(k.MAX_CARDS, np.int64)
    other = int(s[k.HANDS + 1 - s[k.PLAYER]])
    with _borrowed(rules, table) as memory:
        _set_limit(memory, max_nodes)
        legal = int(card_values(rules.vector, s, other, memory, out))
        nodes = int(memory[H_NODES])
    if legal < 0:
        raise _too_many(max_nodes)
    return _solution({card: int(out[card]) for card in list_of(legal)}, nodes)


def solve_worlds(
    view: PlayerView,
    worlds: Sequence[World] | None = None,
    *,
    table: Table | None = None,
    max_nodes: int = DEFAULT_NODES,
) -> tuple[list[World], NDArray[np.int64]]:
    """The margin of each legal action in each world that a player thinks possible.

    Args:
        view: of the player to act, in the play of a game of two.
        worlds: some of ``view.worlds()``; None: all.
        table: memory to use, by one thread at a time; None: some that is kept for each rule set.
        max_nodes: give up after so many positions in one world.

    Returns:
        The worlds, and ``(num_worlds, num_legal)`` margins for the player to act, the columns in
        the order of ``view.legal_actions()``.

    Raises:
        HeartsError: more players than two, a view not of the player to act in the play, a table
            of other rules, a world that does not fit the view, or `max_nodes` was not enough.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    rules = _check_rules(view.rules)
    v = view.vector
    if v[k.PHASE] != k.PLAY or v[k.PLAYER] != view.player:
        state = f"the phase is {view.phase!r}, player {view.to_move} to act"
        raise HeartsError(
            f"view: {state}; give the view of the player who is to play a card, here "
            f"player {view.player}'s was given"
        )
    found = list(view.worlds()) if worlds is None else list(worlds)
    hands = np.array([_other_hand(view, world) for world in found], np.int64)
    values = np.empty((len(found), len(view.legal_actions())), np.int64)
    with _borrowed(rules, table) as memory:
        _set_limit(memory, max_nodes)
        done = int(world_values(rules.vector, v, hands, memory, values))
    if done < len(found):
        raise _too_many(max_nodes)
    return found, values


def solve_batch(
    states: BatchGame | Sequence[Game] | k.Vector,
    rules: Rules | str | None = None,
    *,
    num_threads: int = 1,
    max_nodes: int = DEFAULT_NODES,
) -> NDArray[np.int64]:
    """The values of many positions, ``(num,) int64``: the margin of each player to act.

    Args:
        states: a batch of games, games of equal rules, or ``(num, STATE_SIZE)`` state vectors.
        rules: the rules of state vectors; else None.
        num_threads: threads that share the work, each with a table of its own.
        max_nodes: give up after so many positions for one of them.

    Returns:
        The margins; of games that are over, seat 0's.

    Raises:
        HeartsError: more players than two, an exchange under way, games of different rules, an
            array of another shape or dtype, a state that cannot be, or `max_nodes` was not enough.
    """
    if isinstance(states, BatchGame):
        rules, vectors = states.rules, states.states
    elif isinstance(states, np.ndarray):
        if rules is None:
            raise HeartsError("rules: state vectors do not tell their rules; give them")
        vectors = states
    else:
        if not isinstance(states, Sequence):
            raise HeartsError(
                f"states: {type(states).__name__} is none of a BatchGame, a list of games, an array"
            )
        games = list(states)
        for game in games:
            check_is("states", game, Game, "give games, all of the same rules")
        if not games:
            return np.empty(0, np.int64)
        if any(game.rules != games[0].rules for game in games):
            raise HeartsError("states: the games have different rules; give one batch for each")
        rules, vectors = games[0].rules, np.stack([game.vector for game in games])
    rules = _check_rules(Rules.make(rules))
    if vectors.ndim != 2 or vectors.shape[1] != k.STATE_SIZE or vectors.dtype != np.int64:
        raise HeartsError(
            f"states: shape {vectors.shape} and dtype {vectors.dtype}; needed are "
            f"(num, {k.STATE_SIZE}) and int64"
        )
    num_threads = check_number("num_threads", num_threads, 1, 1024)
    _check_states(rules, vectors)
    if (vectors[:, k.PHASE] == k.PASS).any():
        row = int(np.flatnonzero(vectors[:, k.PHASE] == k.PASS)[0])
        raise HeartsError(
            f"phase: the exchange of game {row} is not over; the solver begins with the first lead"
        )
    out = np.empty(len(vectors), np.int64)

    def work(part: slice, _: int) -> None:
        with _borrowed(rules) as memory:
            _set_limit(memory, max_nodes)
            done = int(position_values(rules.vector, vectors[part], memory, out[part]))
            stopped = memory[H_STOPPED]
        if part.start + done < part.stop:
            if stopped:
                raise _too_many(max_nodes)
            raise HeartsError(
                f"states: row {part.start + done} is no state of a game under these rules"
            )

    Workers(num_threads).share(work, len(vectors))
    return out


_lock = threading.Lock()
_free: dict[Rules, list[Table]] = {}


@contextlib.contextmanager
def _borrowed(rules: Rules, table: Table | None = None) -> Iterator[k.Vector]:
    """The vector of `table`, checked, or of a kept one that nobody else uses now."""
    if table is not None:
        check_is("table", table, Table, "give a Table(rules), or None")
        if table.rules != rules:
            raise HeartsError(
                f"table: it is for {table.rules.name}, not for {rules.name}; make another"
            )
        yield table.vector
        return
    with _lock:
        kept = _free.pop(rules, [])
        mine = kept.pop() if kept else None
        _free[rules] = kept  # the rules last used come last
        while len(_free) > _MAX_KEPT:
            del _free[next(iter(_free))]
    mine = mine or Table(rules)
    try:
        yield mine.vector
    finally:
        with _lock:
            if rules in _free:
                _free[rules].append(mine)


def _check_states(rules: Rules, vectors: k.Vector) -> None:
    """Refuse states that cannot be, as far as their cards tell.

    Raises:
        HeartsError: cards are nowhere, or the history has another length; the first row is named.
    """
    row = int(_first_wrong(rules.vector, vectors))
    if row >= 0:
        raise HeartsError(f"states: row {row} is no state of a game under these rules")


@jit
def _first_wrong(r: k.Vector, states: k.Vector) -> int:
    """The first state with cards nowhere, or with a history of another length; -1: none."""
    for i in range(len(states)):
        s = states[i]
        cards = s[k.KITTY] | s[k.HANDS] | s[k.HANDS + 1] | s[k.PLAYED] | s[k.PLAYED + 1]
        played = popcount(s[k.PLAYED]) + popcount(s[k.PLAYED + 1])
        if cards != r[k.R_DECK] or s[k.NUM_PLAYED] != played:
            return i
    return -1


def _check_rules(rules: Rules) -> Rules:
    if rules.players != 2:
        raise HeartsError(
            f"players: the double-dummy solver is for two players, these rules ({rules.name}) "
            f"have {rules.players}"
        )
    return rules


def _set_limit(memory: k.Vector, max_nodes: int) -> None:
    memory[H_LIMIT] = check_number("max_nodes", max_nodes, 1, 2**62)


def _too_many(max_nodes: int) -> HeartsError:
    return HeartsError(
        f"max_nodes: {max_nodes:,} positions were not enough; give more, or solve later in the deal"
    )


def _solution(values: dict[int, int], nodes: int) -> Solution:
    value = max(values.values())
    return Solution(value, [action for action, v in values.items() if v == value], values, nodes)


def _other_hand(view: PlayerView, world: World) -> int:
    """The other player's cards in a world, checked against the view."""
    rules, other = view.rules, 1 - view.player
    try:
        own, hand = (mask_of(rules.index[c] for c in world[p]) for p in (view.player, other))
    except (KeyError, IndexError, TypeError):
        raise HeartsError(
            f"worlds: {world!r} is no world; give two hands and the dead cards, as view.worlds()"
        ) from None
    unseen = int(unseen_mask(rules.vector, view.vector, view.player))
    if own != view.vector[k.HANDS + view.player] or hand & ~unseen:
        raise HeartsError(f"worlds: {world!r} does not agree with what player {view.player} sees")
    if hand.bit_count() != view.cards_left(other):
        raise HeartsError(
            f"worlds: player {other} holds {view.cards_left(other)} cards, not {hand.bit_count()}"
        )
    return hand
