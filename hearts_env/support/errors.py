"""The errors of the package. All messages have one form.

A message reads "argument: what is wrong with the value; what to do". ``HeartsError`` takes the
argument and the hint from the message.
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
"""The most characters of a user's text in a message."""
MAX_MESSAGE = 2000
"""The most characters of a message."""


class HeartsError(ValueError):
    """Base of every error that a user's mistake can cause.

    A message is cut at ``MAX_MESSAGE`` characters. The attributes survive pickling, except that a
    `value` other than text or a number becomes its ``quoted`` text.

    Attributes:
        argument: The argument, option, field or file at the start of the message; "" if there is
            none.
        value: The value given, or None if unknown.
        hint: The fix; "" if the message has none.
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
        shown = "" if value is None else quoted(value)  # it may contain semicolons
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
    """A deal with missing, duplicate or foreign cards, or the wrong number of them."""


class IllegalActionError(HeartsError):
    """An action that the rules forbid now. The game is unchanged."""


class NotationError(HeartsError):
    """Text that is not a card, a deal or a hand history."""


class CheckpointError(HeartsError):
    """A file that is not a checkpoint, or is a checkpoint of something else."""


def quoted(value: object) -> str:
    """Return ``repr`` of a value for a message, in at most ``MAX_QUOTED`` characters.

    It is fast for any value: megabytes of text, a deeply nested list, or a number with more digits
    than Python converts.
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
    except Exception:  # an object's repr may raise anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return the fix for an unknown word: the nearest known word, and all known words."""
    names = [str(name) for name in known]
    word = word if isinstance(word, str) else quoted(word)
    near = difflib.get_close_matches(word[:MAX_QUOTED], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known: {', '.join(names)}"


def needs(extra: str) -> str:
    """Return the end of a message about a missing extra, with the command to install it.

    The command installs from the checkout if there is one, else by the package's name.
    """
    here = (Path(__file__).parents[2] / "pyproject.toml").is_file()
    command = f'pip install -e ".[{extra}]"' if here else f"pip install 'hearts-env[{extra}]'"
    return f"needs the extra `{extra}`; {command}"


def library(module: str, what: str, extra: str) -> Any:
    """Return a module of a library that an extra installs, imported on demand.

    Args:
        module: the module's name.
        what: the beginning of the message, such as ``plot: drawing``.
        extra: the extra that installs it.

    Raises:
        HeartsError: it is not installed. The message gives the command to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise HeartsError(f"{what} {needs(extra)}") from None
