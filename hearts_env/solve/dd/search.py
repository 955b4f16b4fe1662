"""Alpha-beta search in zero windows over positions between two tricks, and the values it finds.

The search keeps its own stack instead of calling itself, because numba cannot load a recursive
function from its cache (numba issue 6061).
"""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.cards import SPADES
from hearts_env.solve.dd import position as d
from hearts_env.solve.dd.memory import (
    bounds,
    endgame_value,
    forget,
    has_endgame,
    key_of,
    probe,
    store,
)
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inner, jit

# ---- the stack: a frame for each trick of the current line ---------------------------------------
(
    F_A,  # the position, for its leader ...
    F_B,
    F_MARKS,
    F_LEFT,
    F_FLAGS,
    F_TARGET,  # ... and the value that it should reach
    F_BEST,  # the best value of the leads done
    F_LEADS,  # the leads not yet tried
    F_LEAD,  # the current lead
    F_WORST,  # the worst value of the replies to it so far
    F_REPLIES,  # the replies not yet tried
    F_CANDIDATES,  # the replies worth trying on any lead
    F_POINTS,  # the points of the current trick ...
    F_FOLLOWED,  # ... and whether the follower takes it
    F_KEY,  # the position in the transposition table: see `memory.key_of`
    F_KEY2,
    F_PLACE,
    F_ENTRY,
    F_LOW,  # bounds known before the search
    F_HIGH,
) = range(d.FRAME)


@inner
def _look_up(
    mem: k.Vector, p: d.TrickPosition, low: int, high: int
) -> tuple[int, int, int, int, int, int]:
    """Return a position's bounds, narrowed by the tables, its key, key2, place, and entry or 0."""
    n = popcount(p.a)
    if has_endgame(mem, n, p.flags):
        value = endgame_value(mem, n, p)
        return value, value, 0, 0, 0, 0
    key, key2, place = key_of(mem, p)
    entry, low, high = probe(mem, key, key2, p.marks, place, low, high)
    return low, high, key, key2, place, entry


@inner
def _begin_frame(
    mem: k.Vector, frame: int, p: d.TrickPosition, target: int, lead_only: int
) -> None:
    """Make a frame for a position, with no trick tried yet."""
    leads = d.legal_leads(mem, p) if lead_only == d.ALL else p.a
    mem[frame + F_A] = p.a
    mem[frame + F_B] = p.b
    mem[frame + F_MARKS] = p.marks
    mem[frame + F_LEFT] = p.left
    mem[frame + F_FLAGS] = p.flags
    mem[frame + F_TARGET] = target
    mem[frame + F_BEST] = -d.INFINITE
    mem[frame + F_LEADS] = leads & d.runs(mem, p.a, p.marks) & lead_only
    mem[frame + F_REPLIES] = 0
    mem[frame + F_CANDIDATES] = d.runs(mem, p.b, p.marks)


@inner
def _take_in(mem: k.Vector, frame: int, value: int) -> bool:
    """Update the frame by the value of the last trick. Return whether the position is done."""
    target = mem[frame + F_TARGET]
    if mem[frame + F_FOLLOWED]:
        value = mem[frame + F_POINTS] - value
    else:
        value -= mem[frame + F_POINTS]
    worst = min(mem[frame + F_WORST], value)
    mem[frame + F_WORST] = worst
    if worst < target:
        mem[frame + F_REPLIES] = 0  # the follower has an answer to this lead
    elif mem[frame + F_REPLIES]:
        return False
    if worst > mem[frame + F_BEST]:
        mem[frame + F_BEST] = worst
        if worst >= target:
            return True
    return mem[frame + F_LEADS] == 0


@inner
def _store_result(mem: k.Vector, frame: int) -> None:
    """Store the bounds found for a position that is done."""
    place = mem[frame + F_PLACE]
    if place:
        best = mem[frame + F_BEST]
        low = mem[frame + F_LOW]
        high = mem[frame + F_HIGH]
        if best >= mem[frame + F_TARGET]:
            low = max(low, best)
        else:
            high = min(high, best)
        key, key2 = mem[frame + F_KEY], mem[frame + F_KEY2]
        store(mem, key, key2, mem[frame + F_MARKS], place, mem[frame + F_ENTRY], low, high)


@inner
def _next_trick(mem: k.Vector, frame: int, reply_only: int) -> tuple[d.TrickPosition, int, bool]:
    """Try the next reply, or the next lead if no reply is left. Return the result of ``after``."""
    p = d.TrickPosition(
        mem[frame + F_A],
        mem[frame + F_B],
        mem[frame + F_MARKS],
        mem[frame + F_LEFT],
        mem[frame + F_FLAGS],
    )
    replies = mem[frame + F_REPLIES]
    if replies:
        x = mem[frame + F_LEAD]
        lane = d.lane_of(mem, x)
    else:
        leads = mem[frame + F_LEADS]
        x = d.likely_lead(mem, p.b, leads)
        mem[frame + F_LEADS] = leads & ~x
        mem[frame + F_LEAD] = x
        mem[frame + F_WORST] = d.INFINITE
        lane = d.lane_of(mem, x)
        replies = mem[frame + F_CANDIDATES]
        replies &= d.legal_replies(mem, p, lane) if reply_only == d.ALL else reply_only
    y = d.likely_reply(mem, p, x, lane, replies)
    mem[frame + F_REPLIES] = replies & ~y
    return d.after(mem, p, x, y)


@jit
def search(mem: k.Vector, target: int, lead_only: int, reply_only: int) -> int:
    """Return a bound of the root's value for its leader that decides whether it reaches `target`.

    A bound of at least `target` is a lower bound, any other an upper bound (fail-soft).

    Args:
        mem: the vector of a `TranspositionTable` that contains the root.
        target: the value in question.
        lead_only: the allowed leads at the root, as a mask. If `ALL`, the legal ones after the
            first trick.
        reply_only: the allowed replies at the root. If `ALL`, the legal ones.
    """
    budget = mem[d.H_LIMIT] - mem[d.H_NODES]
    nodes = 0
    p = d.TrickPosition(
        mem[d.H_ROOT], mem[d.H_ROOT + 1], mem[d.H_ROOT + 2], mem[d.H_ROOT + 3], mem[d.H_ROOT + 4]
    )
    frame = d.ZERO + d.H_STACK
    while True:
        # Find a position's value or a sufficient bound, or begin a new frame.
        low, high, flags = bounds(mem, p)
        p = d.TrickPosition(p.a, p.b, p.marks, p.left, flags)
        leads = lead_only if frame == d.H_STACK else d.ALL
        key = key2 = place = entry = 0
        if high >= target > low and leads == d.ALL:
            low, high, key, key2, place, entry = _look_up(mem, p, low, high)
        value = low if low >= target else high
        is_done = high < target or low >= target
        if not is_done:
            nodes += 1
            if nodes > budget:
                mem[d.H_STOPPED] = 1
                value = target
                break
            _begin_frame(mem, frame, p, target, leads)
            mem[frame + F_KEY] = key
            mem[frame + F_KEY2] = key2
            mem[frame + F_PLACE] = place
            mem[frame + F_ENTRY] = entry
            mem[frame + F_LOW] = low
            mem[frame + F_HIGH] = high
        # Go up the stack as far as positions are done.
        while is_done and frame != d.H_STACK:
            frame -= d.FRAME
            is_done = _take_in(mem, frame, value)
            if is_done:
                _store_result(mem, frame)
                value = mem[frame + F_BEST]
        if is_done:
            break
        replies = reply_only if frame == d.H_STACK else d.ALL
        p, points, followed = _next_trick(mem, frame, replies)
        mem[frame + F_POINTS] = points
        mem[frame + F_FOLLOWED] = followed
        target = mem[frame + F_TARGET]
        target = points - target + 1 if followed else target + points
        frame += d.FRAME
    mem[d.H_NODES] += nodes
    return value


@jit
def exact(mem: k.Vector, guess: int, lead_only: int, reply_only: int) -> int:
    """Return the root's value for its leader, from a guess by zero windows (MTD(f))."""
    low = -d.INFINITE
    high = d.INFINITE
    target = guess
    while low < high and not mem[d.H_STOPPED]:
        value = search(mem, target, lead_only, reply_only)
        if value >= target:
            low = value
            target = value + 1
        else:
            high = value
            target = value
    return low


# ---- the root, from the kernel's states ----------------------------------------------------------
@inner
def _is_marked(r: k.Vector, mem: k.Vector, suit: int, card: int) -> bool:
    """Return whether a card of a suit of kind MARKS is marked."""
    if mem[d.H_QUEEN_MODE] == d.MARKS and suit == SPADES:
        return r[k.R_QUEEN] >> card & 1 != 0
    return r[k.R_POINTS_OF + card] == mem[d.H_MARKED + suit]


@jit
def _set_cards(r: k.Vector, leaders: int, live: int, mem: k.Vector) -> None:
    """Write the root's cards, marks and points at stake from masks over the deck."""
    a = b = marks = left = 0
    for suit in range(4):
        lane = suit << mem[d.H_SHIFT]
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
            if mem[d.H_KIND + suit] == d.MANY:
                marks |= 1 << (lane + card - first)
            elif mem[d.H_KIND + suit] == d.MARKS and _is_marked(r, mem, suit, card):
                marks |= bit
            bit <<= 1
    mem[d.H_ROOT] = a
    mem[d.H_ROOT + 1] = b
    mem[d.H_ROOT + 2] = marks
    mem[d.H_ROOT + 3] = left


@jit
def _flags_of(r: k.Vector, s: k.Vector) -> int:
    """Return the flags of a state's position, except the flag of the kitty."""
    leader = s[k.LEADER]
    follower = 1 - leader
    flags = d.BROKEN if s[k.BROKEN] else 0
    if r[k.R_MOON] != k.MOON_NONE:
        if s[k.TAKEN + k.SEAT * follower] & r[k.R_PENALTY] == 0:
            flags |= d.MOON_L
        if s[k.TAKEN + k.SEAT * leader] & r[k.R_PENALTY] == 0:
            flags |= d.MOON_F
    if s[k.TRICKS + k.SEAT * leader] or r[k.R_NO_TRICK_POINTS] == 0:
        flags |= d.TRICK_L
    if s[k.TRICKS + k.SEAT * follower] or r[k.R_NO_TRICK_POINTS] == 0:
        flags |= d.TRICK_F
    return flags


@jit
def _set_root(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """Write the position of a state into `mem`. Return the mover's margin of the points so far."""
    player = s[k.PLAYER]
    leaders = s[k.HANDS + k.SEAT * player]
    live = leaders | other
    if s[k.TRICK_LEN] == 1:
        # Put the lead back into its hand; it is then the only lead.
        leaders = other | s[k.TRICK_MASK]
        live |= s[k.TRICK_MASK]
    _set_cards(r, leaders, live, mem)
    flags = _flags_of(r, s)
    kitty_points = kitty_penalty = 0
    if r[k.R_KITTY_TO] != k.KITTY_NOBODY and s[k.KITTY_TAKER] < 0:
        kitty = r[k.R_DECK] & ~live & ~s[k.PLAYED] & ~s[k.PLAYED + k.SEAT]
        flags |= d.KITTY
        kitty_points = k.mask_points(r, kitty)
        kitty_penalty = k.mask_points(r, kitty & r[k.R_PENALTY])
        mem[d.H_ROOT + 3] += kitty_penalty
    mem[d.H_ROOT + 4] = flags
    moon = mem[d.H_MOON]
    if not mem[d.H_ORDINAL]:
        taken = (s[k.TAKEN] | s[k.TAKEN + k.SEAT]) & r[k.R_PENALTY]
        moon = r[k.R_MOON_POINTS] + mem[d.H_ROOT + 3] + k.mask_points(r, taken)
    if (
        moon != mem[d.H_MOON]
        or kitty_points != mem[d.H_KITTY_POINTS]
        or kitty_penalty != mem[d.H_KITTY_PENALTY]
    ):
        # Stored positions do not include these.
        mem[d.H_MOON] = moon
        mem[d.H_KITTY_POINTS] = kitty_points
        mem[d.H_KITTY_PENALTY] = kitty_penalty
        forget(mem)
    mem[d.H_STOPPED] = mem[d.H_NODES] = 0
    return s[k.POINTS + k.SEAT * (1 - player)] - s[k.POINTS + k.SEAT * player]


@jit
def _settled(r: k.Vector, mem: k.Vector, before: int, value: int) -> int:
    """Return the mover's margin of the whole deal, from its margin so far and the root's value."""
    if mem[d.H_ORDINAL]:
        if 2 * value > mem[d.H_MOON]:
            return r[k.R_MOON_POINTS]
        if -2 * value > mem[d.H_MOON]:
            return -r[k.R_MOON_POINTS]
    return before + value


@jit
def _run_of(r: k.Vector, mem: k.Vector, hand: int, live: int, card: int) -> int:
    """Return the bit, at the root, of the highest card in the run of `card`.

    `hand` is the holder's hand as a mask at the root, `live` all cards held as a mask over the
    deck.
    """
    suit = r[k.R_SUIT_OF + card]
    below = live & r[k.R_SUIT_MASK + suit] & ((1 << card) - 1)
    bit = 1 << ((suit << mem[d.H_SHIFT]) + popcount(below))
    split = mem[d.H_ROOT + 2] | mem[d.H_MANY]
    split |= split >> 1
    while hand & bit << 1 and split & bit == 0:
        bit <<= 1
    return bit


@jit
def _first_replies(
    r: k.Vector, s: k.Vector, mem: k.Vector, other: int, live: int, card: int
) -> int:
    """Return the replies to the lead of `card`, restricted on a first trick that forbids points."""
    if s[k.TRICK_NUM] or r[k.R_POINTS_ON_FIRST_TRICK]:
        return d.ALL
    harmless = other & ~r[k.R_PENALTY]
    if harmless == 0 or other & r[k.R_SUIT_MASK + r[k.R_SUIT_OF + card]]:
        return d.ALL
    if r[k.R_QUEEN_ANY_TIME]:
        harmless |= other & r[k.R_QUEEN]
    replies = 0
    while harmless:
        replies |= _run_of(r, mem, mem[d.H_ROOT + 1], live, lowest(harmless))
        harmless &= harmless - 1
    return replies


# ---- values --------------------------------------------------------------------------------------
@jit
def card_values(r: k.Vector, s: k.Vector, other: int, mem: k.Vector, out: k.Vector) -> int:
    """Write the margin of the player to act after each legal card into ``out[card]``.

    Args:
        r: the rules, of two players.
        s: a state during play, or the view of the player to act. The opponent's hand is not read.
        other: the opponent's cards.
        mem: the vector of a `TranspositionTable` of these rules, which gains entries.
        out: 52 numbers, of which only those of legal cards change.

    Returns:
        The legal cards as a mask, or -1 if `H_LIMIT` was not enough.
    """
    before = _set_root(r, s, other, mem)
    player = s[k.PLAYER]
    legal = k.legal_mask(r, s)
    leading = s[k.TRICK_LEN] == 0
    live = s[k.HANDS + k.SEAT * player] | other | s[k.TRICK_MASK]
    hand = mem[d.H_ROOT] if leading else mem[d.H_ROOT + 1]
    lead = d.ALL
    if not leading:
        lead = _run_of(r, mem, mem[d.H_ROOT], live, lowest(s[k.TRICK_MASK]))
    last = 0
    value = d.ZERO
    cards = legal
    while cards:
        card = highest(cards)
        cards &= ~(1 << card)
        run = _run_of(r, mem, hand, live, card)
        if run != last:  # else it has its neighbour's value
            last = run
            if leading:
                replies = _first_replies(r, s, mem, other, live, card)
                value = exact(mem, value, run, replies)
            else:
                value = -exact(mem, -value, lead, run)
        out[card] = _settled(r, mem, before, value)
    return -1 if mem[d.H_STOPPED] else legal


@jit
def position_value(r: k.Vector, s: k.Vector, other: int, mem: k.Vector) -> int:
    """Return the margin of the player to act under best play, as in ``card_values``."""
    before = _set_root(r, s, other, mem)
    leading = s[k.TRICK_LEN] == 0
    if leading and s[k.TRICK_NUM] > 0:
        return _settled(r, mem, before, exact(mem, d.ZERO, d.ALL, d.ALL))
    player = s[k.PLAYER]
    live = s[k.HANDS + k.SEAT * player] | other | s[k.TRICK_MASK]
    hand = mem[d.H_ROOT] if leading else mem[d.H_ROOT + 1]
    lead = d.ALL
    if not leading:
        lead = _run_of(r, mem, mem[d.H_ROOT], live, lowest(s[k.TRICK_MASK]))
    best = -d.INFINITE
    last = 0
    cards = k.legal_mask(r, s)
    while cards:
        card = highest(cards)
        cards &= ~(1 << card)
        run = _run_of(r, mem, hand, live, card)
        if run == last:
            continue
        last = run
        # Only a value above the best so far must be exact (Scout).
        if leading:
            replies = _first_replies(r, s, mem, other, live, card)
            if best == -d.INFINITE:
                best = exact(mem, d.ZERO, run, replies)
            else:
                value = search(mem, best + 1, run, replies)
                if value > best:
                    best = exact(mem, value, run, replies)
        elif best == -d.INFINITE:
            best = -exact(mem, d.ZERO, lead, run)
        elif -search(mem, -best, lead, run) > best:
            best = -exact(mem, -best - 1, lead, run)
    return _settled(r, mem, before, best)


@jit
def world_values(r: k.Vector, v: k.Vector, hands: k.Vector, mem: k.Vector, values: k.Vector) -> int:
    """Write ``card_values`` for each of the opponent's possible `hands` into a row of `values`.

    `v` is the view of the player to act. The columns are that player's legal cards, ascending.
    Return the number of rows written, which is smaller than all if `H_LIMIT` was not enough.
    """
    out = mem[d.H_OUT : d.H_OUT + k.MAX_CARDS]
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
def position_values(r: k.Vector, states: k.Vector, mem: k.Vector, values: k.Vector) -> bool:
    """Write each state's margin for its player to act, or for seat 0 if the game is over.

    The states are after the exchange. Return False if `H_LIMIT` was not enough.
    """
    for i in range(len(states)):
        s = states[i]
        if s[k.PHASE] == k.OVER:
            values[i] = k.margin_sum(r, s, 0)
        elif s[k.PHASE] == k.MOON:
            # The shooter's margin is the same under either choice.
            player = s[k.PLAYER]
            values[i] = r[k.R_MOON_POINTS]
            values[i] += k.mask_points(r, s[k.TAKEN + k.SEAT * (1 - player)] & ~r[k.R_PENALTY])
            values[i] -= k.mask_points(r, s[k.TAKEN + k.SEAT * player] & ~r[k.R_PENALTY])
        else:
            values[i] = position_value(r, s, s[k.HANDS + k.SEAT * (1 - s[k.PLAYER])], mem)
            if mem[d.H_STOPPED]:
                return False
    return True
