"""Equilibria of small decks by counterfactual regret minimisation, compiled.

Both players improve in turn. In an information set, the *regret* of an action is the gain from
always having played it, weighted by chance and by the opponent's plan (Zinkevich et al. 2007).
Play is proportional to positive regrets, and the average of all plans converges to an equilibrium.
``hearts_env.solve.regret`` implements the algorithm, PDCFR+.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.solve.best_response import Profile, exploitability
from hearts_env.solve.regret import Lines, Memory, Sets, Update, go_back, improve, update_of, weigh
from hearts_env.solve.side import Side, backward_best, follow
from hearts_env.solve.solved_files import (
    ARRAYS,
    Checkpoint,
    Saved,
    read_solved,
    write_solved,
)
from hearts_env.solve.tree import DEFAULT_MEMORY, Tree, add_lines, check_memory, sum_lines
from hearts_env.support import clock
from hearts_env.support.arguments import check_number, check_path
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import CheckpointError
from hearts_env.support.interrupts import held_interrupt
from hearts_env.support.tables import ResultTable
from hearts_env.support.workers import Threads

SHIPPED = ("micro", "mini")
"""Decks with policies in the package, for ``load``."""

_TASK, _MOST_TASKS = 100_000, 32  # the fewest lines of a task, and the most tasks
_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Policies of both players, and how exploitable they are.

    Attributes:
        tree: the game tree of the policies.
        chances: the probability of each sequence of either player.
        value: the margin of the first leader between these policies, in points per deal.
        exploitability: the margin of a best response, the mean over both seats.
        iterations: the number of iterations.
        seconds: the time of the iterations, without building the tree and computing figures.
        curve: the exploitability at several iterations.
        interrupted: True if a signal stopped the solver early.
    """

    tree: Tree
    chances: Profile
    value: float
    exploitability: float
    iterations: int = 0
    seconds: float = 0.0
    curve: tuple[Checkpoint, ...] = ()
    interrupted: bool = False

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.tree.rules

    @property
    def megabytes(self) -> float:
        """The memory for the arrays of tree and solver during solving, in 10^6 bytes."""
        return self.tree.size.gigabytes * 1000

    def table(self) -> ResultTable:
        """Return the figures as a table of one row."""
        columns = ("value to the leader", "exploitability", "iterations", "seconds", "array memory")
        row = [
            f"{self.value:+.9f}" + " (stopped)" * self.interrupted,
            f"{max(self.exploitability, 0.0):.2e}",
            f"{self.iterations:,}",
            f"{self.seconds:.1f}",
            f"{self.megabytes:,.0f} MB" if self.megabytes >= 1 else "< 1 MB",
        ]
        title = f"{self.rules.name}: value and exploitability in points per deal"
        return ResultTable(title, columns, [row])

    def __str__(self) -> str:
        return str(self.table())

    def save(self, path: str | Path) -> None:
        """Write the policies into a small file, rounded to 1/65535, whole or not at all.

        Information sets that a player never reaches by its own play are left out. There the loaded
        policy is uniform.
        """
        arrays = {f"chances{p}": chances for p, chances in enumerate(self.chances)}
        saved = Saved("policy", self.tree, self.iterations, self.seconds, arrays)
        write_solved(check_path("path", path), saved)


def load(path: str | Path, max_memory: float = DEFAULT_MEMORY) -> Equilibrium:
    """Return the policies from a file written by ``Equilibrium.save`` or ``Solver.save``.

    Args:
        path: the file, or the text ``micro`` or ``mini`` for the policies in the package.
        max_memory: the most memory of the tree, in gigabytes.

    Raises:
        CheckpointError: if the file has no policies, or they do not fit this version's tree.
    """
    file, rules = check_path("path", path), None
    if isinstance(path, str) and path in SHIPPED:
        # A policy in the package is for single deals: the preset's match rules may change.
        file, rules = shipped_file(path), Rules.preset(path)
    saved = read_solved(file, check_memory(max_memory), rules)
    tree, arrays, curve = saved.tree, saved.arrays, tuple(saved.curve)
    if saved.kind == "state":
        first, second = (tree.sides[p].chances(arrays[f"averages{p}"]) for p in range(2))
    else:
        first, second = arrays["chances0"], arrays["chances1"]
    value, spread = tree.value(first, second), exploitability(tree, (first, second))
    done = saved.iterations, saved.seconds
    return Equilibrium(tree, (first, second), value, spread, *done, curve)


def shipped_file(name: str) -> Path:
    """Return the file of a policy in the package, by its name in ``SHIPPED``."""
    return _DATA / f"{name}.safetensors"


# ---- the solver ----------------------------------------------------------------------------------
class Solver:
    """Counterfactual regret minimisation on a tree, step by step.

    Attributes:
        tree: the tree.
        iteration: the number of iterations done.
        seconds: the time of the iterations.
        curve: the results of ``look`` so far.
    """

    def __init__(
        self,
        tree: Tree,
        num_threads: int | None = None,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        """Begin with uniform play.

        Args:
            tree: the tree to solve.
            num_threads: the number of threads that share the work. If None, one per processor if
                there is enough work. The result does not depend on the number.
            arrays: the arrays of a saved state, used without a copy. If None, uniform play.

        Raises:
            HeartsError: if the number of threads is out of range.
        """
        self.tree = tree
        self.iteration = 0
        self.seconds = 0.0
        self.curve: list[Checkpoint] = []
        self._cuts = self._tasks()
        if num_threads is None:
            num_threads = min(os.cpu_count() or 1, len(self._cuts) - 1)
        num_threads = check_number("num_threads", num_threads, 1, _MOST_TASKS, other=", or None")
        self._threads = Threads(num_threads)
        sides = tree.sides
        sizes = [side.num_sequences for side in sides]
        if arrays is None:
            self._chances = [side.uniform() for side in sides]
            self._regrets, self._averages = ([np.zeros(n) for n in sizes] for _ in range(2))
        else:
            self._chances, self._regrets, self._averages = (
                [arrays[f"{name}{p}"] for p in range(2)] for name in ARRAYS["state"]
            )
        # Both players use this memory in turn: for the earnings of their sequences, and for the
        # opponent's plan.
        self._values, self._plan = np.zeros(max(sizes)), np.zeros(max(sizes))
        bases = [int(side.first[side.top]) for side in sides]
        self._tops = [np.zeros((len(self._cuts) - 1, base)) for base in bases]
        self._sets: list[Sets] = [
            (side.parent, side.first, base) for side, base in zip(sides, bases, strict=True)
        ]
        # Compile now: compiling must not count as time for iterations, nor be interrupted.
        with held_interrupt():
            memory, lines = self._memory(0), self._lines(0)
            marks, update, top = np.zeros((1, 2), np.int64), update_of(1), self._tops[0][0]
            go_back(marks, lines, self._plan, 1, self._sets[0], memory, top, update)
            improve(0, 0, self._sets[0], memory, top, update)
            weigh(0, 0, self._plan, 1.0, self._averages[0])
        self._follow(1)

    def _tasks(self) -> list[int]:
        """Return the marks that divide the tree into tasks of whole branches."""
        marks = self.tree.marks
        begins, lines = np.flatnonzero(marks[:, 3]), int(marks[-1, 0])
        number = min(1 + lines // _TASK, _MOST_TASKS)
        even = np.arange(number) * lines / number
        cuts = begins[np.searchsorted(marks[begins, 0], even)]
        return sorted({*cuts.tolist(), len(marks) - 1})

    def _memory(self, p: int) -> Memory:
        return self._values, self._chances[p], self._regrets[p]

    def _lines(self, p: int) -> Lines:
        return self.tree.ends[p], self.tree.ends[1 - p], self.tree.margins

    def step(self) -> None:
        """Do one iteration: a turn of each player."""
        begin = clock.now()
        t = self.iteration + 1
        update = update_of(t)
        for p in range(2):
            self._turn(p, update)
        self.iteration = t
        self.seconds += clock.now() - begin

    def _turn(self, p: int, update: Update) -> None:
        """Do a player's turn: pass back over the tree against the opponent's plan, make a new plan.

        Values are multiplied by the number of deals, which does not change the policies.
        """
        side, sets = self.tree.sides[p], self._sets[p]
        memory, lines = self._memory(p), self._lines(p)
        marks = np.ascontiguousarray(self.tree.marks[:, [0, 1 + p]])

        def work(task: int) -> None:
            some = marks[self._cuts[task] : self._cuts[task + 1] + 1]
            go_back(some, lines, self._plan, 1 - 2 * p, sets, memory, self._tops[p][task], update)

        self._share(work)
        top = self._tops[p].sum(0)
        self._tops[p][:] = 0.0
        base = len(top)
        self._values[:base] = top
        improve(0, side.top, (*sets[:2], 0), memory, top, update)
        self._values[:base] = 0.0
        self._follow(p, update.weight)

    def _follow(self, p: int, weight: float = 0.0) -> None:
        """Make a player's plan, and add it times `weight` to the average."""
        side, plan = self.tree.sides[p], self._plan
        plan[: len(side.hands)] = 1.0
        infosets = self.tree.marks[self._cuts, 1 + p].tolist()

        def forward(begin: int, end: int) -> None:
            first = side.first[begin : end + 1]
            follow(side.parent[begin:end], first, self._chances[p], plan)
            if weight:
                weigh(int(first[0]), int(first[-1]), plan, weight, self._averages[p])

        forward(0, side.top)
        if weight:
            weigh(0, len(side.hands), plan, weight, self._averages[p])
        self._share(lambda task: forward(infosets[task], infosets[task + 1]))

    def _share(self, work: Callable[[int], None]) -> None:
        """Do all tasks in threads, each of which takes one task after the other."""
        tasks = iter(range(len(self._cuts) - 1))

        def take(_thread: int) -> None:
            for task in tasks:
                work(task)

        self._threads.each(take)

    def chances(self) -> Profile:
        """Return the policies of the average plans, uniform where these have probability 0."""
        first, second = map(Side.chances, self.tree.sides, self._averages)
        return first, second

    def look(self) -> Checkpoint:
        """Compute the exploitability of the average plans, and add it to the curve."""
        spread, value = self._figures()
        found = Checkpoint(self.iteration, self.seconds, spread, value)
        if not self.curve or self.curve[-1].iteration < self.iteration:
            self.curve.append(found)
        return found

    def _figures(self) -> tuple[float, float]:
        """Return exploitability and value of the average plans without copying them."""
        tree, plans = self.tree, self._averages
        if not self.iteration:
            plans = list(map(Side.plan, tree.sides, self._chances))
        scale = 1.0 / float(plans[0][0])  # an empty sequence has the sum of all weights
        won = 0.0
        for p, side in enumerate(tree.sides):
            values = self._values[: side.num_sequences]
            own, other = tree.ends[p], tree.ends[1 - p]
            add_lines(own, other, tree.margins, plans[1 - p], 1.0 - 2 * p, values)
            backward_best(side.parent, side.first, values)
            won += float(values[: len(side.hands)].sum())
            values[:] = 0.0
        value = float(sum_lines(tree.ends, tree.margins, plans[0], plans[1])) * scale * scale
        return won * scale / tree.num_deals / 2, value / tree.num_deals

    def result(self) -> Equilibrium:
        """Return the equilibrium found so far."""
        if not self.curve or self.curve[-1].iteration < self.iteration:
            self.look()
        last = self.curve[-1]
        return Equilibrium(
            self.tree,
            self.chances(),
            last.value,
            last.exploitability,
            self.iteration,
            self.seconds,
            tuple(self.curve),
        )

    # -- files ------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the state that is needed to continue, whole or not at all."""
        done = (self.iteration, self.seconds)
        write_solved(
            check_path("path", path), Saved("state", self.tree, *done, self._state(), self.curve)
        )

    def _state(self) -> dict[str, Floats]:
        """Return the arrays to save."""
        names = ARRAYS["state"]
        return {f"{name}{p}": getattr(self, f"_{name}")[p] for name in names for p in range(2)}

    @classmethod
    def load(
        cls, path: str | Path, max_memory: float = DEFAULT_MEMORY, num_threads: int | None = None
    ) -> Solver:
        """Return a saved solver. It continues as if it had never stopped.

        Raises:
            CheckpointError: if the file has no state, or the state does not fit this version's
                tree.
        """
        saved = read_solved(check_path("path", path), check_memory(max_memory))
        if saved.kind != "state":
            raise CheckpointError(
                f"{path}: has only a policy, so solving cannot continue from it; "
                "give a file that --save has written"
            )
        solver = cls(saved.tree, num_threads, saved.arrays)
        solver.iteration, solver.seconds = saved.iterations, saved.seconds
        # The exploitability of the state itself is computed again: a file may say anything.
        solver.curve = [point for point in saved.curve if point.iteration < saved.iterations]
        return solver
