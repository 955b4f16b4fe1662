"""The errors of the package.

All messages have one form: "argument: what is wrong with the value; what to do".
"""

from __future__ import annotations

import difflib
import importlib
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MAX_QUOTED = 80
"""The most characters of a user's text in a message."""


class HeartsError(ValueError):
    """Base of every error that a user's mistake can cause."""


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
    text = " ".join(text.split()) if "\n" in text else text  # an array has a line per row
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def bare(name: str) -> str:
    """Return ``quoted`` of a name from a user or a file, without the quotation marks."""
    return quoted(name)[1:-1]


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
        HeartsError: if the library is not installed. The message gives the command to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise HeartsError(f"{what} {needs(extra)}") from None
