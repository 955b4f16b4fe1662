"""Write views as JSON for external programs. The schema is ``external_schema.json``.

The keys are attributes of ``PlayerView``, so a message has nothing that its player may not know.
Costly parts are assembled from cached pieces.
"""

from __future__ import annotations

import functools

import numpy as np

from hearts_agents.programs.process import dump
from hearts_env import Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.cards import SUITS, list_of
from hearts_env.views.position import PHASES

_MOST_PIECES = 60_000  # of each kind, about 40 MB in all
_SHIFTS = np.arange(k.PLAYS_A_WORD) * k.PLAY_BITS


class ViewLines:
    """A writer for the views of one set of rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._names = [dump(rules.action_name(a)) for a in range(rules.num_actions)]
        self.numbers = {rules.action_name(a): a for a in range(rules.num_actions)}
        self._plays = [
            f"[{code >> k.SEAT_AT},{self._names[code & k.CARD_BITS]}]"
            if code & k.CARD_BITS < len(rules.deck)
            else ""
            for code in range(rules.players << k.SEAT_AT)
        ]
        self._cards, self._taken, self._deal = (
            functools.lru_cache(_MOST_PIECES)(write)
            for write in (self._write_cards, self._write_taken, self._write_deal)
        )
        self._points, self._tricks, self._shown, self._totals = (
            k.every_seat(field, rules.players) for field in (k.POINTS, k.TRICKS, k.VOIDS, k.TOTALS)
        )
        self._voids = [
            dump("".join(suit for i, suit in enumerate(SUITS) if mask >> i & 1))
            for mask in range(1 << len(SUITS))
        ]
        rotation = rules.pass_rotation if rules.pass_count else ("hold",)
        self._directions = [dump(direction) for direction in rotation]
        self._seats = [*map(str, range(rules.players)), "null"]  # -1: no player
        self._first = f'{{"rules":{dump(rules.name)},"player":'

    def write(self, views: BatchView) -> list[str]:
        """Return each view as a JSON object, in order."""
        history = int(self.rules.vector[k.R_HISTORY])
        words = views.vectors[:, history:, None] >> _SHIFTS & (1 << k.PLAY_BITS) - 1
        plays = words.reshape(len(views), -1).tolist()
        rows = views.vectors[:, :history].tolist()
        legal, players = views.legal_masks.tolist(), views.players.tolist()
        return list(map(self._view, rows, plays, players, legal))

    def _view(self, s: list[int], plays: list[int], player: int, legal: int) -> str:
        cards, seats, seat = self._cards, self._seats, k.SEAT * player
        end = s[k.NUM_PLAYED]
        history = [self._plays[code] for code in plays[:end]]
        trick = history[end - s[k.TRICK_LEN] :]
        taken = *s[self._points], *s[self._tricks], *s[self._shown]
        deal = (
            *(s[k.PASSED + seat], s[k.RECEIVED + seat], s[k.DEALER], s[k.DEAL_NUMBER]),
            *(s[k.KITTY], s[k.KITTY_TAKER], *s[self._totals]),
        )
        return (
            f'{self._first}{player},"phase":"{PHASES[s[k.PHASE]]}"'
            f',"hand":{cards(s[k.HANDS + seat])}'
            f',"legal":{cards(legal if s[k.PLAYER] == player else 0)}'
            f',"trick":[{",".join(trick)}],"leader":{seats[s[k.LEADER]]}'
            f',"winner":{seats[s[k.WINNER]]}'
            f',"hearts_broken":{"true" if s[k.BROKEN] else "false"}'
            f',"history":[{",".join(history)}]'
            f"{self._taken(taken)}{self._deal(deal)}"
        )

    def _write_taken(self, numbers: tuple[int, ...]) -> str:
        """Return the fields for points, tricks and shown voids, by seat."""
        n = self.rules.players
        voids = ",".join([self._voids[mask] for mask in numbers[2 * n :]])
        points, tricks = [*numbers[:n]], [*numbers[n : 2 * n]]
        return f',"points":{points},"tricks_taken":{tricks},"voids":[{voids}]'

    def _write_deal(self, numbers: tuple[int, ...]) -> str:
        """Return the fields that change seldom or never during a deal."""
        passed, received, dealer, number, kitty, taker, *totals = numbers
        direction = self._directions[number % len(self._directions)]
        return (
            f',"passed":{self._cards(passed)},"received":{self._cards(received)}'
            f',"direction":{direction},"dealer":{dealer},"deal_number":{number}'
            f',"totals":{totals},"kitty":{self._cards(kitty)},"kitty_taker":{self._seats[taker]}}}'
        )

    def _write_cards(self, mask: int) -> str:
        return "[" + ",".join([self._names[action] for action in list_of(mask)]) + "]"
