"""The clock that limits work, decides when to save, and times what is shown.

Call it as ``clock.now()``: tests set another ``now``. What is only measured and reported may read
``time`` itself.
"""

from __future__ import annotations

import time

now = time.perf_counter
"""Seconds since some moment, as a float that never goes back."""
