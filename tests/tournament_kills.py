"""``hearts tournament`` killed at random moments and resumed, for ``make kills``.

However often it is killed, its result must be that of the tournament that nothing hit, no deal lost
and none counted twice; every file that is there after a kill must be read; and a second process at
the same file must be refused.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from hearts_train.measure.contest import read_saved
from tests.solve_kills import HITS, SIGNALS, Count, begin, ready

ENTERED = ("easy", "standard", "pro")
PAIRS = 5_000

PLAY = """
from hearts_train.command.cli import main
print("ready", flush=True)
main()
"""

CLOCK = ("ms_per_decision", "opponent_ms_per_decision", "command")
"""What a result has from the clock, and from how the command was called."""


def timeless(record: Any) -> Any:
    """A result without what depends on the clock, and on how the command was called."""
    if isinstance(record, dict):
        return {name: timeless(record[name]) for name in record if name not in CLOCK}
    return [timeless(item) for item in record] if isinstance(record, list) else record


def launch(file: Path) -> subprocess.Popen[str]:
    """A tournament that begins to load."""
    new = (*ENTERED, "--rules", "mini", "--deals", str(PAIRS), "--seed", "5", "--save", str(file))
    words = ("--resume", str(file)) if file.exists() and file.stat().st_size else new
    return begin(PLAY, "tournament", *words, "--json")


def result_of(process: subprocess.Popen[str]) -> Any:
    """What a tournament that must come to its end has found."""
    out, told = process.communicate()
    assert process.returncode == 0, told
    return timeless(json.loads(out))


def kill_tournament(kills: int, seed: int) -> Count:
    """Kill tournaments until `kills` signals have hit one at work, and resume each to its end."""
    rng, count, started = random.Random(seed), Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        process, began = ready(launch(Path(scratch) / "whole.jsonl")), time.monotonic()
        expected = result_of(process)
        length = time.monotonic() - began
        while count.kills < kills:
            file = Path(scratch) / f"{count.runs}.jsonl"
            for _ in range(HITS):
                process = ready(launch(file))
                count.starts += 1
                name = rng.choice(SIGNALS)
                try:
                    process.wait(rng.uniform(0.0, 0.5 * length))
                except subprocess.TimeoutExpired:
                    process.send_signal(getattr(signal, name))
                    _, told = process.communicate()
                    assert "Traceback" not in told, told
                    count.kills += 1
                    count.by_signal[name] = count.by_signal.get(name, 0) + 1
                    if file.exists() and file.stat().st_size:
                        read_saved(file)
                        count.files += 1
                else:
                    break
            both = [launch(file), launch(file)]
            count.starts += 2
            done = [(ready(one).communicate(), one.returncode) for one in both]
            for (_, told), status in done:
                if status:  # whoever came second, unless the first had ended already
                    assert "in use by process" in told or "already exists" in told, told
                    count.refused += 1
            (out, _), _ = next(one for one in done if not one[1])
            assert timeless(json.loads(out)) == expected
            count.runs += 1
            print(f"tournament: {count}", flush=True)
    count.seconds = time.monotonic() - started
    return count
