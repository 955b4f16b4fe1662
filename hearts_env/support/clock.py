"""The clock for time limits, for the next save and for displayed times.

Call it as ``clock.now()``, because tests replace ``now``. Code that only measures and reports may
read ``time`` itself.
"""

from __future__ import annotations

import time

now = time.perf_counter
"""Seconds since some moment, as a float that never decreases."""
