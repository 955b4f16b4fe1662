"""Deliberate faults, each of which a test must catch: ``make mutants``.

`tests/data/mutants.toml` lists them. A fault has a module, a function of it and a change of that
function's text. The text is as ``ast.unparse`` writes it, so layout and comments do not matter.

Each fault is put alone into a scratch copy of the tree, and its tests run there until one fails,
which must pass without the fault. `tests/data/mutants_record.json` records the results. A fault
whose code and tests have not changed since it was caught is not run again.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import functools
import hashlib
import json
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "data" / "mutants.toml"
RECORD = LIST.with_name("mutants_record.json")
LISTED = tomllib.loads(LIST.read_text(encoding="utf-8"))
INTERPRETED = {f"tests/test_{name}.py" for name in LISTED["interpreted"]}
"""Test files that run interpreted, which is quicker than compiling the kernel."""
SOURCES = {"hearts_env": "hearts_env", "hearts_agents": "agents", "hearts_train": "train"}
"""Where each package lies: the folder put before its name, or its own name."""
MOST_CPU = {True: 400, False: 60}
"""Processor seconds, compiled and interpreted, after which tests count as failed: as endless."""
NO_END = "no end"
"""Instead of a test, where they ran into that limit."""
MOST_CLOCK = 7200.0
"""Seconds after which a test counts as hung; only one that waits for ever gets there."""
PYTEST = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "-m"]


# ---- changes -------------------------------------------------------------------------------------
class CannotBePlaced(ValueError):
    """The code does not have the place that a fault names, or has several."""


def lines_of(tree: ast.Module, name: str) -> slice:
    """Return the lines of a function or class; `name` is qualified, or empty for the module."""
    found: ast.AST = tree
    for part in filter(None, name.split(".")):
        inner = [
            node
            for node in ast.walk(found)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node is not found
            and node.name == part
        ]
        if not inner:
            raise CannotBePlaced(f"there is no {name}")
        found = inner[-1]  # after overloads
    if isinstance(found, ast.stmt):
        return slice(found.lineno - 1, found.end_lineno)
    return slice(None)


@functools.cache
def parsed(text: str) -> tuple[ast.Module, str]:
    """Return a module's syntax tree and its text, as ``ast.unparse`` writes it."""
    plain = ast.unparse(ast.parse(text)) + "\n"
    return ast.parse(plain), plain


def change(text: str, name: str, words: str, nth: int = 0) -> str:
    """Return a module's text, as ``ast.unparse`` writes it, with a change in one function.

    Args:
        text: The module.
        name: The qualified name of the function; empty for the module.
        words: ``old -> new``, two pieces of the function's text.
        nth: Which occurrence of `old` is changed, from 1; 0 if there must be only one.

    Raises:
        CannotBePlaced: The function has no such place, or several.
        SyntaxError: The changed text is not Python.
    """
    tree, plain = parsed(text)
    lines = plain.splitlines(keepends=True)
    place = lines_of(tree, name)
    old, arrow, new = words.partition(" -> ")
    pieces = "".join(lines[place]).split(old)
    if not arrow or len(pieces) - 1 < max(nth, 1) or (len(pieces) > 2 and not nth):
        raise CannotBePlaced(f"{old} fits {len(pieces) - 1} places of {name or 'the module'}")
    known = {*re.findall(r"\w+", plain), *dir(builtins), *keyword.kwlist}
    if unknown := [
        word for word in re.findall(r"(?<![.\w])[A-Za-z_]\w*\b(?!=)", new) if word not in known
    ]:
        raise CannotBePlaced(f"{name} does not know {', '.join(unknown)}")
    first = max(nth, 1)
    changed = old.join(pieces[:first]) + new + old.join(pieces[first:])
    if changed == "".join(lines[place]):
        raise CannotBePlaced(f"{words} changes nothing")
    ast.parse(f"if True:\n{changed}" if changed[0].isspace() else changed)
    lines[place] = [changed]
    return "".join(lines)


# ---- the list ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Mutant:
    """A fault of the list."""

    module: str
    function: str
    change: str
    fault: str
    nth: int
    tests: tuple[str, ...]
    """Test files, those that are run interpreted first."""

    @property
    def file(self) -> str:
        """The file of the module."""
        package = SOURCES[self.module.partition(".")[0]]
        path = Path("" if package == "hearts_env" else package, *self.module.split("."))
        return str(path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py"))

    def apply(self, text: str) -> str:
        """The text of the file with the fault."""
        try:
            return change(text, self.function, self.change, self.nth)
        except (CannotBePlaced, SyntaxError) as error:
            raise CannotBePlaced(f"{self.module}: {self.fault}: {error}") from None


def load() -> list[Mutant]:
    """All faults of the list."""
    return [
        Mutant(part["module"], function, change, fault, nth[0] if nth else 0, tuple(tests))
        for part in LISTED["part"]
        for tests in [
            sorted(map("tests/test_{}.py".format, part["tests"].split()), key=is_compiled)
        ]
        for fault, function, change, *nth in part["faults"]
    ]


def is_compiled(test: str) -> bool:
    """Return whether a test, or a test file, runs compiled."""
    return test.partition("::")[0] not in INTERPRETED


# ---- running -------------------------------------------------------------------------------------
def copy_tree(folder: Path) -> None:
    """Copy what git tracks, and what it would, of this tree."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


@dataclass(frozen=True)
class Run:
    """A run of tests: pytest's status, the seconds and the output."""

    status: int
    seconds: float
    output: str

    @property
    def is_caught(self) -> bool:
        """Whether a test failed, and not the collection of the tests."""
        return self.status == 1

    @property
    def test(self) -> str:
        """The test that failed first."""
        found = re.search(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - |$)", self.output, re.M)
        return found[1] if found else NO_END


def run_tests(folder: Path, tests: str, cache: str = ".numba") -> Run:
    """Run a test, or all of a file, in a copy of the tree until one fails."""
    compiled = is_compiled(tests)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(folder / p) for p in ("", "agents", "train")),
        "OMP_NUM_THREADS": "1",
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        "NUMBA_CACHE_DIR": str(folder / cache),
    }
    limit = f'ulimit -t {MOST_CPU[compiled]}; exec "$0" "$@"'
    words = ["/bin/sh", "-c", limit, sys.executable, *PYTEST, "", tests]
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        try:
            status = subprocess.run(
                words,
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=MOST_CLOCK,
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
        log.seek(0)
        output = log.read()[-6000:]
    if status < 0:  # stopped by one of the limits
        status = 1
    return Run(status, time.monotonic() - begin, output)


def try_mutant(folder: Path, mutant: Mutant, first: str | None) -> Run:
    """Put a fault into a copy of the tree, run its tests and put the file right again.

    The package names the folder of its compiled functions by a digest of the sources of hearts_env
    and of the function's own package. hearts_train compiles functions of hearts_agents too, so a
    fault there needs a cache of its own. One in hearts_env compiles everything anew anyway.

    Args:
        folder: The copy.
        mutant: The fault.
        first: The test that caught it before.

    Returns:
        The run that failed, or the last one.
    """
    path = folder / mutant.file
    text = path.read_text(encoding="utf-8")
    has_cache = "support.jit import" in text and not mutant.module.startswith("hearts_train")
    tests = [*mutant.tests]
    if first is not None and first.partition("::")[0] in tests:
        tests.insert(0, first)
    seconds = 0.0
    path.write_text(mutant.apply(text), encoding="utf-8")
    try:
        for test in tests:
            done = run_tests(folder, test, ".numba-fault" if has_cache else ".numba")
            seconds += done.seconds
            if done.is_caught or (done.status and test != first):
                break
    finally:
        path.write_text(text, encoding="utf-8")
        shutil.rmtree(folder / ".numba-fault", ignore_errors=True)
    return Run(done.status, seconds, done.output)


# ---- the record ----------------------------------------------------------------------------------
def digest_of(mutant: Mutant) -> str:
    """Return a digest of the code with the fault, comments aside, and of its tests."""
    digest = hashlib.sha256(mutant.apply((ROOT / mutant.file).read_text(encoding="utf-8")).encode())
    for test in mutant.tests:
        digest.update((ROOT / test).read_bytes())
    return digest.hexdigest()[:12]


class Record:
    """The results of the list's faults, written after each in the order of the list."""

    def __init__(self, path: Path, mutants: Sequence[Mutant]) -> None:
        self.path = path
        self._keys = [(mutant.module, mutant.fault) for mutant in mutants]
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        self.rows = {(row["module"], row["fault"]): row for row in rows}
        self._lock = threading.Lock()

    def test_of(self, mutant: Mutant) -> str | None:
        """Return the test that caught a fault, perhaps of other code."""
        row = self.rows.get((mutant.module, mutant.fault))
        return None if row is None else row["test"]

    def is_caught(self, mutant: Mutant) -> bool:
        """Return whether a fault was caught with this code and these tests."""
        row = self.rows.get((mutant.module, mutant.fault))
        return row is not None and bool(row["test"]) and row["digest"] == digest_of(mutant)

    def add(self, mutant: Mutant, done: Run) -> None:
        """Record a result and write the file."""
        row = {"module": mutant.module, "fault": mutant.fault}
        row |= {"test": done.test if done.is_caught else None, "seconds": round(done.seconds, 1)}
        row["digest"] = digest_of(mutant)
        with self._lock:
            self.rows[mutant.module, mutant.fault] = row
            lines = [
                json.dumps(self.rows[key], ensure_ascii=False)
                for key in self._keys
                if key in self.rows
            ]
            part = self.path.with_suffix(".part")
            part.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
            part.replace(self.path)


# ---- the command ---------------------------------------------------------------------------------
def run(mutants: Sequence[Mutant], workers: int, record: Record) -> int:
    """Try faults in scratch copies, several side by side; return how many were not caught."""
    own = threading.local()

    def prepare(scratch: str) -> None:
        own.folder = Path(tempfile.mkdtemp(dir=scratch))
        copy_tree(own.folder)

    def try_one(mutant: Mutant) -> None:
        done = try_mutant(own.folder, mutant, record.test_of(mutant))
        word = {0: "SURVIVED", 1: "caught"}.get(done.status, "NOT RUN: pytest failed")
        if done.is_caught and done.test != NO_END and run_tests(own.folder, done.test).status:
            word = "NOT CAUGHT: the test fails without the fault too"
        elif done.status in (0, 1):
            record.add(mutant, done)
        by = f": {done.test}" if done.is_caught else ""
        print(f"{word} {done.seconds:4.0f} s {mutant.module}: {mutant.fault}{by}", flush=True)
        if done.status not in (0, 1):
            print(done.output, flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        pool = ThreadPoolExecutor(workers, initializer=prepare, initargs=(scratch,))
        try:
            list(pool.map(try_one, mutants))
        finally:
            pool.shutdown(cancel_futures=True)
    return sum(not record.is_caught(mutant) for mutant in mutants)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="faults whose module or words contain this")
    parser.add_argument("--workers", type=int, default=2, help="copies side by side")
    arguments = parser.parse_args()
    everything = load()
    record = Record(RECORD, everything)
    chosen = [m for m in everything if arguments.only in f"{m.module} {m.fault}"]
    mutants = [mutant for mutant in chosen if not record.is_caught(mutant)]
    print(f"{len(mutants)} faults to run, of {len(everything)}", flush=True)
    try:
        missed = run(mutants, arguments.workers, record)
    except KeyboardInterrupt:
        print("stopped; the same command continues")
        raise SystemExit(130) from None
    if missed:
        sys.exit(f"{missed} faults were not caught")


if __name__ == "__main__":
    main()
