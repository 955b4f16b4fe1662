"""Values of the kernel's states: of a position, of each card, in each possible world."""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.cards import SPADES
from hearts_env.solve.dd.layout import (
    ALL,
    BROKEN,
    H_KIND,
    H_KITTY_PENALTY,
    H_KITTY_POINTS,
    H_MANY,
    H_MARKED,
    H_MOON,
    H_NODES,
    H_ORDINAL,
    H_OUT,
    H_QUEEN_MODE,
    H_ROOT,
    H_SHIFT,
    H_STOPPED,
    INFINITE,
    KITTY,
    MANY,
    MARKS,
    MOON_F,
    MOON_L,
    TRICK_F,
    TRICK_L,
    ZERO,
)
from hearts_env.solve.dd.search import exact, search
from hearts_env.solve.dd.table import forget
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inner, jit


# ---- the root ------------------------------------------------------------------------------------
@inner
def _is_marked(r: k.Vector, mem: k.Vector, suit: int, card: int) -> bool:
    """Whether a card of a suit of kind MARKS is a marked one."""
    if mem[H_QUEEN_MODE] == MARKS and suit == SPADES:
        return r[k.R_QUEEN] >> card & 1 != 0
    return r[k.R_POINTS_OF + card] == mem[H_MARKED + suit]


@jit
def _set_cards(r: k.Vector, leaders: int, live: int, mem: k.Vector) -> None:
    """Write the root's cards, marks and points at stake from masks over the deck."""
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
            left += max(r[k.R_POINTS_OF + card], 0)
            if mem[H_KIND + suit] == MANY:
                marks |= 1 << (lane + card - first)
            elif mem[H_KIND + suit] == MARKS and _is_marked(r, mem, suit, card):
                marks |= bit
            bit <<= 1
    mem[H_ROOT] = a
    mem[H_ROOT + 1] = b
    mem[H_ROOT + 2] = marks
    mem[H_ROOT + 3] = left


@jit
def _flags_of(r: k.Vector, s: k.Vector) -> int:
    """The flags of a state's position, the kitty's apart."""
    leader = s[k.LEADER]
    follower = 1 - leader
    flags = BROKEN if s[k.BROKEN] else 0
    if r[k.R_MOON] != k.MOON_NONE:
        if s[k.TAKEN + k.SEAT * follower] & r[k.R_PENALTY] == 0:
            flags |= MOON_L
        if s[k.TAKEN + k.SEAT * leader] & r[k.R_PENALTY] == 0:
            flags |= MOON_F
    if s[k.TRICKS + k.SEAT * leader] or r[k.R_NO_TRICK] == 0:
        flags |= TRICK_L
    if s[k.TRICKS + k.SEAT * follower] or r[k.R_NO_TRICK] == 0:
        flags |= TRICK_F
    return flags


@jit
def _set_root(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """Write the position of a state into `mem`; returns the mover's margin of the points so far."""
    player = s[k.PLAYER]
    leaders = s[k.HANDS + k.SEAT * player]
    live = leaders | other
    if s[k.TRICK_LEN] == 1:
        # The card that was led goes back into its hand: it is the only lead then.
        leaders = other | s[k.TRICK_MASK]
        live |= s[k.TRICK_MASK]
    _set_cards(r, leaders, live, mem)
    flags = _flags_of(r, s)
    kitty_points = kitty_penalty = 0
    if r[k.R_KITTY_TO] != k.KITTY_NOBODY and s[k.KITTY_TAKER] < 0:
        kitty = r[k.R_DECK] & ~live & ~s[k.PLAYED] & ~s[k.PLAYED + k.SEAT]
        flags |= KITTY
        kitty_points = k.mask_points(r, kitty)
        kitty_penalty = k.mask_points(r, kitty & r[k.R_PENALTY])
        mem[H_ROOT + 3] += kitty_penalty
    mem[H_ROOT + 4] = flags
    moon = mem[H_MOON]
    if not mem[H_ORDINAL]:
        taken = (s[k.TAKEN] | s[k.TAKEN + k.SEAT]) & r[k.R_PENALTY]
        moon = r[k.R_MOON_POINTS] + mem[H_ROOT + 3] + k.mask_points(r, taken)
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
    mem[H_STOPPED] = mem[H_NODES] = 0
    return s[k.POINTS + k.SEAT * (1 - player)] - s[k.POINTS + k.SEAT * player]


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


# ---- values -------------------------------------------------------------------------------------
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
    live = s[k.HANDS + k.SEAT * player] | other | s[k.TRICK_MASK]
    hand = mem[H_ROOT] if leading else mem[H_ROOT + 1]
    lead = ALL
    if not leading:
        lead = _run_of(r, mem, mem[H_ROOT], live, lowest(s[k.TRICK_MASK]))
    last = 0
    value = ZERO
    cards = legal
    while cards:
        card = highest(cards)
        cards &= ~(1 << card)
        run = _run_of(r, mem, hand, live, card)
        if run != last:  # else it is worth what its neighbour is
            last = run
            if leading:
                replies = _first_replies(r, s, mem, other, live, card)
                value = exact(mem, value, run, replies)
            else:
                value = -exact(mem, -value, lead, run)
        out[card] = _settled(r, mem, before, value)
    return -1 if mem[H_STOPPED] else legal


@jit
def position_value(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """The margin of the player to act, as ``card_values`` has it, under best play."""
    before = _set_root(r, s, other, mem)
    leading = s[k.TRICK_LEN] == 0
    if leading and s[k.TRICK_NUM] > 0:
        return _settled(r, mem, before, exact(mem, ZERO, ALL, ALL))
    player = s[k.PLAYER]
    live = s[k.HANDS + k.SEAT * player] | other | s[k.TRICK_MASK]
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
                best = exact(mem, ZERO, run, replies)
            else:
                value = search(mem, best + 1, run, replies)
                if value > best:
                    best = exact(mem, value, run, replies)
        elif best == -INFINITE:
            best = -exact(mem, ZERO, lead, run)
        elif -search(mem, -best, lead, run) > best:
            best = -exact(mem, -best - 1, lead, run)
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
def first_wrong(r: k.Vector, states: k.Vector) -> int:
    """The first state with cards nowhere, or with a history of another length; -1: none."""
    for i in range(len(states)):
        s = states[i]
        cards = s[k.KITTY] | s[k.HANDS] | s[k.HANDS + k.SEAT] | s[k.PLAYED] | s[k.PLAYED + k.SEAT]
        played = popcount(s[k.PLAYED]) + popcount(s[k.PLAYED + k.SEAT])
        if cards != r[k.R_DECK] or s[k.NUM_PLAYED] != played:
            return i
    return -1


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
        hand = s[k.HANDS + k.SEAT * p]
        played = s[k.PLAYED + k.SEAT * p]
        if hand & ~r[k.R_DECK] or hand & everything or popcount(hand | played) != r[k.R_HAND_SIZE]:
            return False
        if popcount(hand) + popcount(played) != r[k.R_HAND_SIZE]:
            return False
        if popcount(played) != s[k.TRICK_NUM] + (trick if p == leader else 0):
            return False
        everything |= hand | played
    if s[k.TRICK_MASK] & ~s[k.PLAYED + k.SEAT * leader] or popcount(s[k.TRICK_MASK]) != trick:
        return False
    return s[k.HANDS + k.SEAT * player] != 0


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
            values[i] += k.mask_points(r, s[k.TAKEN + k.SEAT * (1 - player)] & ~r[k.R_PENALTY])
            values[i] -= k.mask_points(r, s[k.TAKEN + k.SEAT * player] & ~r[k.R_PENALTY])
        elif s[k.PHASE] != k.PLAY or not _is_possible(r, s):
            return i
        else:
            values[i] = position_value(r, s, s[k.HANDS + k.SEAT * (1 - s[k.PLAYER])], mem)
            if mem[H_STOPPED]:
                return i
    return len(states)
