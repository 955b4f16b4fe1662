"""What encoders and networks make of the same lessons (docs/champion.md).

    python bench/lessons.py --out docs/results/lessons.json

The same positions are taught to each, in the same number of passes; then each chooses cards in
positions that none has seen. What is lost is the mean double-dummy value over all worlds of the
best card less that of the card chosen, in points a decision.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env import Rules, __version__
from hearts_env.encoders import make_encoder
from hearts_env.support.files import write_json
from hearts_train import console
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.lessons import Lessons, Teaching
from hearts_train.learn.training import make_learner
from hearts_train.measure.evaluation import platform_versions

NETWORKS = {"256-64": ([256], [64]), "512-256-128": ([512, 256], [128])}
ENCODERS = ("flat", "ranked")
TEST_BLOCKS = range(1_000_000, 1_000_012)
"""Blocks of deals that no course gets to."""


def lost(agent: Any, test: Lessons) -> float:
    """What an agent's choices lose on average."""
    legal = np.isfinite(test.values)
    weights = np.where(legal, agent.weigh(test.observations), -np.inf)
    chosen = np.take_along_axis(test.values, weights.argmax(1)[:, None], 1)[:, 0]
    best = np.where(legal, test.values, -np.inf).max(1)
    return float((best - chosen).mean())


def taught(encoder: str, network: str, positions: int, passes: int) -> dict[str, Any]:
    """Teach one network, and see what it loses."""
    trunk, head = NETWORKS[network]
    config = TrainConfig.model_validate(
        {
            "threads": 1,
            "env": {"observation": encoder},
            "network": {"trunk": trunk, "policy": head, "value": head},
            "lessons": {"positions": positions, "passes": passes},
            "budget": {"decisions": 1},
        }
    )
    learner: Any = make_learner(config)
    learner.course.observations(np.arange(1))  # gathers all, before the clock runs
    begin = time.process_time()
    while learner.counters.lessons < learner.course.size:
        console.progress(
            f"{encoder} {network}: {learner.counters.lessons / learner.course.size:.0%}"
        )
        learner.update()
    seconds = time.process_time() - begin
    teaching = Teaching(Rules.preset("two_player"), make_encoder(encoder), seed=1)
    test = Lessons.joined([teaching(block) for block in TEST_BLOCKS])
    return {
        "encoder": encoder,
        "network": network,
        "weights": int(sum(array.size for array in learner.tensors().values())),
        "processor_seconds": seconds,
        "positions": len(test.values),
        "lost": lost(learner.agent(), test),
    }


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--positions", type=int, default=400_000, help="taught")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--out", type=Path, help="the file of results")
    given = parser.parse_args()
    rows = [
        taught(encoder, network, given.positions, given.passes)
        for network in NETWORKS
        for encoder in ENCODERS
    ]
    command = f"python bench/lessons.py --positions {given.positions} --passes {given.passes}"
    record = {
        "version": __version__,
        "platform": platform_versions(),
        "command": command,
        "taught": given.positions,
        "passes": given.passes,
        "rows": rows,
    }
    for row in rows:
        console.note(f"{row['encoder']:8} {row['network']:12} loses {row['lost']:.3f}")
    if given.out:
        write_json(given.out, record)


if __name__ == "__main__":
    main()
