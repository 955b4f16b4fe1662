"""Format cards, events and hints as text for a terminal.

The console replaces suit symbols by letters where the output cannot show them.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hearts_env import PlayerView, Rules
from hearts_env.cards import MOON_CHOICES, SUITS, card_text
from hearts_train import console

if TYPE_CHECKING:
    from hearts_train.measure.analysis import Hint


def cards_text(cards: Iterable[str]) -> str:
    """Format cards in the order given."""
    return " ".join(map(card_text, cards)) or "-"


def hand_text(cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
    """Format a hand by suits, with cards that are not `playable` in brackets."""
    cards = list(cards)
    free = set(cards if playable is None else playable)
    suits = [
        " ".join(
            card_text(card) if card in free else f"({card_text(card)})"
            for card in cards
            if card[1] == suit
        )
        for suit in SUITS
    ]
    return "   ".join(filter(None, suits)) or "-"


def show(text: str) -> None:
    """Print text. A terminal gets lines of at most its width, broken between words.

    Continuation lines are indented by two more columns.
    """
    text = console.printable(text)
    if sys.stdout.isatty():
        width, broken = shutil.get_terminal_size().columns, []
        for line in text.split("\n"):
            indent = " " * min(len(line) - len(line.lstrip(" ")) + 2, width // 2)
            broken += textwrap.wrap(
                line,
                width,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
        text = "\n".join(broken)
    console.say(text)


# ---- events --------------------------------------------------------------------------------------
def does(name: str, verb: str) -> str:
    """Return a name with its verb: ``pro plays``, but ``You play``."""
    if name.partition(" ")[0] != "You":
        return f"{name} {verb}"
    return f"{name} {_PLURAL.get(verb, verb.removesuffix('s'))}"


_PLURAL = {"passes": "pass", "has": "have"}


def points_text(rules: Rules, cards: Iterable[str]) -> str:
    """Format the points of cards, as in ``+5``, or "" if they have none."""
    points = sum(rules.card_points.get(card, 0) for card in cards)
    return f"{points:+d}" if points else ""


# ---- hints ---------------------------------------------------------------------------------------
def describe(found: Sequence[Hint], view: PlayerView) -> list[str]:
    """Return the hints of a turn as lines: the best card, or the cards to pass, and why."""
    from hearts_train.measure.analysis import advice

    def named(action: int) -> str:
        name = view.rules.action_name(action)
        return MOON_CHOICES.get(name) or card_text(name)

    lines, first = [advice(found, view)], found[0]
    if first.worths:
        ways = f"{first.worlds} of the" if first.is_sample else f"all {first.worlds}"
        ways = f"{ways} possible deals" if first.worlds > 1 else "the only possible deal"
        lines.append(f"Your mean margin with each card, over {ways} of the unseen cards:")
        words = "within noise" if first.is_sample else "equally good"
        parts: list[str] = []
        for worth in first.worths:
            half = f" ± {worth.half:.1f}" if first.is_sample else ""
            near = f" ({words})" if worth.is_close and parts else ""
            parts.append(f"{named(worth.action)} {worth.margin:+.1f}{half}{near}")
        lines.append("  " + ", ".join(parts))
    elif first.chances:
        likely = [f"{named(a)} {chance:.0%}" for a, chance in first.chances if chance >= 0.005]
        lines.append("Probabilities of its policy: " + ", ".join(likely))
    return lines
