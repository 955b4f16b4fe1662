"""Run every example with its library, and write ``docs/results/libraries.json``.

An example is a file ``examples/NAME.py`` with what it needs in ``examples/requirements/NAME.txt``;
the comment at the head of that file says what users of the library must know. Each gets a virtual
environment, is run with ``--smoke``, and leaves its report. If one cannot be installed or fails,
it has no record, and the others continue. ``docs/tables.py`` shows the file in docs/libraries.md.

    python docs/libraries.py                  all examples, one after another
    python docs/libraries.py NAME ...         some; the records of the others stay
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearts_agents.programs.process import kill_child, start_child
from hearts_env.support.errors import did_you_mean
from hearts_env.support.files import write_json
from hearts_env.support.interrupts import exit_status, interruptible

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
RESULTS = ROOT / "docs" / "results" / "libraries.json"
_INSTALL_SECONDS = 1800.0


def names() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.stem for path in EXAMPLES.glob("[a-z]*.py"))


def requirements_file(name: str) -> Path:
    """Return the requirements file of an example."""
    return EXAMPLES / "requirements" / f"{name}.txt"


def requirements(name: str) -> tuple[str, list[str]]:
    """Return the notes on an example's library, and its requirements."""
    notes, wanted = [], []
    for line in requirements_file(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            notes.append(line.removeprefix("#").strip())
        elif line.strip():
            wanted.append(line.strip())
    return " ".join(notes), wanted


def subject(name: str) -> str:
    """Return the first sentence of an example."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    first, _, _ = (ast.get_docstring(tree) or name).partition("\n\n")
    return " ".join(first.split()).removesuffix(".")


class Failed(Exception):
    """The failure of an example or of its installation."""


def call(command: Sequence[str | Path], limit: float, log: Path) -> None:
    """Run a program in the folder of `log` with its output there, and end all its processes.

    Raises:
        Failed: if its exit status is not 0, or it takes longer than `limit` seconds.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with log.open("ab") as out:
        words = ["sh", "-c", 'cd "$0" && exec "$@" >&2 </dev/null', log.parent, *command]
        child = start_child(list(map(str, words)), stderr=out, environment=environment)
        try:
            status = child.wait(limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {limit:.0f} s") from None
        finally:
            kill_child(child)
    if status:
        raise Failed(f"exit status {status}")


def run(name: str, venvs: Path, limit: float) -> dict[str, Any]:
    """Update an example's virtual environment, run it, and return its record.

    Raises:
        Failed: if it cannot be installed, fails, or writes no report.
    """
    venv, (note, wanted) = venvs / name, requirements(name)
    log = venvs / f"{name}.log"
    log.unlink(missing_ok=True)
    python, mark = venv / "bin" / "python", venv / "installed"
    state = requirements_file(name).read_text() + (ROOT / "pyproject.toml").read_text()
    if not mark.exists() or mark.read_text() != state:
        call([sys.executable, "-m", "venv", "--clear", venv], _INSTALL_SECONDS, log)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        needed = ["-r", requirements_file(name), "--editable", ROOT]
        call([*pip, *needed], _INSTALL_SECONDS, log)
        mark.write_text(state)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        call([python, EXAMPLES / f"{name}.py", "--smoke", "--json", report], limit, log)
        if not report.exists():
            raise Failed("it wrote no report")
        found = json.loads(report.read_text(encoding="utf-8"))
    return {"what": subject(name), "note": note, "requirements": wanted, "report": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the given examples. Return the exit status, 1 if one failed."""
    parser = argparse.ArgumentParser(description="Run the examples, each with its library.")
    parser.add_argument("names", nargs="*", help="examples; none: all")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each (600)")
    parser.add_argument("--venvs", type=Path, default=ROOT / "build" / "examples", metavar="FOLDER")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in names():
            print(f"{name}: unknown example; {did_you_mean(name, names())}", file=sys.stderr)
            return 2
    known = json.loads(RESULTS.read_text())["examples"] if RESULTS.exists() else {}
    failed = []
    given.venvs.mkdir(parents=True, exist_ok=True)
    try:
        with interruptible():
            for name in given.names or names():
                known.pop(name, None)
                began = time.monotonic()
                try:
                    known[name] = run(name, given.venvs.resolve(), given.limit)
                    outcome = f"margin {known[name]['report']['after']['margin']:+.2f}"
                except Failed as error:
                    failed.append(name)
                    outcome = f"{error}; see {given.venvs / name}.log"
                print(f"{name}: {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
                examples = {key: known[key] for key in names() if key in known}
                record = {"command": "make examples", "examples": examples}
                write_json(RESULTS, record)
    except KeyboardInterrupt:
        print("stopped; name the remaining examples to continue", file=sys.stderr)
        return exit_status()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
