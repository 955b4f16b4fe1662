"""Plays the league of the package's own players, into ``docs/results/league``.

Every table in docs/league.md comes from these files, by ``docs/tables.py``. The steps come in the
order of what they tell for their time: first all games among the quick players, then the players
that search, then narrower intervals. Each goes on where it stood, so that the command can be
stopped and started at will; the last ones take weeks.

    python docs/leagues.py                 all steps, one after another
    python docs/leagues.py --workers 16    the same, the same results, sooner
    python docs/leagues.py --list          what there is
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "results" / "league"

QUICK = "easy,standard,standard_trump"
PLAYOUT = f"{QUICK},pro,pro_trump"
SOLVING = f"{PLAYOUT},pimc,champion"

STEPS = [
    "--built-in --rules micro --until 0.03",
    "--built-in --rules mini --until 0.1",
    f"{SOLVING.replace(',', ' ')} --rules two_player --only {SOLVING} --until 0.3",
    "pimc_belief --rules two_player --deals 48",
    f"{QUICK.replace(',', ' ')} --rules every --only {QUICK} --until 0.1",
    "pro --rules party --players 5 --deals 16",
    "pro --rules hoyle --players 2 --deals 16",
    f"--only {QUICK} --until 0.03",
    "pro --rules classic --deals 16",
    f"--rules two_player --only {SOLVING} --until 0.1",
    "--rules mini --until 0.03",
    f"--rules two_player --only {PLAYOUT} --until 0.03",
    f"--rules two_player --only {SOLVING} --until 0.03",
    "--rules two_player --deals 1000",
    "--built-in --rules every --deals 16",
    *(f"--deals {deals}" for deals in (100, 1000)),
    "--until 0.03",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the steps; returns the exit status of the first that fails."""
    parser = argparse.ArgumentParser(description="Play the league of the docs.")
    parser.add_argument("--list", action="store_true", help="only say what would be done")
    parser.add_argument("--workers", type=int, default=1, help="processes that play")
    asked = parser.parse_args(arguments)
    for step in STEPS:
        words = ["tournament", *shlex.split(step), "--folder", str(FOLDER)]
        words += ["--workers", str(asked.workers)]
        print("hearts", shlex.join(words), flush=True)
        if asked.list:
            continue
        command = [sys.executable, "-m", "hearts_train.command.cli", *words]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
