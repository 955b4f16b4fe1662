"""``recall``: ``ranked``, and who played what to which trick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.features import Block, seat_name
from hearts_env.encoders.ranked import RankedEncoder, write_ranked_row
from hearts_env.rules.rules import Rules
from hearts_env.support.jit import jit


class RecallEncoder(RankedEncoder):
    """The bits of ``ranked``, and the past trick by trick: perfect recall in one row.

    ``flat`` and ``ranked`` leave out the order of play, so that information sets share an
    observation: in `mini` seven of ten. Here each of a deal has its own.
    """

    name = "recall"

    def blocks(self, rules: Rules) -> list[Block]:
        """The blocks of ``ranked``, then who led each trick and what each seat played to it."""
        blocks = super().blocks(rules)
        n, tricks = rules.players, rules.hand_size
        meaning = f"seat that led each trick, one-hot: {n} places a trick, the first trick first"
        blocks.append(Block("leaders", tricks * n, meaning))
        for p in range(n):
            meaning = f"card that {seat_name(p)} played to each trick: a deck of places a trick"
            blocks.append(Block(f"tricks_{p}", tricks * len(rules.deck), meaning, p))
        return blocks

    def write_many(
        self,
        rules: Rules,
        states: k.Vector,
        games: k.Vector,
        players: k.Vector,
        out: NDArray[np.int8],
    ) -> None:
        """Write rows of zeros and ones, in place."""
        write_recall_rows(rules.vector, states, games, players, out)


@jit
def write_recall_rows(
    r: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write a row for each of `games` as `players` see them, in place."""
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
