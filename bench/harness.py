"""What the scripts of this folder share: their options, rounds in turn, and the record of a run."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hearts_env import __version__
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import platform_versions

K = TypeVar("K")
T = TypeVar("T")


def options(doc: str | None, *, has_out: bool = True) -> argparse.ArgumentParser:
    """The command line of a script, described by its docstring."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if has_out:
        parser.add_argument("--out", type=Path, metavar="FILE", help="a JSON file for the figures")
    return parser


def in_turn(
    contestants: Mapping[K, Callable[[], T]], rounds: int, *, warm: int = 1
) -> dict[K, list[T]]:
    """What each contestant gives in each round; all take turns, so that a slow moment slows all.

    The first `warm` rounds are not counted: they compile and load.
    """
    found: dict[K, list[T]] = {name: [] for name in contestants}
    for number in range(warm + rounds):
        for name, measure in contestants.items():
            given = measure()
            if number >= warm:
                found[name].append(given)
    return found


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write(out: Path | None, facts: Mapping[str, Any], *, command: str | None = None) -> None:
    """Write figures with what they were measured by, if a file is asked for.

    Args:
        out: the file; None: nothing is written.
        facts: the figures.
        command: what made them; None: the words of this script's command line.
    """
    if out is None:
        return
    script = Path(sys.argv[0]).name
    made = command or shlex.join(["python", f"bench/{script}", *sys.argv[1:]])
    origin = {"version": __version__, "platform": platform_versions(), "command": made}
    write_json(out, origin | dict(facts))
