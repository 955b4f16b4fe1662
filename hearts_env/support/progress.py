"""The interface by which work reports its progress."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

Progress = Callable[..., None]
"""A function called with the work done and the total, in any unit, and sometimes a message."""
Show = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of the named work while a block runs."""


def no_progress(_done: float, _total: float, _message: str = "") -> None:
    """Report nothing."""


def silent(_label: str) -> AbstractContextManager[Progress]:
    """Show nothing."""
    return contextlib.nullcontext(no_progress)
