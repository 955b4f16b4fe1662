"""``text``: the view in words, for language agents."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from hearts_env.encoders.base import BatchEncoder, Stateless, check_row
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.views.view import PlayerView


class TextEncoder(Stateless, BatchEncoder):
    """``view.to_text()`` as UTF-8 in ``(length,) uint8``, padded with zeros."""

    name = "text"

    def length(self, rules: Rules) -> int:
        """Bytes enough for any view of these rules."""
        seats, cards = rules.players, len(rules.deck)
        lines = 400 + len(rules.name) + 130 * seats  # sentences, totals, points, shown voids
        plays = 14 * seats * rules.hand_size + 20 * rules.hand_size
        return lines + plays + 3 * (2 * rules.hand_size + 4 * rules.pass_count + cards)

    def space(self, rules: Rules) -> spaces.Box:
        """``(length,) uint8``."""
        return spaces.Box(0, 255, (self.length(rules),), np.uint8)

    def write(self, view: PlayerView, out: Array) -> None:
        """Write the bytes of the text and zeros behind them, in place."""
        check_row(self, view.rules, out)
        text = np.frombuffer(view.to_text().encode(), np.uint8)
        out[: len(text)] = text
        out[len(text) :] = 0

    def decode(self, observation: Array) -> str:
        """The text of an observation."""
        return bytes(np.asarray(observation, np.uint8)).rstrip(b"\0").decode()
