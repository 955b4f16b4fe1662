"""The facts of an observation, each a bit mask that the observer may know.

An observation is a list of `Block`s. The documentation prints them and ``decode`` reads them back.
``pack`` writes all blocks in one pass, which is three times as fast as block by block. It reads
only what the observer may know, so states and views give the same result. Seats are relative to the
observer: 0 is the observer, 1 the next to play, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.support.bits import lowest, popcount
from hearts_env.support.jit import inlined
from hearts_env.views.hidden import unseen_mask

TOTAL_STEPS = 10
"""The bits of a total, one per tenth of the end score (in chips: of all stakes)."""

SITUATION_SIZE = 6
"""The number of bits of ``situation``."""


@dataclass(frozen=True)
class Block:
    """One fact of an observation, `size` bits of ``pack``."""

    name: str
    size: int
    meaning: str
    seat: int = 0
    """The seat that the fact is about, relative to the observer."""


@inlined
def pack(
    r: k.Vector,
    s: k.Vector,
    player: int,
    words: NDArray[np.uint64],
) -> int:
    """Write the facts of ``observation_blocks`` that `player` may know, and return their size.

    `s` is a state or the state of a view. `words` has one bit per place of the observation, from
    the lowest bit of the first word on. ``stack_words`` are enough for all rules (seven players
    fill 23).
    """
    n, num_cards = r[k.R_PLAYERS], r[k.R_NUM_CARDS]
    exchange, kitty = r[k.R_PASS_COUNT] > 0, r[k.R_KITTY_TO] != k.KITTY_NOBODY
    word, at = put(words, np.uint64(0), 0, s[k.HANDS + k.SEAT * player], num_cards)
    for away in range(n):
        word, at = put(words, word, at, s[k.PLAYED + k.SEAT * seat_at(n, player, away)], num_cards)
    word, at = put(words, word, at, s[k.TRICK_MASK], num_cards)
    for away in range(1, n):
        mask = may_hold(r, s, player, seat_at(n, player, away))
        word, at = put(words, word, at, mask, num_cards)
    if exchange:
        word, at = put(words, word, at, s[k.PASSED + k.SEAT * player], num_cards)
        word, at = put(words, word, at, s[k.RECEIVED + k.SEAT * player], num_cards)
    if kitty:
        mask = s[k.KITTY] if s[k.KITTY_TAKER] >= 0 else 0
        word, at = put(words, word, at, mask, num_cards)

    size = popcount(r[k.R_POINT_CARDS])
    for away in range(n):
        mask = s[k.TAKEN + k.SEAT * seat_at(n, player, away)]
        word, at = put(words, word, at, point_cards(r, mask), size)

    word, at = put(words, word, at, one_hot(s[k.LED]), 4)
    for away in range(n):
        word, at = put(words, word, at, s[k.VOIDS + k.SEAT * seat_at(n, player, away)], 4)
    seats = relative(r, player, s[k.WINNER])
    seats |= relative(r, player, s[k.LEADER]) << n
    seats |= relative(r, player, s[k.FIRST_LEADER]) << 2 * n
    word, at = put(words, word, at, seats, 3 * n)
    word, at = put(words, word, at, situation(s, player), SITUATION_SIZE)
    if exchange:
        word, at = put(words, word, at, 1 << s[k.EXCHANGE], n)
    if kitty:
        word, at = put(words, word, at, relative(r, player, s[k.KITTY_TAKER]), n)
    if tells_dodged(r):
        word, at = put(words, word, at, one_hot(s[k.DODGED]), 4)
    for away in range(n):
        total = total_steps(s[k.TOTALS + k.SEAT * seat_at(n, player, away)], r[k.R_TOTAL_SCALE])
        word, at = put(words, word, at, total, TOTAL_STEPS)
    if at & 63:
        words[at >> 6] = word
    return at


@inlined
def put(
    words: NDArray[np.uint64], word: np.uint64, at: int, mask: int, size: int
) -> tuple[np.uint64, int]:
    """Append `size` (1 to 64) bits of `mask` at bit `at`. Return the open word and the end.

    A word is written when it is full.
    """
    bits = np.uint64(mask)
    word |= bits << np.uint64(at & 63)
    end = at + size
    if end >> 6 != at >> 6:
        words[at >> 6] = word
        rest = end & 63
        word = bits >> np.uint64(size - rest) if rest else np.uint64(0)
    return word, end


@inlined
def seat_at(n: int, player: int, away: int) -> int:
    """Return the seat `away` seats after `player`."""
    seat = player + away
    return seat - n if seat >= n else seat


@inlined
def situation(s: k.Vector, player: int) -> int:
    """Return a bit if the observer is to act, a bit if hearts are broken, and the one-hot phase."""
    return (s[k.PLAYER] == player) | s[k.BROKEN] << 1 | 4 << s[k.PHASE]


@inlined
def tells_dodged(r: k.Vector) -> bool:
    """Return True if the suit on which the queen was played may prove facts about a hand."""
    return r[k.R_QUEEN_ANY_TIME] != 0 and r[k.R_BREAK_ON] == k.BREAK_VOID


@inlined
def one_hot(value: int) -> int:
    """Return the bit of a value from 0, or 0 for -1."""
    return 0 if value < 0 else 1 << value


@inlined
def relative(r: k.Vector, player: int, seat: int) -> int:
    """Return the bit of a seat relative to `player`, or 0 for no seat (-1)."""
    if seat < 0:
        return 0
    away = seat - player
    return 1 << (away + r[k.R_PLAYERS] if away < 0 else away)


@inlined
def may_hold(r: k.Vector, s: k.Vector, player: int, p: int) -> int:
    """Return the unseen cards that play has not excluded from the hand of `p`."""
    mask = unseen_mask(r, s, player) & ~s[k.EXCLUDED + k.SEAT * p]
    if (
        s[k.EXCHANGE] > 0
        and s[k.PHASE] != k.PASS
        and p != (player + s[k.EXCHANGE]) % r[k.R_PLAYERS]
    ):
        mask &= ~s[k.PASSED + k.SEAT * player]  # these went to another seat
    return mask


@inlined
def point_cards(r: k.Vector, taken: int) -> int:
    """Return the point cards in `taken`, as bits over the point cards in deck order."""
    bits = 0
    place = 0
    worth = r[k.R_POINT_CARDS]
    while worth:  # one run of neighbouring cards at a time
        first = lowest(worth)
        run = worth & ~(worth + (1 << first))
        bits |= (taken & run) >> first << place
        place += popcount(run)
        worth &= ~run
    return bits


@inlined
def total_steps(total: int, scale: int) -> int:
    """Return a total as bits: bit j is set if the total is at least (j + 1) tenths of `scale`."""
    if total <= 0:
        return 0
    steps = TOTAL_STEPS * total // scale if total < scale else TOTAL_STEPS
    return (1 << steps) - 1


def _card_blocks(rules: Rules) -> list[Block]:
    """Return the blocks that are sets of cards, each the size of the deck."""
    facts = [("hand", "cards the observer holds", 0)]
    facts += [
        (f"played_{p}", f"cards that {seat_name(p)} has played", p) for p in range(rules.players)
    ]
    facts.append(("trick", "cards of the unfinished trick", 0))
    shown = "can hold by all that play has shown"
    facts += [
        (f"may_hold_{p}", f"unseen cards that {seat_name(p)} {shown}", p)
        for p in range(1, rules.players)
    ]
    if rules.pass_count:
        facts.append(("passed", "cards the observer passes", 0))
        facts.append(("received", "cards the observer was passed", 0))
    if rules.kitty_to != "nobody":
        facts.append(("kitty", "the kitty, once awarded", 0))
    size = len(rules.deck)
    return [Block(name, size, meaning, seat) for name, meaning, seat in facts]


def _taken_blocks(rules: Rules) -> list[Block]:
    """Return the blocks of the point cards that each seat has taken."""
    size = sum(card in rules.card_points for card in rules.deck)
    return [
        Block(
            f"taken_{p}",
            size,
            f"cards worth points that {seat_name(p)} has taken, in deck order",
            p,
        )
        for p in range(rules.players)
    ]


def _other_blocks(rules: Rules) -> list[Block]:
    """Return the blocks that are not sets of cards."""
    n, every = rules.players, range(rules.players)
    total = "in tenths of the end score (in chips: of all stakes)"
    blocks = [Block("led_suit", 4, "suit led to the unfinished trick, one-hot CDSH")]
    blocks += [
        Block(f"voids_{p}", 4, f"suits that {seat_name(p)} has shown void in, CDSH", p)
        for p in every
    ]
    blocks += [
        Block("winner", n, "seat that takes the trick as it stands, one-hot"),
        Block("leader", n, "seat that led or leads this trick, one-hot"),
        Block("first_leader", n, "seat of the first lead, one-hot"),
        Block("to_move", 1, "the observer is to act"),
        Block("broken", 1, "hearts may be led freely"),
        Block("phase", 4, "pass, play, moon, over, one-hot"),
    ]
    if rules.pass_count:
        blocks.append(Block("exchange", n, "cards go to the seat this much further (0: hold)"))
    if rules.kitty_to != "nobody":
        blocks.append(Block("kitty_taker", n, "who was awarded the kitty"))
    if tells_dodged(rules.vector):
        blocks.append(Block("dodged", 4, "suit the queen was played on by one who held it, CDSH"))
    blocks += [
        Block(f"total_{p}", TOTAL_STEPS, f"match total of {seat_name(p)}, {total}", p)
        for p in every
    ]
    return blocks


def seat_name(p: int) -> str:
    """Return the words for the seat `p` seats after the observer."""
    return "the observer" if p == 0 else f"seat +{p}"


def observation_blocks(rules: Rules) -> list[Block]:
    """Return all blocks, in the order of ``pack``."""
    return _card_blocks(rules) + _taken_blocks(rules) + _other_blocks(rules)
