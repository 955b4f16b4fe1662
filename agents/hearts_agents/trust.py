"""Whether the user trusts whoever made a file that can run code when it is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from hearts_env import HeartsError
from hearts_env.support.errors import quoted

TRUST = "HEARTS_ALLOW_CODE"
"""The environment variable that is 1 where files that can run code may be loaded.

It is one, so that the processes that a command starts load them too.
"""


def allow_code() -> None:
    """Let this process, and those that it starts, load files that can run code."""
    os.environ[TRUST] = "1"


def is_code_allowed() -> bool:
    """Whether files that can run code may be loaded."""
    return os.environ.get(TRUST) == "1"


def check_code_allowed(path: str | Path, why: str, *, allow_code: bool) -> None:
    """Refuse to load a file that can run code, unless the user says that they trust it.

    Args:
        path: the file.
        why: what loading it can do.
        allow_code: whether the user said so here; the function ``allow_code`` says it for all.

    Raises:
        HeartsError: if they have not.
    """
    if not (allow_code or is_code_allowed()):
        raise HeartsError(
            f"allow_code: loading {quoted(str(path))} can run any code that is in it ({why}); if "
            "you trust whoever made it, add --allow-code, or in Python "
            "make_agent(path, allow_code=True)"
        )
