"""Waiting for an event, with a limit that only a hang reaches; nothing waits for a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

HANG = 600.0
"""Seconds; longer than anything takes that ends at all, also on a slow and busy machine."""


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return as soon as it is so."""
    end = time.monotonic() + HANG
    while not is_so():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.005)


def is_running(process: int) -> bool:
    """Whether a process is there; one that has ended and waits to be waited for is not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self/stat").exists()  # a system without /proc
    return stat.rpartition(")")[2].split()[0] != "Z"
