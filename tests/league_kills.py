"""``hearts tournament --folder`` killed at random moments and run again, for ``make kills``.

However often it is killed, its table must be that of the league that nothing hit; no block may be
lost or there twice; every file that is there after a kill must be read; and a second process at the
same league must be refused.
"""

from __future__ import annotations

import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from hearts_env import Rules
from hearts_train.measure.league import add
from hearts_train.measure.league_file import read_folder
from hearts_train.measure.league_table import tables
from tests.solve_kills import HITS, SIGNALS, Count, begin, ready
from tests.tournament_kills import PLAY

ENTERED = ("easy", "standard", "pro")


def launch(folder: Path) -> subprocess.Popen[str]:
    """A league that begins to load, and is made first where it is not there."""
    if not folder.exists():
        add(folder, ENTERED, [Rules.make("mini")], seed=5)
    return begin(PLAY, "tournament", "--folder", str(folder), "--until", "0.1")


def found(folder: Path) -> Any:
    """The table of a league, without what the clock said; its blocks are there once each."""
    league = read_folder(folder)
    (game,) = league.games.values()
    lines = game.store.path.read_bytes().count(b'"line":"block"')
    assert lines == len(game.blocks), f"{lines} lines for {len(game.blocks)} blocks"
    return [record["result"] for record in tables(league)]


def kill_league(kills: int, seed: int) -> Count:
    """Kill leagues until `kills` signals have hit one at work, and run each to its end."""
    rng, count, started = random.Random(seed), Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        process, began = ready(launch(whole)), time.monotonic()
        _, told = process.communicate()
        assert process.returncode == 0, told
        expected, length = found(whole), time.monotonic() - began
        while count.kills < kills:
            folder = Path(scratch) / f"{count.runs}"
            for _ in range(HITS):
                process = ready(launch(folder))
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
                    found(folder)
                    count.files += 1
                else:
                    break
            both = [launch(folder), launch(folder)]
            count.starts += 2
            done = [(ready(one).communicate(), one.returncode) for one in both]
            for (_, told), status in done:
                if status:  # whoever came second, unless the first had ended already
                    assert "in use by process" in told, told
                    count.refused += 1
            assert 0 in [status for _, status in done], done
            assert found(folder) == expected
            count.runs += 1
            print(f"league: {count}", flush=True)
    count.seconds = time.monotonic() - started
    return count
