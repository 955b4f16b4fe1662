"""Whether the user trusts whoever made a file that can run code when it is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from hearts_env import HeartsError
from hearts_env.support.errors import quoted

TRUST = "HEARTS_TRUST"
"""The environment variable that is 1 where files that can run code may be loaded.

It is one, so that the processes that a command starts load them too.
"""


def trust_files() -> None:
    """Let this process, and those that it starts, load files that can run code."""
    os.environ[TRUST] = "1"


def is_trusting() -> bool:
    """Whether files that can run code may be loaded."""
    return os.environ.get(TRUST) == "1"


def check_trust(path: str | Path, why: str, *, trust: bool) -> None:
    """Refuse to load a file that can run code, unless the user says that they trust it.

    Args:
        path: the file.
        why: what loading it can do.
        trust: whether the user said so here; ``trust_files`` says it for all.

    Raises:
        HeartsError: if they have not.
    """
    if not (trust or is_trusting()):
        raise HeartsError(
            f"trust: loading {quoted(str(path))} can run any code that is in it ({why}); if you "
            "trust whoever made it, add --trust, or in Python make_agent(path, trust=True)"
        )
