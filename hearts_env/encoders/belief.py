"""``belief``: ``flat``, and the exact probability that each other player holds each card."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.base import BatchEncoder
from hearts_env.encoders.features import Block, bit_at, pack
from hearts_env.encoders.flat import FlatEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.bits import popcount, stack_words
from hearts_env.support.jit import jit
from hearts_env.views import hidden
from hearts_env.views.view import PlayerView, view_of
from hearts_env.views.worlds import Worlds

_FLAT = FlatEncoder()


class BeliefEncoder(BatchEncoder):
    """``flat`` and a probability for each other seat and card, ``(size,) float32``.

    All worlds that play so far allows are taken as equally likely.
    """

    name = "belief"

    def blocks(self, rules: Rules) -> list[Block]:
        """The blocks of ``flat``; the probabilities follow."""
        return _FLAT.blocks(rules)

    def size(self, rules: Rules) -> int:
        """How long an observation is."""
        return _FLAT.size(rules) + (rules.players - 1) * len(rules.deck)

    def space(self, rules: Rules) -> spaces.Box:
        """``(size,) float32`` in [0, 1]."""
        return spaces.Box(0.0, 1.0, (self.size(rules),), np.float32)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write rows, in place: compiled for two players, counted exactly for more."""
        start = _FLAT.size(rules)
        hard = np.zeros(len(games), np.bool_)
        scratch = np.empty((3, k.MAX_PLAYERS + 1), np.int64)
        write_beliefs(rules.vector, start, states, games, players, out, scratch, hard)
        for row in np.flatnonzero(hard).tolist():
            view = view_of(rules, states[games[row]], int(players[row]))
            out[row, start:] = card_chances(view).reshape(-1)

    def decode(self, rules: Rules, observation: Array) -> tuple[dict[str, int], Array]:
        """The blocks of ``flat`` as bit masks, and ``(players - 1, deck) float32`` chances."""
        start = _FLAT.size(rules)
        chances = observation[start:].reshape(rules.players - 1, len(rules.deck))
        return _FLAT.decode(rules, observation[:start]), chances


def card_chances(view: PlayerView) -> Array:
    """The probability that each other seat holds each card, ``(players - 1, deck) float64``.

    Uniform over ``view.worlds()``; row p - 1 is the seat p further.
    """
    rules = view.rules
    worlds = Worlds(view)
    by_owner = worlds.chances()
    chances = np.zeros((rules.players - 1, len(rules.deck)))
    for place, owner in enumerate(worlds.owners):
        if owner < rules.players:
            chances[(owner - view.player) % rules.players - 1] = by_owner[place]
    return chances


@jit
def write_beliefs(
    r: k.Vector,
    start: int,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.float32],
    scratch: k.Vector,
    hard: NDArray[np.bool_],
) -> None:
    """Write rows; mark in `hard` those whose chances must be counted, and leave them to others."""
    words = stack_words()
    n = r[k.R_NUM_CARDS]
    two = r[k.R_PLAYERS] == 2
    possible, certain, sizes = scratch[0], scratch[1], scratch[2]
    for i in range(len(games)):
        s = states[games[i]]
        me = players[i]
        pack(r, s, me, False, words)
        for at in range(start):
            out[i, at] = bit_at(words, at)
        waiting = s[k.NUM_PLAYED] == 0 or r[k.R_FIRST_LEAD] == k.ANY_CLUB
        bound = r[k.R_FIRST_LEAD] != k.ELDEST_HAND and s[k.FIRST_LEADER] not in (-1, me)
        if not two or s[k.DODGED] >= 0 or (waiting and bound):
            hard[i] = True
            continue
        # One other hand, any of the free cards as likely as another.
        hidden.hidden_cards(r, s, me, possible, certain, sizes)
        other = 1 - me
        free = possible[other] & ~certain[other]
        number = popcount(free)
        chance = (sizes[other] - popcount(certain[other])) / number if number else 0.0
        for card in range(n):
            sure = certain[other] >> card & 1
            out[i, start + card] = 1.0 if sure else (chance if free >> card & 1 else 0.0)
