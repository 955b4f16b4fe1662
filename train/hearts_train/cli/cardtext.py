"""Cards and the events at a table as text for a terminal.

Cards have suit symbols where the output can show them, else they are like ``QS``.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from hearts_env import PlayerView, Rules
from hearts_env.cards import SUITS

if TYPE_CHECKING:
    from hearts_train.measure.analysis import Hint

_SYMBOLS = dict(zip(SUITS, "♣♦♠♥", strict=True))


class CardText:
    """The form of cards on one output."""

    def __init__(self, *, symbols: bool, wraps: bool = False) -> None:
        """Use suit symbols or letters; break lines at the terminal's edge."""
        self.symbols = symbols
        self.wraps = wraps

    @classmethod
    def of(cls, stream: TextIO | None = None) -> CardText:
        """Return the writing that `stream` (standard output) can show."""
        stream = sys.stdout if stream is None else stream
        try:
            "♣♦♠♥".encode(getattr(stream, "encoding", None) or "ascii")
            symbols = True
        except (UnicodeEncodeError, LookupError):
            symbols = False
        return cls(symbols=symbols, wraps=stream.isatty())

    def wrap(self, text: str) -> str:
        """Return the text with lines wider than the terminal broken between words."""
        return wrap(text, shutil.get_terminal_size().columns) if self.wraps else text

    def card(self, card: str) -> str:
        """Return a card like ``Q♠``."""
        return card[:-1] + (_SYMBOLS[card[-1]] if self.symbols else card[-1])

    def cards(self, cards: Iterable[str]) -> str:
        """Return cards in the order given."""
        return " ".join(map(self.card, cards)) or "-"

    def hand(self, cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
        """Return a hand by suits; cards that are not `playable` are in brackets."""
        cards = list(cards)
        free = set(cards if playable is None else playable)
        suits = [
            " ".join(
                self.card(card) if card in free else f"({self.card(card)})"
                for card in cards
                if card[1] == suit
            )
            for suit in SUITS
        ]
        return "   ".join(filter(None, suits)) or "-"


def wrap(text: str, width: int) -> str:
    """Return the text with lines of at most `width` columns, broken between words.

    Continuation lines are indented by two more columns.
    """
    broken = []
    for line in text.split("\n"):
        indent = " " * min(len(line) - len(line.lstrip(" ")) + 2, width // 2)
        broken += textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(broken)


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
