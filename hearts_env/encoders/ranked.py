"""``ranked``: ``flat`` and the ranks among the cards still out. ``recall``: also the past."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.base import BatchEncoder
from hearts_env.encoders.features import Block, may_hold, pack, put, seat_at, seat_name
from hearts_env.encoders.flat import FlatEncoder, spread
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.bits import popcount, stack_words
from hearts_env.support.jit import inlined, jit


@inlined
def pack_ranks(r: k.Vector, s: k.Vector, player: int, at: int, words: NDArray[np.uint64]) -> int:
    """Append to `words` the facts that ``flat`` omits, from bit `at` on. Return the end."""
    n, size = r[k.R_PLAYERS], r[k.R_NUM_CARDS]
    hand, trick, others = s[k.HANDS + k.SEAT * player], s[k.TRICK_MASK], 0
    for away in range(1, n):
        others |= may_hold(r, s, player, seat_at(n, player, away))
    out = hand | trick | others
    hand_ranks, trick_ranks, others_ranks = 0, 0, 0
    for suit in range(4):
        cards = r[k.R_SUIT_MASK + suit]
        place = cards & -cards
        cards &= out
        while cards:
            card = cards & -cards
            hand_ranks |= place if hand & card else 0
            trick_ranks |= place if trick & card else 0
            others_ranks |= place if others & card else 0
            place <<= 1
            cards &= cards - 1
    word = words[at >> 6] if at & 63 else np.uint64(0)
    word, at = put(words, word, at, hand_ranks, size)
    word, at = put(words, word, at, others_ranks, size)
    word, at = put(words, word, at, trick_ranks, size)
    for held in (hand, others):
        for suit in range(4):
            cards = r[k.R_SUIT_MASK + suit]
            word, at = put(words, word, at, 1 << popcount(held & cards), popcount(cards) + 1)
    if at & 63:
        words[at >> 6] = word
    return at


@inlined
def write_ranked_row(r: k.Vector, s: k.Vector, player: int, out: NDArray[np.int8]) -> int:
    """Write the observation of `player` over the start of the row `out`, and return its length."""
    words = stack_words()
    size = pack_ranks(r, s, player, pack(r, s, player, words), words)
    spread(words, out[:size])
    return size


@jit
def write_ranked_rows(
    r: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write the observations of `players` in `games` over the rows of `out`, in place."""
    for i in range(len(games)):
        write_ranked_row(r, states[games[i]], players[i], out[i])


@jit
def write_recall_rows(
    r: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write the observations of `players` in `games` over the rows of `out`, in place."""
    n, num_cards, tricks = r[k.R_PLAYERS], r[k.R_NUM_CARDS], r[k.R_HAND_SIZE]
    for i in range(len(games)):
        s, player = states[games[i]], players[i]
        size = write_ranked_row(r, s, player, out[i])
        out[i, size:] = 0
        for t in range(s[k.NUM_PLAYED]):
            trick, away = t // n, (k.seat_at(r, s, t) - player) % n
            if t % n == 0:
                out[i, size + trick * n + away] = 1
            begin = size + tricks * n + away * tricks * num_cards
            out[i, begin + trick * num_cards + k.card_at(r, s, t)] = 1


class RankedEncoder(FlatEncoder):
    """The bits of ``flat``, and the ranks of all cards among those still out.

    A network takes long to learn which card is the highest left in its suit, and how many higher
    cards are out. These bits state both. docs/champion.md has the gain.
    """

    name = "ranked"
    _write_rows = staticmethod(write_ranked_rows)

    def blocks(self, rules: Rules) -> list[Block]:
        """Return the blocks of ``flat``, then ranks and numbers of cards."""
        out = (
            "among the cards of their suit still out, the lowest in the first of the suit's places"
        )
        n = len(rules.deck)
        suits = rules.vector[k.R_SUIT_MASK : k.R_SUIT_MASK + 4]
        blocks = [
            Block("hand_ranked", n, f"the observer's cards by their order {out}"),
            Block("others_ranked", n, "cards that others may hold, likewise"),
            Block("trick_ranked", n, "cards of the unfinished trick, likewise"),
        ]
        for name, whose in (("hand", "the observer's cards"), ("others", "cards others may hold")):
            for suit, cards in zip("CDSH", suits, strict=True):
                meaning = f"how many of {whose} are {suit}, one-hot from 0"
                blocks.append(Block(f"{name}_number_{suit}", int(cards).bit_count() + 1, meaning))
        return super().blocks(rules) + blocks

    def write_state(self, rules: Rules, state: k.Vector, player: int, out: Array) -> None:
        """Write the observation that `player` has of `state`, without making a view."""
        BatchEncoder.write_state(self, rules, state, player, out)


class RecallEncoder(RankedEncoder):
    """The bits of ``ranked``, and the past trick by trick: perfect recall in one row.

    ``flat`` and ``ranked`` omit the order of play, so different information sets share observations
    (in `mini` seven of ten do). In ``recall`` each information set of a deal has its own
    observation.
    """

    name = "recall"
    _write_rows = staticmethod(write_recall_rows)

    def blocks(self, rules: Rules) -> list[Block]:
        """Return the blocks of ``ranked``, then each trick's leader and the card of each seat."""
        blocks = super().blocks(rules)
        n, tricks = rules.players, rules.hand_size
        meaning = f"seat that led each trick, one-hot: {n} places a trick, the first trick first"
        blocks.append(Block("leaders", tricks * n, meaning))
        for p in range(n):
            meaning = f"card that {seat_name(p)} played to each trick: a deck of places a trick"
            blocks.append(Block(f"tricks_{p}", tricks * len(rules.deck), meaning, p))
        return blocks
