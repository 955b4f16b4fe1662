"""The errors of the package: one family, each message names the field, the value and the mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeartsError(ValueError):
    """Base of every error that a user's mistake can cause."""


class RulesError(HeartsError):
    """A rule set that cannot be played, or an unknown rule, value or preset."""


class DealError(HeartsError):
    """A deal whose cards are missing, doubled, foreign or wrongly counted."""


class IllegalActionError(HeartsError):
    """An action that the rules do not allow now; the game is unchanged."""


class NotationError(HeartsError):
    """Text that is not a card, a deal or a hand history."""


class CheckpointError(HeartsError):
    """A file that is not a checkpoint, or one made for something else."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The mend for an unknown word: the nearest known one, and all of them."""
    names = [str(name) for name in known]
    near = difflib.get_close_matches(str(word), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known: {', '.join(names)}"
