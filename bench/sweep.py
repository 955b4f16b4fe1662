"""Sweep over the settings of ``demo`` with Ray Tune, and compare the best over several seeds.

    python bench/sweep.py search --trials 100    each trial: 60 processor seconds of training
    python bench/sweep.py finals                 the best three and `demo`, five seeds each

A trial first measures how fast its settings learn, and then trains from scratch for as many
decisions as they make in 60 processor seconds of one thread. Its score is the mean of the margins
over `pro` and `pimc`. The margin over `pro` alone misleads: players that win most from `pro` lose
most to the champion.

The finals use other seeds and other deals, as the best of many trials owes part of its score to
luck. Both write ``docs/results/sweep.json`` after each trial. The same command continues after a
stop.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import harness
from hearts_env.support.interrupts import exit_status, interruptible
from hearts_train import evaluate, load_config, train

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "sweep.json"
SECONDS = 60.0
"""Processor seconds of training of a trial."""
FIRST = 400_000
"""Decisions of the run that measures the speed."""
OPPONENTS = ("pro", "pimc")
SEARCH_DEALS, SEARCH_SEED = 2_000, 1_000
FINAL_DEALS, FINAL_SEED = 5_000, 2_000
FINAL_SEEDS = range(10, 15)
NUM_FINALISTS = 3
SPACE: Mapping[str, Sequence[Any]] = {
    "env.observation": ["flat", "ranked", "ranked", "ranked"],
    "env.num_envs": [512, 1024, 2048],
    "env.reward": ["trick", "trick", "trick", "margin"],
    "network": [
        {"trunk": [], "policy": sizes, "value": sizes}
        for sizes in ([128], [256], [128, 128], [256, 128], [128, 128, 128])
    ],
    "ppo.num_steps": [16, 32, 64],
    "ppo.batch_size": [1024, 2048, 4096],
    "ppo.num_epochs": [1, 2, 3],
    "ppo.learning_rate": [2e-3, 3e-3, 4e-3, 5e-3],
    "ppo.learning_rate_end": [1e-5, 1e-4, 3e-4],
    "ppo.gae_lambda": [0.9, 0.93, 0.95, 0.97],
    "ppo.ent_coef": [0.01, 0.02, 0.03, 0.05, 0.1],
    "ppo.ent_coef_end": [0.001, 0.003, 0.005, 0.01, 0.02],
    "average": [
        {"ema_decay": decay, "ppo.magnet_coef": magnet}
        for decay, magnet in ((0.0, 0.0), (0.9, 0.0), (0.98, 0.0), (0.98, 0.05), (0.995, 0.05))
    ],
}
"""The values of each setting. One that stands there more often is drawn more often."""


def learned(settings: Mapping[str, Any], decisions: int, seed: int, folder: Path) -> float:
    """Train ``demo`` with other settings, and return the processor seconds."""
    fixed = {"threads": 1, "compile": False, "evaluation.times": 0, "evaluation.final_deals": 2}
    given = {**fixed, "seed": seed, "budget.decisions": decisions, **settings}
    config, began = load_config("demo", given), time.process_time()
    train(config, folder, progress=False)
    return time.process_time() - began


def trial(settings: Mapping[str, Any], seed: int, deals: int, deals_seed: int) -> dict[str, Any]:
    """Train for `SECONDS`, and return decisions, processor seconds, margins and the score."""
    with tempfile.TemporaryDirectory() as folder:
        learned(settings, 2 * 65_536, seed, Path(folder, "warm"))  # loads and compiles
        speed = FIRST / learned(settings, FIRST, seed, Path(folder, "speed"))
        decisions = round(SECONDS * speed)
        spent = learned(settings, decisions, seed, Path(folder, "run"))
        played = evaluate(Path(folder, "run"), list(OPPONENTS), deals=deals, seed=deals_seed)
    margins = {one.opponent: round(one.margin, 4) for one in played}
    facts = {"decisions": decisions, "cpu_seconds": round(spent, 1), "margins": margins}
    return {**facts, "score": round(statistics.fmean(margins.values()), 4)}


def flat(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drawn point of `SPACE` as settings for ``load_config``."""
    return {name: value for name, value in drawn.items() if name != "average"} | drawn["average"]


def read() -> dict[str, Any]:
    """Return the results so far."""
    if RESULTS.exists():
        return dict(json.loads(RESULTS.read_text(encoding="utf-8")))
    return {"trials": [], "finals": []}


def add(part: str, row: dict[str, Any]) -> None:
    """Add a row to the results."""
    found = read()
    found[part].append(row)
    kept = {name: found[name] for name in ("trials", "finals")}
    harness.write(RESULTS, {"seconds": SECONDS, **kept})
    margins = ", ".join(f"{name} {margin:+.2f}" for name, margin in row["margins"].items())
    number = len(found[part])
    print(f"{part} {number}: {row['score']:+.2f} ({margins}), {row['settings']}", flush=True)


def search(trials: int, at_once: int) -> None:
    """Try random settings until there are so many trials."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    from ray import tune

    done = len(read()["trials"])
    if done >= trials:
        return

    def run(drawn: dict[str, Any]) -> None:
        settings = flat(drawn)
        row = {"settings": settings, **trial(settings, 0, SEARCH_DEALS, SEARCH_SEED)}
        tune.report({"score": row["score"], "row": row})

    class Record(tune.Callback):
        """Writes each trial when it ends."""

        def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Any) -> None:
            add("trials", result["row"])

    space = {name: tune.choice(values) for name, values in SPACE.items()}
    config = tune.TuneConfig(
        metric="score", mode="max", num_samples=trials - done, max_concurrent_trials=at_once
    )
    with tempfile.TemporaryDirectory() as folder:
        runs = tune.RunConfig(storage_path=folder, verbose=0, callbacks=[Record()])
        tuner = tune.Tuner(run, param_space=space, tune_config=config, run_config=runs)
        for error in tuner.fit().errors:
            raise error


def finals() -> None:
    """Train the best settings and those of ``demo`` with new seeds."""
    found = read()
    best = sorted(found["trials"], key=lambda one: -one["score"])[:NUM_FINALISTS]
    done = {(json.dumps(one["settings"]), one["seed"]) for one in found["finals"]}
    for seed in FINAL_SEEDS:
        for settings in ({}, *(one["settings"] for one in best)):
            if (json.dumps(settings), seed) not in done:
                row = trial(settings, seed, FINAL_DEALS, FINAL_SEED)
                add("finals", {"settings": dict(settings), "seed": seed, **row})


def main() -> int:
    """Run the search or the finals. Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["search", "finals"])
    parser.add_argument("--trials", type=int, default=100, help="trials in all (%(default)s)")
    parser.add_argument("--at-once", type=int, default=1, help="trials at once (%(default)s)")
    given = parser.parse_args()
    try:
        with interruptible():
            search(given.trials, given.at_once) if given.part == "search" else finals()
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return exit_status()
    return 0


if __name__ == "__main__":
    sys.exit(main())
