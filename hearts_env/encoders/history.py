"""``history``, a sequence for sequence models, and ``text``, the view in words."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders import features as f
from hearts_env.encoders.base import BatchEncoder, check_row
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView

KINDS = ("play", "hand", "passed", "received", "kitty", "seat")
_PLAY, _HAND, _PASSED, _RECEIVED, _KITTY, _SEAT = range(6)


class HistoryEncoder(BatchEncoder):
    """A padded sequence of zeros and ones, ``(rows, columns) int8``.

    The first rows show the present: the hand, the exchange, the kitty, and the voids and total of
    each seat. Then comes one row per card played, in order. The rest is zeros. The columns show the
    kind of the row, its cards, its seat, and facts about the present.
    """

    name = "history"

    def rows(self, rules: Rules) -> list[tuple[str, str]]:
        """Return the first rows as (kind, meaning)."""
        rows = [("hand", "cards held; whose lead; the facts")]
        if rules.pass_count:
            rows.append(("passed", "cards passed; to whom"))
            rows.append(("received", "cards received"))
        if rules.kitty_to != "nobody":
            rows.append(("kitty", "an awarded kitty; its taker"))
        rows += [
            ("seat", f"seat +{p}: cards it can hold, its shown voids and its total")
            for p in range(rules.players)
        ]
        return rows

    def columns(self, rules: Rules) -> list[tuple[str, int, str]]:
        """Return the columns as (name, size, meaning)."""
        return [
            ("kind", len(KINDS), "kind of row: " + ", ".join(KINDS)),
            ("cards", len(rules.deck), "the card played, or a set of cards"),
            ("seat", rules.players, "the seat, relative to the observer, one-hot"),
            ("lead", 1, "the card was a lead"),
            (
                "facts",
                f.SITUATION_SIZE,
                "the observer is to act, hearts are broken, phase (pass, play, moon, over)",
            ),
            ("voids", 4, "suits shown void, CDSH"),
            ("total", f.TOTAL_STEPS, "total in the match, in tenths of the end score"),
        ]

    def space(self, rules: Rules) -> spaces.Box:
        """Return the space ``(rows, columns) int8`` of zeros and ones."""
        length = len(self.rows(rules)) + rules.players * rules.hand_size
        return spaces.Box(0, 1, (length, sum(c[1] for c in self.columns(rules))), np.int8)

    def write_many(
        self, rules: Rules, states: k.Vector, games: k.Vector, players: k.Vector, out: Array
    ) -> None:
        """Write sequences of zeros and ones, in place. See ``BatchEncoder.write_many``."""
        write_sequences(rules.vector, _kinds(self, rules), states, games, players, out)

    def decode(self, rules: Rules, observation: Array) -> list[dict[str, int]]:
        """Return every row that is not padding, as the bit masks of its columns by name."""
        rows = []
        for row in observation:
            if not row.any():
                continue
            facts, start = {}, 0
            for name, size, _ in self.columns(rules):
                bits = np.flatnonzero(row[start : start + size])
                facts[name] = sum(1 << int(j) for j in bits)
                start += size
            rows.append(facts)
        return rows


class TextEncoder(BatchEncoder):
    """``view.to_text()`` for language models: UTF-8 in ``(length,) uint8``, padded with zeros."""

    name = "text"

    def length(self, rules: Rules) -> int:
        """Return a number of bytes that is enough for any view of these rules."""
        seats, cards = rules.players, len(rules.deck)
        lines = 400 + len(rules.name) + 130 * seats  # sentences, totals, points, shown voids
        plays = 14 * seats * rules.hand_size + 20 * rules.hand_size
        return lines + plays + 3 * (2 * rules.hand_size + 4 * rules.pass_count + cards)

    def space(self, rules: Rules) -> spaces.Box:
        """Return the space ``(length,) uint8``."""
        return spaces.Box(0, 255, (self.length(rules),), np.uint8)

    def write(self, view: PlayerView, out: Array) -> None:
        """Write the bytes of the text, then zeros, in place."""
        check_row(self, view.rules, out)
        text = np.frombuffer(view.to_text().encode(), np.uint8)
        out[: len(text)] = text
        out[len(text) :] = 0

    def decode(self, observation: Array) -> str:
        """Return the text of an observation."""
        return bytes(np.asarray(observation, np.uint8)).rstrip(b"\0").decode()


@functools.lru_cache(maxsize=64)
def _kinds(encoder: HistoryEncoder, rules: Rules) -> k.Vector:
    return np.array([KINDS.index(kind) for kind, _ in encoder.rows(rules)], np.int64)


@jit
def put(out: NDArray[Any], start: int, size: int, mask: int) -> int:
    """Write the bits of `mask` over ``out[start : start + size]``, and return the next start."""
    for j in range(size):
        out[start + j] = mask >> j & 1
    return start + size


@jit
def write_sequences(
    r: k.Vector,
    kinds: k.Vector,
    states: k.Vector,
    games: k.Vector,
    players: k.Vector,
    out: NDArray[Any],
) -> None:
    """Write the observations of `players` in `games` over ``out``, ``(n, rows, columns)``."""
    n = r[k.R_PLAYERS]
    num_cards = r[k.R_NUM_CARDS]
    for i in range(len(games)):
        s = states[games[i]]
        me = players[i]
        o = out[i]
        o[:] = 0
        seat = 0
        for row in range(len(kinds)):
            kind = kinds[row]
            cards = who = facts = voids = total = 0
            if kind == _HAND:
                cards = s[k.HANDS + k.SEAT * me]
                who = f.relative(r, me, s[k.LEADER])
                facts = f.situation(s, me)
            elif kind == _PASSED:
                cards = s[k.PASSED + k.SEAT * me]
                who = 1 << s[k.EXCHANGE]
            elif kind == _RECEIVED:
                cards = s[k.RECEIVED + k.SEAT * me]
            elif kind == _KITTY:
                cards = s[k.KITTY] if s[k.KITTY_TAKER] >= 0 else 0
                who = f.relative(r, me, s[k.KITTY_TAKER])
            else:
                p = f.seat_at(n, me, seat)
                if seat > 0:
                    cards = f.may_hold(r, s, me, p)
                who = 1 << seat
                voids = s[k.VOIDS + k.SEAT * p]
                total = f.total_steps(s[k.TOTALS + k.SEAT * p], r[k.R_TOTAL_SCALE])
                seat += 1
            at = put(o[row], 0, 6, 1 << kind)
            at = put(o[row], at, num_cards, cards)
            at = put(o[row], at, n, who) + 1
            at = put(o[row], at, f.SITUATION_SIZE, facts)
            at = put(o[row], at, 4, voids)
            put(o[row], at, f.TOTAL_STEPS, total)
        for t in range(s[k.NUM_PLAYED]):
            row = len(kinds) + t
            o[row, _PLAY] = 1
            o[row, 6 + k.card_at(r, s, t)] = 1
            o[row, 6 + num_cards + (k.seat_at(r, s, t) - me) % n] = 1
            o[row, 6 + num_cards + n] = t % n == 0
