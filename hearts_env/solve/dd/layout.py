"""The vector `mem` of the double-dummy solver: what stands where.

The caller owns all memory: one int64 vector with the rules as the search reads them, its stack,
the transposition table and the endgame table. Functions that are given `mem` and do not say that
they return something from it change it; nothing compiled allocates or raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hearts_env import kernel as k
from hearts_env.support.bits import lowest
from hearts_env.support.jit import inner


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
H_MOON = _place()  # what a moon adds in the end: see `memory.make_vector`
H_ORDINAL = _place()  # a moon beats everything else: `H_MOON` is a symbol, not a number of points
H_NO_TRICK = _place()  # points for whoever takes no trick
H_BREAK_ON = _place()  # these three as the kernel's `R_` numbers have them
H_COMPANY = _place()
H_KITTY_TO = _place()
H_KITTY_POINTS = _place()  # what the kitty is worth ...
H_KITTY_PENALTY = _place()  # ... and what of it counts towards a moon
H_QUEEN_ANY = _place()  # the queen of spades may be played on any lead
H_QUEEN_BREAKS = _place()  # the queen of spades breaks hearts
H_QUEEN_MODE = _place()  # kind of the queen's suit if a rule names her ...
H_QUEEN = _place()  # ... and her place there
H_SLACK = _place()  # by how much points at stake, bonuses apart, can be wrong
H_TRUMP = _place()  # the suit of trumps, as the kernel numbers it
H_TRUMP_LANE = _place()  # the bits of trumps; 0: no trump
H_TRUMP_POINTS = _place()  # of each of them; 0 where they differ, or there are none
H_MANY = _place()  # the lanes of suits of kind MANY
H_MARKED_LANE = _place()  # the suit that has marked cards, where there is a table of endgames
H_ALIKE = _place()  # there clubs and diamonds may be exchanged
H_ENDGAMES = _place()  # that table has positions of up to this many cards each
H_FAR = _place()  # beyond every value
H_OPTIONS = _place()  # techniques switched off
H_LANE = _place(4)  # the bits of each suit
H_PLAIN = _place(4)  # points of its cards ...
H_MARKED = _place(4)  # ... and of its marked ones
H_KIND = _place(4)  # PLAIN, MARKS or MANY
H_ROOT = _place(5)  # a, b, marks, points at stake, flags
H_CHOICES = _place(8)  # how many choices of n cards out of 2n there are
H_COUNT = _place(16)  # for `endgames.write_ranks`
H_POINTS = _place(4 * 16)  # points of the cards of a suit of kind MANY
H_OUT = _place(k.MAX_CARDS)  # what `states.card_values` writes for `world_values`
H_START = _place(8 * 512)  # where positions of n cards in suits of three lengths begin, in bytes
H_RANK = _place(1 << 12)  # 2**14 numbers of 16 bits: see `endgames.write_ranks`
H_SURE = _place(1 << 14)  # see `bounds.write_sure_tricks`
H_STACK = _place(0)  # the frames; behind them the two tables

PLAIN, MARKS, MANY = range(3)  # all cards of a suit worth the same, two worths, more

# ---- the stack: a frame for each trick that is being searched -----------------------------------
(
    F_A,  # the position, for its leader ...
    F_B,
    F_MARKS,
    F_LEFT,
    F_FLAGS,
    F_TARGET,  # ... and whether it reaches this is asked
    F_BEST,  # the best of the leads that are done
    F_LEADS,  # those not yet tried
    F_LEAD,  # the one being tried
    F_WORST,  # the worst that the replies to it have led to
    F_REPLIES,  # those not yet tried
    F_CANDIDATES,  # what the follower may be tried with, any lead
    F_POINTS,  # of the trick being tried ...
    F_FOLLOWED,  # ... and whether the follower takes it
    F_KEY,  # the position in the transposition table: see `table.key_of`
    F_KEY2,
    F_PLACE,
    F_ENTRY,
    F_LOW,  # bounds known before the search
    F_HIGH,
    FRAME,
) = range(21)
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
# Techniques that can be switched off, to measure them
NO_TABLE, NO_RUNS, NO_BOUNDS, NO_ORDER, NO_SURE = (1 << bit for bit in range(5))


# ---- accessors ----------------------------------------------------------------------------------
@inner
def suit_of(mem: k.Vector, bit: int) -> int:
    """The suit of the lane that `bit` is in."""
    return lowest(bit) >> mem[H_SHIFT]


@inner
def lane_of(mem: k.Vector, bit: int) -> int:
    """All bits of the lane that `bit` is in."""
    return mem[H_LANE + (lowest(bit) >> mem[H_SHIFT])]
