"""Policies and solvers' states in files: written whole, and read with every check.

A file is a safetensors file. Nothing in it can run code, and it takes no more memory than its size
until its figures agree with the tree that its rules need. The header:

| key | value |
|---|---|
| `format` | `hearts-env equilibrium` |
| `version` | `2` |
| `about` | JSON: `kind` (policy or state), `rules`, `algorithm`, `sequences` (how many of each player), `tree` (a number that tells trees apart), `seconds`; `iterations` of a policy; `iteration` and `curve` of a state |
| `digest` | of everything else |

Of a state the tensors are ``chances0``, ``regrets1``, ...: float64, one number a sequence. Of a
policy ``chances0`` and ``chances1``: packed by zlib, 16 bits for each sequence but the empty ones,
65535 for certain and all zeros where the player never gets to by its own play.
"""  # noqa: E501

from __future__ import annotations

import itertools
import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.solve.best_response import Profile
from hearts_env.solve.regret import ALGORITHMS
from hearts_env.solve.side import Side
from hearts_env.solve.tree import Tree, check_rules, estimate
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.tensors import DIGEST, Tensors, digest_of, read_tensors, write_tensors

FORMAT, VERSION = "hearts-env equilibrium", 2

STATE_ARRAYS = ("chances", "regrets", "averages")
"""What a state keeps of each player, one number a sequence."""

MOST_HEADER = 16 * 2**20
"""Bytes of a header at most; that of a state whose curve has 20,000 points takes a sixteenth."""

CurvePoint = tuple[int, float, float, float]
"""Of a ``Checkpoint``: iteration, seconds, exploitability, value."""

_CERTAIN = 65535
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


# ---- writing -------------------------------------------------------------------------------------
def write_policy(path: Path, policy: SavedPolicy) -> None:
    """Write policies, rounded to 1/65535, whole or not at all.

    Raises:
        HeartsError: the tree is not one of a whole deck, or the folder is not there.
        OSError: the file cannot be written.
    """
    tensors: Tensors = {}
    for p, side in enumerate(policy.tree.sides):
        reached = side.plan(policy.chances[p])[side.parent] > 1e-7
        parts = np.rint(policy.chances[p][len(side.hands) :] * _CERTAIN)
        parts[~np.repeat(reached, np.diff(side.first))] = 0
        packed = zlib.compress(parts.astype("<u2").tobytes(), 9)
        tensors[f"chances{p}"] = np.frombuffer(packed, np.uint8)
    _write(path, tensors, "policy", policy, iterations=policy.iterations)


def write_state(path: Path, state: SavedState) -> None:
    """Write a solver's state, whole or not at all, without a second copy in memory.

    Raises:
        HeartsError: the tree is not one of a whole deck, or the folder is not there.
        OSError: the file cannot be written.
    """
    _write(path, state.arrays, "state", state, iteration=state.iteration, curve=state.curve)


def _write(
    path: Path, tensors: Tensors, kind: str, saved: SavedPolicy | SavedState, **figures: Any
) -> None:
    tree = saved.tree
    if type(tree) is not Tree:
        raise HeartsError(
            f"{type(tree).__name__.lower()}: files are for whole decks; solve it again"
        )
    check_folder(path)
    about = {
        "kind": kind,
        "rules": tree.rules.to_dict(),
        "algorithm": saved.algorithm,
        "sequences": [side.num_sequences for side in tree.sides],
        "tree": _number_of(tree),
        "seconds": saved.seconds,
        **figures,
    }
    text = json.dumps(about, allow_nan=False)
    write_tensors(path, tensors, {"format": FORMAT, "version": str(VERSION), "about": text})


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there.

    Raises:
        HeartsError: it is not.
    """
    if not path.parent.is_dir():
        raise HeartsError(f"save_to: there is no folder {str(path.parent)!r}; make it first")


def _number_of(tree: Tree) -> int:
    """A number that tells trees apart whose sequences are numbered otherwise."""
    digest = 0
    for side in tree.sides:
        for array in (side.hands, side.parent, side.first, side.legal):
            digest = zlib.crc32(np.ascontiguousarray(array).tobytes(), digest)
    return digest


# ---- reading -------------------------------------------------------------------------------------
def read_solved(
    path: str | Path, max_memory: float, rules: Rules | None = None
) -> SavedPolicy | SavedState:
    """The policies or the state in a file.

    Args:
        path: the file.
        max_memory: gigabytes that it, and the tree of its rules, may take.
        rules: those that the file was made with; None: as it says.

    Raises:
        CheckpointError: it is something else, is damaged, or does not fit this version's tree.
    """
    return _Reader(path, max_memory).saved(max_memory, rules)


class _Reader:
    """A file of ``hearts solve``, its header and tensors read, and checked piece by piece."""

    def __init__(self, path: str | Path, max_memory: float) -> None:
        where = str(path) if str(path).isprintable() else quoted(str(path))
        self.where = where
        if kind_of(path) != "file":
            raise CheckpointError(f"{where[:300]}: there is no such file; check the path")
        size = Path(path).stat().st_size
        if size > max_memory * 1e9 + MOST_HEADER:
            raise self._bad(
                f"is larger than {max_memory:g} GB; allow more (max_memory), or give another file"
            )
        with Path(path).open("rb") as file:
            start = file.read(8)
        if start.startswith(b"PK"):
            raise self._bad(
                "is of an earlier version (.npz), which is not read any more; make it again with "
                "hearts solve DECK, --policy FILE for a player, --save FILE for a state"
            )
        try:
            if int.from_bytes(start, "little") > min(size, MOST_HEADER):
                raise CheckpointError("header: it is too large; give another file")
            self.tensors, header = read_tensors(Path(path))
        except CheckpointError as error:
            raise self._bad(
                f"is not a whole file of `hearts solve` ({error}); it was cut short, or is "
                "something else"
            ) from None
        if header.get("format") != FORMAT:
            raise self._bad("is not a file of `hearts solve`; give one that is")
        if header.get("version") != str(VERSION):
            raise self._bad(
                f"is of version {quoted(header.get('version'))}, this package reads {VERSION}; "
                "install the version that wrote it"
            )
        if header.get(DIGEST) != digest_of(self.tensors, header):
            raise self._bad(
                "its content is not what was written (digest); the file is damaged: take another "
                "copy, or solve it again"
            )
        try:
            self.about: Any = json.loads(header["about"])
        except (KeyError, ValueError, RecursionError):
            self.about = None
        if not isinstance(self.about, dict):
            raise self._bad("its header is damaged; solve it again")

    def saved(self, max_memory: float, rules: Rules | None) -> SavedPolicy | SavedState:
        """What the file holds."""
        kind = self._one_of("kind", ("policy", "state"))
        algorithms = ALGORITHMS if kind == "state" else (*ALGORITHMS, "lp")
        algorithm = self._one_of("algorithm", algorithms)
        seconds = self.about.get("seconds")
        if type(seconds) not in (int, float) or not 0 <= seconds < 1e15:
            raise self._bad(f"seconds is {quoted(seconds)}; solve it again", seconds)
        count = self._count("iterations" if kind == "policy" else "iteration")
        curve = self._curve(count) if kind == "state" else []
        tree = self._tree(max_memory, rules)
        if kind == "policy":
            chances = [self._unpacked(p, side) for p, side in enumerate(tree.sides)]
            return SavedPolicy(tree, algorithm, (chances[0], chances[1]), count, float(seconds))
        self._check_state(tree)
        return SavedState(tree, algorithm, count, float(seconds), curve, self.tensors)

    def _tree(self, max_memory: float, rules: Rules | None) -> Tree:
        """The tree of the file's rules, or of `rules`, which is the one it was made with."""
        try:
            rules = check_rules(rules or Rules.from_dict(self.about.get("rules", {})))
        except (HeartsError, TypeError) as error:
            raise self._bad(f"its rules cannot be played: {error}") from None
        stated = self.about.get("sequences")
        if not isinstance(stated, list) or [type(n) for n in stated] != [int, int]:
            raise self._bad("sequences is damaged; solve it again")
        # Building a tree may take minutes, which a file of a few kilobytes cannot be worth.
        if sum(estimate(rules, samples=30).sequences) > 100 * (sum(stated) + 100):
            raise self._bad("has too few numbers for its rules; solve it again")
        tree = Tree(rules, max_memory)
        if self.about.get("tree") != _number_of(tree):
            raise self._bad(
                "its information sets are numbered otherwise than here; install the version that "
                "wrote it, or solve it again"
            )
        return tree

    def _check_state(self, tree: Tree) -> None:
        names = {f"{name}{p}": p for name in STATE_ARRAYS for p in range(2)}
        self._check_names(set(names))
        for name, p in names.items():
            side, array = tree.sides[p], self.tensors[name]
            if array.shape != (side.num_sequences,) or array.dtype != np.float64:
                raise self._bad(f"{name} is of another size than its rules need; solve it again")
            if not np.isfinite(array).all():
                raise self._bad(f"{name} has values that are not finite; solve it again")
            if name.startswith("chances"):
                self._policy(side, array, name)
            if name.startswith("averages") and (array < 0).any():
                raise self._bad(f"{name} are damaged; solve it again")

    def _unpacked(self, p: int, side: Side) -> Floats:
        """The chances of a player in a policy; uniform where it never gets to."""
        name, hands = f"chances{p}", len(side.hands)
        self._check_names({"chances0", "chances1"})
        size = 2 * (side.num_sequences - hands)
        try:
            parts = zlib.decompressobj().decompress(self.tensors[name].tobytes(), size + 1)
        except zlib.error:
            parts = b""
        if len(parts) != size:
            raise self._bad(f"{name} is of another size than its rules need; solve it again")
        chances = side.uniform()
        if side.num_infosets:
            numbers = np.concatenate([np.ones(hands), np.frombuffer(parts, "<u2")])
            sums = np.add.reduceat(numbers, side.first[:-1])
            total = np.repeat(np.maximum(sums, 1.0), np.diff(side.first))
            reached = np.repeat(sums > 0, np.diff(side.first))
            chances[hands:] = np.where(reached, numbers[hands:] / total, chances[hands:])
        return self._policy(side, chances, name)

    def _check_names(self, names: set[str]) -> None:
        if set(self.tensors) != names:
            raise self._bad(
                f"other arrays than {', '.join(sorted(names))} are in it; solve it again"
            )

    def _policy(self, side: Side, chances: Floats, name: str) -> Floats:
        """Chances that make a policy."""
        try:
            return side.check(chances, name)
        except HeartsError as error:
            raise self._bad(f"{error}; solve it again") from None

    def _one_of(self, name: str, known: tuple[str, ...]) -> str:
        value = self.about.get(name)
        if value not in known:
            raise self._bad(f"its {name} {quoted(value)} is unknown; solve it again", value)
        return str(value)

    def _count(self, name: str) -> int:
        value = self.about.get(name)
        if type(value) is not int or not 0 <= value <= _MOST_ITERATIONS:
            raise self._bad(f"{name} is {quoted(value)}; solve it again", value)
        return value

    def _curve(self, iteration: int) -> list[CurvePoint]:
        """The looks that a state has kept, in order."""
        rows: Any = self.about.get("curve")
        try:
            curve = [(i, float(s), float(e), float(v)) for i, s, e, v in rows]
            counts = [-1, *(row[0] for row in rows)]
            ascend = all(
                type(count) is int and before < count <= iteration
                for before, count in itertools.pairwise(counts)
            )
            if ascend and all(map(math.isfinite, itertools.chain.from_iterable(rows))):
                return curve
        except (TypeError, ValueError, KeyError, OverflowError):
            pass
        raise self._bad("its curve is damaged; solve it again")

    def _bad(self, why: str, value: Any = None) -> CheckpointError:
        return CheckpointError(f"{self.where}: {why}", value=value)
