"""Whose fault it is when code that is not this package's raises, in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hearts_env import HeartsError
from hearts_env.interrupts import signals_apart

_MOST_TEXT = 500


def describe(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # of its own __str__
        text = type(error).__name__
    return " ".join(text.split())[:_MOST_TEXT]


@contextlib.contextmanager
def blamed(what: str, fix: str) -> Iterator[None]:
    """Run code from outside, whose exceptions become a ``HeartsError`` in one line.

    A ``HeartsError`` passes through, and so does what a signal raises.

    Args:
        what: what failed, the beginning of the message: "agent: 'mine' could not be made".
        fix: what to do about it.

    Raises:
        HeartsError: if the code raised anything else, ``SystemExit`` and the like included.
    """
    with signals_apart() as check_signals:
        try:
            yield
        except HeartsError:
            check_signals()
            raise
        except BaseException as error:
            check_signals()
            raise HeartsError(f"{what} ({describe(error)}); {fix}") from None
        check_signals()
