"""Whose fault it is when code that is not this package's raises, in one line."""

from __future__ import annotations

import contextlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from hearts_env import HeartsError
from hearts_env.support.interrupts import signals_apart

_MOST_TEXT = 500
_OURS = ("hearts_env", "hearts_agents", "hearts_train")
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def describe(error: BaseException) -> str:
    """An exception in one line, with its place in a user's code: ``..., line 3 of my.py``."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # of its own __str__
        text = type(error).__name__
    return " ".join(text.split())[:_MOST_TEXT] + _place(error)


def _place(error: BaseException) -> str:
    """Where in code that is neither ours nor a library's it was raised, as far in as that goes."""
    if isinstance(error, SyntaxError):
        return ""  # its message has it
    place, trace = "", error.__traceback__
    while trace is not None:
        place, trace = _place_in(trace) or place, trace.tb_next
    return place


def _place_in(trace: TracebackType) -> str:
    code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
    file = code.co_filename
    if module.partition(".")[0] in _OURS or file.startswith(("<", *_LIBRARIES)):
        return ""
    inside = "" if code.co_name == "<module>" else f", in {code.co_name}"
    return f", line {trace.tb_lineno} of {Path(file).name}{inside}"


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
