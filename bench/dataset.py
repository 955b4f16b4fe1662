"""What datasets cost: processor time and disk a game, by what is recorded (docs/datasets.md).

    python bench/dataset.py --out docs/results/dataset.json

The same deals are recorded in each form, one after another in turn, several times; figures are
medians. Compilation is not counted.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import harness
from hearts_env.support.progress import no_progress
from hearts_train.data.folder import make_dataset
from hearts_train.data.options import DatasetOptions

FORMS: dict[str, dict[str, Any]] = {
    "Parquet, without exact values": {"formats": ["parquet"], "exact": False},
    "Parquet, with exact values": {"formats": ["parquet"]},
    "Minari": {"formats": ["minari"]},
    "both, with exact values": {"formats": ["parquet", "minari"]},
}
AGENT, RULES = "pro", "two_player"


class Clock:
    """Processor seconds of this process, by what is being done."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("playing", "writing"), 0.0)

    @contextlib.contextmanager
    def __call__(self, doing: str) -> Iterator[Any]:
        """Count what this block takes."""
        begin = time.process_time()
        yield no_progress
        self.seconds[doing] += time.process_time() - begin


def cost(options: DatasetOptions) -> dict[str, float]:
    """Make a dataset, and say what a game of it takes."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        made = make_dataset(Path(folder) / "made", options, show=clock)
    size = sum(file["bytes"] for file in made.facts["files"].values())
    seconds = {f"{name}_ms": 1e3 * s / options.games for name, s in clock.seconds.items()}
    return {**seconds, "bytes": size / options.games}


def main() -> None:
    """Read the command line, measure, write."""
    parser = harness.options(__doc__)
    parser.add_argument("--games", type=int, default=640)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    asked = {
        name: DatasetOptions([AGENT], RULES, given.games, **form) for name, form in FORMS.items()
    }
    found = [
        {name: cost(options) for name, options in asked.items()} for _ in range(given.repeats + 1)
    ][1:]  # the first compiles and loads
    rows = [
        {"form": name, **{key: statistics.median(c[name][key] for c in found) for key in costs}}
        for name, costs in found[0].items()
    ]
    for row in rows:
        print(row)
    command = f"python bench/dataset.py --games {given.games} --repeats {given.repeats}"
    facts = {"agent": AGENT, "rules": RULES, "games": given.games, "rows": rows}
    harness.write(given.out, facts, command=command)


if __name__ == "__main__":
    main()
