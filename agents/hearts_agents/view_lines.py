"""Views as JSON, as programs outside read them; the schema is ``external_schema.json``.

The keys are the attributes of ``PlayerView``: nothing is told that a view does not know. What costs
time is put together from pieces that are made once.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from hearts_env import Rules
from hearts_env import kernel as k
from hearts_env.batch_view import BatchView
from hearts_env.cards import SUITS, list_of
from hearts_env.view import PHASES

_MOST_PIECES = 200_000  # some 20 MB
_SHIFTS = np.arange(k.PLAYS_A_WORD) * k.PLAY_BITS


def dump(value: Any) -> str:
    """A value as JSON in one line, without spaces."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class ViewLines:
    """Writes the views of one set of rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._names = [dump(rules.action_name(a)) for a in range(rules.num_actions)]
        self.numbers = {rules.action_name(a): a for a in range(rules.num_actions)}
        self._plays = [
            f"[{code >> 6},{self._names[code & 63]}]" if code & 63 < len(rules.deck) else ""
            for code in range(64 * rules.players)
        ]
        self._pieces: dict[int, str] = {}
        self._voids = [
            dump("".join(suit for i, suit in enumerate(SUITS) if mask >> i & 1))
            for mask in range(1 << len(SUITS))
        ]
        rotation = rules.pass_rotation if rules.pass_count else ("hold",)
        self._directions = [dump(direction) for direction in rotation]
        self._seats = [*map(str, range(rules.players)), "null"]  # -1: nobody
        self._first = f'{{"rules":{dump(rules.name)},"player":'

    def write(self, views: BatchView) -> list[str]:
        """The views as JSON objects, in their order."""
        if len(self._pieces) > _MOST_PIECES:
            self._pieces.clear()
        begin = int(self.rules.vector[k.R_HISTORY])
        words = views.vectors[:, begin:, None] >> _SHIFTS & (1 << k.PLAY_BITS) - 1
        plays = words.reshape(len(views), -1).tolist()
        rows = views.vectors[:, :begin].tolist()
        legal, players = views.legal_masks.tolist(), views.players.tolist()
        return list(map(self._view, rows, plays, players, legal))

    def _view(self, s: list[int], plays: list[int], player: int, legal: int) -> str:
        cards, seats, seat = self._cards, self._seats, k.SEAT * player
        end = s[k.NUM_PLAYED]
        history = [self._plays[code] for code in plays[:end]]
        trick = history[end - s[k.TRICK_LEN] :]
        direction = self._directions[s[k.DEAL_NUMBER] % len(self._directions)]
        voids = [self._voids[mask] for mask in self._each(s, k.VOIDS)]
        return (
            f'{self._first}{player},"phase":"{PHASES[s[k.PHASE]]}"'
            f',"hand":{cards(s[k.HANDS + seat])}'
            f',"legal":{cards(legal if s[k.PLAYER] == player else 0)}'
            f',"trick":[{",".join(trick)}],"leader":{seats[s[k.LEADER]]}'
            f',"winner":{seats[s[k.WINNER]]}'
            f',"hearts_broken":{"true" if s[k.BROKEN] else "false"}'
            f',"history":[{",".join(history)}]'
            f',"points":{self._each(s, k.POINTS)},"tricks_taken":{self._each(s, k.TRICKS)}'
            f',"voids":[{",".join(voids)}]'
            f',"passed":{cards(s[k.PASSED + seat])},"received":{cards(s[k.RECEIVED + seat])}'
            f',"direction":{direction},"dealer":{s[k.DEALER]},"deal_number":{s[k.DEAL_NUMBER]}'
            f',"totals":{self._each(s, k.TOTALS)}'
            f',"kitty":{cards(s[k.KITTY])},"kitty_taker":{seats[s[k.KITTY_TAKER]]}}}'
        )

    def _each(self, s: list[int], field: int) -> list[int]:
        return s[k.every_seat(field, self.rules.players)]

    def _cards(self, mask: int) -> str:
        piece = self._pieces.get(mask)
        if piece is None:
            piece = "[" + ",".join([self._names[action] for action in list_of(mask)]) + "]"
            self._pieces[mask] = piece
        return piece
