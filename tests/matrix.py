"""The lowest, the pinned and the newest dependencies under every Python: ``make matrix``.

For each Python that is found, and each set of dependencies, a virtual environment is made in a
temporary folder; in it run tests/digests.py (also with ``-O``, random hash seed and more threads),
the command line and a few quick tests. Two rows have the
extras ``train`` and ``solve`` as well; torch is then the newest that is found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
MINORS = (11, 12, 13)
TOOLS = ("pytest", "hypothesis")  # of the extra "test"
TESTS = ["tests/test_infos.py", "tests/test_imports.py"]
TRAIN_TESTS = ["tests/test_vector_env.py"]
CHOSEN = "not does_not_depend_on"  # the long one of test_infos.py


@dataclass(frozen=True)
class Row:
    """A Python, and which versions of which packages."""

    python: str
    name: str  # of the Python, like "3.12.1"
    versions: str  # lowest, pinned or newest
    train: bool = False

    @property
    def title(self) -> str:
        return f"{self.name}, {self.versions}{', with train' if self.train else ''}"


@dataclass
class Result:
    """The result of a row: the versions installed, and what agreed or failed."""

    versions: dict[str, str]
    digests: str
    tests: str
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.digests == "equal" and "failed" not in self.tests and "passed" in self.tests


def requirements(row: Row) -> list[str]:
    """What pip is to install for a row."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    given = [Requirement(text) for text in project["dependencies"]]
    given += [r for text in extras["test"] if (r := Requirement(text)).name in TOOLS]
    if row.train:
        given += [Requirement(text) for text in extras["train"]]
    version = ".".join(row.name.split(".")[:2])
    wanted = []
    for requirement in given:
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"python_version": version}):
            continue
        floor = next(s.version for s in requirement.specifier if s.operator == ">=")
        # Of torch there is often but one build for a machine; it is as old as others allow.
        exact = row.versions == "lowest" and requirement.name != "torch"
        wanted.append(f"{requirement.name}=={floor}" if exact else f"{requirement.name}>={floor}")
    return wanted


def call(command: Sequence[str], **environment: str) -> tuple[int, str]:
    """Exit status and output; numba's cache and imports are the row's own."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def run(row: Row, scratch: Path) -> Result:
    """Make the row's environment and run everything in it."""
    began = time.perf_counter()
    folder = scratch / row.title.replace(", ", "-").replace(" ", "-")
    python = str(folder / "bin" / "python")
    constraints = ["-c", "constraints.txt"] if row.versions == "pinned" else []
    for command in (
        [row.python, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", *constraints, *requirements(row)],
    ):
        status, output = call(command)
        if status:
            return Result({}, "not installed", output.strip()[-300:], time.perf_counter() - began)
    _, listed = call([python, "-m", "pip", "list", "--format", "json"])
    packages = json.loads(listed[listed.index("[{") :].splitlines()[0])
    versions = {package["name"].lower(): package["version"] for package in packages}
    own = {
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "agents", "train")),
    }
    digests = "equal"
    ways: list[tuple[list[str], int, str]] = [([], 1, "0"), (["-O"], 3, "random")]
    for flags, threads, hashes in ways:
        status, output = call(
            [python, *flags, "tests/digests.py", "--threads", str(threads)],
            **own,
            PYTHONHASHSEED=hashes,
        )
        if status:
            digests = output.strip().splitlines()[-1]
            print(output)
            break
    hearts = "import sys; from hearts_train.cli import main; sys.argv[0] = 'hearts'; main()"
    failed = []
    for arguments in (["--help"], ["rules", "two_player"], ["evaluate", "--help"]):
        status, output = call([python, "-c", hearts, *arguments], **own)
        if status:
            print(output)
            failed.append(f"hearts {' '.join(arguments)} failed")
    tests = TESTS + (TRAIN_TESTS if row.train else [])
    status, output = call(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", "-k", CHOSEN, *tests],
        **own,
    )
    if status:
        print(output[-6000:])
    last = output.strip().splitlines()[-1].partition(" in ")[0].strip("= ")
    shutil.rmtree(folder)
    result = Result(versions, digests, "; ".join([last, *failed]), time.perf_counter() - began)
    print(f"{row.title}: {result}", flush=True)
    return result


def pythons(given: Sequence[str]) -> list[tuple[str, str]]:
    """Each Python that works, once: its path and its version."""
    found: dict[str, str] = {}
    for path in [*given, sys.executable, *(f"python3.{minor}" for minor in MINORS)]:
        try:
            status, output = call([path, "-c", "import platform; print(platform.python_version())"])
        except OSError:
            continue
        minor = output.strip().rpartition(".")[0]
        if not status and minor in [f"3.{number}" for number in MINORS]:
            found.setdefault(minor, f"{path} {output.strip()}")
    return [(path, name) for path, _, name in (found[m].rpartition(" ") for m in sorted(found))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--python", action="append", default=[], help="a Python that is not in PATH"
    )
    parser.add_argument("--only", help="rows whose words contain this")
    parser.add_argument("--workers", type=int, default=2, help="rows side by side")
    parser.add_argument("--no-train", action="store_true", help="leave the large rows out")
    arguments = parser.parse_args()
    rows = [
        Row(path, name, versions)
        for path, name in pythons(arguments.python)
        for versions in ("lowest", "pinned", "newest")
    ]
    if not arguments.no_train:
        rows += [
            Row(r.python, r.name, r.versions, True) for r in rows[:3] if r.versions != "pinned"
        ]
    rows = [row for row in rows if not arguments.only or arguments.only in row.title]
    with (
        tempfile.TemporaryDirectory(prefix="hearts-matrix-") as scratch,
        ThreadPoolExecutor(arguments.workers) as workers,
    ):
        done = workers.map(lambda row: run(row, Path(scratch)), rows)
        results = dict(zip(rows, done, strict=True))
    if not all(result.is_good for result in results.values()):
        sys.exit("not every row agrees")


if __name__ == "__main__":
    main()
