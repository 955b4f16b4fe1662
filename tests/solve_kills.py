"""``hearts solve`` killed at random moments and resumed, for ``make kills``.

However often a run is killed, it must end with the policies and the value of the run that nothing
hit, to the last bit; every state that is there after a kill must load; and a second process at the
same file must be refused.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from hearts_env.solve.equilibrium import Solver

ROOT = Path(__file__).resolve().parents[1]

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""What hits a run, drawn with equal chances."""

HITS = 5
"""A run is hit so often at most."""

DECK, ITERATIONS = "mini hand_size=3", 2000

SOLVE = """
import hearts_env.solve.equilibrium as equilibrium
from hearts_train.command.cli import main
equilibrium._FIRST_SAVE = equilibrium._SAVE_EVERY = 0.05  # seconds, so that kills meet saves
print("ready", flush=True)
main()
"""


@dataclass
class Count:
    """What the command has gone through."""

    kills: int = 0
    starts: int = 0
    runs: int = 0
    files: int = 0
    refused: int = 0
    seconds: float = 0.0
    by_signal: dict[str, int] = field(default_factory=dict)


def hears_signals() -> None:
    """What is started in the background, or with nohup, would else ignore some."""
    for name in set(SIGNALS) - {"SIGKILL"}:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def start(state: Path) -> subprocess.Popen[str]:
    """A solver that has loaded everything and is about to look at its file."""
    return ready(launch(state))


def launch(state: Path) -> subprocess.Popen[str]:
    """A solver that begins to load."""
    begun = ("--resume", str(state)) if state.exists() else (DECK, "--save", str(state))
    return begin(SOLVE, "solve", *begun, "--iterations", str(ITERATIONS))


def begin(code: str, *words: str) -> subprocess.Popen[str]:
    """A process of this checkout that hears every signal; `code` prints "ready" once it is."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "agents", "train"))
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    )


def ready(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Wait until it has loaded everything."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for a solver that must come to its end."""
    _, told = process.communicate()
    assert process.returncode == 0, told


def is_same(one: Solver, two: Solver) -> bool:
    """Whether two states are of the same iteration, and tell the same to the last bit."""
    return (
        one.iteration == two.iteration
        and one.result().value == two.result().value
        and all(map(np.array_equal, one.chances(), two.chances()))
    )


def kill_solve(kills: int, seed: int) -> Count:
    """Kill solvers until `kills` signals have hit one at work."""
    rng, count, started = random.Random(seed), Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        finish(start(Path(scratch) / "compiled.safetensors"))
        whole = Path(scratch) / "whole.safetensors"
        process, began = start(whole), time.monotonic()
        finish(process)
        length = time.monotonic() - began
        expected = Solver.load(whole)
        while count.kills < kills:
            state = Path(scratch) / "run" / f"{count.runs}.safetensors"
            state.parent.mkdir(exist_ok=True)
            for _ in range(HITS):
                process = start(state)
                count.starts += 1
                name = rng.choice(SIGNALS)
                try:
                    process.wait(rng.uniform(0.0, 0.6 * length))
                except subprocess.TimeoutExpired:
                    process.send_signal(getattr(signal, name))
                    _, text = process.communicate()
                    assert "Traceback" not in text, text
                    count.kills += 1
                    count.by_signal[name] = count.by_signal.get(name, 0) + 1
                    if state.exists():
                        Solver.load(state)
                        count.files += 1
                else:
                    break
            both = [launch(state), launch(state)]
            count.starts += 2
            told = [ready(one).communicate()[1] for one in both]
            for one, text in zip(both, told, strict=True):
                if one.returncode:  # whoever came second, unless the first had ended already
                    assert "in use by process" in text or "already exists" in text, text
                    count.refused += 1
            assert 0 in [one.returncode for one in both], told
            assert is_same(Solver.load(state), expected)
            left = {path.name for path in state.parent.iterdir() if path.suffix == ".tmp"}
            assert not left, left
            count.runs += 1
            print(f"solve: {count}", flush=True)
    count.seconds = time.monotonic() - started
    return count


def main() -> None:
    """Kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=30, help="signals that hit a run at work")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    print(kill_solve(arguments.kills, arguments.seed))


if __name__ == "__main__":
    main()
