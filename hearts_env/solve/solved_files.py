"""Files of policies and solver states: written whole, and checked against a digest when read.

They are safetensors files. Nothing in them can run code. The header:

| key | value |
|---|---|
| `format` | `hearts-env equilibrium` |
| `version` | `3` |
| `about` | JSON: `kind` (policy or state), `rules`, `tree` (a checksum of the tree), `seconds`, `iterations`; `curve` of a state |
| `digest` | the digest of everything else |

A state has the tensors ``chances0``, ``regrets1``, ...: float64, one number per sequence. Its
averages are the sums of all plans, each times its weight. A policy has ``chances0`` and
``chances1``: packed by zlib, 16 bits per sequence without the empty ones. 65535 is certainty. An
information set is all zeros if the player never reaches it by its own play.
"""  # noqa: E501

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.solve.regret import total_weight
from hearts_env.solve.side import Side
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import (
    MAX_SEED,
    check_choice,
    check_finite,
    check_number,
    check_range,
)
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import check_output, json_object, kind_of
from hearts_env.support.tensors import DIGEST, Tensors, digest_of, read_tensors, write_tensors

FORMAT, VERSION = "hearts-env equilibrium", 3
ARRAYS = {"policy": ("chances",), "state": ("chances", "regrets", "averages")}
"""The arrays of each player in a file, one number per sequence, by the file's kind."""

_CERTAIN = 65535


@dataclass(frozen=True)
class Checkpoint:
    """The progress of a solver.

    Attributes:
        iteration: the number of iterations done. Each has a turn of both players.
        seconds: the time of the iterations, without computing exploitability.
        exploitability: the exploitability of the average so far, in points per deal.
        value: the margin of the first leader in the average so far, in points per deal.
        seconds_left: an estimate of the time left, or None while it is unknown.
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
        tree: the game tree.
        iterations: the number of iterations done.
        seconds: the time of the iterations.
        arrays: the arrays of `ARRAYS`, each for both players, such as ``chances0``.
        curve: the exploitability so far, only for a state.
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
        HeartsError: if the folder of the file does not exist.
        OSError: if the disk is full.
    """
    tree, is_state = saved.tree, saved.kind == "state"
    check_output(path, "save_to")
    about = {
        "kind": saved.kind,
        "rules": tree.rules.to_dict(),
        "tree": _number_of(tree),
        "seconds": saved.seconds,
        "iterations": saved.iterations,
    }
    if is_state:
        about["curve"] = [[c.iteration, c.seconds, c.exploitability, c.value] for c in saved.curve]
    text = json.dumps(about, allow_nan=False)
    tensors = saved.arrays if is_state else _packed(saved)
    write_tensors(path, tensors, {"format": FORMAT, "version": str(VERSION), "about": text})


def _packed(saved: Saved) -> Tensors:
    """Return the probabilities in 16 bits each, zeros where the player's own policy never leads."""
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
        CheckpointError: if the file is of another kind, damaged, or does not fit this version's
            tree.
    """
    if kind_of(path) != "file":
        raise CheckpointError(f"{path}: there is no such file; check the path")
    try:
        return _content(*_opened(Path(path), max_memory), max_memory, rules)
    except HeartsError as error:
        raise CheckpointError(f"{path}: {error}") from None


def _opened(path: Path, max_memory: float) -> tuple[Tensors, dict[str, str]]:
    """Return the undamaged arrays and header of a file."""
    if path.stat().st_size > max_memory * 1e9:
        raise _bad(
            f"is larger than {max_memory:g} GB", "allow more (max_memory), or give another file"
        )
    try:
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
    return tensors, header


def _bad(what: str, fix: str = "solve it again") -> CheckpointError:
    """Return the error for a file. ``read_solved`` adds the file's name."""
    return CheckpointError(f"{what}; {fix}")


def _content(
    tensors: Tensors, header: dict[str, str], max_memory: float, rules: Rules | None
) -> Saved:
    """Return the content of a file. The tree is the one of `rules`, or of the file's rules."""
    about = json_object(header.get("about", ""))
    if about is None:
        raise _bad("its header is damaged")
    kind = check_choice("kind", about.get("kind"), tuple(ARRAYS))
    iterations = check_number("iterations", about.get("iterations"), 0, MAX_SEED)
    seconds = check_range("seconds", about.get("seconds"), 0, math.inf)
    curve = [_point(point) for point in _points(about.get("curve", []))]
    tree = Tree(rules or Rules.from_dict(about.get("rules", ())), max_memory)
    if about.get("tree") != _number_of(tree):
        raise _bad(
            "its information sets are numbered differently here",
            "install the version that wrote it, or solve it again",
        )
    arrays = {}
    for p, side in enumerate(tree.sides):
        for word in ARRAYS[kind]:
            name = f"{word}{p}"
            array = tensors.get(name, np.empty(0))
            if kind == "policy":
                arrays[name] = _unpacked(name, array, side)
            elif array.shape != (side.num_sequences,) or array.dtype != np.float64:
                raise _bad(f"{name} has the wrong size for its rules")
            else:
                _check_state(word, name, array, tree, side, iterations)
                arrays[name] = array
    return Saved(kind, tree, iterations, seconds, arrays, curve)


def _points(curve: object) -> list[Any]:
    """Return the points of an untrusted curve, each still unchecked."""
    if not isinstance(curve, list) or any(not isinstance(c, list) or len(c) != 4 for c in curve):
        raise _bad(f"curve: {quoted(curve)} is not a list of four numbers per point")
    return curve


def _point(point: list[Any]) -> Checkpoint:
    """Return a point of an untrusted curve."""
    return Checkpoint(
        check_number("curve", point[0], 0, MAX_SEED),
        check_range("curve", point[1], 0, math.inf),
        check_finite("curve", point[2]),
        check_finite("curve", point[3]),
    )


def _check_state(
    word: str, name: str, array: Array, tree: Tree, side: Side, iterations: int
) -> None:
    """Raise unless a solver can have this array after this number of iterations."""
    if word == "chances":
        side.check(array, name)
    elif word == "averages":
        side.check_sum(array, total_weight(iterations), name)
    else:
        margin = max(-int(tree.margins.min()), int(tree.margins.max()))
        most = iterations * 2.0 * margin * len(tree.margins)
        if not (array.min() >= 0 and array.max() <= most):  # NaN is neither
            raise _bad(f"{name}: not all regrets are in [0, {most:g}]")


def _unpacked(name: str, packed: Array, side: Side) -> Floats:
    """Return a player's probabilities from a policy, uniform in sets that it never reaches."""
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
        sums, sizes = np.add.reduceat(numbers, side.first[:-1]), np.diff(side.first)
        if ((sums > 0) & (np.abs(sums - _CERTAIN) > sizes)).any():  # each is rounded
            raise _bad(f"{name}: probabilities of an information set do not sum to {_CERTAIN}")
        total = np.repeat(np.maximum(sums, 1.0), sizes)
        reached = np.repeat(sums > 0, sizes)
        chances[hands:] = np.where(reached, numbers[hands:] / total, chances[hands:])
    return side.check(chances, name)
