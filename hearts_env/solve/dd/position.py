"""Positions between two tricks, their rules of play, and the layout of the vector `mem`.

A position is two hands and the few facts that they do not show. The leader's and the follower's
cards are bit masks of four lanes, one per suit. A bit is a card's rank *among the cards left*: the
highest diamond left is the highest bit of ``a | b`` in its lane. So cards become neighbours when
all cards between them are gone, a trick is removed by shifting bits together, and positions that
differ only in cards already gone are the same.

The rules of play are implemented here a second time. The kernel plays single cards on whole states.
The search plays tricks on two masks, which is many times faster. Add a new rule option here and in
`memory`, too. Tests compare both implementations.

Cards are named by their bits: `x` is the lead of a trick, `y` the reply.

The caller owns all memory: one int64 vector with the rules as the search reads them, its stack, the
transposition table and the endgame table. Functions with `mem` as an argument change it unless they
say that they return something from it. Nothing compiled allocates or raises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import HEARTS, SPADES
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inner, jit


class _Places:
    """Hands out consecutive places."""

    def __init__(self) -> None:
        self.end = 0

    def __call__(self, size: int = 1) -> int:
        """Return the first of the next `size` places."""
        first = self.end
        self.end += size
        return first


# ---- the header: the rules, the root, lookup arrays ---------------------------------------------
_place = _Places()
H_SHIFT = _place()  # 3: lanes of 8 bits, for suits of up to 7 cards; 4: of 16
H_WIDE = _place()  # positions do not fit into one word
H_GENERATION = _place()  # entries of other generations count as empty
H_TABLE = _place()  # the start of the transposition table
H_TABLE_MASK = _place()  # number of its lines less 1
H_NODES = _place()  # positions searched so far
H_LIMIT = _place()  # the most of them
H_STOPPED = _place()  # 1 once the limit is passed
H_MOON = _place()  # the value that a moon adds at the end: see `memory.make_memory`
H_ORDINAL = _place()  # a moon beats everything else: `H_MOON` is a symbol, not a number of points
H_KITTY_POINTS = _place()  # points of the kitty ...
H_KITTY_PENALTY = _place()  # ... and the part of them that counts towards a moon
H_QUEEN_MODE = _place()  # the kind of the queen's suit if a rule names her ...
H_QUEEN = _place()  # ... and her bit there
H_SLACK = _place()  # the largest error of the points at stake, which leave out bonuses
H_TRUMP_LANE = _place()  # the bits of trumps; 0: no trump
H_TRUMP_POINTS = _place()  # points of each trump; 0 if they differ or there are none
H_MANY = _place()  # the lanes of suits of kind MANY
H_MARKED_LANE = _place()  # the suit with marked cards, if there is an endgame table
H_ALIKE = _place()  # that table may exchange clubs and diamonds
H_ENDGAMES = _place()  # that table has positions of up to this many cards per hand
H_RULES = _place(k.R_SUIT_MASK)  # the numbers of the rule set, at the kernel's places
H_LANE = _place(4)  # the bits of each suit
H_PLAIN = _place(4)  # points of its cards ...
H_MARKED = _place(4)  # ... and of its marked ones
H_KIND = _place(4)  # PLAIN, MARKS or MANY
H_ROOT = _place(5)  # a, b, marks, points at stake, flags
H_CHOICES = _place(8)  # the number of choices of n cards out of 2n
H_COUNT = _place(16)  # for `memory.write_ranks`
H_POINTS = _place(4 * 16)  # points of cards in suits of kind MANY
H_OUT = _place(k.MAX_CARDS)  # the output of `search.card_values` for `world_values`
H_START = _place(8 * 512)  # the first byte of positions of n cards, by the lengths of three suits
H_RANK = _place(1 << 12)  # 2**14 numbers of 16 bits: see `memory.write_ranks`
H_SURE = _place(1 << 14)  # see `memory.write_sure_tricks`
H_STACK = _place(0)  # the frames; the two tables follow

PLAIN, MARKS, MANY = range(3)  # one, two or more different point values in a suit

FRAME = 20  # numbers of a frame of the search's stack, see `search`
HEADER_SIZE = H_STACK + 32 * FRAME

# ---- flags of a position ------------------------------------------------------------------------
# Hearts are broken; the leader, the follower may still shoot the moon; the leader, the follower has
# taken a trick (or it does not matter); the kitty is not awarded yet.
BROKEN, MOON_L, MOON_F, TRICK_L, TRICK_F, KITTY = (1 << bit for bit in range(6))
MOONS = MOON_L | MOON_F

# ---- numbers ------------------------------------------------------------------------------------
# These two are not literals: numba would compile a function again for every literal argument.
ALL: Any = np.int64(-1)  # no restriction of leads or replies
ZERO: Any = np.int64(0)
INFINITE = 1 << 60
MOON_SHOT = 127  # in the endgame table: the leader shoots the moon; negative: the follower does
MAX_ENDGAME = 7
DEFAULT_NODES = 100_000_000  # the default of `H_LIMIT`


# ---- accessors ----------------------------------------------------------------------------------
@inner
def suit_of(mem: k.Vector, bit: int) -> int:
    """Return the suit of the lane of `bit`."""
    return lowest(bit) >> mem[H_SHIFT]


@inner
def lane_of(mem: k.Vector, bit: int) -> int:
    """Return all bits of the lane of `bit`."""
    return mem[H_LANE + (lowest(bit) >> mem[H_SHIFT])]


class TrickPosition(NamedTuple):
    """A position between two tricks. Its value is the leader's margin from here on.

    The margin is the follower's points less the leader's points. If a player may still shoot the
    moon, the last trick adds the moon's value (`H_MOON`).
    """

    a: int
    """The leader's cards."""
    b: int
    """The follower's cards."""
    marks: int
    """The cards of a suit with points unlike the others' (in most rules the queen of spades alone);
    in suits of kind MANY the cards themselves."""
    left: int
    """Penalty points still to be taken."""
    flags: int
    """A combination of `BROKEN` and the other flags."""


# ---- cards of a position ------------------------------------------------------------------------
@inner
def points_at(mem: k.Vector, marks: int, suit: int, bit: int) -> int:
    """Return the points of the card at `bit`."""
    kind = mem[H_KIND + suit]
    if kind == PLAIN:
        return mem[H_PLAIN + suit]
    if kind == MARKS:
        return mem[H_MARKED + suit] if marks & bit else mem[H_PLAIN + suit]
    place = lowest(_nth(mem, marks, suit, bit)) - (suit << mem[H_SHIFT])
    return mem[H_POINTS + 16 * suit + place]


@jit
def _nth(mem: k.Vector, marks: int, suit: int, bit: int) -> int:
    """Return the card with rank `bit` in a suit of kind MANY, as its bit in `marks`."""
    live = marks & mem[H_LANE + suit]
    for _ in range(lowest(bit) - (suit << mem[H_SHIFT])):
        live &= live - 1
    return live & -live


@jit
def queen_at(mem: k.Vector, marks: int) -> int:
    """Return the bit of the queen of spades if a rule names her, or 0 if no player holds her."""
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
    """Return `cards` without the lowest bit of `above`. Higher cards of its lane shift down."""
    return (cards & ~above) | ((cards >> 1) & above)


@jit
def _drop_mark(mem: k.Vector, marks: int, bit: int, above: int) -> int:
    """Return `marks` without the card at `bit`, if there are suits of kind MANY."""
    suit = suit_of(mem, bit)
    if mem[H_KIND + suit] == MANY:
        return marks & ~_nth(mem, marks, suit, bit)
    return drop(marks, above)


@inner
def _swapped(flags: int) -> int:
    """Return the flags with leader and follower exchanged."""
    up = (flags & (MOON_L | TRICK_L)) << 1
    down = (flags & (MOON_F | TRICK_F)) >> 1
    return flags & ~(MOON_L | MOON_F | TRICK_L | TRICK_F) | up | down


# ---- the rules, and the cards to try first -------------------------------------------------------
@inner
def runs(mem: k.Vector, hand: int, marks: int) -> int:
    """Return the highest card of each run, because neighbours with equal points are equivalent."""
    split = marks | mem[H_MANY]
    return hand & (~(hand >> 1) | split | split >> 1)


@inner
def legal_leads(mem: k.Vector, p: TrickPosition) -> int:
    """Return the leader's legal leads after the first trick."""
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
    """Return the follower's legal replies to a lead of the suit `lane`, after the first trick."""
    follow = p.b & lane
    if follow == 0:
        return p.b
    if mem[H_RULES + k.R_QUEEN_ANY_TIME]:
        return follow | p.b & queen_at(mem, p.marks)
    return follow


@inner
def likely_lead(mem: k.Vector, b: int, leads: int) -> int:
    """Return the lead to try first: the highest candidate of the first suit that has one.

    Candidates are cards that beat every card of the follower in a suit that the follower has. If
    there are none, they are all cards of such suits. If there are none either, they are all leads.
    The lead is worth a lot in this game.
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
    """Return the reply to try first: the lowest card that takes the trick, else the suit's highest.

    A player who is void in the suit first tries the highest trump, then the queen, then the highest
    card.
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
    """Return whether a trick without a heart breaks hearts."""
    if mem[H_RULES + k.R_BREAK_ON] == k.BREAK_VOID and p.b & lane_of(mem, x) == 0:
        return True
    return mem[H_RULES + k.R_QUEEN_BREAKS_HEARTS] != 0 and (x | y) & queen_at(mem, p.marks) != 0


@inner
def _awards_kitty(mem: k.Vector, p: TrickPosition, has_heart: bool, penalty: int) -> bool:  # noqa: FBT001
    """Return whether the kitty, if not yet awarded, goes with this trick."""
    to = mem[H_RULES + k.R_KITTY_TO]
    return (
        to == k.KITTY_FIRST
        or (to == k.KITTY_LAST and p.a & (p.a - 1) == 0)
        or (to == k.KITTY_HEART and has_heart)
        or (to == k.KITTY_PENALTY and penalty > 0)
    )


@inner
def _marks_after(mem: k.Vector, marks: int, x: int, y: int, above_high: int, above_low: int) -> int:
    """Return `marks` without the cards `x` and `y`, removing the higher bit first."""
    if mem[H_MANY]:
        marks = _drop_mark(mem, marks, max(x, y), above_high)
        return _drop_mark(mem, marks, min(x, y), above_low)
    if marks:
        return drop(drop(marks & ~x & ~y, above_high), above_low)
    return marks


@inner
def after(mem: k.Vector, p: TrickPosition, x: int, y: int) -> tuple[TrickPosition, int, bool]:
    """Return the position after the lead `x` and the reply `y`, as the next leader sees it.

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
    # Remove both cards, the higher bit first.
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
    """Return the part of the leader's final margin that is not the points of cards."""
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
