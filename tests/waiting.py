"""No test depends on the clock: waiting for an event, and results without what the clock says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


CLOCK = ("ms_per_decision", "opponent_ms_per_decision", "seconds", "command")
"""What a result has from the clock, and from how the command was called."""


def timeless(record: Any) -> Any:
    """A result without what depends on the clock, and on how the command was called."""
    if isinstance(record, dict):
        return {name: timeless(record[name]) for name in record if name not in CLOCK}
    return [timeless(item) for item in record] if isinstance(record, list) else record
