"""How strong `hearts train demo` is after seconds instead of minutes, over five seeds.

    python bench/short_trainings.py [--out docs/results/short.json]

Run folders lie in ``build/short``; a finished one is not trained again. The budget is time, so the
figures depend on the machine and on what else it does: the file has the decisions of each run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearts_env import __version__
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import platform_versions

SECONDS = (20, 40)
SEEDS = range(5)
WORK = Path(__file__).resolve().parents[1] / "build" / "short"


def train(seconds: int, seed: int) -> dict[str, Any]:
    """Train from nothing for so long, without evaluations on the way; returns the figures."""
    run = WORK / f"{seconds}s-{seed}"
    if not (run / "evaluation.json").exists():
        settings = [
            f"seed={seed}",
            "budget.decisions=null",
            f"budget.minutes={seconds / 60:.3f}",
            "evaluation.times=0",
        ]
        words = [word for setting in settings for word in ("--set", setting)]
        code = "from hearts_train.command.cli import main; main()"
        command = [sys.executable, "-c", code, "train", "demo", *words, "--run", str(run)]
        subprocess.run(command, check=True)
    against = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    [pro] = [record for record in against if record["opponent"] == "pro"]
    rows = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        "seconds": seconds,
        "seed": seed,
        "decisions": json.loads(rows[-1])["decisions"],
        "margin": pro["margin"],
        "ci95": pro["ci95"],
        "deals": pro["deals"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is not trained yet, print, and write the figures if wanted."""
    parser = argparse.ArgumentParser(description="Measure the demo's recipe with short budgets.")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    given = parser.parse_args(arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    runs = [train(seconds, seed) for seconds in SECONDS for seed in SEEDS]
    for run in runs:
        low, high = run["ci95"]
        print(
            f"{run['seconds']} s, seed {run['seed']}: {run['decisions'] / 1e6:.2f} M decisions, "
            f"{run['margin']:+.2f} ({low:+.2f} to {high:+.2f}) over pro"
        )
    if given.out:
        record = {"version": __version__, "platform": platform_versions(), "runs": runs}
        write_json(given.out, record)


if __name__ == "__main__":
    main()
