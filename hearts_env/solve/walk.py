"""A depth-first walk through all public histories of a game of two.

Each history comes with all deals that agree with it, side by side, so the kernel is asked once for
each hand and history. Information sets and sequences are numbered in the order of the walk, which
is the order of the game. The information sets of the first ``TOP`` cards come first. So everything
after a history of that length is one stretch of every array, and threads can take such stretches.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array, Ints, Ints32
from hearts_env.support.bits import lowest, popcount
from hearts_env.support.jit import inlined, jit
from hearts_env.support.progress import Progress, no_progress
from hearts_env.views.deals import num_deals as num_all_deals

TOP = 3
"""Histories of fewer cards are *top* ones. Each history of this many cards begins a *branch*."""
BLOCK = 1 << 15
"""The lines between two marks of a walk, few enough for their data to fit into a cache."""

_PART = 1 << 18
"""Lines between two reports of a walk's progress."""

# ---- the counts of a walk: places in `totals` ----------------------------------------------------
DEALS, POSITIONS, LINES, HISTORIES, BRANCHES, MARKS = range(6)
INFOSETS = 6  # of each player, in top histories
SEQUENCES = 8  # of each player, in top histories
DEEP = 4  # this many places on: the same below top histories
NUM_TOTALS = 14

# ---- the progress of a walk: places in `course` --------------------------------------------------
DEPTH, IS_NEW, STOP, SHOWN, LEVEL, NUM_COURSE = range(6)
"""The course of a walk: the cards played, whether this history is new, the lines at which to pause,
the views written, and the information sets to show (0 in top histories, 1 below, 2 all)."""


class Hands(NamedTuple):
    """The hands that can be dealt to each player."""

    masks: Ints
    """``(2, most)``: bit masks."""
    number: Ints
    """``(2,)``: the number of hands."""


class Frames(NamedTuple):
    """The histories from the root to the current one. Row d has d actions."""

    states: Ints
    """``(depth + 1, rules.state_size)``: the position, in one of its deals. The last row is scratch
    memory."""
    heads: Ints
    """``(depth, 2)``: the number of deals that agree with the history (`COUNT`), and a mask of the
    actions not yet followed (`OPEN`)."""
    deals: Ints32
    """``(depth, deals, 5)``: for each deal the numbers of both hands (`HAND`), both players' last
    sequences (`LAST`), and the first sequence of the acting player's information set, -1 if there
    is no choice (`FIRST`)."""
    actions: Ints
    """``(depth, deals, 2)``: for each deal a mask of the legal actions (`LEGAL`), and of those not
    yet followed (`REST`)."""
    slots: Ints
    """``(2, most, 3)``: for each hand of either player its legal actions and first sequence
    (`LEGAL`, `SLOT_FIRST`), and the history at which they were found (`STAMP`)."""


COUNT, OPEN = range(2)
HAND, LAST, FIRST = 0, 2, 4
LEGAL, REST = range(2)
STAMP, SLOT_FIRST = 1, 2


class Records(NamedTuple):
    """The output of a walk, all empty if it only counts.

    n is the larger number of information sets of the two players.
    """

    ends: Ints32
    """``(2, lines)``: both players' last sequences of each line."""
    margins: Array
    """``(lines,)``: seat 0's margin at the end of each line."""
    marks: Ints
    """``(marks, 4)``: see ``Tree.marks``."""
    parent: Ints32
    """``(2, n)``: see `Side`."""
    first: Ints32
    """``(2, n + 1)``: see `Side`."""


class Shown(NamedTuple):
    """The output for one player's views."""

    player: int
    """The player, or -1 for none."""
    vectors: Ints
    """``(views, rules.state_size)``. The walk pauses if there is no room for a history's views."""


def num_deals(rules: Rules) -> int:
    """Return the number of deals in which seat 0 leads first."""
    both = num_all_deals(rules)
    return both if rules.first_lead == "eldest_hand" else both // 2


def walk_bytes(rules: Rules) -> int:
    """Return the memory of a walk in bytes. A walk keeps every deal at each depth."""
    return (72 * rules.hand_size + 100) * num_deals(rules)


def _unwatched(_totals: Ints) -> None:
    """Let a walk go on."""


class Walk:
    """All public histories, depth first, each with the deals that agree with it.

    Attributes:
        rules: the rules.
        deals: the deals as masks of both hands, ``(deals, 2) int64``.
        hands: the different hands of each player, ascending.
        ids: the number of each player's hand in every deal, ``(deals,) int32``.
    """

    def __init__(self, rules: Rules) -> None:
        """Prepare a walk from the first lead of all deals."""
        self.rules = rules
        self.deals = _all_deals(rules)
        self.root = np.empty(rules.state_size, np.int64)
        start_deal(rules.vector, self.root, int(self.deals[0, 0]), int(self.deals[0, 1]), 1)
        self.ids = []
        self.hands = []
        for p in range(2):
            hands, inverse = np.unique(self.deals[:, p], return_inverse=True)
            self.hands.append(hands)
            self.ids.append(inverse.astype(np.int32))

    @functools.cached_property
    def totals(self) -> Ints:
        """The counts of the walk, by the places from `DEALS` on."""
        return self.count()

    def count(self, watch: Callable[[Ints], object] = _unwatched) -> Ints:
        """Return the counts of the walk, and keep them as `totals`.

        Every `_PART` lines `watch` is called with the totals so far. It may raise to end the count.
        """
        totals = self._start_totals()
        self._run(self._records(0, 0, 0), totals, watch)
        self.totals = totals
        return totals

    def write(self, progress: Progress = no_progress) -> Records:
        """Return the records. `progress` is called with the lines done and their number."""
        counted, totals = self.totals, self._start_totals()
        for place in (INFOSETS, INFOSETS + 1, SEQUENCES, SEQUENCES + 1):
            totals[place + DEEP] = counted[place]  # numbered after those of top histories
        lines = int(counted[LINES])
        infosets = [int(counted[i] + counted[i + DEEP]) for i in (INFOSETS, INFOSETS + 1)]
        records = self._records(lines, max(infosets), int(counted[BRANCHES]) + lines // BLOCK + 2)
        records.marks[0] = 0, totals[INFOSETS + DEEP], totals[INFOSETS + 1 + DEEP], 1
        totals[MARKS] = 1
        self._run(records, totals, lambda totals: progress(int(totals[LINES]), lines))
        records.marks[totals[MARKS]] = lines, *infosets, 1
        for p, number in enumerate(infosets):
            records.first[p, number] = len(self.hands[p]) + totals[SEQUENCES + p + DEEP]
        return records._replace(marks=records.marks[: totals[MARKS] + 1])

    def views(self, player: int, most: int) -> Iterator[Ints]:
        """Yield the views of `player` in its information sets, in order, at most `most` at a time.

        Each array is ``(views, rules.state_size)``.
        """
        room = max(most, len(self.hands[player]))
        vectors = np.empty((room, self.rules.state_size), np.int64)
        nothing, shown = self._records(0, 0, 0), Shown(player, vectors)
        for level in range(2):
            frames, hands, course = self._begin()
            course[LEVEL] = level
            totals, is_over = self._start_totals(), False
            while not is_over:
                is_over = _walk(self.rules.vector, hands, frames, nothing, shown, totals, course)
                for begin in range(0, int(course[SHOWN]), most):
                    yield vectors[begin : min(begin + most, int(course[SHOWN]))].copy()
                course[SHOWN] = 0

    def _start_totals(self) -> Ints:
        totals = np.zeros(NUM_TOTALS, np.int64)
        totals[DEALS] = len(self.deals)
        return totals

    def _records(self, lines: int, n: int, marks: int) -> Records:
        small = self.rules.max_margin <= np.iinfo(np.int8).max
        return Records(
            ends=np.empty((2, lines), np.int32),
            margins=np.empty(lines, np.int8 if small else np.int32),
            marks=np.empty((marks, 4), np.int64),
            parent=np.empty((2, n), np.int32),
            first=np.empty((2, n + 1), np.int32),
        )

    def _begin(self) -> tuple[Frames, Hands, Ints]:
        """Return the memory of a walk at its root."""
        number, depth = len(self.deals), 2 * self.rules.hand_size + 2
        most = max(map(len, self.hands))
        hands = Hands(np.zeros((2, most), np.int64), np.array([len(h) for h in self.hands]))
        frames = Frames(
            states=np.empty((depth + 1, self.rules.state_size), np.int64),
            heads=np.zeros((depth, 2), np.int64),
            deals=np.empty((depth, number, 5), np.int32),
            actions=np.empty((depth, number, 2), np.int64),
            slots=np.zeros((2, most, 3), np.int64),
        )
        for s in frames.states:
            k.clear(s)
        frames.states[0] = self.root
        frames.heads[0, COUNT] = number
        for p in range(2):
            hands.masks[p, : len(self.hands[p])] = self.hands[p]
            frames.deals[0, :, HAND + p] = frames.deals[0, :, LAST + p] = self.ids[p]
        course = np.zeros(NUM_COURSE, np.int64)
        course[IS_NEW], course[STOP], course[LEVEL] = 1, np.iinfo(np.int64).max, 2
        return frames, hands, course

    def _run(self, records: Records, totals: Ints, watch: Callable[[Ints], object]) -> None:
        """Walk through all histories. Call `watch` after every part of `_PART` lines."""
        frames, hands, course = self._begin()
        shown = Shown(-1, np.empty((0, self.rules.state_size), np.int64))
        is_over = False
        while not is_over:
            course[STOP] = totals[LINES] + _PART
            is_over = _walk(self.rules.vector, hands, frames, records, shown, totals, course)
            watch(totals)


# ---- compiled: deals -----------------------------------------------------------------------------
def _all_deals(rules: Rules) -> Ints:
    """Return the hands of all deals in which seat 0 leads first, ``(deals, 2) int64``."""
    deck, size = len(rules.deck), rules.hand_size
    masks = np.array(
        [sum(1 << c for c in cards) for cards in itertools.combinations(range(deck), size)],
        np.int64,
    )
    number = num_deals(rules)
    deals = np.empty((number, 2), np.int64)
    written = _write_deals(rules.vector, masks, np.empty(rules.state_size, np.int64), deals)
    assert written == number, (written, number)
    return deals


@jit
def start_deal(r: k.Vector, s: k.Vector, hand0: int, hand1: int, dealer: int) -> None:
    """Make `s` the first position of a deal, in place."""
    k.clear(s)
    s[k.HANDS] = hand0
    s[k.HANDS + k.SEAT] = hand1
    s[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    s[k.DEALER] = dealer
    s[k.DEAL_NUMBER] = 0
    k.start(r, s)


@jit
def _write_deals(r: k.Vector, masks: Ints, s: k.Vector, deals: Ints) -> int:
    """Write the hands of all deals in which seat 0 leads first. Return their number."""
    count = 0
    for i in range(len(masks)):
        for j in range(len(masks)):
            if masks[i] & masks[j]:
                continue
            # The kernel decides who leads; set only the fields that it reads.
            s[k.HANDS] = masks[i]
            s[k.HANDS + k.SEAT] = masks[j]
            s[k.DEALER] = 1
            k.start_play(r, s)
            if s[k.LEADER] == 0:
                if count < len(deals):
                    deals[count, 0] = masks[i]
                    deals[count, 1] = masks[j]
                count += 1
    return count


# ---- compiled: the walk --------------------------------------------------------------------------
@jit
def _after(r: k.Vector, s: k.Vector, hand0: int, hand1: int, action: int, out: k.Vector) -> None:
    """Write into `out` the position after `action` in `s` with these dealt hands."""
    k.copy_state(s, out)
    out[k.HANDS] = hand0 & ~s[k.PLAYED]
    out[k.HANDS + k.SEAT] = hand1 & ~s[k.PLAYED + k.SEAT]
    out[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    k.play(r, out, action)


@jit
def _shown(s: k.Vector) -> int:
    """Return the public information of a position beside its history.

    It consists of an awarded kitty, and of whether a queen that may be played at any time broke
    hearts.
    """
    kitty = s[k.KITTY] if s[k.KITTY_TAKER] >= 0 else 0
    return kitty << 1 | s[k.BROKEN]


@inlined
def _end_lines(r: k.Vector, frames: Frames, records: Records, totals: Ints, depth: int) -> None:
    """Count the lines that end with a history, and write them if there is room."""
    margin = k.margin_sum(r, frames.states[depth], 0)
    for i in range(frames.heads[depth, COUNT]):
        if len(records.margins):
            at = totals[LINES]
            records.ends[0, at] = frames.deals[depth, i, LAST]
            records.ends[1, at] = frames.deals[depth, i, LAST + 1]
            records.margins[at] = margin
        totals[LINES] += 1


@inlined
def _mark(records: Records, totals: Ints, begins: int) -> None:
    """Write a mark if a branch begins, or after a block of lines."""
    at = totals[MARKS]
    if begins or totals[LINES] >= records.marks[at - 1, 0] + BLOCK:
        records.marks[at, 0] = totals[LINES]
        records.marks[at, 1] = totals[INFOSETS + DEEP]
        records.marks[at, 2] = totals[INFOSETS + DEEP + 1]
        records.marks[at, 3] = begins
        totals[MARKS] += 1


@inlined
def _enter(
    r: k.Vector,
    hands: Hands,
    frames: Frames,
    records: Records,
    shown: Shown,
    totals: Ints,
    course: Ints,
) -> None:
    """Number the information sets of a history, and note each deal's legal actions."""
    depth = course[DEPTH]
    s = frames.states[depth]
    p = s[k.PLAYER]
    level = 1 if depth >= TOP else 0
    infosets, sequences = INFOSETS + p + DEEP * level, SEQUENCES + p + DEEP * level
    is_shown = p == shown.player and level == course[LEVEL]
    slots = frames.slots[p]
    totals[HISTORIES] += 1
    every = 0
    for i in range(frames.heads[depth, COUNT]):
        deal = frames.deals[depth, i]
        slot = slots[deal[HAND + p]]
        if slot[STAMP] != totals[HISTORIES]:
            slot[STAMP] = totals[HISTORIES]
            s[k.HANDS + k.SEAT * p] = hands.masks[p, deal[HAND + p]] & ~s[k.PLAYED + k.SEAT * p]
            mask = k.legal_mask(r, s)
            slot[LEGAL] = mask
            every |= mask
            if mask & (mask - 1) == 0:
                slot[SLOT_FIRST] = -1
            else:
                slot[SLOT_FIRST] = hands.number[p] + totals[sequences]
                if len(records.margins):
                    records.parent[p, totals[infosets]] = deal[LAST + p]
                    records.first[p, totals[infosets]] = slot[SLOT_FIRST]
                if is_shown:
                    k.write_view(r, s, p, shown.vectors[course[SHOWN]])
                    course[SHOWN] += 1
                totals[infosets] += 1
                totals[sequences] += popcount(mask)
        frames.actions[depth, i, LEGAL] = frames.actions[depth, i, REST] = slot[LEGAL]
        deal[FIRST] = slot[SLOT_FIRST]
    frames.heads[depth, OPEN] = every


@inlined
def _follow(r: k.Vector, hands: Hands, frames: Frames, depth: int) -> bool:
    """Make the next history by the lowest action not yet followed.

    Returns:
        True if there is a next history, False if no deal is left for that action.
    """
    s = frames.states[depth]
    deals = frames.deals[depth]
    actions = frames.actions[depth]
    n = frames.heads[depth, COUNT]
    p = s[k.PLAYER]
    action = lowest(frames.heads[depth, OPEN])
    bit = 1 << action
    i = 0
    while i < n and not actions[i, REST] & bit:
        i += 1
    if i == n:
        frames.heads[depth, OPEN] &= ~bit
        return False
    after = frames.states[depth + 1]
    _after(r, s, hands.masks[0, deals[i, HAND]], hands.masks[1, deals[i, HAND + 1]], action, after)
    # Deals separate if more than the action is seen.
    parts = (r[k.R_QUEEN_ANY_TIME] and r[k.R_QUEEN] & bit) or (
        s[k.KITTY_TAKER] < 0 and after[k.KITTY_TAKER] >= 0
    )
    if not parts:
        frames.heads[depth, OPEN] &= ~bit
    shown = _shown(after)
    notes = frames.states[len(frames.states) - 1]
    count = 0
    for j in range(i, n):
        if not actions[j, REST] & bit:
            continue
        if parts:
            hand0, hand1 = hands.masks[0, deals[j, HAND]], hands.masks[1, deals[j, HAND + 1]]
            _after(r, s, hand0, hand1, action, notes)
            if _shown(notes) != shown:
                continue
            actions[j, REST] &= ~bit
        following = frames.deals[depth + 1, count]
        following[HAND] = deals[j, HAND]
        following[HAND + 1] = deals[j, HAND + 1]
        following[LAST + 1 - p] = deals[j, LAST + 1 - p]
        following[LAST + p] = deals[j, LAST + p]
        if deals[j, FIRST] >= 0:
            following[LAST + p] = deals[j, FIRST] + popcount(actions[j, LEGAL] & (bit - 1))
        count += 1
    frames.heads[depth + 1, COUNT] = count
    return True


@jit
def _walk(
    r: k.Vector,
    hands: Hands,
    frames: Frames,
    records: Records,
    shown: Shown,
    totals: Ints,
    course: Ints,
) -> bool:
    """Walk on through the public histories to the end or the next pause.

    Count into `totals`, and write if there is room. Return whether the walk is over.
    """
    depth = course[DEPTH]
    while depth >= 0:
        if totals[LINES] >= course[STOP]:
            return False
        if course[SHOWN]:
            hands_here = min(frames.heads[depth, COUNT], hands.number[shown.player])
            if course[SHOWN] + hands_here > len(shown.vectors):
                return False
        if course[IS_NEW]:
            totals[POSITIONS] += frames.heads[depth, COUNT]
            totals[BRANCHES] += depth == TOP
            if len(records.margins):
                _mark(records, totals, depth == TOP)
            if frames.states[depth, k.PHASE] == k.OVER:
                _end_lines(r, frames, records, totals, depth)
                frames.heads[depth, OPEN] = 0
            elif course[LEVEL] == 0 and depth >= TOP:
                frames.heads[depth, OPEN] = 0
            else:
                _enter(r, hands, frames, records, shown, totals, course)
        if frames.heads[depth, OPEN] == 0:
            depth -= 1
            course[IS_NEW] = False
        else:
            course[IS_NEW] = _follow(r, hands, frames, depth)
            depth += course[IS_NEW]
        course[DEPTH] = depth
    return True
