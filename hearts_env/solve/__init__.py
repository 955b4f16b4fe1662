"""Exact tools: double-dummy values, beliefs, best responses and equilibria."""

from hearts_env.solve.double_dummy import (
    Solution,
    TranspositionTable,
    solve_batch,
    solve_double_dummy,
    solve_worlds,
)

__all__ = ["Solution", "TranspositionTable", "solve_batch", "solve_double_dummy", "solve_worlds"]
