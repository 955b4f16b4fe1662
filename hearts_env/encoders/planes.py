"""``planes``: one suits-by-ranks plane a fact, for convolutional networks."""

from __future__ import annotations

import functools

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.cards import SUITS, rank_of, suit_of
from hearts_env.encoders.base import BatchEncoder
from hearts_env.encoders.features import Block, bit_at, observation_blocks, pack
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.bits import stack_words
from hearts_env.support.jit import jit


class PlanesEncoder(BatchEncoder):
    """Planes ``(channels, 4, ranks) int8``: a card set fills the places of its cards.

    Rows are the suits CDSH, columns the ranks of the deck, low to high. Every bit of a fact that
    is not a set of cards has a plane of its own, filled whole.
    """

    name = "planes"

    def blocks(self, rules: Rules) -> list[Block]:
        """Card sets with all cards taken, then the rest."""
        return observation_blocks(rules, all_taken=True)

    def channels(self, rules: Rules) -> int:
        """How many planes there are."""
        return sum(1 if block.is_cards else block.size for block in self.blocks(rules))

    def space(self, rules: Rules) -> spaces.Box:
        """``(channels, 4, ranks) int8``, zeros and ones."""
        shape = (self.channels(rules), len(SUITS), len(_ranks(rules)))
        return spaces.Box(0, 1, shape, np.int8)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write planes of zeros and ones, in place."""
        flat = out.reshape(len(out), out.shape[1], -1)
        write_planes(rules.vector, _cells(rules), _num_sets(rules), states, games, players, flat)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        facts, channel = {}, 0
        cells = _cells(rules)
        for block in self.blocks(rules):
            if block.is_cards:
                plane = observation[channel].reshape(-1)
                facts[block.name] = sum(1 << i for i, cell in enumerate(cells) if plane[cell])
                channel += 1
            else:
                planes = observation[channel : channel + block.size]
                facts[block.name] = sum(1 << j for j, plane in enumerate(planes) if plane.any())
                channel += block.size
        return facts


def _ranks(rules: Rules) -> list[int]:
    return sorted({rank_of(card) for card in rules.deck})


@functools.lru_cache(maxsize=64)
def _cells(rules: Rules) -> k.Vector:
    """The place of each card in a plane laid out in one row."""
    ranks = _ranks(rules)
    return np.array(
        [suit_of(card) * len(ranks) + ranks.index(rank_of(card)) for card in rules.deck], np.int64
    )


@functools.lru_cache(maxsize=64)
def _num_sets(rules: Rules) -> int:
    """How many of the facts are sets of cards."""
    return sum(block.is_cards for block in observation_blocks(rules, all_taken=True))


@jit
def write_planes(
    r: k.Vector,
    cells: k.Vector,
    num_sets: int,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write ``out[i]``, ``(channels, 4 * ranks)``, for each of `games` as `players` see them.

    The first `num_sets` facts are sets of cards.
    """
    words = stack_words()
    for i in range(len(games)):
        pack(r, states[games[i]], players[i], True, words)
        planes = out[i]
        at = 0
        for channel in range(len(planes)):
            if channel < num_sets:
                planes[channel] = 0
                for card in range(len(cells)):
                    planes[channel, cells[card]] = bit_at(words, at)
                    at += 1
            else:
                planes[channel] = bit_at(words, at)
                at += 1
