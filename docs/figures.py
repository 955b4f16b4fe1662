"""Measures what the documentation says of players' strength, into ``docs/results``.

Every strength in the docs and in README comes from these files, by ``docs/tables.py``. Each file is
written whole when its figure is done; what is there already is not measured again, so that the
command can be stopped and started at will (half-done figures lie in ``build/figures``).

    python docs/figures.py                 the players of the package, cheap ones first (hours)
    python docs/figures.py NAME ...        some of them, like standard-easy
    python docs/figures.py demo            five trainings of `hearts train demo`, seeds 0 to 4
    python docs/figures.py demo --seeds 2  one of them
    python docs/figures.py --list          what there is
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearts_env import Rules
from hearts_env._files import write_whole

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
WORK = ROOT / "build" / "figures"

DEMO_DECISIONS = 4_000_000
DEMO_PAIRS = 5_000
DEMO_OPPONENTS = ("easy", "standard", "standard_trump", "pro")
DEMO_SEED = 1
"""Of the deals: other ones than those of the learning curve."""


@dataclass(frozen=True)
class Figure:
    """One agent against another on two-player deals, with so many that the interval is +- 0.03.

    Those with ``pimc_belief`` think too long for that; theirs is as it comes out.
    """

    agent: str
    opponent: str
    pairs: int
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the file, without its suffix."""
        return f"{self.agent}-{self.opponent}"

    @property
    def command(self) -> str:
        """The command line that measures the same."""
        return shlex.join(
            f"hearts evaluate {self.agent} --against {self.opponent} --pairs {self.pairs} "
            f"--seed {self.seed} --json".split()
        )


FIGURES = [
    Figure("standard", "easy", 400_000),
    Figure("standard_trump", "standard", 200_000),
    Figure("pro", "standard", 200_000),
    Figure("pro", "easy", 240_000),
    Figure("pro", "standard_trump", 280_000),
    Figure("pro_trump", "pro", 200_000),
    Figure("pimc", "pro", 240_000, seed=1),
    Figure("pimc_belief", "pimc", 1_000, seed=1),
    Figure("pimc_belief", "pro", 1_000, seed=1),
]


def path_of(name: str) -> Path:
    """Where the results of this name lie."""
    return RESULTS / f"{name}.json"


def measure(figure: Figure) -> None:
    """Play a figure's deals, from where it was stopped, and write its file."""
    from hearts_train import console
    from hearts_train.evaluation import Contest
    from hearts_train.reports import prepare

    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / f"{figure.name}.jsonl"
    contest = Contest(
        [figure.agent, figure.opponent],
        Rules.preset("two_player"),
        figure.seed,
        command=figure.command,
    )
    prepare(contest)
    is_begun = kept.exists()
    out, resume = (None, kept) if is_begun else (kept, None)
    with (
        contest.recorded(figure.pairs, out, resume),
        console.progress(figure.name) as tell,
    ):
        result = contest.evaluate(0, 1, figure.pairs, tell)
    if result.interrupted:
        raise KeyboardInterrupt
    write(figure.name, result.to_json())
    console.note(f"{figure.name}: {result.margin:+.3f} {result.ci95}")


def train_demo(seed: int) -> None:
    """Train the demo recipe for its budget in decisions, evaluate it, and write its file."""
    from hearts_train import ppo
    from hearts_train.config import load_config
    from hearts_train.reports import evaluate_against

    settings = [f"seed={seed}", f"budget.decisions={DEMO_DECISIONS}", "budget.minutes=null"]
    command = "hearts train demo " + " ".join(f"--set {setting}" for setting in settings)
    run = WORK / f"demo-{seed}"
    if (run / "config.yaml").exists():
        trained = ppo.train(None, None, run)
    else:
        trained = ppo.train(load_config("demo", settings), run)
    if not trained.is_finished:
        raise KeyboardInterrupt
    evaluations = evaluate_against(
        str(run), DEMO_OPPONENTS, Rules.preset("two_player"), DEMO_PAIRS, DEMO_SEED, command=command
    )
    if len(evaluations) < len(DEMO_OPPONENTS) or evaluations[-1].interrupted:
        raise KeyboardInterrupt
    records = []
    for evaluation in evaluations:
        record = evaluation.to_json() | {"agent": f"demo, seed {seed}"}
        record["agents"][0] |= {"name": record["agent"], "spec": None}
        records.append(record)
    write(
        f"demo-{seed}",
        {
            "recipe": "demo",
            "seed": seed,
            "decisions": trained.decisions,
            "seconds": trained.seconds,
            "command": command,
            "evaluations": records,
        },
    )


def write(name: str, record: dict[str, Any]) -> None:
    """Write a file of results."""
    RESULTS.mkdir(exist_ok=True)
    write_whole(path_of(name), (json.dumps(record, indent=1) + "\n").encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; returns the exit status."""
    from hearts_env._interrupts import interruptible

    parser = argparse.ArgumentParser(description="Measure the figures of the docs.")
    parser.add_argument("names", nargs="*", help="figures; none: all but demo")
    parser.add_argument("--seeds", default="0,1,2,3,4", help="of demo")
    parser.add_argument("--list", action="store_true", help="say what there is")
    given = parser.parse_args(arguments)
    known = {figure.name: figure for figure in FIGURES}
    if given.list:
        for figure in FIGURES:
            done = "done" if path_of(figure.name).exists() else "to do"
            print(f"{figure.name:22} {figure.pairs:>9,} pairs  {done}")
        return 0
    for name in given.names:
        if name not in known and name != "demo":
            print(f"{name}: unknown; known: {', '.join([*known, 'demo'])}", file=sys.stderr)
            return 2
    try:
        with interruptible():
            for name in given.names or known:
                if name == "demo":
                    for seed in given.seeds.split(","):
                        if not path_of(f"demo-{int(seed)}").exists():
                            train_demo(int(seed))
                elif not path_of(name).exists():
                    measure(known[name])
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
