"""Measure figures of the documentation and write them to ``docs/results``.

Every strength in the docs and in README comes from a file there, by ``docs/tables.py``. A file
holds the output of its commands with ``--json``, and the commands themselves, to measure it again:

    python docs/figures.py champion-pro                    run the commands in its file
    python docs/figures.py mine --run "hearts evaluate my_agent.py:MyAgent --deals 20000"
    python docs/figures.py demo-0 demo-1                   two training runs with evaluations

The commands run one after another in ``build/figures``, which also holds their training runs. A
command that was stopped starts again from the beginning.
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
"""The arguments with which Python runs each program."""


def measure(name: str, commands: Sequence[str]) -> None:
    """Run commands, and write their output with ``--json`` to the file `name`.

    Raises:
        CalledProcessError: if one fails. The file is then unchanged.
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
    """Return the commands in a file of results, or none if there is no such file."""
    path = RESULTS / f"{name}.json"
    record = json.loads(path.read_bytes()) if path.exists() else {}
    return [done["command"] for done in record.get("commands", ())]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the given figures. Return the exit status."""
    parser = argparse.ArgumentParser(description="Measure figures of the docs.")
    parser.add_argument("names", nargs="+", help="files of docs/results, without .json")
    parser.add_argument(
        "--run", action="append", metavar="COMMAND", help="a command to run instead; repeatable"
    )
    given = parser.parse_args(arguments)
    for name in given.names:
        if not (given.run or commands_of(name)):
            print(f"{name}: no commands are recorded; give them with --run", file=sys.stderr)
            return 2
    for name in given.names:
        try:
            measure(name, given.run or commands_of(name))
        except subprocess.CalledProcessError as error:
            return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
