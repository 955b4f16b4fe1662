"""Cards as text for a terminal: suit symbols and colours where it can show them, else ``QS``."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

from hearts_env.cards import SUITS

_SYMBOLS = dict(zip(SUITS, "♣♦♠♥", strict=True))
_STYLED = re.compile(r"\x1b\[[0-9;]*m")
_COLORS = {"C": "32", "D": "33", "S": "36", "H": "31"}  # four colours tell suits apart best


class CardText:
    """How cards are written to one output."""

    def __init__(self, *, color: bool, symbols: bool, wraps: bool = False) -> None:
        """Use ANSI colours or not, suit symbols or letters; break lines at the terminal's edge."""
        self.color = color
        self.symbols = symbols
        self.wraps = wraps

    @classmethod
    def of(cls, stream: TextIO | None = None) -> CardText:
        """What `stream` (standard output) can show; NO_COLOR and TERM=dumb are respected."""
        stream = sys.stdout if stream is None else stream
        color = (
            stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        try:
            "♣♦♠♥".encode(getattr(stream, "encoding", None) or "ascii")
            symbols = True
        except (UnicodeEncodeError, LookupError):
            symbols = False
        return cls(color=color, symbols=symbols, wraps=stream.isatty())

    def wrap(self, text: str) -> str:
        """The text with lines wider than the terminal broken between words."""
        return wrap(text, shutil.get_terminal_size().columns) if self.wraps else text

    def style(self, text: str, code: str) -> str:
        """The text in an ANSI style, where the output has colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def bold(self, text: str) -> str:
        """The text in bold."""
        return self.style(text, "1")

    def dim(self, text: str) -> str:
        """The text dimmed."""
        return self.style(text, "2")

    def suit(self, suit: str) -> str:
        """A suit."""
        return self.style(_SYMBOLS[suit] if self.symbols else suit, _COLORS[suit])

    def card(self, card: str) -> str:
        """A card, like ``Q♠``."""
        return self.style(
            card[0] + (_SYMBOLS[card[1]] if self.symbols else card[1]), _COLORS[card[1]]
        )

    def cards(self, cards: Iterable[str]) -> str:
        """Cards in the order given."""
        return " ".join(map(self.card, cards)) or "-"

    def hand(self, cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
        """A hand by suits; what is not `playable` is in brackets (or dimmed)."""
        cards = list(cards)
        free = set(cards if playable is None else playable)
        suits = []
        for suit in SUITS:
            held = [card for card in cards if card[1] == suit]
            if held:
                suits.append(" ".join(self._held(card, free) for card in held))
        return "   ".join(suits) or "-"

    def _held(self, card: str, playable: set[str]) -> str:
        if card in playable:
            return self.card(card)
        plain = card[0] + (_SYMBOLS[card[1]] if self.symbols else card[1])
        return self.dim(plain) if self.color else f"({plain})"


def wrap(text: str, width: int) -> str:
    """The text with lines of at most `width` columns, broken between words.

    Styles take no columns. Continuation lines are indented by two more columns.
    """
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip(" ")) + 2, width // 2)
    parts, used = [""], 0
    for word in re.findall(r" *[^ ]+", line):
        size = len(_STYLED.sub("", word))
        if used and used + size > width:
            parts.append(indent)
            word = word.lstrip(" ")
            used, size = len(indent), len(_STYLED.sub("", word))
        parts[-1] += word
        used += size
    return parts
