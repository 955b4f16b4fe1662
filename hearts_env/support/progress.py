"""How work reports its progress to its caller, who may show it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

Progress = Callable[..., None]
"""Called with the work done and all of it, in a unit of the work's own, and at times a message."""
Show = Callable[[str], AbstractContextManager[Progress]]
"""Shows, while a block runs, the progress of what is named."""


def no_progress(_done: float, _total: float, _message: str = "") -> None:
    """Report to nobody."""


def silent(_label: str) -> AbstractContextManager[Progress]:
    """Show nothing."""
    return contextlib.nullcontext(no_progress)
