"""Policies and solvers' states in files: what stands in them, written, and read with every check.

How a file is built is told in ``hearts_env.solve.archive``.
"""

from __future__ import annotations

import itertools
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.solve.archive import FORMAT, VERSION, Archive, write_archive
from hearts_env.solve.best_response import Profile
from hearts_env.solve.regret import ALGORITHMS
from hearts_env.solve.side import Side
from hearts_env.solve.tree import Tree, check_rules, estimate
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import CheckpointError, HeartsError, quoted

STATE_ARRAYS = ("chances", "regrets", "averages")
"""What a state keeps of each player, one number a sequence."""

CurvePoint = tuple[int, float, float, float]
"""Of a ``Checkpoint``: iteration, seconds, exploitability, value."""

_MOST_ITERATIONS = 10**12


@dataclass(frozen=True, eq=False)
class SavedPolicy:
    """What a file of policies holds; see ``Equilibrium``."""

    tree: Tree
    algorithm: str
    chances: Profile
    iterations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class SavedState:
    """What a file with a solver's state holds; see ``Solver``.

    Its arrays are named by `STATE_ARRAYS` and the player, as ``regrets1``.
    """

    tree: Tree
    algorithm: str
    iteration: int
    seconds: float
    curve: list[CurvePoint]
    arrays: dict[str, Array]


# ---- policies ------------------------------------------------------------------------------------
def write_policy(
    path: Path, tree: Tree, algorithm: str, chances: Profile, iterations: int, seconds: float
) -> None:
    """Write policies, rounded to 1/65535, whole or not at all.

    Raises:
        HeartsError: the tree is not one of a whole deck, or the folder is not there.
        OSError: the file cannot be written.
    """
    arrays: dict[str, Array] = {}
    for p, side in enumerate(tree.sides):
        reached = side.plan(chances[p])[side.parent] > 1e-7
        kept = np.repeat(reached, np.diff(side.first))
        parts = np.rint(chances[p][len(side.hands) :] * 65535)
        arrays[f"chances{p}"] = np.where(kept, parts, 0).astype(np.uint16)
    header = _header(tree, "policy", algorithm) | {"iterations": iterations, "seconds": seconds}
    write_archive(path, header, arrays, compress=True)


def read_policy(file: Archive, max_memory: float, rules: Rules | None = None) -> SavedPolicy:
    """The policies in a file, of its own rules or of `rules`, which it was made with.

    Raises:
        CheckpointError: they are damaged, or do not fit this version's tree.
    """
    tree = _tree(file, max_memory, rules)
    iterations, seconds = _count(file, "iterations"), _seconds(file)
    sizes = [side.num_sequences - len(side.hands) for side in tree.sides]
    arrays = file.arrays({f"chances{p}": size for p, size in enumerate(sizes)})
    chances = [
        _checked(file, side, _whole(side, arrays[f"chances{p}"]), f"chances{p}")
        for p, side in enumerate(tree.sides)
    ]
    profile = chances[0], chances[1]
    return SavedPolicy(tree, file.header["algorithm"], profile, iterations, seconds)


def _whole(side: Side, parts: Array) -> Floats:
    """The chances of a player from what was written of them; uniform where that is nothing."""
    hands = len(side.hands)
    uniform = side.uniform()
    if side.num_infosets:
        numbers = np.concatenate([np.ones(hands), parts.astype(np.float64)])
        sums = np.add.reduceat(numbers, side.first[:-1])
        total = np.repeat(np.maximum(sums, 1.0), np.diff(side.first))
        reached = np.repeat(sums > 0, np.diff(side.first))
        uniform[hands:] = np.where(reached, numbers[hands:] / total, uniform[hands:])
    return uniform


# ---- states --------------------------------------------------------------------------------------
def write_state(path: Path, state: SavedState) -> None:
    """Write a solver's state, whole or not at all.

    Raises:
        HeartsError: the tree is not one of a whole deck, or the folder is not there.
        OSError: the file cannot be written.
    """
    header = _header(state.tree, "state", state.algorithm) | {
        "iteration": state.iteration,
        "seconds": state.seconds,
        "curve": state.curve,
    }
    write_archive(path, header, state.arrays, compress=False)


def read_state(file: Archive, max_memory: float) -> SavedState:
    """The state in a file.

    Raises:
        CheckpointError: it is damaged, or does not fit this version's tree.
    """
    tree = _tree(file, max_memory)
    names = [(name, p) for name in STATE_ARRAYS for p in range(2)]
    sizes = {f"{name}{p}": tree.sides[p].num_sequences for name, p in names}
    iteration, seconds = _count(file, "iteration"), _seconds(file)
    curve = _curve(file, iteration)
    arrays = file.arrays(sizes)
    for p, side in enumerate(tree.sides):
        _checked(file, side, arrays[f"chances{p}"], f"chances{p}")
        if (arrays[f"averages{p}"] < 0).any():
            raise CheckpointError(f"{file.where}: averages{p} are damaged; solve it again")
    return SavedState(tree, file.header["algorithm"], iteration, seconds, curve, arrays)


# ---- what both have ------------------------------------------------------------------------------
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


def kind_of_content(file: Archive) -> str:
    """What a file holds: a policy or a state.

    Raises:
        CheckpointError: neither, or of an unknown algorithm.
    """
    kind, algorithm = file.header.get("kind"), file.header.get("algorithm")
    if kind not in ("policy", "state"):
        raise CheckpointError(
            f"{file.where}: {quoted(kind)} is neither a policy nor a state; solve it again"
        )
    if algorithm not in (ALGORITHMS if kind == "state" else (*ALGORITHMS, "lp")):
        raise CheckpointError(
            f"{file.where}: its algorithm {quoted(algorithm)} is unknown; solve it again",
            value=algorithm,
        )
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
        raise CheckpointError(
            f"{file.where}: {name} is {quoted(value)}; solve it again", value=value
        )
    return value


def _seconds(file: Archive) -> float:
    value = file.header.get("seconds")
    if type(value) not in (int, float) or not 0 <= value < 1e15:
        raise CheckpointError(
            f"{file.where}: seconds is {quoted(value)}; solve it again", value=value
        )
    return float(value)


def _curve(file: Archive, iteration: int) -> list[CurvePoint]:
    """The looks that a state has kept, in order."""
    rows: Any = file.header.get("curve")
    curve: list[CurvePoint] = []
    try:
        curve = [(i, float(s), float(e), float(v)) for i, s, e, v in rows]
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
    """Profile that make a policy."""
    try:
        return side.check(chances, name)
    except HeartsError as error:
        raise CheckpointError(f"{file.where}: {error}; solve it again") from None
