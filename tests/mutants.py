"""Deliberate faults, each of which a named group of tests must catch: ``make mutants``.

The list is `tests/data/mutants.toml`: a file of the packages, a piece of its text that stands there
once, and the text that replaces it. Each fault is put alone into a scratch copy of the tree, and
its tests are run there until one fails. A fault that no test notices fails the run. Results go to
docs/verification.md.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
LIST = ROOT / "tests" / "data" / "mutants.toml"
PACKAGES = ("hearts_env", "agents", "train")
LONGEST = 600.0
"""Seconds after which the tests of a fault count as failed: it made something endless."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in `file`, `old` becomes `new`."""

    fault: str
    file: str
    old: str
    new: str
    interpreted: tuple[str, ...]
    """Tests that are run first, nothing compiled, which is over sooner."""
    compiled: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """All that must catch it."""
        return self.interpreted + self.compiled

    def apply(self, text: str) -> str:
        """The text of the file with the fault.

        Raises:
            ValueError: `old` does not stand there exactly once.
        """
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.file}: {self.fault}: the text stands there {count} times")
        return text.replace(self.old, self.new)


def load() -> list[Mutant]:
    """All faults of the list."""
    data = tomllib.loads(LIST.read_text(encoding="utf-8"))
    groups, interpreted = data["groups"], data["interpreted"]

    def tests_of(entry: dict[str, str], *, first: bool) -> tuple[str, ...]:
        names = [name for name in entry["tests"].split() if (name in interpreted) == first]
        return tuple(test for name in names for test in groups[name])

    return [
        Mutant(
            entry["fault"],
            entry["file"],
            entry["old"].strip("\n"),
            entry["new"].strip("\n"),
            tests_of(entry, first=True),
            tests_of(entry, first=False),
        )
        for entry in data["mutant"]
    ]


def copy_tree(folder: Path) -> None:
    """Copy what git tracks, and what it would, of this tree."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def run_tests(
    folder: Path, tests: Sequence[str], *, compiled: bool, limit: float | None = LONGEST
) -> tuple[int, str]:
    """Run tests in a copy until one fails: (pytest's exit status, the end of what it printed)."""
    if not tests:
        return 0, ""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(folder / p) for p in ("", "agents", "train")),
        "OMP_NUM_THREADS": "1",
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "",
        *tests,
    ]
    if not compiled:  # NumPy warns of sums beyond 64 bits, which are meant
        command += ["-W", "ignore::RuntimeWarning"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"no end within {limit:g} seconds"
    return done.returncode, done.stdout[-3000:]


@dataclass(frozen=True)
class Result:
    """What came of a fault."""

    mutant: Mutant
    status: int
    seconds: float
    told: str

    @property
    def is_caught(self) -> bool:
        """Whether a test failed, and not the collection of the tests."""
        return self.status == 1


def try_mutant(folder: Path, mutant: Mutant) -> Result:
    """Put one fault into the copy, run its tests, and put the file right again."""
    path = folder / mutant.file
    text = path.read_text(encoding="utf-8")
    begin = time.monotonic()
    path.write_text(mutant.apply(text), encoding="utf-8")
    try:
        status, told = run_tests(folder, mutant.interpreted, compiled=False)
        if not status:
            status, told = run_tests(folder, mutant.compiled, compiled=True)
    finally:
        path.write_text(text, encoding="utf-8")
    return Result(mutant, status, time.monotonic() - begin, told)


def check_unchanged(folder: Path, mutants: Sequence[Mutant]) -> None:
    """Run all tests named, without a fault: they must pass."""
    for compiled in (False, True):
        groups = [m.compiled if compiled else m.interpreted for m in mutants]
        tests = sorted({test for group in groups for test in group})
        status, told = run_tests(folder, tests, compiled=compiled, limit=None)
        if status:
            sys.exit(f"the tests fail without any fault:\n{told}")


def kept_results(path: Path, mutants: Sequence[Mutant]) -> list[Result]:
    """The faults of these that a run which was stopped has seen caught."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    caught = {(row["file"], row["fault"]): row for row in rows if row["status"] == 1}
    return [
        Result(mutant, 1, caught[key]["seconds"], "")
        for mutant in mutants
        if (key := (mutant.file, mutant.fault)) in caught
    ]


def run(
    mutants: Sequence[Mutant], workers: int, *, checked: bool, keep: Path | None = None
) -> list[Result]:
    """Try all faults in scratch copies, several side by side; add each result to a file."""
    results = [] if keep is None else kept_results(keep, mutants)
    done = {id(result.mutant) for result in results}
    total, mutants = len(mutants), [m for m in mutants if id(m) not in done]
    work: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        work.put(mutant)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / str(number) for number in range(workers)]
        for folder in folders:
            copy_tree(folder)
        if checked:
            check_unchanged(folders[0], mutants)

        def go(folder: Path) -> None:
            while True:
                try:
                    mutant = work.get_nowait()
                except queue.Empty:
                    return
                result = try_mutant(folder, mutant)
                results.append(result)
                if keep is not None:
                    row = {
                        "file": mutant.file,
                        "fault": mutant.fault,
                        "status": result.status,
                        "seconds": round(result.seconds, 1),
                    }
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                word = "caught" if result.is_caught else "SURVIVED"
                print(
                    f"{len(results)}/{total} {word} {result.seconds:4.0f} s "
                    f"{mutant.file}: {mutant.fault}",
                    flush=True,
                )
                if not result.is_caught or result.told.startswith("no end"):
                    print(result.told, flush=True)

        threads = [threading.Thread(target=go, args=(folder,), daemon=True) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


def section(results: Sequence[Result]) -> str:
    """The part of docs/verification.md that tells of the faults."""
    lines = [
        "## mutants",
        "",
        "`make mutants`: deliberate faults in one place each (tests/data/mutants.toml), put into a "
        "copy of the tree one at a time. A fault is caught if one of the tests named for it "
        "fails.",
        "",
        "| file | faults | caught | seconds |",
        "|---|---:|---:|---:|",
    ]
    files = sorted({result.mutant.file for result in results})
    for name, rows in [
        *((f"{file}", [r for r in results if r.mutant.file == file]) for file in files),
        ("**all**", results),
    ]:
        caught = sum(result.is_caught for result in rows)
        seconds = sum(result.seconds for result in rows)
        lines.append(f"| {name} | {len(rows)} | {caught} | {seconds:,.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", help="faults whose file or words contain this")
    parser.add_argument("--workers", type=int, default=2, help="copies at work side by side")
    parser.add_argument(
        "--unchecked", action="store_true", help="do not run the tests without a fault first"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="go on with the results of a run stopped here"
    )
    arguments = parser.parse_args()
    mutants = [m for m in load() if not arguments.only or arguments.only in f"{m.file} {m.fault}"]
    try:
        checked = not arguments.unchecked
        results = run(mutants, arguments.workers, checked=checked, keep=arguments.keep)
    except KeyboardInterrupt:
        print("stopped; nothing was written")
        raise SystemExit(130) from None
    text = section(results)
    print(text)
    survivors = [result for result in results if not result.is_caught]
    if arguments.only is None:
        from tests.verify import write_page

        write_page({"mutants": text})
    if survivors:
        sys.exit(f"{len(survivors)} faults survived")


if __name__ == "__main__":
    main()
