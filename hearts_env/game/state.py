"""The perfect-information array of a game, for centralised critics. Seats are absolute.

Only this array shows hidden cards to a learner. It omits the order of play within finished tricks,
which no longer matters.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.features import Block
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules

FloatArray = NDArray[np.float32]

MAX_TOTAL = 100.0
"""Totals and the pool are clipped to this many end scores (in chips: sums of all stakes)."""


class _Bits(NamedTuple):
    """A block of zeros and ones, and its field of the kernel's state."""

    name: str
    size: int
    meaning: str
    field: int
    is_one_hot: bool = True
    """True if the field is a number, shown one-hot (-1: all zeros), False if a bit mask."""


@functools.lru_cache(maxsize=64)
def _bits(rules: Rules) -> tuple[_Bits, ...]:
    """Return the blocks of zeros and ones, in order."""
    n, deck = rules.players, len(rules.deck)
    cards = [("hand", k.HANDS, "holds"), ("played", k.PLAYED, "has played")]
    cards.append(("taken", k.TAKEN, "has taken"))
    if rules.pass_count:
        cards.append(("passed", k.PASSED, "has chosen to pass"))
    blocks = [
        _Bits(f"{name}_{p}", deck, f"cards that seat {p} {verb}", field + k.SEAT * p, False)
        for name, field, verb in cards
        for p in range(n)
    ]
    blocks.append(_Bits("trick", deck, "cards of the unfinished trick", k.TRICK_MASK, False))
    if rules.kitty_size:
        blocks.append(_Bits("kitty", deck, "cards not dealt", k.KITTY, False))
    blocks += [
        _Bits("phase", 4, "pass, play, moon, over", k.PHASE),
        _Bits("current_player", n, "seat to act", k.PLAYER),
        _Bits("leader", n, "seat that led, or leads, this trick", k.LEADER),
        _Bits("winner", n, "seat that takes the trick as it stands", k.WINNER),
        _Bits("dealer", n, "seat that dealt", k.DEALER),
        _Bits("broken", 1, "1 if hearts may be led freely", k.BROKEN, False),
    ]
    if rules.pass_count:
        meaning = "cards are passed this many seats to the left; 0: none"
        blocks.append(_Bits("exchange", n, meaning, k.EXCHANGE))
    if rules.kitty_to != "nobody":
        blocks.append(_Bits("kitty_taker", n, "who was awarded the kitty", k.KITTY_TAKER))
    if rules.moon != "none":
        blocks.append(_Bits("shooter", n, "who shot the moon", k.SHOOTER))
    if rules.moon == "choose":
        blocks.append(_Bits("moon_choice", 2, "off oneself, others", k.MOON_CHOICE))
    blocks.append(_Bits("revoker", n, "who ended the deal by an illegal action", k.REVOKER))
    return tuple(blocks)


def state_blocks(rules: Rules) -> list[Block]:
    """Return the blocks of the state array in order: first zeros and ones, then numbers."""
    every = range(rules.players)
    scale = "end scores" if rules.settlement == "points" else "sums of all stakes"
    blocks = [Block(name, size, meaning) for name, size, meaning, *_ in _bits(rules)]
    blocks += [Block(f"tricks_{p}", 1, f"share of all tricks that seat {p} took", p) for p in every]
    total = f"before this deal, in {scale}"
    blocks += [Block(f"total_{p}", 1, f"total of seat {p} {total}", p) for p in every]
    if rules.settlement == "sweepstakes":
        blocks.append(Block("pool", 1, f"chips carried over, in {scale}"))
    return blocks


def state_space(rules: Rules) -> spaces.Box:
    """Return the space of the state array, ``(size,) float32``."""
    blocks = state_blocks(rules)
    sizes = [block.size for block in blocks]
    is_total = np.repeat([b.name.startswith("total_") or b.name == "pool" for b in blocks], sizes)
    low, high = np.where(is_total, -MAX_TOTAL, 0.0), np.where(is_total, MAX_TOTAL, 1.0)
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


@functools.lru_cache(maxsize=64)
def _places(rules: Rules) -> tuple[k.Vector, k.Vector, k.Vector, k.Vector]:
    """Return the field and one-hot flag of each bit block, then the block and bit of each place."""
    blocks = _bits(rules)
    sizes = [block.size for block in blocks]
    return (
        np.array([block.field for block in blocks], np.int64),
        np.array([block.is_one_hot for block in blocks], np.int64),
        np.repeat(np.arange(len(blocks)), sizes),
        np.concatenate([np.arange(size) for size in sizes]),
    )


def encode_state(
    game: Game, totals: Sequence[int | Fraction] | None = None, pool: int | Fraction = 0
) -> FloatArray:
    """Return a new state array, ``(size,) float32``. See ``state_blocks``.

    Args:
        game: the deal.
        totals: each seat's points or chips before this deal. If None, ``game.totals``.
        pool: chips carried over from earlier deals.
    """
    rules, vector = game.rules, game.vector
    fields, is_one_hot, block, bit = _places(rules)
    values = vector[fields]
    masks = np.where(is_one_hot, (values >= 0) << np.maximum(values, 0), values)
    row = np.empty(len(block) + 2 * rules.players + (rules.settlement == "sweepstakes"), np.float32)
    row[: len(block)] = masks[block] >> bit & 1
    numbers = [vector[k.TRICKS + k.SEAT * p] / rules.hand_size for p in range(rules.players)]
    scale = rules.end_score if rules.settlement == "points" else rules.stake * rules.players
    chips = [*(game.totals if totals is None else totals)]
    if rules.settlement == "sweepstakes":
        chips.append(pool)
    numbers += [min(max(float(number) / scale, -MAX_TOTAL), MAX_TOTAL) for number in chips]
    row[len(block) :] = numbers
    return row
