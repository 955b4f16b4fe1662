"""Alpha-beta in zero windows over positions between two tricks.

The search keeps its own stack instead of calling itself: numba cannot load a recursive function
from its cache (its issue 6061).
"""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.solve.dd.bounds import bounds
from hearts_env.solve.dd.endgames import endgame_value, has_endgame
from hearts_env.solve.dd.layout import (
    ALL,
    F_A,
    F_B,
    F_BEST,
    F_CANDIDATES,
    F_ENTRY,
    F_FLAGS,
    F_FOLLOWED,
    F_HIGH,
    F_KEY,
    F_KEY2,
    F_LEAD,
    F_LEADS,
    F_LEFT,
    F_LOW,
    F_MARKS,
    F_PLACE,
    F_POINTS,
    F_REPLIES,
    F_TARGET,
    F_WORST,
    FRAME,
    H_LIMIT,
    H_NODES,
    H_OPTIONS,
    H_ROOT,
    H_STACK,
    H_STOPPED,
    INFINITE,
    NO_ORDER,
    NO_RUNS,
    NO_TABLE,
    ZERO,
    lane_of,
)
from hearts_env.solve.dd.position import (
    Position,
    after,
    legal_leads,
    legal_replies,
    likely_lead,
    likely_reply,
    runs,
)
from hearts_env.solve.dd.table import key_of, probe, store
from hearts_env.support.bits import popcount
from hearts_env.support.jit import inner, jit


@inner
def _look_up(
    mem: k.Vector, p: Position, low: int, high: int
) -> tuple[int, int, int, int, int, int]:
    """Bounds of a position narrowed by what is stored; its key, key2, place and entry or 0."""
    n = popcount(p.a)
    if has_endgame(mem, n, p.flags):
        value = endgame_value(mem, n, p)
        return value, value, 0, 0, 0, 0
    if mem[H_OPTIONS] & NO_TABLE:
        return low, high, 0, 0, 0, 0
    key, key2, place = key_of(mem, p)
    entry, low, high = probe(mem, key, key2, p.marks, place, low, high)
    return low, high, key, key2, place, entry


@inner
def _begin_frame(mem: k.Vector, frame: int, p: Position, target: int, lead_only: int) -> None:
    """Make a frame for a position, no trick tried yet."""
    leads = legal_leads(mem, p) if lead_only == ALL else p.a
    candidates = p.b
    if mem[H_OPTIONS] & NO_RUNS == 0:
        leads &= runs(mem, p.a, p.marks)
        candidates = runs(mem, p.b, p.marks)
    mem[frame + F_A] = p.a
    mem[frame + F_B] = p.b
    mem[frame + F_MARKS] = p.marks
    mem[frame + F_LEFT] = p.left
    mem[frame + F_FLAGS] = p.flags
    mem[frame + F_TARGET] = target
    mem[frame + F_BEST] = -INFINITE
    mem[frame + F_LEADS] = leads & lead_only
    mem[frame + F_REPLIES] = 0
    mem[frame + F_CANDIDATES] = candidates


@inner
def _take_in(mem: k.Vector, frame: int, value: int) -> bool:
    """Take in the value of the trick that was tried last; whether the position is done."""
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
def _keep(mem: k.Vector, frame: int) -> None:
    """Store what was found of a position that is done."""
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
def _next_trick(mem: k.Vector, frame: int, reply_only: int) -> tuple[Position, int, bool]:
    """Try the next reply, or if none is left the next lead; what comes after, as `after`."""
    p = Position(
        mem[frame + F_A],
        mem[frame + F_B],
        mem[frame + F_MARKS],
        mem[frame + F_LEFT],
        mem[frame + F_FLAGS],
    )
    in_order = mem[H_OPTIONS] & NO_ORDER
    replies = mem[frame + F_REPLIES]
    if replies:
        x = mem[frame + F_LEAD]
        lane = lane_of(mem, x)
    else:
        leads = mem[frame + F_LEADS]
        x = leads & -leads if in_order else likely_lead(mem, p.b, leads)
        mem[frame + F_LEADS] = leads & ~x
        mem[frame + F_LEAD] = x
        mem[frame + F_WORST] = INFINITE
        lane = lane_of(mem, x)
        replies = mem[frame + F_CANDIDATES]
        replies &= legal_replies(mem, p, lane) if reply_only == ALL else reply_only
    y = replies & -replies if in_order else likely_reply(mem, p, x, lane, replies)
    mem[frame + F_REPLIES] = replies & ~y
    return after(mem, p, x, y)


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
    budget = mem[H_LIMIT] - mem[H_NODES]
    nodes = 0
    p = Position(mem[H_ROOT], mem[H_ROOT + 1], mem[H_ROOT + 2], mem[H_ROOT + 3], mem[H_ROOT + 4])
    frame = ZERO + H_STACK
    while True:
        # A position: its value, or a bound that is enough, or a new frame.
        low, high, flags = bounds(mem, p)
        p = Position(p.a, p.b, p.marks, p.left, flags)
        leads = lead_only if frame == H_STACK else ALL
        key = key2 = place = entry = 0
        if high >= target > low and leads == ALL:
            low, high, key, key2, place, entry = _look_up(mem, p, low, high)
        value = low if low >= target else high
        is_done = high < target or low >= target
        if not is_done:
            nodes += 1
            if nodes > budget:
                mem[H_STOPPED] = 1
                value = target
                break
            _begin_frame(mem, frame, p, target, leads)
            mem[frame + F_KEY] = key
            mem[frame + F_KEY2] = key2
            mem[frame + F_PLACE] = place
            mem[frame + F_ENTRY] = entry
            mem[frame + F_LOW] = low
            mem[frame + F_HIGH] = high
        # Up the stack, as far as positions are done.
        while is_done and frame != H_STACK:
            frame -= FRAME
            is_done = _take_in(mem, frame, value)
            if is_done:
                _keep(mem, frame)
                value = mem[frame + F_BEST]
        if is_done:
            break
        replies = reply_only if frame == H_STACK else ALL
        p, points, followed = _next_trick(mem, frame, replies)
        mem[frame + F_POINTS] = points
        mem[frame + F_FOLLOWED] = followed
        target = mem[frame + F_TARGET]
        target = points - target + 1 if followed else target + points
        frame += FRAME
    mem[H_NODES] += nodes
    return value


@jit
def exact(mem: k.Vector, guess: int, lead_only: int, reply_only: int) -> int:
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
