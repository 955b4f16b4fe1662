"""The errors of the package: one family, whose messages all read alike.

A message reads "argument: what is wrong with the value; what to do". ``HeartsError`` takes the
argument and the hint from it, so a message is written once, as it reads.
"""

from __future__ import annotations

import difflib
import importlib
import numbers
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MAX_QUOTED = 80
"""Characters of a user's text that a message repeats."""
MAX_MESSAGE = 2000
"""Characters of a whole message."""


class HeartsError(ValueError):
    """Base of every error that a user's mistake can cause.

    A message is cut at ``MAX_MESSAGE`` characters. The attributes survive pickling; of a `value`
    that is neither text nor a number, only its ``quoted`` text does.

    Attributes:
        argument: What the message is about: an argument, an option, a field or a file. It begins
            the message. "" if the message names none.
        value: What was given; None if that is unknown.
        hint: What to do; "" if the message does not say.
    """

    def __init__(
        self,
        *args: object,
        argument: str | None = None,
        value: object = None,
        hint: str | None = None,
    ) -> None:
        messages = [
            a[:MAX_MESSAGE] + "..." if isinstance(a, str) and len(a) > MAX_MESSAGE else a
            for a in args
        ]
        super().__init__(*messages)
        message = args[0] if args and isinstance(args[0], str) else ""
        begin, colon, rest = message.partition(": ")
        shown = "" if value is None else quoted(value)  # it may hold semicolons of its own
        self.argument: str = (begin if colon else "") if argument is None else argument
        self.value: Any = value
        self.hint: str = rest.replace(shown, "", 1).partition("; ")[2] if hint is None else hint

    def __reduce__(self) -> tuple[Any, ...]:
        value = self.value
        plain = value is None or isinstance(value, str | numbers.Number)
        return type(self), self.args, vars(self) | {"value": value if plain else quoted(value)}


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


def quoted(value: object) -> str:
    """``repr`` of a value for a message, in at most ``MAX_QUOTED`` characters.

    Whatever it is, it takes little time: also a text of megabytes, a deeply nested list, and a
    number with more digits than Python writes.
    """
    short = reprlib.Repr()
    short.maxlevel, short.maxdict, short.maxother = 3, 20, 2 * MAX_QUOTED
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = 20
    short.maxstring = short.maxlong = 2 * MAX_QUOTED
    try:
        if isinstance(value, str):
            text = repr(value[: 2 * MAX_QUOTED])
        else:
            text = short.repr(value)
    except Exception:  # an object's own repr may do anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The fix for an unknown word: the nearest known one, and all of them."""
    names = [str(name) for name in known]
    word = word if isinstance(word, str) else quoted(word)
    near = difflib.get_close_matches(word[:MAX_QUOTED], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known: {', '.join(names)}"


def needs(extra: str) -> str:
    """What a message says where an extra of this package is missing: which, and how to install it.

    In a checkout it is installed from there, elsewhere by the package's name.
    """
    here = (Path(__file__).parents[2] / "pyproject.toml").is_file()
    command = f'pip install -e ".[{extra}]"' if here else f"pip install 'hearts-env[{extra}]'"
    return f"needs the extra `{extra}`; {command}"


def library(module: str, what: str, extra: str) -> Any:
    """A module of a library that comes with an extra of this package, imported when it is needed.

    Args:
        module: its name.
        what: what needs it, the beginning of the message: ``plot: drawing``.
        extra: the extra that has it.

    Raises:
        HeartsError: if it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise HeartsError(f"{what} {needs(extra)}") from None
