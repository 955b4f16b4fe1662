"""The vector `mem` for given rules."""

from __future__ import annotations

import itertools
import math

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import SPADES, SUITS
from hearts_env.rules.rules import Rules
from hearts_env.solve.dd.bounds import write_sure_tricks
from hearts_env.solve.dd.endgames import write_endgames, write_ranks
from hearts_env.solve.dd.layout import (
    DEFAULT_NODES,
    H_ALIKE,
    H_BREAK_ON,
    H_CHOICES,
    H_COMPANY,
    H_ENDGAMES,
    H_FAR,
    H_GENERATION,
    H_KIND,
    H_KITTY_TO,
    H_LANE,
    H_LIMIT,
    H_MANY,
    H_MARKED,
    H_MARKED_LANE,
    H_MOON,
    H_NO_TRICK,
    H_ORDINAL,
    H_PLAIN,
    H_POINTS,
    H_QUEEN,
    H_QUEEN_ANY,
    H_QUEEN_BREAKS,
    H_QUEEN_MODE,
    H_SHIFT,
    H_SLACK,
    H_START,
    H_TABLE,
    H_TABLE_MASK,
    H_TRUMP,
    H_TRUMP_LANE,
    H_TRUMP_POINTS,
    H_WIDE,
    HEADER_SIZE,
    MANY,
    MARKS,
    MAX_ENDGAME,
    MOON_SHOT,
    PLAIN,
)

Kind = tuple[int, int, int]
"""How a suit's points are kept: PLAIN, MARKS or MANY; points of plain and of marked cards."""


def make_memory(rules: Rules, log2_bytes: int, endgames: int) -> k.Vector:
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
    named = _names_queen(rules)
    queen = int(r[k.R_QUEEN])
    kinds = [_kind(suits[s], worths[s], queen if named and s == SPADES else 0) for s in range(4)]
    num_marked = sum(worths[s].count(kind[2]) for s, kind in enumerate(kinds) if kind[0] == MARKS)
    wide = (
        max(map(len, suits)) > 7
        or num_marked > 1
        or any(kind[0] == MANY for kind in kinds)
        or sum(penalties) + slack + rules.moon_points > 8000
    )
    alike = kinds[0] == kinds[1] and kinds[0][0] == PLAIN and rules.trump not in ("C", "D")
    # Values must fit into a byte, and not depend on what was played before.
    fitting = not wide and rules.no_trick_points == 0 and sum(penalties) + bonus < MOON_SHOT
    endgames = min(endgames, rules.hand_size - 1) if fitting else 0
    starts, num_bytes = _endgame_starts(list(map(len, suits)), endgames, kinds, alike=alike)
    size = 1 << log2_bytes - 3
    mem = np.zeros(HEADER_SIZE + size + 8 + num_bytes // 8 + 8, np.int64)
    mem[H_SHIFT], mem[H_WIDE], mem[H_GENERATION] = 4 if wide else 3, wide, 1
    # Entries of the table share cache lines of 64 bytes.
    mem[H_TABLE] = HEADER_SIZE + -(mem.ctypes.data // 8 + HEADER_SIZE) % 8
    mem[H_TABLE_MASK] = size // 8 - 1
    mem[H_LIMIT] = DEFAULT_NODES
    mem[H_ORDINAL], mem[H_SLACK] = ordinal, slack
    mem[H_FAR] = (1 << 27) - 1 if wide else (1 << 15) - 1
    mem[H_MOON] = ((1 << 26) if wide else (1 << 14)) if ordinal else 0
    _write_rules(mem, rules)
    _write_suits(mem, worths, kinds)
    if named and queen:
        mem[H_QUEEN_MODE] = kinds[SPADES][0]
        mem[H_QUEEN] = queen >> suits[SPADES][0] << (SPADES << int(mem[H_SHIFT]))
        mem[H_QUEEN_ANY], mem[H_QUEEN_BREAKS] = rules.queen_any_time, rules.queen_breaks_hearts
    mem[H_ENDGAMES], mem[H_ALIKE] = endgames, alike
    if endgames:
        _write_endgames(mem, starts, len(mem) - num_bytes // 8 - 1 << 3)
    return mem


def _names_queen(rules: Rules) -> bool:
    """Whether a rule names the queen of spades."""
    return (
        rules.queen_any_time
        or rules.queen_breaks_hearts
        or rules.unbroken_lead == "queen_frees_hearts"
    )


def _write_rules(mem: k.Vector, rules: Rules) -> None:
    """Write what stands in the rules as it is."""
    r = rules.vector
    mem[H_NO_TRICK] = rules.no_trick_points
    mem[H_BREAK_ON], mem[H_COMPANY] = r[k.R_BREAK_ON], r[k.R_UNBROKEN_LEAD]
    mem[H_KITTY_TO], mem[H_TRUMP] = r[k.R_KITTY_TO], r[k.R_TRUMP]


def _write_suits(mem: k.Vector, worths: list[list[int]], kinds: list[Kind]) -> None:
    """Write what the cards of each suit are worth, and the trumps."""
    for s, (kind, plain, marked) in enumerate(kinds):
        mem[H_LANE + s] = ((1 << (13 if mem[H_WIDE] else 7)) - 1) << (s << int(mem[H_SHIFT]))
        mem[H_KIND + s], mem[H_PLAIN + s], mem[H_MARKED + s] = kind, plain, marked
        mem[H_POINTS + 16 * s : H_POINTS + 16 * s + len(worths[s])] = worths[s]
        if kind == MANY:
            mem[H_MANY] |= mem[H_LANE + s]
    trump = int(mem[H_TRUMP])
    if trump >= 0:
        mem[H_TRUMP_LANE] = mem[H_LANE + trump]
        kind, plain, _ = kinds[trump]
        if kind == PLAIN and plain > 0:
            mem[H_TRUMP_POINTS] = plain
            write_sure_tricks(mem, len(worths[trump]))


def _write_endgames(mem: k.Vector, starts: dict[int, int], first: int) -> None:
    """Fill the endgame table, which begins at byte `first`."""
    for place, start in starts.items():
        mem[H_START + place] = first + start
    for s in range(4):
        if mem[H_KIND + s] == MARKS:
            mem[H_MARKED_LANE] = mem[H_LANE + s]
    write_ranks(mem, 2 * MAX_ENDGAME)
    for n in range(1, int(mem[H_ENDGAMES]) + 1):
        mem[H_CHOICES + n] = math.comb(2 * n, n)
    for place in sorted(starts):  # fewer cards first
        write_endgames(mem, place >> 9, place & 511)


def _endgame_starts(
    lengths: list[int], endgames: int, kinds: list[Kind], *, alike: bool
) -> tuple[dict[int, int], int]:
    """Where the positions of n cards in suits of given lengths begin, and how many there are."""
    starts: dict[int, int] = {}
    size = 0
    marked = [s for s, kind in enumerate(kinds) if kind[0] == MARKS]
    if alike:
        lengths = [max(lengths[:2]), *lengths[1:]]  # the longer is put first
    for n in range(1, endgames + 1):
        for parts in itertools.product(*(range(length + 1) for length in lengths)):
            if sum(parts) == 2 * n and not (alike and parts[0] < parts[1]):
                starts[n << 9 | parts[0] | parts[1] << 3 | parts[2] << 6] = size
                where = parts[marked[0]] + 1 if marked else 1
                size += 3 * where * math.comb(2 * n, n)
    return starts, size


def _kind(cards: list[int], worths: list[int], queen: int) -> Kind:
    """How a suit's points are kept: its kind, the points of plain and of marked cards.

    `queen` is 0 unless a rule names the queen and this is her suit: then she alone is marked.
    """
    if queen:
        place = next(i for i, card in enumerate(cards) if queen >> card & 1)
        others = set(worths[:place] + worths[place + 1 :])
        return (MARKS, min(others, default=0), worths[place]) if len(others) < 2 else (MANY, 0, 0)
    by_count = sorted(set(worths), key=worths.count, reverse=True)
    if len(by_count) < 2:
        return PLAIN, sum(by_count), 0
    return (MARKS, by_count[0], by_count[1]) if len(by_count) == 2 else (MANY, 0, 0)
