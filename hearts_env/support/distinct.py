"""Distinct rows of an array, so that equal rows are computed once."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from hearts_env.support.arrays import Array, Ints
from hearts_env.support.jit import jit


def distinct(rows: Array) -> tuple[Ints, Ints]:
    """Return the first of each group of equal rows, ascending, and the group of each row.

    Args:
        rows: ``(n, ...)``, compared byte by byte.

    Returns:
        ``(kinds,)`` and ``(n,)``.
    """
    n = len(rows)
    firsts, of = np.zeros(n, np.int64), np.zeros(n, np.int64)
    if n > 1:
        read = np.ascontiguousarray(rows).reshape(n, -1).view(np.uint8)
        table = np.full(2 << n.bit_length(), -1)
        firsts = firsts[: _find_distinct(read, _factors(read.shape[1]), table, firsts, of)]
    return firsts, of


@functools.cache
def _factors(size: int) -> Ints:
    """Return the factor of each byte of a row in the row's hash."""
    return np.random.default_rng(0).integers(1 << 32, size=size)


@jit
def _find_distinct(
    rows: NDArray[np.uint8], factors: Ints, table: Ints, firsts: Ints, of: Ints
) -> int:
    """Write the results of ``distinct``. Return the number of groups.

    `table` is -1 everywhere. Its length is a power of two and more than twice that of `rows`.
    """
    count = 0
    for row in range(len(rows)):
        own, key = rows[row], 0
        for i in range(len(factors)):
            key += own[i] * factors[i]
        place = (key ^ key >> 20) & (len(table) - 1)
        while table[place] >= 0:
            known, differing = rows[firsts[table[place]]], 0
            for i in range(len(factors)):
                differing |= known[i] ^ own[i]
            if not differing:
                break
            place = (place + 1) & (len(table) - 1)
        if table[place] < 0:
            table[place] = count
            firsts[count] = row
            count += 1
        of[row] = table[place]
    return count
