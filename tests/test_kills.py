"""A few kills of each command of kills.py."""

from __future__ import annotations

import os

import pytest

from tests.kills import COMMANDS, kill
from tests.slow import TIMES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals of a shell")]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_ends_as_one_that_was_not(name: str) -> None:
    kill(name, kills=2 * TIMES, seed=7)
