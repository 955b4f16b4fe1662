"""Distinct rows of an array, so that equal rows are computed once."""

from __future__ import annotations

import numpy as np

from hearts_env.support.arrays import Array, Ints


def distinct(rows: Array) -> tuple[Ints, Ints]:
    """Return the first of each group of equal rows, ascending, and the group of each row.

    Args:
        rows: ``(n, ...)``, compared byte by byte.

    Returns:
        ``(kinds,)`` and ``(n,)``.
    """
    groups: dict[bytes, int] = {}
    of = np.array([groups.setdefault(row.tobytes(), len(groups)) for row in rows], np.int64)
    return np.unique(of, return_index=True)[1], of
