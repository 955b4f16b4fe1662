"""Exact answers about small games: the double-dummy value of positions, cards and worlds."""

from hearts_env.solve.double_dummy import Solution, Table, solve, solve_batch, solve_worlds

__all__ = ["Solution", "Table", "solve", "solve_batch", "solve_worlds"]
