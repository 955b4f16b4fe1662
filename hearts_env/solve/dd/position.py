"""Positions between two tricks, and the rules of play there.

A position is two hands and what they alone do not say. The leader's cards and the follower's are
bit masks of four lanes, one a suit, in which a bit is the rank *among the cards that are left*:
whoever holds the highest diamond left, holds the highest bit of ``a | b`` in that lane. So cards
between which nobody holds any are neighbours, a trick is taken off by shifting bits together, and
positions that differ only in cards already gone are one.

Cards are named by their bits here: `x` is the lead of a trick, `y` the reply.
"""

from __future__ import annotations

from typing import NamedTuple

from hearts_env import kernel as k
from hearts_env.cards import HEARTS, SPADES
from hearts_env.solve.dd.layout import (
    BROKEN,
    H_BREAK_ON,
    H_COMPANY,
    H_KIND,
    H_KITTY_PENALTY,
    H_KITTY_POINTS,
    H_KITTY_TO,
    H_LANE,
    H_MANY,
    H_MARKED,
    H_MOON,
    H_NO_TRICK,
    H_PLAIN,
    H_POINTS,
    H_QUEEN,
    H_QUEEN_ANY,
    H_QUEEN_BREAKS,
    H_QUEEN_MODE,
    H_SHIFT,
    H_TRUMP,
    H_TRUMP_LANE,
    KITTY,
    MANY,
    MARKS,
    MOON_F,
    MOON_L,
    MOONS,
    PLAIN,
    TRICK_F,
    TRICK_L,
    lane_of,
    suit_of,
)
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inner, jit


class Position(NamedTuple):
    """A position between two tricks; its value is the margin that the leader makes from here on.

    That is the follower's points less the leader's; while a player may still shoot the moon, the
    last trick adds its worth (`layout.H_MOON`).
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
    """See `layout`."""


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
def legal_leads(mem: k.Vector, p: Position) -> int:
    """The cards that the leader may lead, after the first trick."""
    if p.flags & BROKEN:
        return p.a
    company = 0
    if mem[H_COMPANY] == k.SPADES_OR_HEARTS:
        company = mem[H_LANE + SPADES]
    elif mem[H_COMPANY] == k.QUEEN_FREES_HEARTS:
        company = queen_at(mem, p.marks)
    others = p.a & ~mem[H_LANE + HEARTS]
    return others if others & ~company else p.a


@inner
def legal_replies(mem: k.Vector, p: Position, lane: int) -> int:
    """The cards that the follower may play on a lead of the suit `lane`, after the first trick."""
    follow = p.b & lane
    if follow == 0:
        return p.b
    if mem[H_QUEEN_ANY]:
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
def likely_reply(mem: k.Vector, p: Position, x: int, lane: int, replies: int) -> int:
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
def _breaks_hearts(mem: k.Vector, p: Position, x: int, y: int) -> bool:
    """Whether a trick without a heart breaks hearts."""
    if mem[H_BREAK_ON] == k.BREAK_VOID and p.b & lane_of(mem, x) == 0:
        return True
    return mem[H_QUEEN_BREAKS] != 0 and (x | y) & queen_at(mem, p.marks) != 0


@inner
def _awards_kitty(mem: k.Vector, p: Position, has_heart: bool, penalty: int) -> bool:  # noqa: FBT001
    """Whether the kitty, not yet awarded, goes with this trick."""
    to = mem[H_KITTY_TO]
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
def after(mem: k.Vector, p: Position, x: int, y: int) -> tuple[Position, int, bool]:
    """The position after a trick of the lead `x` and the reply `y`, as the next leader sees it.

    Returns:
        The position, the points of the trick, and whether the follower took it.
    """
    suit_x = suit_of(mem, x)
    suit_y = suit_of(mem, y)
    follower_takes = y > x if suit_x == suit_y else suit_y == mem[H_TRUMP]
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
        return Position(b, a, marks, left, _swapped(flags)), points, True
    flags |= TRICK_L
    if penalty:
        flags &= ~MOON_F
    return Position(a, b, marks, left, flags), points, False


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
        value -= mem[H_NO_TRICK]
    if flags & TRICK_F == 0:
        value += mem[H_NO_TRICK]
    return value
