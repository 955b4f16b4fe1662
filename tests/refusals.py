"""Checks of errors by type, argument, value and the names in them, not by wording.

tests/test_errors.py checks that every message names its argument and a fix.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from hearts_env import HeartsError

_ANY: Any = object()


@contextlib.contextmanager
def raises_hearts_error(
    error: type[HeartsError], argument: str, *names: object, value: object = _ANY, hint: object = ""
) -> Iterator[pytest.ExceptionInfo[HeartsError]]:
    """Check that the block raises this error about `argument`, with a fix.

    Args:
        error: its class, or a base of it.
        argument: the argument that the message names.
        names: names, numbers or files that must be in the message.
        value: the value that the error carries.
        hint: a part of the fix.
    """
    with pytest.raises(error) as caught:
        yield caught
    found = caught.value
    assert found.argument == argument, str(found)
    assert found.hint, str(found)
    assert str(hint) in found.hint, str(found)
    assert value is _ANY or found.value == value, repr(found.value)
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
