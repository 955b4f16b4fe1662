"""Equilibria of small decks by counterfactual regret minimisation, compiled.

Both players improve in turns. A player's information set keeps, for each action, the *regret* of
not having always played it, weighted by chance and by the other player's plan (Zinkevich et al.
2007), and plays in proportion to positive regrets. The average of all plans so played converges to
an equilibrium. Four ways to count the regrets r of iteration t into the sum R, to choose by it,
and to weigh the plans:

| algorithm | regrets | chances | weight |
|---|---|---|---|
| `cfr+`: Tammelin 2014 | R = max(R + r, 0) | R | t |
| `pcfr+`: Farina, Kroer, Sandholm 2021 | R = max(R + r, 0) | max(R + r, 0) | t^2 |
| `pdcfr+`: Xu et al. 2024 | R = max(d R + r, 0) | max(d' R + r, 0) | t^5 |
| `dcfr`: Brown, Sandholm 2019 | R = d R + r | max(R, 0) | t^2 |

In the chances of `pcfr+` and `pdcfr+` the same r once more foretells the next one. In `pdcfr+` d is
(t - 1)^2.3 / ((t - 1)^2.3 + 1), d' the next d; in `dcfr` it is t^1.5 / (t^1.5 + 1) where R > 0,
else 1/2.

One turn is one pass back over the player's information sets, which collects what each sequence
earns and changes regrets and chances, and one pass forward, which makes the new plan. Hands of one
player never meet in a sequence, so that threads take hands of their own. All sums are made in the
same order whatever the number of threads: the result does not depend on it.
"""

from __future__ import annotations

import itertools
import math
import os
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env._jit import jit
from hearts_env._workers import Workers
from hearts_env.errors import CheckpointError, HeartsError, did_you_mean, quoted
from hearts_env.interrupts import held_interrupt, noted_interrupt
from hearts_env.rules import Rules
from hearts_env.solve.archive import FORMAT, VERSION, Archive, check_folder, opened, write_archive
from hearts_env.solve.best_response import Chances, exploitability
from hearts_env.solve.tree import (
    DEFAULT_MEMORY,
    GROUPS,
    Floats,
    Side,
    Tree,
    backward_mean,
    check_memory,
    check_rules,
    estimate,
)

ALGORITHMS = ("pdcfr+", "pcfr+", "cfr+", "dcfr")
DEFAULT_ALGORITHM = "pdcfr+"
SHIPPED = ("micro", "mini")
"""Decks whose policies come with the package, for ``load``."""
DEFAULT_TARGET = 1e-5
"""Exploitability, in points a deal, at which solving ends where nothing else is said."""

_PLUS, _PREDICTIVE, _DISCOUNTED = range(3)
_KINDS = {"cfr+": _PLUS, "pcfr+": _PREDICTIVE, "pdcfr+": _PREDICTIVE, "dcfr": _DISCOUNTED}
_WEIGHT = {"cfr+": 1.0, "pcfr+": 2.0, "pdcfr+": 5.0, "dcfr": 2.0}
_SHARED_FROM = 100_000  # lines; below that threads cost more than they save
_CHECK_EVERY = 1.2  # exploitability is computed each time the iterations have grown so much ...
_LONGEST = 200  # ... or by so many
_FIRST_SAVE, _SAVE_EVERY = 2.0, 60.0  # seconds; between the two, each wait is twice the last
_MOST_LOOKS = 20_000  # points of a curve that are kept
_MOST_ITERATIONS = 10**12
_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Checkpoint:
    """How far the solving has come.

    Attributes:
        iteration: Iterations done; in one, both players have had their turn.
        seconds: Time for them, that for exploitability not counted.
        exploitability: Of the average so far.
        value: What the first leader is ahead, in points a deal, in the average so far.
        seconds_left: An estimate of the time left; None while there is none.
    """

    iteration: int
    seconds: float
    exploitability: float
    value: float
    seconds_left: float | None = None


@dataclass(frozen=True)
class HandValue:
    """What a hand is worth.

    Attributes:
        hand: Its cards.
        value: The points by which its player is ahead on average over the other's hands.
        share: The share of the deals in which the player has it.
    """

    hand: tuple[str, ...]
    value: float
    share: float


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Policies of both players and how near to an equilibrium they are.

    Attributes:
        tree: The game tree that the policies are for.
        algorithm: How they were found.
        chances: The chances of every action of either player, one a sequence of the tree.
        value: What the first leader is ahead, in points a deal, where both play so.
        exploitability: What a best response to them wins in the mean over both seats.
        iterations: How many it took.
        seconds: How long, the tree and the figures not counted.
        curve: Exploitability as it went down.
        interrupted: Whether it was stopped by a signal before it was done.
        signal: The number of that signal; 0 for none.
    """

    tree: Tree
    algorithm: str
    chances: Chances
    value: float
    exploitability: float
    iterations: int = 0
    seconds: float = 0.0
    curve: tuple[Checkpoint, ...] = ()
    interrupted: bool = False
    signal: int = 0

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.tree.rules

    @property
    def megabytes(self) -> float:
        """Memory of the arrays of tree and solver while it worked, in 10^6 bytes."""
        return self.tree.size.gigabytes * 1000

    def hand_values(self, player: int = 0) -> list[HandValue]:
        """What each hand of `player` is worth, the best first; player 0 is the first leader."""
        tree, side = self.tree, self.tree.sides[player]
        values = tree.gradient(player, tree.sides[1 - player].plan(self.chances[1 - player]))
        backward_mean(side.parent, side.first, self.chances[player], values)
        counts = tree.deals_of_hands[player]
        found = [
            HandValue(tree.hand(mask), float(value) * tree.num_deals / n, n * own / tree.num_deals)
            for mask, own, value, n in zip(
                side.hands, side.reach, values, counts.tolist(), strict=False
            )
            if n > 0
        ]
        return sorted(found, key=lambda h: (-h.value, h.hand))

    def save(self, path: str | Path) -> None:
        """Write the policies into a small file, rounded to 1/65535; whole or not at all.

        Where a player never gets to by its own play nothing is kept: there it plays uniformly.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for p, side in enumerate(self.tree.sides):
            plan = side.plan(self.chances[p])
            reached = plan[side.parent] > 1e-7
            counts = np.diff(side.first)
            kept = np.repeat(reached, counts)
            parts = np.rint(self.chances[p][len(side.hands) :] * 65535)
            arrays[f"chances{p}"] = np.where(kept, parts, 0).astype(np.uint16)
        header = _header(self.tree, "policy", self.algorithm) | {
            "iterations": self.iterations,
            "seconds": self.seconds,
        }
        write_archive(Path(path), header, arrays, compress=True)


def load(path: str | Path, max_memory: float = DEFAULT_MEMORY) -> Equilibrium:
    """The policies in a file that ``Equilibrium.save`` or ``Solver.save`` has written.

    Args:
        path: the file, or ``micro`` or ``mini`` for those that come with the package.
        max_memory: gigabytes that the tree may take.

    Raises:
        CheckpointError: it has none, or they do not fit this version's tree.
    """
    shipped = str(path) if str(path) in SHIPPED else None
    if shipped is not None:
        path = _DATA / f"{shipped}.npz"
    with opened(path, check_memory(max_memory) * 1e9) as file:
        if _kind(file) == "state":
            solver = Solver._restored(file, max_memory)
            solver.curve = [c for c in solver.curve if c.iteration < solver.iteration]
            return solver.result()  # its figures computed, not read
        # A policy that comes with the package is one of a deal, whatever ends a match today.
        tree = _tree(file, max_memory, None if shipped is None else Rules.preset(shipped))
        iterations = _count(file, "iterations")
        seconds = _seconds(file)
        sizes = [side.num_sequences - len(side.hands) for side in tree.sides]
        arrays = file.arrays({f"chances{p}": size for p, size in enumerate(sizes)})
    chances = []
    for p, side in enumerate(tree.sides):
        whole = np.concatenate([np.ones(len(side.hands)), arrays[f"chances{p}"].astype(np.float64)])
        uniform = side.uniform()
        if side.num_infosets:
            sums = np.add.reduceat(whole, side.first[:-1])
            total = np.repeat(np.maximum(sums, 1.0), np.diff(side.first))
            reached = np.repeat(sums > 0, np.diff(side.first))
            rest = whole[len(side.hands) :] / total
            uniform[len(side.hands) :] = np.where(reached, rest, uniform[len(side.hands) :])
        chances.append(_checked(file, side, uniform, f"chances{p}"))
    made = (chances[0], chances[1])
    return Equilibrium(
        tree,
        file.header["algorithm"],
        made,
        tree.value(*made),
        exploitability(tree, made),
        iterations,
        seconds,
    )


# ---- the solver ----------------------------------------------------------------------------------
class Solver:
    """Counterfactual regret minimisation on a tree, step by step.

    Attributes:
        tree: The tree.
        algorithm: One of ``ALGORITHMS``.
        iteration: Iterations done.
        seconds: Time that they took.
        curve: What was found at the looks taken so far (``look``).
    """

    def __init__(
        self, tree: Tree, algorithm: str = DEFAULT_ALGORITHM, num_threads: int | None = None
    ) -> None:
        """Begin with uniform play.

        Args:
            tree: what to solve.
            algorithm: one of ``ALGORITHMS``.
            num_threads: threads that share the work, 1 or 2; None: 2 where there are as many
                processors and enough work. The result does not depend on it.

        Raises:
            HeartsError: an unknown algorithm, or another number of threads.
        """
        self.tree = tree
        self.algorithm = check_algorithm(algorithm)
        self.iteration = 0
        self.seconds = 0.0
        self.curve: list[Checkpoint] = []
        sides = tree.sides
        self._chances = [side.uniform() for side in sides]
        self._regrets = [np.zeros(side.num_sequences) for side in sides]
        self._averages = [np.zeros(side.num_sequences) for side in sides]
        self._values = [np.zeros(side.num_sequences) for side in sides]
        self._plans = [
            side.plan(chances) for side, chances in zip(sides, self._chances, strict=True)
        ]
        if num_threads is None:
            shared = tree.size.lines >= _SHARED_FROM
            num_threads = min(os.cpu_count() or 1, GROUPS) if shared else 1
        if num_threads not in range(1, GROUPS + 1):
            raise HeartsError(
                f"num_threads: {num_threads!r} is out of range; give 1 to {GROUPS}, or None"
            )
        self._workers = Workers(num_threads)
        # Compiled now, so that it is not counted as time for iterations; compilers do not like to
        # be interrupted.
        with held_interrupt():
            self._update(0, 0, 0, 0, 0.0, 0.0, 0.0)

    def step(self) -> None:
        """One iteration: both players' turns."""
        begin = time.perf_counter()
        t = self.iteration + 1
        weight = float(t) ** _WEIGHT[self.algorithm]
        kind = _KINDS[self.algorithm]
        keep = ahead = 1.0
        if self.algorithm == "dcfr":
            keep = _kept(t, 1.5)
        elif self.algorithm == "pdcfr+":
            keep, ahead = _kept(t - 1, 2.3), _kept(t, 2.3)
        for p in range(2):
            self._turn(p, kind, keep, ahead, weight)
        self.iteration = t
        self.seconds += time.perf_counter() - begin

    def _turn(self, p: int, kind: int, keep: float, ahead: float, weight: float) -> None:
        cuts = self.tree.sides[p].cuts
        if self._workers.num_threads == 1:
            self._update(p, 0, cuts[-1], kind, keep, ahead, weight)
            return
        # Two places each make the workers give every thread one group of hands.
        self._workers.share(
            lambda rows, group: self._update(
                p, cuts[group], cuts[group + 1], kind, keep, ahead, weight
            ),
            2 * GROUPS,
        )

    def _update(
        self, p: int, begin: int, end: int, kind: int, keep: float, ahead: float, weight: float
    ) -> None:
        side = self.tree.sides[p]
        _turn(
            begin,
            end,
            side.parent,
            side.first,
            side.start,
            side.column,
            side.payoff,
            1.0 / self.tree.num_deals,
            self._plans[1 - p],
            self._values[p],
            self._chances[p],
            self._regrets[p],
            kind,
            keep,
            ahead,
            weight,
            self._plans[p],
            self._averages[p],
        )

    def chances(self) -> Chances:
        """The policies of the average plans; uniform where they never get to."""
        if self.iteration == 0:
            uniform = [side.uniform() for side in self.tree.sides]
            return uniform[0], uniform[1]
        found = [
            side.chances(average)
            for side, average in zip(self.tree.sides, self._averages, strict=True)
        ]
        return found[0], found[1]

    def look(self) -> Checkpoint:
        """Compute the exploitability of the average, and enter it in the curve."""
        chances = self.chances()
        spread, value = exploitability(self.tree, chances), self.tree.value(*chances)
        found = Checkpoint(self.iteration, self.seconds, spread, value)
        if not self.curve or self.curve[-1].iteration < self.iteration:
            self.curve.append(found)
            if len(self.curve) > _MOST_LOOKS:
                del self.curve[1:-1:2]
        return found

    def result(self) -> Equilibrium:
        """What has been found so far."""
        if not self.curve or self.curve[-1].iteration < self.iteration:
            self.look()
        last = self.curve[-1]
        return Equilibrium(
            self.tree,
            self.algorithm,
            self.chances(),
            last.value,
            last.exploitability,
            self.iteration,
            self.seconds,
            tuple(self.curve),
        )

    # -- files ------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write all that is needed to go on, whole or not at all."""
        arrays = {
            f"{name}{p}": getattr(self, f"_{name}")[p]
            for name in ("chances", "regrets", "averages")
            for p in range(2)
        }
        header = _header(self.tree, "state", self.algorithm) | {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "curve": [[c.iteration, c.seconds, c.exploitability, c.value] for c in self.curve],
        }
        write_archive(Path(path), header, arrays, compress=False)

    @classmethod
    def load(
        cls, path: str | Path, max_memory: float = DEFAULT_MEMORY, num_threads: int | None = None
    ) -> Solver:
        """The solver that was saved, which goes on as if it had never stopped.

        Raises:
            CheckpointError: the file has none, or it does not fit this version's tree.
        """
        with opened(path, check_memory(max_memory) * 1e9) as file:
            if _kind(file) != "state":
                raise CheckpointError(
                    f"{path}: holds a policy alone, with which solving cannot go on; "
                    "give the file that --out has written"
                )
            return cls._restored(file, max_memory, num_threads)

    @classmethod
    def _restored(cls, file: Archive, max_memory: float, num_threads: int | None = None) -> Solver:
        tree = _tree(file, max_memory)
        names = [(name, p) for name in ("chances", "regrets", "averages") for p in range(2)]
        sizes = {f"{name}{p}": tree.sides[p].num_sequences for name, p in names}
        iteration, seconds = _count(file, "iteration"), _seconds(file)
        curve = _curve(file, iteration)
        arrays = file.arrays(sizes)
        solver = cls(tree, file.header["algorithm"], num_threads)
        solver.iteration, solver.seconds, solver.curve = iteration, seconds, curve
        for name, p in names:
            getattr(solver, f"_{name}")[p][:] = arrays[f"{name}{p}"]
        for p, side in enumerate(tree.sides):
            _checked(file, side, solver._chances[p], f"chances{p}")
            if (solver._averages[p] < 0).any():
                raise CheckpointError(f"{file.where}: averages{p} are damaged; solve it again")
            solver._plans[p] = side.plan(solver._chances[p])
        return solver


def _kept(t: int, power: float) -> float:
    """How much of a regret is kept at iteration t."""
    whole = float(t) ** power
    return whole / (whole + 1.0)


def check_algorithm(algorithm: str) -> str:
    """The name of an algorithm.

    Raises:
        HeartsError: there is none of that name.
    """
    if algorithm not in ALGORITHMS:
        raise HeartsError(
            f"algorithm: {algorithm!r} is unknown; {did_you_mean(str(algorithm), ALGORITHMS)}"
        )
    return algorithm


def solve(
    game: Solver | Tree | Rules | str,
    algorithm: str = DEFAULT_ALGORITHM,
    *,
    target: float | None = None,
    iterations: int | None = None,
    seconds: float | None = None,
    max_memory: float = DEFAULT_MEMORY,
    num_threads: int | None = None,
    save_to: str | Path | None = None,
    progress: Callable[[Checkpoint], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Equilibrium:
    """Find an equilibrium: until the target is met, or iterations or seconds are used up.

    A signal (Ctrl-C, SIGTERM, SIGHUP) ends it after the present iteration with what has been found,
    marked as interrupted.

    Args:
        game: the rules, their tree, or a solver that goes on.
        algorithm: one of ``ALGORITHMS``; a solver has its own.
        target: exploitability in points a deal; None: 1e-5 if nothing else ends it.
        iterations: at most so many in all.
        seconds: at most so many for iterations, those of a resumed solver counted in.
        max_memory: gigabytes that tree and solver may take.
        num_threads: as in ``Solver``.
        save_to: a file for the solver's state, written at once, soon again, then every minute, and
            at the end. Let one process at a time use it.
        progress: called at each look at the exploitability.
        warn: told where the state could not be written, which is then tried again; None: a warning
            of Python's.

    Raises:
        HeartsError: the tree would be too large, or an argument cannot be.
        OSError: the state cannot be written, at the beginning or at the end.
    """
    target = _check_above(target, "target")
    seconds = _check_above(seconds, "seconds")
    iterations = None if iterations is None else int(_check_above(iterations, "iterations") or 0)
    check_algorithm(algorithm)
    if target is None and iterations is None and seconds is None:
        target = DEFAULT_TARGET
    if isinstance(game, Solver):
        solver = game
    else:
        tree = game if isinstance(game, Tree) else Tree(check_rules(game), max_memory)
        solver = Solver(tree, algorithm, num_threads)
    if save_to is not None:
        check_folder(Path(save_to))

    def is_over(found: Checkpoint) -> bool:
        return (
            (target is not None and found.exploitability <= target)
            or (iterations is not None and solver.iteration >= iterations)
            or (seconds is not None and solver.seconds >= seconds)
        )

    keeper = None if save_to is None else _Keeper(solver, Path(save_to), warn)
    with noted_interrupt() as interrupted:
        if keeper is not None:
            keeper.save()
        found = solver.look()
        while not is_over(found) and not interrupted():
            due = _next_look(solver.iteration)
            if iterations is not None:
                due = min(due, iterations)
            while solver.iteration < due and not interrupted():
                solver.step()
                if seconds is not None and solver.seconds >= seconds:
                    break
            found = solver.look()
            if progress is not None:
                left = _seconds_left(solver.curve, target, iterations, seconds)
                progress(
                    Checkpoint(
                        found.iteration, found.seconds, found.exploitability, found.value, left
                    )
                )
            if keeper is not None:
                keeper.save_when_due()
        if keeper is not None:
            keeper.save()
        number = 0 if is_over(found) else interrupted()
        return replace(solver.result(), interrupted=bool(number), signal=number)


class _Keeper:
    """Keeps a solver's state in a file while it works."""

    def __init__(self, solver: Solver, path: Path, warn: Callable[[str], None] | None) -> None:
        self.solver, self.path = solver, path
        self.warn = warn or (lambda text: warnings.warn(text, RuntimeWarning, stacklevel=4))
        self.wait = min(_FIRST_SAVE, _SAVE_EVERY)
        self.due = time.monotonic() + self.wait

    def save(self) -> None:
        """Write the state now."""
        self.solver.save(self.path)

    def save_when_due(self) -> None:
        """Write the state if it is time to; where that fails, say so and try again later."""
        if time.monotonic() < self.due:
            return
        try:
            self.save()
        except OSError as error:
            self.warn(
                f"{self.path}: the state could not be written: {error.strerror or error}; what was "
                "there stands, and it is tried again"
            )
        self.wait = min(2 * self.wait, _SAVE_EVERY)
        self.due = time.monotonic() + self.wait


def _check_above(value: float | None, name: str) -> float | None:
    if value is None:
        return None
    try:
        is_number = not isinstance(value, bool) and 0 < value < math.inf
    except TypeError:
        is_number = False
    if not is_number:
        raise HeartsError(f"{name}: {value!r} is out of range; give a number above 0, or None")
    return value


def _next_look(iteration: int) -> int:
    """At which iteration to look next, whatever happened before."""
    due = 1
    while due <= iteration:
        step = int(due * _CHECK_EVERY) + 1 - due
        if step >= _LONGEST:  # from here on always by so many
            return due + _LONGEST * ((iteration - due) // _LONGEST + 1)
        due += step
    return due


def _seconds_left(
    curve: list[Checkpoint],
    target: float | None,
    iterations: int | None,
    seconds: float | None,
) -> float | None:
    """How long it may still take: exploitability goes on falling as a power of the iterations."""
    last = curve[-1]
    if last.iteration == 0 or last.seconds == 0.0:
        return None
    estimates = []
    if seconds is not None:
        estimates.append(seconds - last.seconds)
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


# ---- files ---------------------------------------------------------------------------------------
def _header(tree: Tree, kind: str, algorithm: str) -> dict[str, Any]:
    if type(tree) is not Tree:
        raise HeartsError(
            f"{type(tree).__name__.lower()}: files are for whole decks; solve it again"
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "rules": tree.rules.to_dict(),
        "tree": _digest(tree),
        "algorithm": algorithm,
    }


def _digest(tree: Tree) -> int:
    """A number that tells trees apart whose sequences are numbered otherwise."""
    digest = 0
    for side in tree.sides:
        for array in (side.hands, side.parent, side.first, side.legal):
            digest = zlib.crc32(np.ascontiguousarray(array).tobytes(), digest)
    return digest


def _kind(file: Archive) -> str:
    """What a file holds: a policy or a state.

    Raises:
        CheckpointError: neither, or of an unknown algorithm.
    """
    kind, algorithm = file.header.get("kind"), file.header.get("algorithm")
    if kind not in ("policy", "state"):
        raise CheckpointError(f"{file.where}: holds neither a policy nor a state: {quoted(kind)}")
    if algorithm not in (ALGORITHMS if kind == "state" else (*ALGORITHMS, "lp")):
        raise CheckpointError(f"{file.where}: its algorithm {quoted(algorithm)} is unknown")
    return str(kind)


def _tree(file: Archive, max_memory: float, rules: Rules | None = None) -> Tree:
    """The tree of a file's rules, or of `rules`, which is the one that the file was made with.

    Raises:
        CheckpointError: rules that cannot be played, or another tree.
    """
    try:
        rules = check_rules(rules or Rules.from_dict(file.header.get("rules", {})))
    except (HeartsError, TypeError) as error:
        raise CheckpointError(f"{file.where}: its rules cannot be played: {error}") from None
    # Building a tree may take minutes, which a file of a few kilobytes cannot be worth.
    if sum(estimate(rules, samples=30).sequences) > 100 * (file.most_numbers + 100):
        raise CheckpointError(f"{file.where}: has too few numbers for its rules; solve it again")
    tree = Tree(rules, max_memory)
    if file.header.get("tree") != _digest(tree):
        raise CheckpointError(
            f"{file.where}: its information sets are numbered otherwise than here; "
            "install the version that wrote it, or solve it again"
        )
    return tree


def _count(file: Archive, name: str) -> int:
    value = file.header.get(name)
    if type(value) is not int or not 0 <= value <= _MOST_ITERATIONS:
        raise CheckpointError(f"{file.where}: {name} is {quoted(value)}; solve it again")
    return value


def _seconds(file: Archive) -> float:
    value = file.header.get("seconds")
    if type(value) not in (int, float) or not 0 <= value < 1e15:
        raise CheckpointError(f"{file.where}: seconds is {quoted(value)}; solve it again")
    return float(value)


def _curve(file: Archive, iteration: int) -> list[Checkpoint]:
    """The looks that a state has kept, in order."""
    rows: Any = file.header.get("curve")
    curve: list[Checkpoint] = []
    try:
        curve = [Checkpoint(i, float(s), float(e), float(v)) for i, s, e, v in rows]
        counts = [-1, *(row[0] for row in rows)]
        ascend = all(
            type(count) is int and before < count <= iteration
            for before, count in itertools.pairwise(counts)
        )
        finite = all(map(math.isfinite, itertools.chain.from_iterable(rows)))
    except (TypeError, ValueError, KeyError, OverflowError):
        ascend = finite = False
    if not (ascend and finite):
        raise CheckpointError(f"{file.where}: its curve is damaged; solve it again")
    return curve


def _checked(file: Archive, side: Side, chances: Floats, name: str) -> Floats:
    """Chances that make a policy."""
    try:
        return side.check(chances, name)
    except HeartsError as error:
        raise CheckpointError(f"{file.where}: {error}; solve it again") from None


# ---- compiled ------------------------------------------------------------------------------------
@jit
def _turn(
    begin: int,
    end: int,
    parent: NDArray[np.int32],
    first: NDArray[np.int32],
    start: NDArray[np.int64],
    column: NDArray[np.int32],
    payoff: NDArray[np.int32],
    scale: float,
    other_plan: Floats,
    values: Floats,
    chances: Floats,
    regrets: Floats,
    kind: int,
    keep: float,
    ahead: float,
    weight: float,
    plan: Floats,
    average: Floats,
) -> None:
    """One player's turn in the information sets from `begin` to before `end`, in place.

    `values` is zero where it matters before and after: it carries what later information sets
    earn back to the sequences that lead to them.
    """
    for i in range(end - 1, begin - 1, -1):
        low = first[i]
        high = first[i + 1]
        mean = 0.0
        for j in range(low, high):
            earned = 0.0
            for line in range(start[j], start[j + 1]):
                earned += payoff[line] * other_plan[column[line]]
            values[j] += earned * scale
            mean += chances[j] * values[j]
        values[parent[i]] += mean
        total = 0.0
        for j in range(low, high):
            regret = values[j] - mean
            values[j] = 0.0
            old = regrets[j]
            if kind == _DISCOUNTED:
                new = old * (keep if old > 0.0 else 0.5) + regret
                choose = max(new, 0.0)
            else:
                new = max(old * keep + regret, 0.0)
                choose = max(new * ahead + regret, 0.0) if kind == _PREDICTIVE else new
            regrets[j] = new
            chances[j] = choose
            total += choose
        if total > 0.0:
            inverse = 1.0 / total
            for j in range(low, high):
                chances[j] *= inverse
        else:
            even = 1.0 / (high - low)
            for j in range(low, high):
                chances[j] = even
    for i in range(begin, end):
        reach = plan[parent[i]]
        for j in range(first[i], first[i + 1]):
            now = reach * chances[j]
            plan[j] = now
            average[j] += weight * now
