"""What observations are made of: facts that a player may know, each a bit mask.

An encoder is a list of `Block`s; the compiled code walks that list, the documentation prints it,
and ``decode`` reads it back. Every fact is computed in one place, ``feature``, which reads of
a state only what the observer may know, so that it answers alike for states and for views.
Seats are relative to the observer: 0 is the observer, 1 the next to play, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env._jit import jit
from hearts_env.rules import Rules

# The facts. The argument is a relative seat, where one is needed.
(
    HAND,
    PLAYED,
    MAY_HOLD,
    TRICK,
    TAKEN,
    PASSED,
    RECEIVED,
    KITTY,
    LED_SUIT,
    VOIDS,
    WINNER,
    LEADER,
    FIRST_LEADER,
    TO_MOVE,
    BROKEN,
    PHASE,
    EXCHANGE,
    KITTY_TAKER,
    DODGED,
    POINT_CARDS_TAKEN,
    TOTAL,
) = range(21)

TOTAL_STEPS = 10
"""A total is shown in tenths of the end score (in chips: of all stakes)."""


@dataclass(frozen=True)
class Block:
    """One fact in an observation: bit j of `feature(fact, seat)` is place ``start + j``."""

    name: str
    fact: int
    seat: int
    size: int
    meaning: str
    is_cards: bool = False
    """Whether the places are the cards of the deck."""


@jit
def feature(r: k.Vector, s: k.Vector, player: int, fact: int, seat: int) -> int:
    """A fact about state or view `s` that `player` may know, as a bit mask."""
    p = player + seat
    if p >= r[k.R_PLAYERS]:
        p -= r[k.R_PLAYERS]
    if fact == HAND:
        return s[k.HANDS + player]
    if fact == PLAYED:
        return s[k.PLAYED + p]
    if fact == MAY_HOLD:
        return may_hold(r, s, player, p)
    if fact == TRICK:
        return s[k.TRICK_MASK]
    if fact == TAKEN:
        return s[k.TAKEN + p]
    if fact == VOIDS:
        return s[k.VOIDS + p]
    if fact == POINT_CARDS_TAKEN:
        return point_cards(r, s[k.TAKEN + p])
    if fact == LED_SUIT:
        return one_hot(k.led_suit(r, s))
    if fact == WINNER:
        return relative(r, player, s[k.WINNER])
    if fact == LEADER:
        return relative(r, player, s[k.LEADER])
    if fact == FIRST_LEADER:
        return relative(r, player, s[k.FIRST_LEADER])
    if fact == TO_MOVE:
        return 1 if s[k.PLAYER] == player else 0
    if fact == BROKEN:
        return s[k.BROKEN]
    if fact == TOTAL:
        return total_steps(s[k.TOTALS + p], r[k.R_TOTAL_SCALE])
    if fact == PHASE:
        return 1 << s[k.PHASE]
    if fact == PASSED:
        return s[k.PASSED + player]
    if fact == RECEIVED:
        return s[k.RECEIVED + player]
    if fact == EXCHANGE:
        return 1 << s[k.EXCHANGE]
    if fact == KITTY:
        return s[k.KITTY] if s[k.KITTY_TAKER] >= 0 else 0
    if fact == KITTY_TAKER:
        return relative(r, player, s[k.KITTY_TAKER])
    return one_hot(s[k.DODGED])


@jit
def one_hot(value: int) -> int:
    """The bit of a value from 0; nothing for -1."""
    return 0 if value < 0 else 1 << value


@jit
def relative(r: k.Vector, player: int, seat: int) -> int:
    """The bit of a seat seen from `player`; nothing for no seat."""
    if seat < 0:
        return 0
    away = seat - player
    return 1 << (away + r[k.R_PLAYERS] if away < 0 else away)


@jit
def may_hold(r: k.Vector, s: k.Vector, player: int, p: int) -> int:
    """The unseen cards that `p` can hold by what play has shown, one by one."""
    mask = k.unseen_mask(r, s, player) & ~s[k.EXCLUDED + p]
    if (
        s[k.EXCHANGE] > 0
        and s[k.PHASE] != k.PASS
        and p != (player + s[k.EXCHANGE]) % r[k.R_PLAYERS]
    ):
        mask &= ~s[k.PASSED + player]  # these went to another
    return mask


@jit
def point_cards(r: k.Vector, taken: int) -> int:
    """Which of the cards worth points are in `taken`, numbered in deck order."""
    bits = 0
    place = 0
    worth = r[k.R_POINT_CARDS]
    while worth:
        if taken & worth & -worth:
            bits |= 1 << place
        worth &= worth - 1
        place += 1
    return bits


@jit
def total_steps(total: int, scale: int) -> int:
    """A thermometer of `total`: bit j is set from (j + 1) tenths of `scale` on."""
    if total <= 0:
        return 0
    return (1 << min(TOTAL_STEPS * total // scale, TOTAL_STEPS)) - 1


def num_point_cards(rules: Rules) -> int:
    """How many cards of the deck are worth points, or a bonus."""
    return sum(card in rules.card_points for card in rules.deck)


def card_blocks(rules: Rules) -> list[Block]:
    """The facts that are sets of cards, of one size each."""
    n, others = len(rules.deck), range(1, rules.players)
    blocks = [Block("hand", HAND, 0, n, "cards the observer holds", is_cards=True)]
    blocks += [
        Block(f"played_{p}", PLAYED, p, n, f"cards that {_seat(p)} has played", is_cards=True)
        for p in range(rules.players)
    ]
    blocks.append(Block("trick", TRICK, 0, n, "cards of the unfinished trick", is_cards=True))
    blocks += [
        Block(
            f"may_hold_{p}",
            MAY_HOLD,
            p,
            n,
            f"unseen cards that {_seat(p)} can hold by all that play has shown",
            is_cards=True,
        )
        for p in others
    ]
    if rules.pass_count:
        blocks.append(Block("passed", PASSED, 0, n, "cards the observer passes", is_cards=True))
        blocks.append(
            Block("received", RECEIVED, 0, n, "cards the observer was passed", is_cards=True)
        )
    if rules.kitty_to != "nobody":
        blocks.append(Block("kitty", KITTY, 0, n, "the kitty, once awarded", is_cards=True))
    return blocks


def other_blocks(rules: Rules) -> list[Block]:
    """The facts that are not sets of cards."""
    n = rules.players
    every = range(n)
    blocks = [Block("led_suit", LED_SUIT, 0, 4, "suit led to the unfinished trick, one-hot CDSH")]
    blocks += [
        Block(f"voids_{p}", VOIDS, p, 4, f"suits that {_seat(p)} has shown void in, CDSH")
        for p in every
    ]
    blocks += [
        Block("winner", WINNER, 0, n, "seat that takes the trick as it stands, one-hot"),
        Block("leader", LEADER, 0, n, "seat that led or leads this trick, one-hot"),
        Block("first_leader", FIRST_LEADER, 0, n, "seat of the first lead, one-hot"),
        Block("to_move", TO_MOVE, 0, 1, "the observer is to act"),
        Block("broken", BROKEN, 0, 1, "hearts may be led freely"),
        Block("phase", PHASE, 0, 4, "pass, play, moon, over, one-hot"),
    ]
    if rules.pass_count:
        blocks.append(
            Block("exchange", EXCHANGE, 0, n, "cards go to the seat this much further (0: hold)")
        )
    if rules.kitty_to != "nobody":
        blocks.append(Block("kitty_taker", KITTY_TAKER, 0, n, "who was awarded the kitty"))
    if rules.queen_any_time and rules.break_on == "void":
        blocks.append(
            Block("dodged", DODGED, 0, 4, "suit the queen was played on by one who held it, CDSH")
        )
    blocks += [
        Block(
            f"total_{p}",
            TOTAL,
            p,
            TOTAL_STEPS,
            f"match total of {_seat(p)}, in tenths of the end score (in chips: of all stakes)",
        )
        for p in every
    ]
    return blocks


def taken_blocks(rules: Rules) -> list[Block]:
    """Who has taken which of the cards that are worth points."""
    size = num_point_cards(rules)
    return [
        Block(
            f"taken_{p}",
            POINT_CARDS_TAKEN,
            p,
            size,
            f"cards worth points that {_seat(p)} has taken, in deck order",
        )
        for p in range(rules.players)
    ]


def _seat(p: int) -> str:
    return "the observer" if p == 0 else f"seat +{p}"


def plan_of(blocks: list[Block]) -> k.Vector:
    """The blocks for compiled code, ``(blocks, 4) int64``: fact, seat, size, is_cards."""
    return np.array([[b.fact, b.seat, b.size, b.is_cards] for b in blocks], np.int64)
