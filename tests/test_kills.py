"""Commands that are killed at random moments and resumed end as if nothing had hit them.

A command that was hit must end with the same result, to the last bit, as without signals. No file
may be torn, and a second process at the same work must be refused. ``COMMANDS`` lists the commands.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.programs.process import python_environment
from hearts_env.solve.equilibrium import Solver
from hearts_train.data.episodes import Episodes
from hearts_train.data.folder import FACTS, PARTS, UNFINISHED, is_unfinished, unfinished_options
from hearts_train.learn import runs
from hearts_train.store import unsealed
from tests.slow import TIMES
from tests.training_runs import history, recipe
from tests.waiting import timeless

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals of a shell")]

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""What hits a command, drawn with equal chances."""
HITS = 6
"""A run is hit so often at most."""
LATEST = 0.9
"""A hit comes in this share of the time that an undisturbed run takes."""
REFUSALS = (
    "in use by process",
    "already exists",
    "is already there",
    "is not empty",
    "a finished dataset",
)
"""Why a second process at the same work ends."""


# ---- the commands --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Command:
    """A command that survives kills.

    Attributes:
        words: The command that starts or resumes the work at a path.
        result: Returns the result of the work at a path, given the command's output.
        check: Read all files that must be whole after a kill.
        code: The program, which prints "ready" once it has loaded everything.
        is_repeatable: Whether finished work can be resumed, which gives the same result.
        is_done: Whether the work at a path is finished, although its process was hit.
    """

    words: Callable[[Path], Sequence[str]]
    result: Callable[[Path, str], Any]
    check: Callable[[Path], object]
    code: str = """
import hearts_train.cli.app
from hearts_train.cli import main
print("ready", flush=True)
main()
"""
    is_repeatable: bool = True
    is_done: Callable[[Path], bool] = lambda _: False


def check_lines(path: Path) -> None:
    """Refuse a file of sealed lines of which any but the last is damaged."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    assert all(unsealed(line) is not None for line in lines), path


RECIPE = recipe(
    "env={rules: mini, num_envs: 256, reward: trick}",
    "ppo={num_steps: 8, batch_size: 256, num_epochs: 2}",
    "network={trunk: [64], policy: [64], value: [64]}",
    "budget.decisions=200000",
    "evaluation={times: 4, deals: 50, final_deals: 50, opponents: [standard]}",
    "checkpoint.every_seconds=0.3",
)


def train_words(folder: Path) -> Sequence[str]:
    config = folder.with_suffix(".yaml")
    config.write_text(RECIPE.to_yaml())
    if (folder / runs.CONFIG_NAME).exists():
        return "train", "--resume", str(folder)
    return "train", str(config), "--run", str(folder)


def check_run(folder: Path) -> None:
    if (folder / runs.STATE_NAME).exists():
        runs.load_state(folder / runs.STATE_NAME)
    found = [*folder.glob("*.safetensors"), *folder.glob("checkpoints/*.safetensors")]
    for path in found:
        if path.name != runs.STATE_NAME:
            read_checkpoint(path)


SOLVE = """
import hearts_train.cli.app
from hearts_train import equilibria
from hearts_train.cli import main
equilibria._SAVE_EVERY = 0.05  # seconds, so that kills meet saves
equilibria._SAVE_SHARE = 1.0
print("ready", flush=True)
main()
"""


def solve_words(file: Path) -> Sequence[str]:
    begin = ("--resume", str(file)) if file.exists() else ("mini", "--save", str(file))
    return "solve", *begin, "--iterations", "40"


def solved(file: Path, _output: str) -> Any:
    solver = Solver.load(file)
    return solver.iteration, solver.result().value, [c.tobytes() for c in solver.chances()]


def check_solved(file: Path) -> None:
    if file.exists():
        Solver.load(file)


def saving(words: str) -> Command:
    """A command with ``--save`` and ``--resume``. Its result is the JSON that it prints."""
    name, *rest = words.split()

    def words_at(file: Path) -> Sequence[str]:
        exists = file.exists() and file.stat().st_size
        given = ("--resume", str(file)) if exists else (*rest, "--save", str(file))
        return name, *given, "--json"

    return Command(words_at, lambda _, output: timeless(json.loads(output)), check_lines)


def dataset_words(folder: Path) -> Sequence[str]:
    new = ("--agent", "pro", "--rules", "mini", "--deals", "1500")
    return "dataset", str(folder), *(("--resume",) if is_unfinished(folder) else new)


def dataset_result(folder: Path, _output: str) -> Any:
    """The digest of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def check_dataset(folder: Path) -> None:
    if is_unfinished(folder):
        options = unfinished_options(folder)
        for path in folder.glob(f"{UNFINISHED}/part-*.npz"):
            Episodes.from_bytes(path.read_bytes(), options)
    check_lines(folder / UNFINISHED / PARTS)


COMMANDS = {
    "train": Command(train_words, lambda folder, _: history(folder), check_run),
    "solve": Command(solve_words, solved, check_solved, SOLVE),
    "evaluate": saving("evaluate pro --opponents easy,standard --rules mini --deals 5000"),
    "evaluate --unit match": saving("evaluate pro --opponents easy --unit match --deals 150"),
    "compare": saving("compare easy standard --rules mini --margins -0.02,0.02"),
    "tournament": saving("tournament easy standard pro --rules mini --deals 5000 --seed 5"),
    "dataset": Command(
        dataset_words,
        dataset_result,
        check_dataset,
        is_repeatable=False,
        is_done=lambda folder: (folder / FACTS).exists() and not is_unfinished(folder),
    ),
}


# ---- kills ---------------------------------------------------------------------------------------
def hears_signals() -> None:
    """Processes in the background or under nohup would otherwise ignore some signals."""
    for name in set(SIGNALS) - {"SIGKILL"}:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def launch(command: Command, path: Path) -> subprocess.Popen[str]:
    """A process of this checkout that begins to load."""
    return subprocess.Popen(
        [sys.executable, "-c", command.code, *command.words(path)],
        env=python_environment() | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    )


def ready(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Wait until it has loaded everything, and is about to look at its files."""
    assert process.stdout is not None
    line = b""
    # Byte by byte, because communicate() would lose bytes that a buffer reads beyond the line.
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    assert line == b"ready\n", process.communicate()[1]
    return process


def run(command: Command, path: Path) -> tuple[Any, float]:
    """The result of a run that nothing hits, and its seconds once it is loaded."""
    process, began = ready(launch(command, path)), time.monotonic()
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return command.result(path, output), time.monotonic() - began


def kill(name: str, kills: int, seed: int) -> None:
    """Kill a command until `kills` signals have hit, then resume it to its end."""
    command = COMMANDS[name]
    rng, hits = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as scratch:
        run(command, Path(scratch) / "compiled")
        expected, length = run(command, Path(scratch) / "whole")
        for number in itertools.count():
            path = Path(scratch) / str(number) / "work"
            path.parent.mkdir()
            is_over = False
            for _ in range(rng.randint(1, HITS)):
                process = ready(launch(command, path))
                hit = rng.choice(SIGNALS)
                try:
                    process.wait(rng.uniform(0.0, LATEST * length))
                except subprocess.TimeoutExpired:
                    process.send_signal(getattr(signal, hit))
                output, errors = process.communicate()
                assert "Traceback" not in errors, errors
                if is_over := process.returncode == 0:  # it was done before it was hit
                    break
                hits += 1
                command.check(path)
                if is_over := command.is_done(path):
                    break
            if command.is_repeatable or not is_over:
                output = end_by_two(command, path)
            assert command.result(path, output) == expected
            assert not list(path.parent.rglob(".*.tmp"))
            if hits >= kills:
                return


def end_by_two(command: Command, path: Path) -> str:
    """Resume a run to its end with two processes at once. Return the output of the first."""
    both = [launch(command, path), launch(command, path)]
    ended = [(ready(process).communicate(), process.returncode) for process in both]
    outputs = []
    for (output, errors), status in ended:
        if status:  # the second one, unless the first had already ended
            assert any(words in errors for words in REFUSALS), errors
        else:
            outputs.append(output)
    assert outputs, ended
    return outputs[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_command_ends_like_an_uninterrupted_one(name: str) -> None:
    kill(name, kills=2 * TIMES, seed=7)
