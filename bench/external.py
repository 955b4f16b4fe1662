"""How many decisions a second come through the protocol of external agents.

    python bench/external.py [--repeats 9] [--out docs/results/external.json]

The example bots are asked about the same views of many games in the middle of a deal, one by one
and many at once, in turn. Clocks depend on what else the machine does; processor time, of this
process and of the bot (from Linux's /proc), much less. Bots whose compiler or interpreter is
missing are left out.
"""

from __future__ import annotations

import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import harness
from hearts_agents import make_agent
from hearts_agents.programs.program_agent import ExternalAgent
from hearts_env import BatchGame
from hearts_env.batch.views import BatchView

BOTS = Path(__file__).resolve().parents[1] / "examples" / "bots"
DECISIONS, PLAYED = 8192, 14
"""Views that are asked about, and the cards that were played before."""
BATCHES = (1, 64, 256)


def bots(folder: Path) -> dict[str, str]:
    """The specs of the example bots that this machine can run."""
    found = {"Python": f"exec:{sys.executable} -IS {BOTS / 'low_bot.py'}"}
    if shutil.which("node"):
        found["JavaScript"] = f"exec:node {BOTS / 'low_bot.js'}"
    if shutil.which("cc"):
        program = folder / "low_bot"
        subprocess.run(["cc", "-O2", "-o", program, BOTS / "low_bot.c"], check=True)
        found["C"] = f"exec:{program}"
    return found


def views_to_ask() -> BatchView:
    """Views in the middle of two-player deals."""
    batch = BatchGame("two_player", num_games=DECISIONS, seed=1, autodeal=False)
    for _ in range(PLAYED):
        batch.play(batch.random_actions())
    return batch.views()


def once(agent: ExternalAgent, views: BatchView) -> tuple[float, float, float]:
    """Seconds of the clock, of this process and of the program, for one decision each."""
    agent.start(views.rules)
    assert agent._process is not None
    pid = agent._process._process.pid
    bot, own, clock = harness.processor_seconds(pid), time.process_time(), time.perf_counter()
    given, failures = agent.answers(views)
    assert len(given) == len(views)
    assert not failures
    clock, own = time.perf_counter() - clock, time.process_time() - own
    return clock / len(views), own / len(views), (harness.processor_seconds(pid) - bot) / len(views)


def measure(repeats: int) -> list[dict[str, Any]]:
    """The figures of each bot and number of views in a message."""
    views = views_to_ask()
    with tempfile.TemporaryDirectory() as folder:
        agents = {
            (name, batch): make_agent(f"{spec}?batch={batch}")
            for name, spec in bots(Path(folder)).items()
            for batch in BATCHES
        }
        times = harness.in_turn(
            {key: functools.partial(once, agent, views) for key, agent in agents.items()}, repeats
        )
        for agent in agents.values():
            assert isinstance(agent, ExternalAgent)
            agent.close()
    return [
        {
            "bot": name,
            "batch": batch,
            "per_second": round(1 / statistics.median(clock for clock, _, _ in found)),
            "best_per_second": round(1 / min(clock for clock, _, _ in found)),
            "own_us": round(1e6 * statistics.median(own for _, own, _ in found), 2),
            "bot_us": round(1e6 * statistics.fmean(bot for _, _, bot in found), 2),
            "repeats": repeats,
        }
        for (name, batch), found in times.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the figures if wanted."""
    parser = harness.options(__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="times that each bot is asked")
    given = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    rates = measure(given.repeats)
    for rate in rates:
        print(
            f"{rate['bot']:10} {rate['batch']:4} at once: {rate['per_second']:8,} a second "
            f"(best {rate['best_per_second']:,}), {rate['own_us']:.1f} us here, "
            f"{rate['bot_us']:.1f} us in the bot"
        )
    facts = {
        "cores": os.cpu_count(),
        "load": round(float(np.mean([before, os.getloadavg()[0]])), 1),
        "decisions": DECISIONS,
        "rates": rates,
    }
    harness.write(given.out, facts)


if __name__ == "__main__":
    main()
