"""Training runs that are killed at random moments and resumed, as part of ``make kills``.

Whatever hits a run, it must end as the run that nothing hit, to the last bit; no file may be torn;
and a second process in the same folder must be refused.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hearts_agents.network import read_checkpoint
from hearts_train import runs
from tests.training_runs import assert_same_history, recipe

ROOT = Path(__file__).resolve().parents[1]

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""What hits a run, drawn with equal chances."""

HITS = 10
"""A run is hit so often at most."""

RECIPE = recipe(
    "env={rules: mini, num_envs: 256, reward: trick}",
    "ppo={num_steps: 8, batch_size: 256, num_epochs: 2}",
    "network={trunk: [64], policy: [64], value: [64]}",
    "budget.decisions=200000",
    "evaluation={times: 4, pairs: 50, opponents: [standard]}",
    "checkpoint.every_seconds=0.3",
)

TRAIN = """
import sys
from pathlib import Path
from hearts_train.config import load_config
from hearts_train.ppo import train
from hearts_train import runs
folder, config = map(Path, sys.argv[1:])
print("ready", flush=True)
begun = (folder / runs.CONFIG_NAME).exists()
if begun:
    result = train(resume=folder, progress=False)
else:
    result = train(load_config(config), folder, progress=False)
sys.exit(0 if result.is_finished else 128 + result.signal_number)
"""


@dataclass
class Counts:
    """What was done to training, and what was found.

    Attributes:
        runs: Runs, each killed and resumed until it ended.
        kills: Signals sent to a process at work.
        files: Files read after a kill; all were whole.
        same: Runs that ended as the one that nothing had hit, to the last bit.
        leftovers: Unfinished files there at the end.
        refused: Second processes in a run's folder that were refused.
        seconds: All together.
    """

    runs: int = 0
    kills: int = 0
    files: int = 0
    same: int = 0
    leftovers: int = 0
    refused: int = 0
    seconds: float = 0.0


def hears_signals() -> None:
    """What is started in the background, or with nohup, would else ignore some."""
    for name in set(SIGNALS) - {"SIGKILL"}:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def start(folder: Path, config: Path) -> subprocess.Popen[str]:
    """A trainer that has loaded everything and is about to look at its folder."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "agents", "train"))
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder), str(config)],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check_files(folder: Path) -> int:
    """Read what must be whole after a kill; returns how many files."""
    count = 0
    if (folder / runs.STATE_NAME).exists():
        runs.load_state(folder / runs.STATE_NAME)
        count += 1
    for path in [*folder.glob("*.safetensors"), *folder.glob("checkpoints/*.safetensors")]:
        if path.name != runs.STATE_NAME:
            read_checkpoint(path)
            count += 1
    return count


def train_kills(kills: int, seed: int = 0) -> Counts:
    """Kill training runs until so many signals have hit one at work, and resume each to its end."""
    rng, counts, begin = random.Random(seed), Counts(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "kills.yaml"
        config.write_text(RECIPE.to_yaml())
        whole, folder = Path(scratch) / "whole", Path(scratch) / "run"
        process, began = start(whole, config), time.monotonic()
        _, told = process.communicate()
        assert process.returncode == 0, told
        length = time.monotonic() - began
        while counts.kills < kills:
            for _ in range(rng.randint(1, HITS)):
                process = start(folder, config)
                try:
                    process.wait(rng.uniform(0.0, 0.3 * length))
                except subprocess.TimeoutExpired:
                    process.send_signal(getattr(signal, rng.choice(SIGNALS)))
                    _, told = process.communicate()
                    assert process.returncode, told
                    counts.kills += 1
                    counts.files += check_files(folder)
                else:  # it has come to its end
                    assert process.returncode == 0, process.communicate()[1]
                    break
            counts.refused += finish_by_two(folder, config)
            counts.leftovers += len(list(folder.rglob(".*.tmp")))
            assert_same_history(folder, whole)
            counts.runs += 1
            counts.same += 1
            print(counts, flush=True)
            shutil.rmtree(folder)
    counts.seconds = time.monotonic() - begin
    return counts


def finish_by_two(folder: Path, config: Path) -> int:
    """Let two processes at once train a run to its end; returns how many were refused."""
    both = [start(folder, config), start(folder, config)]
    told = [process.communicate()[1] for process in both]
    refused = [text for process, text in zip(both, told, strict=True) if process.returncode]
    assert len(refused) < 2, told
    assert all("in use by process" in text for text in refused), told
    return len(refused)


def main() -> None:
    """Kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=30, help="signals that hit a run at work")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    print(train_kills(arguments.kills, arguments.seed))


if __name__ == "__main__":
    main()
