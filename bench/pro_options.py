"""How often `pro` plays another card with its options than without (docs/agents.md).

    python bench/pro_options.py --out docs/results/pro_options.json

`pro` plays both seats. At each of its choices, decisions with more than one legal card, every
variant is asked for its card too. Ties go to the lowest card in all of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from hearts_agents import make_agent
from hearts_env import BatchGame, __version__
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import platform_versions

GAME = "two_player"
VARIANTS = ("aim=score", "beliefs=voids", "aim=score&beliefs=voids")


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="the file of results")
    given = parser.parse_args()
    plain, variants = make_agent("pro"), [make_agent(f"pro?{options}") for options in VARIANTS]
    batch = BatchGame(GAME, given.deals, seed=given.seed, autodeal=False)
    choices, differing = 0, dict.fromkeys(VARIANTS, 0)
    while not batch.done.all():
        games = np.flatnonzero(~batch.done)
        views = batch.views(games)
        actions = plain.act_batch(views)
        choices += int((views.legal_table.sum(1) > 1).sum())
        for options, agent in zip(VARIANTS, variants, strict=True):
            differing[options] += int((agent.act_batch(views) != actions).sum())
        batch.play(actions, games=games)
    record = {
        "version": __version__,
        "platform": platform_versions(),
        "command": f"python bench/pro_options.py --deals {given.deals} --seed {given.seed}",
        "rules": GAME,
        "choices": choices,
        "rows": [{"options": name, "differing": number} for name, number in differing.items()],
    }
    print(record)
    if given.out:
        write_json(given.out, record)


if __name__ == "__main__":
    main()
