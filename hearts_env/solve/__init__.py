"""Exact answers about small games: the double-dummy value of positions, cards and worlds."""

from hearts_env.solve.double_dummy import (
    Solution,
    TranspositionTable,
    solve_batch,
    solve_double_dummy,
    solve_worlds,
)

__all__ = ["Solution", "TranspositionTable", "solve_batch", "solve_double_dummy", "solve_worlds"]
