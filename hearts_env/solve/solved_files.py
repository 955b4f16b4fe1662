"""Files of policies and solver states: written whole, and checked completely when read.

They are safetensors files. Nothing in them can run code, and reading takes no more memory than the
file's size until its figures agree with the tree of its rules. The header:

| key | value |
|---|---|
| `format` | `hearts-env equilibrium` |
| `version` | `3` |
| `about` | JSON: `kind` (policy or state), `rules`, `sequences` (the number for each player), `tree` (a checksum of the tree), `seconds`; `iterations` of a policy; `iteration` and `curve` of a state |
| `digest` | the digest of everything else |

A state has the tensors ``chances0``, ``regrets1``, ...: float64, one number per sequence. A policy
has ``chances0`` and ``chances1``: packed by zlib, 16 bits per sequence without the empty ones.
65535 is certainty. An information set is all zeros if the player never reaches it by its own play.
"""  # noqa: E501

from __future__ import annotations

import itertools
import json
import math
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import check_two_players
from hearts_env.solve.side import Side
from hearts_env.solve.tree import Tree
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import json_object, kind_of
from hearts_env.support.tensors import DIGEST, Tensors, digest_of, read_tensors, write_tensors

FORMAT, VERSION = "hearts-env equilibrium", 3
ARRAYS = {"policy": ("chances",), "state": ("chances", "regrets", "averages")}
"""The arrays of each player in a file, one number per sequence, by the file's kind."""
MOST_HEADER = 16 * 2**20
"""The most bytes of a header: 16 times the header of a state with 20,000 points of its curve."""

_CERTAIN = 65535
_MOST_ITERATIONS = 10**12


@dataclass(frozen=True)
class Checkpoint:
    """The progress of a solver.

    Attributes:
        iteration: The number of iterations done. Each has a turn of both players.
        seconds: The time of the iterations, without computing exploitability.
        exploitability: The exploitability of the average so far, in points per deal.
        value: The margin of the first leader in the average so far, in points per deal.
        seconds_left: An estimate of the time left, or None while it is unknown.
    """

    iteration: int
    seconds: float
    exploitability: float
    value: float
    seconds_left: float | None = None


@dataclass(frozen=True, eq=False)
class Saved:
    """The content of a file: the policies of an ``Equilibrium``, or the state of a ``Solver``.

    Attributes:
        kind: ``policy`` or ``state``.
        tree: The game tree.
        iterations: The number of iterations done.
        seconds: The time of the iterations.
        arrays: The arrays of `ARRAYS`, each for both players, such as ``chances0``.
        curve: The exploitability so far; only for a state.
    """

    kind: str
    tree: Tree
    iterations: int
    seconds: float
    arrays: dict[str, Array]
    curve: list[Checkpoint] = field(default_factory=list)


# ---- writing -------------------------------------------------------------------------------------
def write_solved(path: Path, saved: Saved) -> None:
    """Write a file, whole or not at all, without a second copy of a state in memory.

    Raises:
        HeartsError: the folder does not exist.
        OSError: the file cannot be written.
    """
    tree, is_state = saved.tree, saved.kind == "state"
    check_folder(path)
    about = {
        "kind": saved.kind,
        "rules": tree.rules.to_dict(),
        "sequences": [side.num_sequences for side in tree.sides],
        "tree": _number_of(tree),
        "seconds": saved.seconds,
        "iteration" if is_state else "iterations": saved.iterations,
    }
    if is_state:
        about["curve"] = [[c.iteration, c.seconds, c.exploitability, c.value] for c in saved.curve]
    text = json.dumps(about, allow_nan=False)
    tensors = saved.arrays if is_state else _packed(saved)
    write_tensors(path, tensors, {"format": FORMAT, "version": str(VERSION), "about": text})


def check_folder(path: Path) -> None:
    """Raise unless the folder of a file exists.

    Raises:
        HeartsError: it does not.
    """
    if not path.parent.is_dir():
        raise HeartsError(f"save_to: there is no folder {str(path.parent)!r}; make it first")


def _packed(saved: Saved) -> Tensors:
    """Return the probabilities in 16 bits each, zeros where the player's own play never leads."""
    tensors: Tensors = {}
    for name, side in zip(saved.arrays, saved.tree.sides, strict=True):
        chances = saved.arrays[name]
        reached = side.plan(chances)[side.parent] > 1e-7
        parts = np.rint(chances[len(side.hands) :] * _CERTAIN)
        parts[~np.repeat(reached, np.diff(side.first))] = 0
        packed = zlib.compress(parts.astype("<u2").tobytes(), 9)
        tensors[name] = np.frombuffer(packed, np.uint8)
    return tensors


def _number_of(tree: Tree) -> int:
    """Return a checksum of the numbering of a tree's sequences."""
    digest = 0
    arrays = [array for s in tree.sides for array in (s.hands, s.parent, s.first)]
    for array in (*arrays, tree.margins):
        digest = zlib.crc32(np.ascontiguousarray(array).data, digest)
    return digest


# ---- reading -------------------------------------------------------------------------------------
def read_solved(path: str | Path, max_memory: float, rules: Rules | None = None) -> Saved:
    """Return the policies or the state in a file.

    Args:
        path: the file.
        max_memory: the most memory, in gigabytes, of the file and of the tree of its rules.
        rules: the rules of the file. If None, the rules in its header.

    Raises:
        CheckpointError: the file is something else, damaged, or does not fit this version's tree.
    """
    where = str(path) if str(path).isprintable() else quoted(str(path))
    if kind_of(path) != "file":
        raise CheckpointError(f"{where[:300]}: there is no such file; check the path")
    try:
        tensors, about = _opened(Path(path), max_memory)
        return _checked(tensors, about, max_memory, rules)
    except CheckpointError as error:
        raise CheckpointError(f"{where}: {error}", value=error.value) from None


def _opened(path: Path, max_memory: float) -> tuple[Tensors, dict[str, Any]]:
    """Return the arrays and the header's ``about`` of a file, neither of them checked yet."""
    size = path.stat().st_size
    if size > max_memory * 1e9 + MOST_HEADER:
        raise _bad(
            f"is larger than {max_memory:g} GB", "allow more (max_memory), or give another file"
        )
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
    try:
        if header_size > min(size, MOST_HEADER):
            raise CheckpointError("header: it is too large; give another file")
        tensors, header = read_tensors(path)
    except CheckpointError as error:
        raise _bad(
            f"is not a whole file of `hearts solve` ({error})",
            "it was cut short, or is another kind of file",
        ) from None
    if header.get("format") != FORMAT:
        raise _bad("is not a file of `hearts solve`", "give one that is")
    if header.get("version") != str(VERSION):
        raise _bad(
            f"has version {quoted(header.get('version'))}, but this package reads {VERSION}",
            "install the version that wrote it",
        )
    if header.get(DIGEST) != digest_of(tensors, header):
        raise _bad("does not match its digest", "take another copy, or solve it again")
    about = json_object(header.get("about", ""))
    if about is None:
        raise _bad("its header is damaged")
    return tensors, about


def _bad(what: str, fix: str = "solve it again", value: Any = None) -> CheckpointError:
    """Return the error for a file. ``read_solved`` adds the file's name."""
    return CheckpointError("; ".join([what, fix]), value=value)


def _checked(
    tensors: Tensors, about: dict[str, Any], max_memory: float, rules: Rules | None
) -> Saved:
    """Return the content of a file, with every entry checked."""
    kind: Any = about.get("kind")
    seconds: Any = about.get("seconds")
    is_state = kind == "state"
    if kind not in tuple(ARRAYS):
        raise _bad(f"its kind {quoted(kind)} is unknown", value=kind)
    if type(seconds) not in (int, float) or not 0 <= seconds < 1e15:
        raise _bad(f"seconds is {quoted(seconds)}", value=seconds)
    counted = "iteration" if is_state else "iterations"
    count = about.get(counted)
    if type(count) is not int or not 0 <= count <= _MOST_ITERATIONS:
        raise _bad(f"{counted} is {quoted(count)}", value=count)
    curve = _curve(about.get("curve"), count) if is_state else []
    tree = _tree(about, max_memory, rules)
    names = {f"{name}{p}": side for name in ARRAYS[kind] for p, side in enumerate(tree.sides)}
    if set(tensors) != set(names):
        raise _bad(f"its arrays are not {', '.join(sorted(names))}")
    check = _array if is_state else _unpacked
    arrays = {name: check(name, tensors[name], side) for name, side in names.items()}
    return Saved(kind, tree, count, float(seconds), arrays, curve)


def _tree(about: dict[str, Any], max_memory: float, rules: Rules | None) -> Tree:
    """Return the tree of `rules`, or of the file's rules."""
    stated = about.get("sequences")
    if not isinstance(stated, list) or [type(n) for n in stated] != [int, int]:
        raise _bad("sequences is damaged")
    most = sum(stated)
    try:
        rules = rules or Rules.from_dict(about.get("rules", {}))
        check_two_players(rules)
    except (HeartsError, TypeError) as error:
        raise _bad(f"its rules cannot be played: {error}") from None
    # Building a tree may take minutes: check first that the file is large enough for its rules.
    # Either player may be dealt any hand, and each hand has an empty sequence.
    if math.comb(len(rules.deck), rules.hand_size) > most:
        raise _bad("has too few numbers for its rules")
    try:
        tree = Tree(rules, max_memory, most_sequences=most)
    except HeartsError as error:
        raise CheckpointError(str(error)) from None
    if about.get("tree") != _number_of(tree):
        raise _bad(
            "its information sets are numbered differently from here",
            "install the version that wrote it, or solve it again",
        )
    return tree


def _array(name: str, array: Array, side: Side) -> Array:
    """Return a checked array of a state."""
    if array.shape != (side.num_sequences,) or array.dtype != np.float64:
        raise _bad(f"{name} has the wrong size for its rules")
    if not np.isfinite(array).all():
        raise _bad(f"{name} has values that are not finite")
    if name.startswith("averages") and (array < 0).any():
        raise _bad(f"{name} are damaged")
    return _policy(name, array, side) if name.startswith("chances") else array


def _unpacked(name: str, packed: Array, side: Side) -> Floats:
    """Return a player's probabilities from a policy; uniform where the player never gets."""
    hands = len(side.hands)
    size = 2 * (side.num_sequences - hands)
    try:
        parts = zlib.decompressobj().decompress(packed.tobytes(), size + 1)
    except zlib.error:
        parts = b""
    if len(parts) != size:
        raise _bad(f"{name} has the wrong size for its rules")
    chances = side.uniform()
    if side.num_infosets:
        numbers = np.concatenate([np.ones(hands), np.frombuffer(parts, "<u2")])
        sums = np.add.reduceat(numbers, side.first[:-1])
        total = np.repeat(np.maximum(sums, 1.0), np.diff(side.first))
        reached = np.repeat(sums > 0, np.diff(side.first))
        chances[hands:] = np.where(reached, numbers[hands:] / total, chances[hands:])
    return _policy(name, chances, side)


def _policy(name: str, chances: Floats, side: Side) -> Floats:
    """Return probabilities after checking that they make a policy."""
    try:
        return side.check(chances, name)
    except HeartsError as error:
        raise _bad(str(error)) from None


def _curve(rows: Any, iteration: int) -> list[Checkpoint]:
    """Return the points of a state's curve, in order."""
    try:
        curve = [Checkpoint(i, float(s), float(e), float(v)) for i, s, e, v in rows]
        counts = [-1, *(row[0] for row in rows)]
        ascend = all(
            type(count) is int and before < count <= iteration
            for before, count in itertools.pairwise(counts)
        )
        if ascend and all(map(math.isfinite, itertools.chain.from_iterable(rows))):
            return curve
    except (TypeError, ValueError, KeyError, OverflowError):
        pass
    raise _bad("its curve is damaged")
