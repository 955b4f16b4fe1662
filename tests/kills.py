"""Commands that are killed at random moments and resumed: ``make kills``; here ``hearts train``.

Whatever hits a run, it must end as the run that nothing hit, to the last bit; no file may be torn;
and a second process at the same work must be refused. Results go to tests/data/verification.md.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hearts_agents.models.checkpoint import read_checkpoint
from hearts_train.learn import runs
from tests.league_kills import kill_league
from tests.solve_kills import SIGNALS, Count, begin, kill_solve, ready
from tests.tournament_kills import kill_tournament
from tests.training_runs import assert_same_history, recipe

HITS = 10
"""A run is hit so often at most."""

RECIPE = recipe(
    "env={rules: mini, num_envs: 256, reward: trick}",
    "ppo={num_steps: 8, batch_size: 256, num_epochs: 2}",
    "network={trunk: [64], policy: [64], value: [64]}",
    "budget.decisions=200000",
    "evaluation={times: 4, deals: 50, opponents: [standard]}",
    "checkpoint.every_seconds=0.3",
)

TRAIN = """
import sys
from pathlib import Path
from hearts_train.learn.config_files import load_config
from hearts_train.learn.training import train
from hearts_train.learn import runs
folder, config = map(Path, sys.argv[1:])
print("ready", flush=True)
begun = (folder / runs.CONFIG_NAME).exists()
if begun:
    result = train(resume=folder, progress=False)
else:
    result = train(load_config(config), folder, progress=False)
sys.exit(0 if result.is_finished else 128 + result.signal_number)
"""


def start(folder: Path, config: Path) -> subprocess.Popen[str]:
    """A trainer that has loaded everything and is about to look at its folder."""
    return ready(begin(TRAIN, str(folder), str(config)))


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


def kill_train(kills: int, seed: int) -> Count:
    """Kill training runs until `kills` signals have hit one at work, and resume each to its end."""
    rng, count, started = random.Random(seed), Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "kills.yaml"
        config.write_text(RECIPE.to_yaml())
        whole, folder = Path(scratch) / "whole", Path(scratch) / "run"
        process, began = start(whole, config), time.monotonic()
        _, told = process.communicate()
        assert process.returncode == 0, told
        length = time.monotonic() - began
        while count.kills < kills:
            for _ in range(rng.randint(1, HITS)):
                process = start(folder, config)
                count.starts += 1
                name = rng.choice(SIGNALS)
                try:
                    process.wait(rng.uniform(0.0, 0.3 * length))
                except subprocess.TimeoutExpired:
                    process.send_signal(getattr(signal, name))
                    _, told = process.communicate()
                    if process.returncode == 0:  # it was done before it was hit
                        break
                    count.kills += 1
                    count.by_signal[name] = count.by_signal.get(name, 0) + 1
                    count.files += check_files(folder)
                else:  # it has come to its end
                    assert process.returncode == 0, process.communicate()[1]
                    break
            both = [start(folder, config), start(folder, config)]
            count.starts += 2
            texts = [process.communicate()[1] for process in both]
            for process, told in zip(both, texts, strict=True):
                if process.returncode:  # whoever came second, unless the first had ended already
                    assert "in use by process" in told, told
                    count.refused += 1
            assert 0 in [process.returncode for process in both], texts
            assert not list(folder.rglob(".*.tmp"))
            assert_same_history(folder, whole)
            count.runs += 1
            print(f"train: {count}", flush=True)
            shutil.rmtree(folder)
    count.seconds = time.monotonic() - started
    return count


KILLS = {
    "`hearts train`": kill_train,
    "`hearts solve`": kill_solve,
    "`hearts tournament`": kill_tournament,
    "`hearts tournament --folder`": kill_league,
}


def section(rows: dict[str, Count]) -> str:
    """The part of tests/data/verification.md that tells of the kills."""
    lines = [
        "## kills",
        "",
        "`make kills`: processes hit at random moments and resumed, in the end by two at once, one "
        "of which must be refused. Every run ended as the one that nothing had hit, to the last "
        "bit: weights, optimiser, games, random numbers, log and evaluations of `hearts train`; "
        "policies and value of `hearts solve`; all figures of `hearts tournament` and of `hearts "
        "league`. Files are those that were read after a kill; none was torn.",
        "",
        "| command | kills | runs, all the same | files, none torn | second processes refused "
        "| seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in rows.items():
        hits = ", ".join(f"{number} {word}" for word, number in sorted(row.by_signal.items()))
        lines.append(
            f"| {name} | {row.kills} ({hits}) | {row.runs} | {row.files} | {row.refused} "
            f"| {row.seconds:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Kill, compare, and renew the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=30, help="of each command")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    rows = {name: kill(arguments.kills, arguments.seed) for name, kill in KILLS.items()}
    text = section(rows)
    print(text)
    if arguments.kills >= 30:
        from tests.verify import write_page

        write_page({"kills": text})


if __name__ == "__main__":
    main()
