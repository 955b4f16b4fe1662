"""Tests independent of the clock: wait for events, and compare results without their times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG = 600.0
"""A limit in seconds that only something that never ends exceeds."""


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return as soon as `is_so` returns True."""
    end = time.monotonic() + HANG
    while not is_so():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.005)


def is_running(process: int) -> bool:
    """Return whether a process runs. A zombie does not."""
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
"""Fields that depend on the clock or on the form of the command."""


def timeless(record: Any) -> Any:
    """Return a result without the fields that depend on the clock or on the form of the command."""
    if isinstance(record, dict):
        return {name: timeless(record[name]) for name in record if name not in CLOCK}
    return [timeless(item) for item in record] if isinstance(record, list) else record
