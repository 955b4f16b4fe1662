"""Compiling ahead in several processes; stand-ins do no work where only the sharing is tested."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hearts_agents
import hearts_env
from hearts_env import HeartsError, kernel
from hearts_train.command.cli import app
from hearts_train.measure import warmup
from hearts_train.measure.warmup import PARTS, warm_up
from tests.refusals import refused

ANSWERS = "import sys\nfor line in sys.stdin: print({}, flush=True)"


def stand_in(monkeypatch: pytest.MonkeyPatch, program: str) -> list[Any]:
    """Let the processes run another program; returns a list that gets them."""
    started: list[Any] = []
    make = warmup._Helper.__init__

    def note(self: Any) -> None:
        make(self)
        started.append(self._process)

    monkeypatch.setattr(warmup, "_PROGRAM", program)
    monkeypatch.setattr(warmup._Helper, "__init__", note)
    return started


@pytest.mark.slow
def test_all_functions_are_compiled_and_kept():
    if not hasattr(getattr(kernel.deal, "_cache", None), "_cache_file"):
        pytest.skip("compiling is switched off, or nothing compiled is kept")
    # What is compiled for each preset alone is more of the same, and slow.
    warm_up(workers=1, parts=[name for name in PARTS if "batches of" not in name])
    missing = set()
    # What training and measuring add is compiled by them, before their clocks run.
    for package in (hearts_env, hearts_agents):
        folder = Path(package.__file__).parent
        for path in folder.rglob("*.py"):
            if b"support.jit import" not in path.read_bytes():
                continue
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            found = vars(importlib.import_module(name)).values()
            for function in filter(lambda f: hasattr(f, "py_func"), found):
                if not function._cache._cache_file._load_index():
                    missing.add(function.py_func.__name__)
    # Only `hearts bench` calls the one, and lessons and datasets the other.
    assert missing <= {"play_randomly", "mean_rows"}


def test_processes_share_the_parts_and_tell_what_they_compiled(monkeypatch, tmp_path):
    said = tmp_path / "said"
    program = (
        "import sys, os, json\n"
        "for line in sys.stdin:\n"
        f"    open({str(said)!r}, 'a').write(line)\n"
        "    print(len(json.loads(line)), flush=True)"
    )
    started = stand_in(monkeypatch, program)
    told: list[tuple[float, float]] = []
    done = warm_up(lambda part, total: told.append((part, total)), workers=3)
    assert done.workers == len(started) == 3
    assert done.compiled == {name: len(name) for name in PARTS}
    assert done.num_compiled == sum(map(len, PARTS))
    assert sorted(said.read_text().split("\n"))[1:] == sorted(f'"{name}"' for name in PARTS)
    assert told[0][0] == 0
    assert told[-1][0] == pytest.approx(told[-1][1])
    assert [part for part, _ in told] == sorted(part for part, _ in told)
    assert all(process.poll() is not None for process in started)


def test_no_more_processes_than_parts(monkeypatch):
    stand_in(monkeypatch, ANSWERS.format(0))
    assert warm_up(workers=5, parts=["games", "pimc"]).workers == 2
    assert warm_up(parts=[]).compiled == {}


def test_an_interruption_ends_the_processes(monkeypatch):
    started = stand_in(monkeypatch, "import time\ntime.sleep(36000)")

    def press(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warm_up(press, workers=2)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_a_process_that_ends_and_a_part_that_raises(monkeypatch):
    stand_in(monkeypatch, "raise SystemExit('the memory is full')")
    with refused(HeartsError, "warmup", "games"):
        warm_up(parts=["games"])
    stand_in(monkeypatch, ANSWERS.format("""'"ValueError: odd"'"""))
    with pytest.raises(RuntimeError, match="games: ValueError: odd"):
        warm_up(parts=["games"])


@pytest.mark.parametrize("workers", [0, -1, 257, 1.5, "two", True])
def test_odd_numbers_of_workers(workers):
    with refused(HeartsError, "workers"):
        warm_up(workers=workers)


def test_nothing_is_compiled_that_cannot_be_kept(monkeypatch):
    with refused(HeartsError, "parts", "gmaes"):
        warm_up(parts=["gmaes"])
    with monkeypatch.context() as patch:
        patch.setattr(warmup, "cache_folder", lambda package: None)
        with refused(HeartsError, "NUMBA_CACHE_DIR"):
            warm_up()
    monkeypatch.setitem(os.environ, "NUMBA_DISABLE_JIT", "1")
    with refused(HeartsError, "NUMBA_DISABLE_JIT"):
        warm_up()


def test_the_command_says_what_was_compiled_before(monkeypatch):
    run = CliRunner().invoke
    stand_in(monkeypatch, ANSWERS.format(0))
    shown = run(app, ["warmup", "--workers", "2"])
    assert shown.exit_code == 0
    assert "nothing was done" in shown.stdout
    stand_in(monkeypatch, ANSWERS.format("2 if line[1:6] == 'games' else 0"))
    shown = run(app, ["warmup", "--workers", "1"])
    assert "2 functions" in shown.stdout
    assert "1 process\n" in shown.stdout
    assert "double-dummy endgames, " in shown.stderr
    assert "games," not in shown.stderr.replace("endgames,", "")
    refused = run(app, ["warmup", "--workers", "0"])
    assert refused.exit_code == 2
    assert "workers: 0" in refused.stderr
