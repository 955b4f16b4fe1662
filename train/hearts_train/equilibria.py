"""Solve a small deck: run a solver to a target, save its state, and stop at a signal.

``hearts_env.solve.equilibrium`` has the solver and its result.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hearts_env import Rules
from hearts_env.solve.equilibrium import Equilibrium, Solver
from hearts_env.solve.solved_files import Checkpoint
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.arguments import check_number, check_path, check_positive
from hearts_env.support.files import check_output
from hearts_env.support.interrupts import noted_interrupt

DEFAULT_TARGET = 1e-5
"""The default exploitability, in points per deal, at which solving ends."""

_CHECK_EVERY = 1.2  # exploitability is computed each time the iterations have grown by this factor
_LONGEST = 200  # ... or by this many
_SAVE_EVERY = 60.0  # seconds, or more for states that take long to save
_SAVE_SHARE = 0.05  # of the time at most


def solve(
    game: Solver | Tree | Rules | str,
    *,
    target: float | None = None,
    iterations: int | None = None,
    save_to: str | Path | None = None,
    progress: Callable[[Checkpoint], None] | None = None,
    stopping: Callable[[], None] | None = None,
) -> Equilibrium:
    """Find an equilibrium. Stop at the target or after the given number of iterations.

    A signal (Ctrl-C, SIGTERM, SIGHUP) ends the work after the current iteration, and the result is
    marked as interrupted. A second signal raises KeyboardInterrupt at once. `save_to` then keeps
    the last state written.

    Args:
        game: the rules, their tree, or a solver to continue.
        target: the exploitability at which to stop, in points per deal. If None, 1e-5, or no target
            if `iterations` is given.
        iterations: the most iterations in all. If None, no limit.
        save_to: a file for the solver's state, written at the start, every minute, and at the end.
            One process at a time may use it. If a write in between fails, a warning says so and the
            next write tries again. If None, nothing is saved.
        progress: called each time the exploitability is computed. If None, nothing is called.
        stopping: called when the first signal comes. If None, nothing is called.

    Raises:
        HeartsError: if the tree would be too large, or an argument is invalid.
        OSError: if the first or last write of the state fails.
    """
    if target is not None:
        target = check_positive("target", target, ", or None")
    if iterations is not None:
        iterations = check_number("iterations", iterations, 1, None, other=", or None")
    if target is None and iterations is None:
        target = DEFAULT_TARGET
    if isinstance(game, Solver):
        solver = game
    else:
        solver = Solver(game if isinstance(game, Tree) else Tree(game))
    file = None if save_to is None else _StateFile(solver, check_path("save_to", save_to))

    def is_over(found: Checkpoint) -> bool:
        return (target is not None and found.exploitability <= target) or (
            iterations is not None and solver.iteration >= iterations
        )

    with noted_interrupt(stopping, twice=True) as interrupted:
        if file is not None:
            file.save()
        found = solver.look()
        while not is_over(found) and not interrupted():
            due = _next_look(solver.iteration)
            if iterations is not None:
                due = min(due, iterations)
            while solver.iteration < due and not interrupted():
                solver.step()
            found = solver.look()
            if progress is not None:
                left = _seconds_left(solver.curve, target, iterations)
                progress(replace(found, seconds_left=left))
            if file is not None:
                file.save_when_due()
        if file is not None:
            file.save()
        stopped = bool(interrupted()) and not is_over(found)
        return replace(solver.result(), interrupted=stopped)


class _StateFile:
    """The file of a solver's state."""

    def __init__(self, solver: Solver, path: Path) -> None:
        check_output(path, "save_to")
        self.solver, self.path = solver, path
        self.due = clock.now() + _SAVE_EVERY

    def save(self) -> None:
        """Write the state now."""
        self.solver.save(self.path)

    def save_when_due(self) -> None:
        """Write the state if it is due. If that fails, warn and try again later."""
        begin = clock.now()
        if begin < self.due:
            return
        try:
            self.save()
        except OSError as error:
            warnings.warn(
                f"{self.path}: the state could not be written: {error.strerror or error}; the file "
                "is unchanged, and the next save tries again",
                stacklevel=3,
            )
        now = clock.now()
        self.due = now + max(_SAVE_EVERY, (now - begin) / _SAVE_SHARE)


def _next_look(iteration: int) -> int:
    """Return the next iteration at which to compute the exploitability."""
    due = 1
    while due <= iteration:
        step = int(due * _CHECK_EVERY) + 1 - due
        if step >= _LONGEST:  # constant from here on
            return due + _LONGEST * ((iteration - due) // _LONGEST + 1)
        due += step
    return due


def _seconds_left(
    curve: list[Checkpoint], target: float | None, iterations: int | None
) -> float | None:
    """Estimate the seconds left. Exploitability falls about as a power of the iterations."""
    last = curve[-1]
    if last.iteration == 0 or last.seconds == 0.0:
        return None
    estimates = []
    each = last.seconds / last.iteration
    if iterations is not None:
        estimates.append((iterations - last.iteration) * each)
    if target is not None and last.exploitability > target:
        past = next((c for c in curve if 4 * c.iteration >= last.iteration > c.iteration > 0), None)
        if past is not None and past.exploitability > last.exploitability:
            power = math.log(past.exploitability / last.exploitability) / math.log(
                last.iteration / past.iteration
            )
            growth = (last.exploitability / target) ** (1.0 / max(power, 0.25))
            estimates.append(last.iteration * (growth - 1.0) * each)
    return max(min(estimates), 0.0) if estimates else None
