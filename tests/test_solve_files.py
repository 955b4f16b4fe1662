"""Files of ``hearts solve``: damaged and hostile ones, full disks, signals and locks."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import zlib
from math import inf as INFINITY
from math import nan as NAN

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import CheckpointError, Rules
from hearts_env.solve.equilibrium import Solver, load
from hearts_env.solve.tree import Tree
from hearts_env.support.files import held
from hearts_env.support.interrupts import SIGNALS
from hearts_env.support.tensors import DIGEST, read_tensors, write_tensors
from hearts_train import equilibria
from hearts_train.cli import solving
from hearts_train.equilibria import solve
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


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
    solver.save(tmp_path / "state.safetensors")
    return tmp_path / "state.safetensors"


def rewrite(path, changes):
    """Rewrite the file with other entries in `about`. ``...`` removes one."""
    tensors, header = read_tensors(path)
    del header[DIGEST]
    about = json.loads(header["about"]) | changes
    about = {name: value for name, value in about.items() if value is not ...}
    write_tensors(path, tensors, header | {"about": json.dumps(about)})


# ---- content -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"iterations": ...}, "iterations"),
        ({"iterations": -1}, "iterations"),
        ({"iterations": 10**400}, "iterations"),
        ({"iterations": "3"}, "iterations"),
        ({"iterations": 4}, "averages0"),
        ({"seconds": ...}, "seconds"),
        ({"seconds": "1"}, "seconds"),
        ({"seconds": NAN}, "seconds"),
        ({"seconds": -1.0}, "seconds"),
        ({"curve": 5}, "curve"),
        ({"curve": [5]}, "curve"),
        ({"curve": [[0, 0.0, 0.0]]}, "curve"),
        ({"curve": [["0", 0.0, 0.0, 0.0]]}, "curve"),
        ({"curve": [[0, 0.0, NAN, 0.0]]}, "curve"),
        ({"curve": [[0, 0.0, 0.0, 10**400]]}, "curve"),
        ({"kind": "x"}, "kind"),
        ({"kind": []}, "kind"),
        ({"rules": 5}, "rules"),
        ({"rules": {"players": 4}}, "rules"),
        ({"rules": Rules.preset("micro").to_dict()}, "information"),
        ({"tree": 1}, "information"),
    ],
)
def test_other_header_entries_are_refused(changes, words, file):
    rewrite(file, changes)
    with raises_hearts_error(CheckpointError, str(file), words) as caught:
        Solver.load(file)
    assert len(str(caught.value)) < 400 + len(str(file))


def test_header_nested_deeply_is_refused(file):
    tensors, header = read_tensors(file)
    del header[DIGEST]
    write_tensors(file, tensors, header | {"about": "[" * 100_000})
    with raises_hearts_error(CheckpointError, str(file), "header"):
        Solver.load(file)


@pytest.mark.parametrize("word", ["chances", "regrets", "averages"])
@pytest.mark.parametrize("value", [NAN, INFINITY, 1e308, -1.0, 1e-3])
def test_states_no_solver_can_have_are_refused(word, value, file):
    tensors, header = read_tensors(file)
    del header[DIGEST]
    tensors[f"{word}1"] = tensors[f"{word}1"].copy()
    tensors[f"{word}1"][-1] += value
    write_tensors(file, tensors, header)
    if word == "regrets" and value == 1e-3:  # may be one
        assert Solver.load(file).iteration == 3
        return
    with raises_hearts_error(CheckpointError, str(file), f"{word}1"):
        Solver.load(file)
    if word == "averages":
        mistake(run("solve", "--resume", file), str(file), "averages1")


def test_forged_exploitability_is_computed_again(file, solver):
    rewrite(file, {"curve": [[3, 0.0, -5.0, -5.0]]})
    assert Solver.load(file).result().exploitability == solver.result().exploitability


@pytest.mark.parametrize(("factor", "is_policy"), [(1, True), (0.5, False), (0, True)])
def test_policy_with_other_sums_is_refused(factor, is_policy, tmp_path, solver):
    file = tmp_path / "policy.safetensors"
    solver.result().save(file)
    tensors, header = read_tensors(file)
    del header[DIGEST]
    parts = np.frombuffer(zlib.decompress(tensors["chances1"].tobytes()), "<u2")
    changed = (parts * factor).astype("<u2")
    tensors["chances1"] = np.frombuffer(zlib.compress(changed.tobytes()), np.uint8)
    write_tensors(file, tensors, header)
    if is_policy:  # zeros: no information set is reached
        assert load(file).exploitability >= 0
        return
    with raises_hearts_error(CheckpointError, str(file), "chances1"):
        load(file)


def test_files_beyond_allowed_memory_are_refused_unread(file):
    with raises_hearts_error(CheckpointError, str(file), "1e-06", hint="max_memory"):
        Solver.load(file, max_memory=1e-6)


def test_policy_file_is_small_and_plays_alike(tmp_path):
    found = solve("micro", target=1e-9)
    file = tmp_path / "policy.safetensors"
    found.save(file)
    assert file.stat().st_size < 10_000
    again = load(file)
    for name in ("rules", "iterations", "seconds"):
        assert getattr(again, name) == getattr(found, name)
    assert again.exploitability < 1e-4  # rounded
    assert again.value == pytest.approx(found.value, abs=1e-4)
    assert make_agent(str(file)).solved.value == again.value
    with raises_hearts_error(CheckpointError, str(file), hint="--save"):
        Solver.load(file)
    with raises_hearts_error(CheckpointError, str(tmp_path / "none.npz")):
        load(tmp_path / "none.npz")


# ---- keeping a state -----------------------------------------------------------------------------
def test_resumed_solver_equals_an_uninterrupted_one(tmp_path):
    tree, file = Tree("micro"), tmp_path / "state.safetensors"
    whole = solve(tree, iterations=90)
    solve(tree, iterations=37, save_to=file)
    again = Solver.load(file)
    assert again.iteration == 37
    ended = solve(again, iterations=90)
    assert (ended.iterations, ended.value) == (90, whole.value)
    assert all(map(np.array_equal, ended.chances, whole.chances))
    assert [c.iteration for c in ended.curve if c.iteration != 37] == [
        c.iteration for c in whole.curve
    ]


def test_interrupted_solve_keeps_its_iterations(tmp_path):
    tree = Tree("micro")
    file, handler = tmp_path / "state.safetensors", signal.getsignal(signal.SIGINT)

    def press(found):
        if found.iteration >= 20:
            signal.raise_signal(signal.SIGINT)

    stopped = solve(tree, target=1e-9, save_to=file, progress=press)
    assert stopped.interrupted
    assert 20 <= stopped.iterations < 60
    assert signal.getsignal(signal.SIGINT) is handler
    ended, whole = solve(Solver.load(file), iterations=100), solve(tree, iterations=100)
    assert not ended.interrupted
    assert all(map(np.array_equal, ended.chances, whole.chances))


@pytest.fixture
def saving(monkeypatch):
    """Note the iterations at which a state is saved. `fail` picks the calls that fail."""
    calls, save = [], Solver.save

    def note(self, path):
        calls.append(self.iteration)
        if note.fail(len(calls) - 1):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(self, path)

    note.fail, note.calls = lambda number: False, calls
    monkeypatch.setattr(Solver, "save", note)
    return note


def test_state_is_saved_at_start_regularly_and_end(tree, tmp_path, saving, monkeypatch):
    monkeypatch.setattr(equilibria, "_SAVE_EVERY", 0.0)
    solve(Solver(tree), iterations=50, save_to=tmp_path / "a.safetensors")
    assert (saving.calls[:2], saving.calls[-1]) == ([0, 1], 50)


def test_failed_intermediate_save_warns_and_is_retried(tree, tmp_path, saving, monkeypatch):
    file = tmp_path / "a.safetensors"
    saving.fail = lambda number: number in (1, 2)
    monkeypatch.setattr(equilibria, "_SAVE_EVERY", 0.0)
    with pytest.warns(UserWarning, match="No space") as shown:
        assert solve(Solver(tree), iterations=50, save_to=file).iterations == 50
    assert len(shown) == 2
    assert all(str(file) in str(warning.message) for warning in shown)
    assert Solver.load(file).iteration == 50


@pytest.mark.parametrize("number", [0, 1])
def test_failed_first_or_last_save_is_one_line(number, tmp_path, saving):
    file = tmp_path / "a.safetensors"
    saving.fail = lambda call: call == number
    shown = run("solve", "micro", "--iterations", 9, "--save", file)
    assert shown.exit_code == 2
    assert shown.stderr.splitlines()[-1].startswith(f"error: {file}: No space")
    assert "Traceback" not in shown.output
    assert saving.calls == [0, 9][: number + 1]


# ---- the command ---------------------------------------------------------------------------------


def pressing(monkeypatch, name, numbers, after=5):
    """Raise signals in `Solver.name` after some iterations."""
    method = getattr(Solver, name)

    def press(self):
        found = method(self)
        if self.iteration > after:
            for number in numbers:
                signal.raise_signal(number)
            assert len(numbers) == 1, "the iteration goes on"
        return found

    monkeypatch.setattr(Solver, name, press)


@posix
@pytest.mark.parametrize("number", SIGNALS)
def test_signals_save_the_state_and_set_status(number, tmp_path, monkeypatch):
    state = tmp_path / "state.safetensors"
    with monkeypatch.context() as patched:
        pressing(patched, "look", [number])
        shown = run("solve", "micro", "--target", "1e-9", "--save", state)
    assert shown.exit_code == 128 + number
    assert f"hearts solve --resume {state}" in shown.stderr
    assert 5 < Solver.load(state).iteration < 60


@posix
def test_second_ctrl_c_ends_with_intact_state(tmp_path, monkeypatch):
    state = tmp_path / "state.safetensors"
    with monkeypatch.context() as patched:
        pressing(patched, "step", [signal.SIGINT] * 2)
        shown = run("solve", "micro", "--target", "1e-9", "--save", state)
    assert shown.exit_code == 130
    assert [line[:8] for line in shown.stderr.splitlines()[-2:]] == ["stopping", "stopped"]
    assert [path.name for path in tmp_path.iterdir()] == [state.name]
    assert Solver.load(state).iteration == 0


@pytest.mark.slow
def test_ctrl_c_keeps_state_without_a_given_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pressing(monkeypatch, "look", [signal.SIGINT], after=-1)
    files = [tmp_path / f"solve-micro{end}.safetensors" for end in ("", "-2", "-3")]
    for file in files:  # the second and the third do not overwrite
        shown = run("solve", "micro", "--target", "1e-9")
        assert shown.exit_code == 130, shown.output
        assert f"hearts solve --resume {file.name}" in shown.stderr
    monkeypatch.undo()
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert run("solve", "--resume", files[0], "--target", "1e-4").exit_code == 0


@posix
def test_file_held_by_another_process_is_refused(tmp_path):
    state, new, link = (tmp_path / f"{name}.safetensors" for name in ("state", "new", "link"))
    assert run("solve", "micro", "--iterations", 3, "--save", state).exit_code == 0
    before = state.read_bytes()
    link.symlink_to(state)
    for name, args in ((state, ("--resume", state)), (new, ("micro", "--save", new))):
        with held(tmp_path / f".{name.name}.lock", "the test"):
            mistake(run("solve", *args, "--iterations", 9), "solve", f"'{name}'", os.getpid())
    with held(tmp_path / f".{state.name}.lock", "the test"):
        assert run("solve", "--resume", link, "--iterations", 9).exit_code == 2
    assert state.read_bytes() == before
    assert not new.exists()
    assert run("solve", "--resume", state, "--iterations", 9).exit_code == 0


@pytest.mark.slow
def test_solve_command_prints_table_or_json_line(tmp_path):
    out, policy = (tmp_path / name for name in ("a.safetensors", "b.safetensors"))
    shown = run("solve", "micro", "--policy", policy)
    assert shown.exit_code == 0, shown.stderr
    assert re.search(r"(?s)exploitability.*\de-\d\d", shown.stdout)
    assert "2,108 lines" in shown.stderr
    assert make_agent(str(policy)).solved.exploitability < 1e-4
    mistake(run("solve", "micro", "--policy", policy), "--policy", policy)
    for args, least in ((("micro", "--iterations", 20, "--save", out), 0), (("--resume", out), 20)):
        (line,) = run("solve", *args, "--target", "1e-9", "--json").stdout.splitlines()
        (figures,) = json.loads(line)
        assert figures["lines"] == 2108
        assert figures["iterations"] > least
    assert figures["exploitability"] <= 1e-9


@pytest.mark.parametrize("option", ["--target", "--iterations"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_limits_are_checked_before_the_tree_is_built(option, value, monkeypatch):
    monkeypatch.delattr(solving, "Tree")
    shown = run("solve", "micro", option, value)
    assert shown.exit_code == 2, shown.output
    assert option in shown.stderr
    assert "seconds" not in shown.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("two_player",), ("max_memory", "GB")),
        (("micro", "--policy", "x.npz"), ("--policy", ".safetensors")),
        (("micro", "--resume", "x.safetensors"), ("deck", "--resume")),
        ((), ("deck", "--resume")),
        (("--resume", "none.safetensors"), ("none.safetensors",)),
        (("--resume", "x", "--save", "x"), ("save", "omit")),
        (("classic",), ("players",)),
        (("miny",), ("mini",)),
    ],
)
def test_mistakes_are_one_line(args, words):
    mistake(run("solve", *args), "", *words)
