"""Positions between two tricks, the rules of play there, and the vector `mem` that all is in.

A position is two hands and what they alone do not say. The leader's cards and the follower's are
bit masks of four lanes, one a suit, in which a bit is the rank *among the cards that are left*:
whoever holds the highest diamond left, holds the highest bit of ``a | b`` in that lane. So cards
between which nobody holds any are neighbours, a trick is taken off by shifting bits together, and
positions that differ only in cards already gone are one.

The rules of play stand here a second time: the kernel plays single cards on whole states, the
search tricks on two masks, which is many times as fast. A new rule option must be added here and in
`memory` too; tests hold both to each other.

Cards are named by their bits here: `x` is the lead of a trick, `y` the reply.

The caller owns all memory: one int64 vector with the rules as the search reads them, its stack, the
transposition table and the endgame table. Functions that are given `mem` and do not say that they
return something from it change it; nothing compiled allocates or raises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import HEARTS, SPADES
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inner, jit


class _Places:
    """Hands out places, each behind the last one."""

    def __init__(self) -> None:
        self.end = 0

    def __call__(self, size: int = 1) -> int:
        """The first of the next `size` places."""
        first = self.end
        self.end += size
        return first


# ---- the header: the rules, the root, lookup arrays ---------------------------------------------
_place = _Places()
H_SHIFT = _place()  # 3: lanes of 8 bits, for suits of up to 7 cards; 4: of 16
H_WIDE = _place()  # positions do not fit into one word
H_GENERATION = _place()  # entries of another one are forgotten
H_TABLE = _place()  # where the transposition table begins
H_TABLE_MASK = _place()  # number of its lines less 1
H_NODES = _place()  # positions whose cards were tried
H_LIMIT = _place()  # how many may be
H_STOPPED = _place()  # they were too many
H_MOON = _place()  # what a moon adds in the end: see `memory.make_memory`
H_ORDINAL = _place()  # a moon beats everything else: `H_MOON` is a symbol, not a number of points
H_KITTY_POINTS = _place()  # what the kitty is worth ...
H_KITTY_PENALTY = _place()  # ... and what of it counts towards a moon
H_QUEEN_MODE = _place()  # kind of the queen's suit if a rule names her ...
H_QUEEN = _place()  # ... and her place there
H_SLACK = _place()  # by how much points at stake, bonuses apart, can be wrong
H_TRUMP_LANE = _place()  # the bits of trumps; 0: no trump
H_TRUMP_POINTS = _place()  # of each of them; 0 where they differ, or there are none
H_MANY = _place()  # the lanes of suits of kind MANY
H_MARKED_LANE = _place()  # the suit that has marked cards, where there is a table of endgames
H_ALIKE = _place()  # there clubs and diamonds may be exchanged
H_ENDGAMES = _place()  # that table has positions of up to this many cards each
H_RULES = _place(k.R_SUIT_MASK)  # the numbers of the rule set, each at its place in the kernel
H_LANE = _place(4)  # the bits of each suit
H_PLAIN = _place(4)  # points of its cards ...
H_MARKED = _place(4)  # ... and of its marked ones
H_KIND = _place(4)  # PLAIN, MARKS or MANY
H_ROOT = _place(5)  # a, b, marks, points at stake, flags
H_CHOICES = _place(8)  # how many choices of n cards out of 2n there are
H_COUNT = _place(16)  # for `memory.write_ranks`
H_POINTS = _place(4 * 16)  # points of the cards of a suit of kind MANY
H_OUT = _place(k.MAX_CARDS)  # what `search.card_values` writes for `world_values`
H_START = _place(8 * 512)  # where positions of n cards in suits of three lengths begin, in bytes
H_RANK = _place(1 << 12)  # 2**14 numbers of 16 bits: see `memory.write_ranks`
H_SURE = _place(1 << 14)  # see `memory.write_sure_tricks`
H_STACK = _place(0)  # the frames; behind them the two tables

PLAIN, MARKS, MANY = range(3)  # all cards of a suit worth the same, two worths, more

FRAME = 20  # numbers of a frame of the search's stack, see `search`
HEADER_SIZE = H_STACK + 32 * FRAME

# ---- flags of a position ------------------------------------------------------------------------
# Hearts are broken; the leader, the follower may yet shoot the moon; the leader, the follower has
# taken a trick (or it does not matter); the kitty is still to be awarded.
BROKEN, MOON_L, MOON_F, TRICK_L, TRICK_F, KITTY = (1 << bit for bit in range(6))
MOONS = MOON_L | MOON_F

# ---- numbers ------------------------------------------------------------------------------------
# These two are no literals: numba compiles a function once more for every literal it is given.
ALL: Any = np.int64(-1)  # no restriction of leads or replies
ZERO: Any = np.int64(0)
INFINITE = 1 << 60
MOON_SHOT = 127  # in the endgame table: the leader shoots the moon; negative: the follower does
MAX_ENDGAME = 7
DEFAULT_NODES = 100_000_000  # `H_LIMIT` where nothing else is said


# ---- accessors ----------------------------------------------------------------------------------
@inner
def suit_of(mem: k.Vector, bit: int) -> int:
    """The suit of the lane that `bit` is in."""
    return lowest(bit) >> mem[H_SHIFT]


@inner
def lane_of(mem: k.Vector, bit: int) -> int:
    """All bits of the lane that `bit` is in."""
    return mem[H_LANE + (lowest(bit) >> mem[H_SHIFT])]


class TrickPosition(NamedTuple):
    """A position between two tricks; its value is the margin that the leader makes from here on.

    That is the follower's points less the leader's; while a player may still shoot the moon, the
    last trick adds its worth (`H_MOON`).
    """

    a: int
    """The leader's cards."""
    b: int
    """The follower's cards."""
    marks: int
    """The cards of a suit that are not worth what the others are (in most rules the queen of
    spades alone); in suits of kind MANY the cards themselves."""
    left: int
    """Penalty points still to be taken."""
    flags: int
    """Of `BROKEN` and the others above."""


# ---- cards of a position ------------------------------------------------------------------------
@inner
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


@inner
def drop(cards: int, above: int) -> int:
    """`cards` without the one at the lowest bit of `above`; those above it go down, in its lane."""
    return (cards & ~above) | ((cards >> 1) & above)


@jit
def _drop_mark(mem: k.Vector, marks: int, bit: int, above: int) -> int:
    """`marks` after the card at `bit` has gone, where there are suits of kind MANY."""
    suit = suit_of(mem, bit)
    if mem[H_KIND + suit] == MANY:
        return marks & ~_nth(mem, marks, suit, bit)
    return drop(marks, above)


@inner
def _swapped(flags: int) -> int:
    """The flags as the other side sees them."""
    up = (flags & (MOON_L | TRICK_L)) << 1
    down = (flags & (MOON_F | TRICK_F)) >> 1
    return flags & ~(MOON_L | MOON_F | TRICK_L | TRICK_F) | up | down


# ---- the rules, and which cards to try first ----------------------------------------------------
@inner
def runs(mem: k.Vector, hand: int, marks: int) -> int:
    """The highest card of each run: neighbours of equal points, of which one is enough."""
    split = marks | mem[H_MANY]
    return hand & (~(hand >> 1) | split | split >> 1)


@inner
def legal_leads(mem: k.Vector, p: TrickPosition) -> int:
    """The cards that the leader may lead, after the first trick."""
    if p.flags & BROKEN:
        return p.a
    company = 0
    if mem[H_RULES + k.R_UNBROKEN_LEAD] == k.SPADES_OR_HEARTS:
        company = mem[H_LANE + SPADES]
    elif mem[H_RULES + k.R_UNBROKEN_LEAD] == k.QUEEN_FREES_HEARTS:
        company = queen_at(mem, p.marks)
    others = p.a & ~mem[H_LANE + HEARTS]
    return others if others & ~company else p.a


@inner
def legal_replies(mem: k.Vector, p: TrickPosition, lane: int) -> int:
    """The cards that the follower may play on a lead of the suit `lane`, after the first trick."""
    follow = p.b & lane
    if follow == 0:
        return p.b
    if mem[H_RULES + k.R_QUEEN_ANY_TIME]:
        return follow | p.b & queen_at(mem, p.marks)
    return follow


@inner
def likely_lead(mem: k.Vector, b: int, leads: int) -> int:
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
    return 1 << highest(good & lane_of(mem, good))


@inner
def likely_reply(mem: k.Vector, p: TrickPosition, x: int, lane: int, replies: int) -> int:
    """The reply to try first: the lowest card that takes the trick, else the highest of the suit.

    Void in the suit: the highest trump, then the queen, then the highest card.
    """
    if p.b & lane:
        above = replies & -x & lane
        return above & -above if above else 1 << highest(replies)
    trumps = replies & mem[H_TRUMP_LANE]
    if trumps:
        return 1 << highest(trumps)
    marked = replies & p.marks
    if marked:
        return marked & -marked
    return 1 << highest(replies)


@inner
def _breaks_hearts(mem: k.Vector, p: TrickPosition, x: int, y: int) -> bool:
    """Whether a trick without a heart breaks hearts."""
    if mem[H_RULES + k.R_BREAK_ON] == k.BREAK_VOID and p.b & lane_of(mem, x) == 0:
        return True
    return mem[H_RULES + k.R_QUEEN_BREAKS_HEARTS] != 0 and (x | y) & queen_at(mem, p.marks) != 0


@inner
def _awards_kitty(mem: k.Vector, p: TrickPosition, has_heart: bool, penalty: int) -> bool:  # noqa: FBT001
    """Whether the kitty, not yet awarded, goes with this trick."""
    to = mem[H_RULES + k.R_KITTY_TO]
    return (
        to == k.KITTY_FIRST
        or (to == k.KITTY_LAST and p.a & (p.a - 1) == 0)
        or (to == k.KITTY_HEART and has_heart)
        or (to == k.KITTY_PENALTY and penalty > 0)
    )


@inner
def _marks_after(mem: k.Vector, marks: int, x: int, y: int, above_high: int, above_low: int) -> int:
    """`marks` after the cards `x` and `y` have gone, the one at the higher bit first."""
    if mem[H_MANY]:
        marks = _drop_mark(mem, marks, max(x, y), above_high)
        return _drop_mark(mem, marks, min(x, y), above_low)
    if marks:
        return drop(drop(marks & ~x & ~y, above_high), above_low)
    return marks


@inner
def after(mem: k.Vector, p: TrickPosition, x: int, y: int) -> tuple[TrickPosition, int, bool]:
    """The position after a trick of the lead `x` and the reply `y`, as the next leader sees it.

    Returns:
        The position, the points of the trick, and whether the follower took it.
    """
    suit_x = suit_of(mem, x)
    suit_y = suit_of(mem, y)
    follower_takes = y > x if suit_x == suit_y else suit_y == mem[H_RULES + k.R_TRUMP]
    flags = p.flags
    has_heart = suit_x == HEARTS or suit_y == HEARTS
    if has_heart or (flags & BROKEN == 0 and _breaks_hearts(mem, p, x, y)):
        flags |= BROKEN
    x_points = points_at(mem, p.marks, suit_x, x)
    y_points = points_at(mem, p.marks, suit_y, y)
    points = x_points + y_points
    penalty = max(x_points, 0) + max(y_points, 0)
    if flags & KITTY and _awards_kitty(mem, p, has_heart, penalty):
        flags &= ~KITTY
        points += mem[H_KITTY_POINTS]
        penalty += mem[H_KITTY_PENALTY]
    # Take both cards off, the higher bit first.
    above_x = mem[H_LANE + suit_x] & -x
    above_y = mem[H_LANE + suit_y] & -y
    above_high = above_x if x > y else above_y
    above_low = above_y if x > y else above_x
    marks = _marks_after(mem, p.marks, x, y, above_high, above_low)
    a = drop(drop(p.a, above_high), above_low)
    b = drop(drop(p.b, above_high), above_low)
    left = p.left - penalty
    if follower_takes:
        flags |= TRICK_F
        if penalty:
            flags &= ~MOON_L
        return TrickPosition(b, a, marks, left, _swapped(flags)), points, True
    flags |= TRICK_L
    if penalty:
        flags &= ~MOON_F
    return TrickPosition(a, b, marks, left, flags), points, False


@inner
def at_end(mem: k.Vector, flags: int) -> int:
    """What the leader makes, cards apart, when all are played."""
    moon = flags & MOONS
    if moon not in (0, MOONS):
        value = mem[H_MOON]
        if flags & KITTY:  # never awarded
            value -= mem[H_KITTY_PENALTY]
        return value if moon == MOON_L else -value
    value = 0
    if flags & TRICK_L == 0:
        value -= mem[H_RULES + k.R_NO_TRICK_POINTS]
    if flags & TRICK_F == 0:
        value += mem[H_RULES + k.R_NO_TRICK_POINTS]
    return value
