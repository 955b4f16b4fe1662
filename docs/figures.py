"""Measures figures of the documentation, into ``docs/results``.

Every strength in the docs and in README comes from a file there, by ``docs/tables.py``. The file is
what one or more commands print with ``--json``, and names them, so it can be measured again:

    python docs/figures.py champion-pro                    by the commands that its file names
    python docs/figures.py mine --run "hearts evaluate my_agent.py:MyAgent --deals 20000"
    python docs/figures.py demo-0 demo-1                   two trainings, and their evaluations

The commands run one after another in ``build/figures``, where their training runs lie. One that is
stopped begins anew.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hearts_env import __version__
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import platform_versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
WORK = ROOT / "build" / "figures"
_PROGRAMS = {"hearts": ["-m", "hearts_train.cli"], "python": []}
"""How Python runs each program."""


def measure(name: str, commands: Sequence[str]) -> None:
    """Run commands, and write what they print with ``--json`` into a file of this name.

    Raises:
        CalledProcessError: if one fails; the file stays as it was.
    """
    WORK.mkdir(parents=True, exist_ok=True)
    records = []
    for command in commands:
        print(command, file=sys.stderr)
        program, *words = shlex.split(command)
        line = [sys.executable, *_PROGRAMS[program], *words, "--json"]
        done = subprocess.run(line, stdout=subprocess.PIPE, check=True, cwd=WORK)
        records.append({"command": command, "results": json.loads(done.stdout)})
    record = {"version": __version__, "platform": platform_versions(), "commands": records}
    write_json(RESULTS / f"{name}.json", record)


def commands_of(name: str) -> list[str]:
    """The commands that a file of results names; none if there is no such file."""
    path = RESULTS / f"{name}.json"
    record = json.loads(path.read_bytes()) if path.exists() else {}
    return [done["command"] for done in record.get("commands", ())]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the figures given; returns the exit status."""
    parser = argparse.ArgumentParser(description="Measure figures of the docs.")
    parser.add_argument("names", nargs="+", help="files of docs/results, without .json")
    parser.add_argument(
        "--run", action="append", metavar="COMMAND", help="measure by this one; can be repeated"
    )
    given = parser.parse_args(arguments)
    for name in given.names:
        if not (given.run or commands_of(name)):
            print(f"{name}: no file names its commands; give them by --run", file=sys.stderr)
            return 2
    for name in given.names:
        try:
            measure(name, given.run or commands_of(name))
        except subprocess.CalledProcessError as error:
            return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
