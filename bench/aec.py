"""Where the time of the PettingZoo environment goes: steps a second, by arguments; or a profile.

    python bench/aec.py [--seconds 0.2] [--rounds 11]
    python bench/aec.py --profile [--rules two_player] [--observation flat]

Random legal play, processor time, medians. The peers are measured by bench/peers.py.
"""

from __future__ import annotations

import cProfile
import functools
import pstats
import statistics
import time
from collections.abc import Sequence
from typing import Any

from bench import harness
from bench.peers import aec
from hearts_env import hearts_v0

WAYS: list[dict[str, Any]] = [
    {},
    {"reward": "trick"},
    {"episode": "match"},
    {"rules": "classic"},
    {"rules": "party", "players": 6},
    *({"observation": name} for name in ("planes", "history", "belief", "text")),
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, or a profile."""
    parser = harness.options(__doc__, has_out=False)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--rules", default="two_player")
    parser.add_argument("--observation", default="flat")
    given = parser.parse_args(arguments)
    if given.profile:
        play = aec(hearts_v0.raw_env(given.rules, observation=given.observation))
        play(0.2)
        with cProfile.Profile() as profile:
            play(given.seconds)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    print(f"{'arguments':42} {'env':>9} {'raw_env':>9} {'env, space.sample':>18}")
    for way in WAYS:
        made = {
            "env": (hearts_v0.env(**way), False),
            "raw_env": (hearts_v0.raw_env(**way), False),
            "env, space.sample": (hearts_v0.env(**way), True),
        }
        measures = {
            name: functools.partial(aec(env, sample=sample, clock=time.process_time), given.seconds)
            for name, (env, sample) in made.items()
        }
        medians = [statistics.median(v) for v in harness.in_turn(measures, given.rounds).values()]
        words = ", ".join(f"{name}={value!r}" for name, value in way.items()) or "(defaults)"
        print(f"{words:42} {medians[0]:9,.0f} {medians[1]:9,.0f} {medians[2]:18,.0f}", flush=True)


if __name__ == "__main__":
    main()
