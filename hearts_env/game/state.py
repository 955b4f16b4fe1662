"""The perfect-information array of a game, for centralised critics: all, from no seat's side.

Nothing else in the package gives hidden cards to a learner. Seats are absolute here. What order
the earlier tricks were played in is left out: it changes nothing of what can still happen.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules

FloatArray = NDArray[np.float32]

MAX_TOTAL = 100.0
"""Totals and the pool are cut off at this many end scores (in chips: sums of all stakes)."""

CARDS, SEAT, CHOICE, SHARE, TOTAL = "cards", "seat", "choice", "share", "total"


@dataclass(frozen=True)
class StateBlock:
    """One part of the state array.

    Attributes:
        name: what it is called in ``decode_state``.
        kind: ``cards`` (one place a card of the deck), ``seat`` or ``choice`` (one-hot; all zero:
            none), ``share`` (a number in [0, 1]) or ``total`` (a number in [-100, 100]).
        field: the field of the kernel's state that it comes from; -1: not of one game.
        size: how many places.
        meaning: in words.
    """

    name: str
    kind: str
    field: int
    size: int
    meaning: str


@functools.lru_cache(maxsize=64)
def state_blocks(rules: Rules) -> tuple[StateBlock, ...]:
    """The parts of the state array, in order; all sets of cards come first."""
    n, deck, every = rules.players, len(rules.deck), range(rules.players)

    def cards(name: str, field: int, meaning: str) -> list[StateBlock]:
        return [
            StateBlock(
                f"{name}_{p}", CARDS, field + k.SEAT * p, deck, f"cards that seat {p} {meaning}"
            )
            for p in every
        ]

    def seat(name: str, field: int, meaning: str) -> StateBlock:
        return StateBlock(name, SEAT, field, n, meaning)

    blocks = cards("hand", k.HANDS, "holds")
    blocks += cards("played", k.PLAYED, "has played")
    blocks += cards("taken", k.TAKEN, "has taken")
    if rules.pass_count:
        blocks += cards("passed", k.PASSED, "has chosen to pass")
    blocks.append(StateBlock("trick", CARDS, k.TRICK_MASK, deck, "cards of the unfinished trick"))
    if rules.kitty_size:
        blocks.append(StateBlock("kitty", CARDS, k.KITTY, deck, "cards not dealt"))
    blocks += [
        StateBlock("phase", CHOICE, k.PHASE, 4, "pass, play, moon, over"),
        seat("player", k.PLAYER, "seat to act"),
        seat("leader", k.LEADER, "seat that led, or leads, this trick"),
        seat("winner", k.WINNER, "seat that takes the trick as it stands"),
        seat("dealer", k.DEALER, "seat that dealt"),
        StateBlock("broken", SHARE, k.BROKEN, 1, "1 where hearts may be led freely"),
    ]
    if rules.pass_count:
        blocks.append(
            StateBlock(
                "exchange",
                CHOICE,
                k.EXCHANGE,
                n,
                "cards are passed this many seats to the left; 0: none",
            )
        )
    if rules.kitty_to != "nobody":
        blocks.append(seat("kitty_taker", k.KITTY_TAKER, "who was awarded the kitty"))
    if rules.moon != "none":
        blocks.append(seat("shooter", k.SHOOTER, "who shot the moon"))
    if rules.moon == "choose":
        blocks.append(StateBlock("moon_choice", CHOICE, k.MOON_CHOICE, 2, "off oneself, others"))
    blocks.append(seat("revoker", k.REVOKER, "who ended the deal by an illegal action"))
    blocks += [
        StateBlock(
            f"tricks_{p}", SHARE, k.TRICKS + k.SEAT * p, 1, f"share of all tricks seat {p} took"
        )
        for p in every
    ]
    scale = "end scores" if rules.settlement == "points" else "sums of all stakes"
    blocks += [
        StateBlock(f"total_{p}", TOTAL, -1, 1, f"total of seat {p} before this deal, in {scale}")
        for p in every
    ]
    if rules.settlement == "sweepstakes":
        blocks.append(StateBlock("pool", TOTAL, -1, 1, f"chips carried over, in {scale}"))
    return tuple(blocks)


def state_space(rules: Rules) -> spaces.Box:
    """The space of the state array, ``(size,) float32``."""
    blocks = state_blocks(rules)
    sizes = [block.size for block in blocks]
    low = np.repeat([-MAX_TOTAL if b.kind == TOTAL else 0.0 for b in blocks], sizes)
    high = np.repeat([MAX_TOTAL if b.kind == TOTAL else 1.0 for b in blocks], sizes)
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


@functools.lru_cache(maxsize=64)
def _card_fields(rules: Rules) -> k.Vector:
    return np.array([b.field for b in state_blocks(rules) if b.kind == CARDS], np.int64)


def total_scale(rules: Rules) -> int:
    """What a total of 1 in the state array stands for."""
    return rules.end_score if rules.settlement == "points" else rules.stake * rules.players


def encode_state(
    game: Game, totals: Sequence[int | Fraction] | None = None, pool: int | Fraction = 0
) -> FloatArray:
    """A new state array.

    Args:
        game: the deal as it stands.
        totals: scores or chips before this deal; None: those of the game.
        pool: chips carried over from the deals before.
    """
    rules, vector = game.rules, game.vector
    fields = _card_fields(rules)
    bits = vector[fields][:, np.newaxis] >> np.arange(len(rules.deck)) & 1
    row = bits.ravel().astype(np.float32).tolist()
    numbers = iter([*(game.totals if totals is None else totals), pool])
    scale = total_scale(rules)
    for block in state_blocks(rules)[len(fields) :]:
        if block.kind == TOTAL:
            row.append(min(max(float(next(numbers)) / scale, -MAX_TOTAL), MAX_TOTAL))
            continue
        value = int(vector[block.field])
        if block.kind == SHARE:
            row.append(value / rules.hand_size if block.name != "broken" else value)
        else:
            row += [float(value == place) for place in range(block.size)]
    return np.array(row, np.float32)


def decode_state(rules: Rules, state: FloatArray) -> dict[str, Any]:
    """Every part of a state array by name.

    Cards as a tuple of names, a seat or choice as its number (None: none), tricks, ``broken``,
    totals and pool as numbers (chips rounded to what float32 holds).
    """
    facts: dict[str, Any] = {}
    start = 0
    for block in state_blocks(rules):
        part = state[start : start + block.size]
        start += block.size
        if block.kind == CARDS:
            facts[block.name] = tuple(rules.deck[i] for i in np.flatnonzero(part))
        elif block.kind in (SEAT, CHOICE):
            places = np.flatnonzero(part)
            facts[block.name] = int(places[0]) if len(places) else None
        elif block.kind == TOTAL:
            facts[block.name] = float(part[0]) * total_scale(rules)
        else:
            whole = rules.hand_size if block.name != "broken" else 1
            facts[block.name] = round(float(part[0]) * whole)
    return facts
