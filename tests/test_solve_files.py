"""Files of ``hearts solve``: hostile and damaged ones, failing disks, signals, locks."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_env import CheckpointError
from hearts_env.solve import archive, equilibrium, solved_files
from hearts_env.solve.equilibrium import Solver, _next_look, load, solve
from hearts_env.solve.tree import Tree
from hearts_env.support.files import held
from hearts_env.support.interrupts import SIGNALS
from hearts_train.command.cli import app
from tests.faults import KINDS, Died, Faults
from tests.refusals import mistake, refused
from tests.slow import few

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def tree():
    return Tree("micro hand_size=2")


@pytest.fixture(scope="module")
def solver(tree):
    made = Solver(tree)
    for _ in range(3):
        made.step()
        made.look()
    return made


@pytest.fixture
def file(solver, tmp_path):
    solver.save(tmp_path / "state.npz")
    return tmp_path / "state.npz"


def members(path):
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def rewrite(path, changes, compression=zipfile.ZIP_DEFLATED):
    """The file with other members; None leaves one out."""
    kept = {**members(path), **changes}
    with zipfile.ZipFile(path, "w", compression) as packed:
        for name, data in kept.items():
            if data is not None:
                packed.writestr(name, data)


def npy(array):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def change_header(path, **changes):
    header = json.loads(str(np.load(io.BytesIO(members(path)["header.npy"]))))
    header.update(changes)
    stated = {name: value for name, value in header.items() if value is not ...}
    rewrite(path, {"header.npy": npy(np.array(json.dumps(stated)))})


def same_state(one, two):
    return one.iteration == two.iteration and all(
        np.array_equal(getattr(one, name)[p], getattr(two, name)[p])
        for name in ("_chances", "_regrets", "_averages", "_plans")
        for p in range(2)
    )


def test_a_file_is_written_without_a_second_copy_in_memory(tmp_path):
    array = np.zeros(6 * 2**20)  # NumPy writes pieces of 2**24 bytes
    tracemalloc.start()
    try:
        archive.write_archive(tmp_path / "a.npz", {}, {"a": array}, compress=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < array.nbytes
    with np.load(tmp_path / "a.npz") as found:
        assert np.array_equal(found["a"], array)


# ---- what may be in a file -----------------------------------------------------------------------
def bomb(path):
    """400 MB of zeros in 400 kB."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed, packed.open("x.npy", "w") as f:
        for _ in range(400):
            f.write(bytes(10**6))


def large_array(path):
    header = npy(np.zeros(10**5))
    rewrite(path, {"regrets0.npy": header})


def form(text):
    """An .npy file whose form says `text`."""
    head = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head


def patch(path, find, data, at):
    """Other bytes `at` behind the first occurrence of `find`."""
    whole = bytearray(path.read_bytes())
    place = whole.index(find) + at
    whole[place : place + len(data)] = data
    path.write_bytes(whole)


CENTRAL = b"PK\x01\x02"
HOSTILE = {
    "bomb": bomb,
    "large array": large_array,
    "large header": lambda p: rewrite(p, {"header.npy": npy(np.array(" " * 10**7))}),
    "no header": lambda p: rewrite(p, {"header.npy": None}),
    "no array": lambda p: rewrite(p, {"averages1.npy": None}),
    "another array": lambda p: rewrite(p, {"averages2.npy": npy(np.zeros(3))}),
    "path": lambda p: rewrite(p, {"../../evil.npy": npy(np.zeros(3))}),
    "pickle": lambda p: rewrite(p, {"header.npy": npy(np.array([{}], object))}),
    "text numbers": lambda p: rewrite(p, {"regrets0.npy": npy(np.array(["x"] * 9))}),
    "matrix": lambda p: rewrite(p, {"regrets0.npy": npy(np.zeros((3, 3)))}),
    "form of code": lambda p: rewrite(p, {"regrets0.npy": form("{'descr': __import__('os')}")}),
    "damaged form": lambda p: rewrite(p, {"regrets0.npy": form("{'descr': '<f8', \\")}),
    "deep form": lambda p: rewrite(p, {"regrets0.npy": form("(" * 900)}),
    "boundless form": lambda p: rewrite(
        p,
        {
            "regrets0.npy": form(
                f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({9**15},), }}"
            )
        },
    ),
    "deep header": lambda p: rewrite(p, {"header.npy": npy(np.array("[" * 10**5))}),
    "header of digits": lambda p: rewrite(p, {"header.npy": npy(np.array("9" * 10**5))}),
    "header that is a list": lambda p: rewrite(p, {"header.npy": npy(np.array("[]"))}),
    "lzma": lambda p: rewrite(p, {}, zipfile.ZIP_LZMA),
    "encrypted": lambda p: patch(p, CENTRAL, b"\x01", 8),
    "version": lambda p: patch(p, CENTRAL, b"\xff", 6),
    "directory": lambda p: patch(p, b"PK\x05\x06", b"\xff\xff\xff\x7f", 12),
    "infinite": lambda p: rewrite(p, {"regrets0.npy": npy(np.full(9, np.inf))}),
}


@few("kind", HOSTILE, [kind for kind in HOSTILE if kind != "bomb"])
def test_a_hostile_file_is_refused_in_one_line_before_it_is_unpacked(kind, file, monkeypatch):
    HOSTILE[kind](file)
    unpacked = 0
    read = zipfile.ZipExtFile.read

    def count(self, n=-1):
        nonlocal unpacked
        data = read(self, n)
        unpacked += len(data)
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", count)
    for reader in (Solver.load, load):
        with refused(CheckpointError, str(file)) as caught:
            reader(file)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400 + len(str(file))
    assert unpacked < 2_000_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"iteration": 1e15}, "1000000000000000.0"),
        ({"iteration": 10**15}, "1000000000000000"),
        ({"iteration": True}, "True"),
        ({"iteration": -1}, "-1"),
        ({"iteration": float("inf")}, "inf"),
        ({"iteration": ...}, "None"),
        ({"seconds": float("nan")}, "nan"),
        ({"seconds": "1"}, "'1'"),
        ({"seconds": 10**400}, "1000"),
        ({"curve": 3}, "curve"),
        ({"curve": [[0, 0.0, 0.0]]}, "curve"),
        ({"curve": [[2, 0.0, 0.0, 0.0], [1, 0.0, 0.0, 0.0]]}, "curve"),
        ({"curve": [[9, 0.0, 0.0, 0.0]]}, "curve"),
        ({"curve": [[1, float("nan"), 0.0, 0.0]]}, "curve"),
        ({"algorithm": ["x"]}, "['x']"),
        ({"algorithm": "lp"}, "'lp'"),
        ({"kind": "x" * 10**5}, "xxx"),
        ({"version": [[[[[[[[[[[[[]]]]]]]]]]]]]}, "version"),
        ({"rules": 5}, "rules"),
        ({"rules": {"players": 4}}, "rules"),
        ({"rules": Tree("micro").rules.to_dict()}, "information"),
        ({"rules": {"players": 2}}, "rules"),
        ({"tree": 1}, "information"),
        ({"seconds": 5.0}, "digest"),
    ],
)
def test_a_header_is_checked_entry_by_entry(changes, words, file):
    change_header(file, **changes)
    with refused(CheckpointError, str(file), words) as caught:
        Solver.load(file)
    assert len(str(caught.value)) < 400 + len(str(file))


def test_figures_of_a_state_are_computed_and_not_read(solver, file):
    told = [[c.iteration, c.seconds, 0.0, 50.0] for c in solver.curve]
    change_header(file, curve=told, digest=...)
    found = load(file)
    assert (found.value, found.exploitability) == (
        solver.result().value,
        solver.result().exploitability,
    )


def test_files_larger_than_the_memory_allowed_are_refused_unread(file):
    os.truncate(file, archive.MOST_HEADER + 2000)
    with refused(CheckpointError, str(file), "1e-06", hint="max_memory"):
        Solver.load(file, max_memory=1e-6)


def test_a_file_without_a_digest_as_before_is_read(solver, file):
    change_header(file, digest=...)
    assert same_state(Solver.load(file), solver)


@pytest.mark.slow
def test_each_flipped_bit_is_noticed_or_changes_nothing(tree, solver, file, monkeypatch):
    monkeypatch.setattr(solved_files, "Tree", lambda rules, max_memory: tree)  # built but once
    whole, rng = file.read_bytes(), random.Random(7)
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        try:
            assert same_state(Solver.load(file), solver)
        except CheckpointError:
            refused += 1
    assert refused > 300  # the rest are dates and the like, which a zip keeps for each member


def test_looks_far_on_are_found_at_once_and_where_they_were():
    due, slow = 1, []
    while due < 9000:  # as it was counted up
        slow.append(due)
        due = min(int(due * 1.2) + 1, due + 200)
    assert list(itertools.takewhile(lambda n: n < 9000, looks())) == slow
    assert 10**15 < _next_look(10**15) <= 10**15 + 200


def looks():
    due = 0
    while True:
        due = _next_look(due)
        yield due


# ---- keeping a state -----------------------------------------------------------------------------
def test_a_state_is_there_from_the_beginning_soon_again_and_at_the_end(tree, tmp_path, monkeypatch):
    saved = []
    save = Solver.save

    def note(self, path):
        saved.append(self.iteration)
        save(self, path)

    monkeypatch.setattr(Solver, "save", note)
    monkeypatch.setattr(equilibrium, "_FIRST_SAVE", 0.0)
    solve(Solver(tree), iterations=50, save_to=tmp_path / "a.npz")
    assert saved[0] == 0
    assert saved[1] == 1
    assert saved[-1] == 50


def test_a_failed_save_in_between_is_told_and_tried_again(tree, tmp_path, monkeypatch):
    file, told, calls = tmp_path / "a.npz", [], itertools.count()
    save = Solver.save

    def fail(self, path):
        if next(calls) in (1, 2):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(self, path)

    monkeypatch.setattr(Solver, "save", fail)
    for name in ("_FIRST_SAVE", "_SAVE_EVERY"):
        monkeypatch.setattr(equilibrium, name, 0.0)
    found = solve(Solver(tree), iterations=50, save_to=file, warn=told.append)
    assert found.iterations == 50
    assert len(told) == 2
    assert all("No space" in line and str(file) in line for line in told)
    assert Solver.load(file).iteration == 50


@pytest.mark.parametrize("number", [0, -1])
def test_a_save_that_fails_at_the_beginning_or_at_the_end_is_one_line(
    number, tmp_path, monkeypatch
):
    file, calls = tmp_path / "a.npz", []
    save = Solver.save

    def fail(self, path):
        calls.append(self.iteration)
        if (len(calls) == 1) == (number == 0):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(self, path)

    monkeypatch.setattr(Solver, "save", fail)
    shown = run("solve", "micro", "--iterations", 9, "--save", file)
    assert shown.exit_code == 2
    assert shown.stderr.splitlines()[-1].startswith(f"error: {file}: No space")
    assert "Traceback" not in shown.output
    assert calls == ([0] if number == 0 else [0, 9])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_whichever_call_of_a_save_fails_a_whole_state_is_there(kind, tree, tmp_path):
    old, new = Solver(tree), Solver(tree)
    old.step()
    for _ in range(5):
        new.step()
    file = tmp_path / "state.npz"
    with Faults() as counted:
        new.save(file)
    assert counted.count >= 6  # open, write, sync, replace, and the folder's open and sync
    for number in range(1, counted.count + 1):
        old.save(file)
        with pytest.raises((OSError, Died)) as caught, Faults(number, kind):
            new.save(file)
        if isinstance(caught.value, OSError):
            assert (caught.value.errno, caught.value.filename) == (KINDS[kind], str(file))
            assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]
        assert any(same_state(Solver.load(file), one) for one in (old, new))
    new.save(file)
    assert same_state(Solver.load(file), new)


# ---- the command ---------------------------------------------------------------------------------
def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@posix
@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_keeps_the_state_and_tells_its_number(number, tmp_path, monkeypatch):
    state = tmp_path / "state.npz"
    look = Solver.look

    def press(self):
        if self.iteration > 5:
            signal.raise_signal(number)
        return look(self)

    with monkeypatch.context() as patched:
        patched.setattr(Solver, "look", press)
        shown = run("solve", "micro", "--target", "1e-9", "--save", state)
    assert shown.exit_code == 128 + number
    assert f"hearts solve --resume {state}" in shown.stderr
    assert 5 < Solver.load(state).iteration < 60


@posix
def test_a_second_ctrl_c_ends_it_at_once_and_leaves_the_state_whole(tmp_path, monkeypatch):
    state = tmp_path / "state.npz"
    step = Solver.step

    def press(self):
        step(self)
        if self.iteration > 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("the iteration goes on")

    with monkeypatch.context() as patched:
        patched.setattr(Solver, "step", press)
        shown = run("solve", "micro", "--target", "1e-9", "--save", state)
    assert shown.exit_code == 130
    assert shown.stderr.splitlines()[-2:] == [
        "stopping after this iteration (Ctrl-C again stops at once)",
        "stopped",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.npz"]
    assert Solver.load(state).iteration == 0


@posix
def test_a_file_that_another_process_is_at_work_on_is_refused(tmp_path):
    state = tmp_path / "state.npz"
    assert run("solve", "micro", "--iterations", 3, "--save", state).exit_code == 0
    before = state.read_bytes()
    new = tmp_path / "new.npz"
    link = tmp_path / "link.npz"
    link.symlink_to(state)
    for name, args in ((state, ("--resume", state)), (new, ("micro", "--save", new))):
        with held(tmp_path / f".{name.name}.lock", "the test"):
            shown = run("solve", *args, "--iterations", 9)
        assert shown.exit_code == 2
        mistake(shown, "solve", f"'{name}'", os.getpid())
    with held(tmp_path / f".{state.name}.lock", "the test"):
        assert run("solve", "--resume", link, "--iterations", 9).exit_code == 2
    assert state.read_bytes() == before
    assert not new.exists()
    assert run("solve", "--resume", state, "--iterations", 9).exit_code == 0


def test_unfinished_files_of_killed_processes_are_removed(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = tmp_path / f".a.npz.{process.pid}-0123abcd.tmp"
    left.touch()
    assert run("solve", "micro", "--iterations", 3, "--save", tmp_path / "a.npz").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz"]
