"""Checks of errors by type, argument and the names in them, not by wording.

tests/test_errors.py checks that every message names its argument and a fix.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from hearts_env import HeartsError


def argument_of(error: object) -> str:
    """Return the argument at the start of a message, or "" if there is none."""
    begin, colon, _ = str(error).partition(": ")
    return begin if colon else ""


def fix_of(error: object) -> str:
    """Return the fix at the end of a message, or "" if there is none."""
    return str(error).partition("; ")[2]


@contextlib.contextmanager
def raises_hearts_error(
    error: type[HeartsError], argument: str, *names: object, hint: object = ""
) -> Iterator[pytest.ExceptionInfo[HeartsError]]:
    """Check that the block raises this error about `argument`, with a fix.

    Args:
        error: its class, or a base of it.
        argument: the argument that the message names.
        names: names, numbers or files that must be in the message.
        hint: a part of the fix.
    """
    with pytest.raises(error) as caught:
        yield caught
    found = caught.value
    assert argument_of(found) == argument, str(found)
    assert fix_of(found), str(found)
    assert str(hint) in fix_of(found), str(found)
    for name in names:
        assert str(name) in str(found)


def mistake(result: Any, argument: str, *names: object) -> None:
    """Check that a command ended with status 2 and one line about `argument` on standard error.

    Args:
        result: of the command, with ``exit_code`` and ``stderr``.
        argument: the argument that the line names, or "" for any.
        names: names, numbers or files that must be in the line.
    """
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"error: {argument}: " if argument else "error: "), lines[0]
    for name in names:
        assert str(name) in lines[0], lines[0]
