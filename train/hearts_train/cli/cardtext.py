"""Cards and the events at a table as text for a terminal.

Cards have suit symbols and colours where the terminal can show them, else they are like ``QS``.
What is announced during a deal comes from the person's view alone; after it all cards are shown.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from hearts_env import PlayerView, Rules
from hearts_env.cards import SUITS

if TYPE_CHECKING:
    from hearts_train.measure.analysis import Hint

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

    def card(self, card: str) -> str:
        """A card, like ``Q♠``, or a suit."""
        return self.style(self._plain(card), _COLORS[card[-1]])

    def _plain(self, card: str) -> str:
        return card[:-1] + (_SYMBOLS[card[-1]] if self.symbols else card[-1])

    def cards(self, cards: Iterable[str]) -> str:
        """Cards in the order given."""
        return " ".join(map(self.card, cards)) or "-"

    def hand(self, cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
        """A hand by suits; what is not `playable` is in brackets (or dimmed)."""
        cards = list(cards)
        free = set(cards if playable is None else playable)
        suits = [
            " ".join(
                self.card(card)
                if card in free
                else self.dim(self._plain(card))
                if self.color
                else f"({self._plain(card)})"
                for card in cards
                if card[1] == suit
            )
            for suit in SUITS
        ]
        return "   ".join(filter(None, suits)) or "-"


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


# ---- events --------------------------------------------------------------------------------------
CHOICES = {"moon:off": "have the points taken off", "moon:others": "let the others pay"}


def does(name: str, verb: str) -> str:
    """A name with its verb: ``pro plays``, but ``You play``."""
    if name.partition(" ")[0] != "You":
        return f"{name} {verb}"
    return f"{name} {_PLURAL.get(verb, verb.removesuffix('s'))}"


_PLURAL = {"passes": "pass", "has": "have"}


def points_text(rules: Rules, cards: Iterable[str]) -> str:
    """The points of cards, like ``+5``; empty if there are none."""
    points = sum(rules.card_points.get(card, 0) for card in cards)
    return f"{points:+d}" if points else ""


# ---- hints ---------------------------------------------------------------------------------------
def describe(advice: Hint, view: PlayerView, cards: CardText) -> list[str]:
    """A hint for a position as lines of text: what another player would do, and why."""

    def named(action: int) -> str:
        name = view.rules.action_name(action)
        return CHOICES.get(name) or cards.card(name)

    lines = [f"{advice.agent} would choose {named(advice.action)}."]
    if advice.worths:
        ways = f"{advice.worlds} of the ways" if advice.is_sample else f"all {advice.worlds} ways"
        lines.append(
            "Points by which you win the deal with each card, on average over "
            f"{ways if advice.worlds > 1 else 'the one way'} the unseen cards can lie:"
        )
        words = "within noise" if advice.is_sample else "as good"
        parts: list[str] = []
        for worth in advice.worths:
            half = f" ± {worth.half:.1f}" if advice.is_sample else ""
            near = f" ({words})" if worth.is_close and parts else ""
            parts.append(f"{named(worth.action)} {worth.margin:+.1f}{half}{near}")
        lines.append("  " + ", ".join(parts))
    elif advice.chances:
        likely = [f"{named(a)} {chance:.0%}" for a, chance in advice.chances if chance >= 0.005]
        lines.append("Its probabilities: " + ", ".join(likely))
    return lines
