"""Where the time of the PettingZoo environment goes: steps a second, by arguments; or a profile.

    python bench/aec.py [--seconds 0.2] [--rounds 11]
    python bench/aec.py --profile [--rules two_player] [--observation flat]

Random legal play, processor time, medians. The peers are measured by bench/peers.py.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from hearts_env import hearts_v0

WAYS: list[dict[str, Any]] = [
    {},
    {"reward": "trick"},
    {"episode": "match"},
    {"rules": "classic"},
    {"rules": "party", "players": 6},
    *({"observation": name} for name in ("planes", "history", "belief", "text")),
]


def play(env: Any, seconds: float, *, sample: bool = False) -> float:
    """Steps a second through ``last`` and ``step``, steps of agents that are done not counted.

    Args:
        env: the environment.
        seconds: for how long.
        sample: draw actions with the action space, as PettingZoo's own examples do.
    """
    rng = random.Random(0)
    steps, start = 0, time.process_time()
    while True:
        env.reset(seed=steps)
        for agent in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                action = None
            elif sample:
                action = env.action_space(agent).sample(observation["action_mask"])
                steps += 1
            else:
                legal = observation["action_mask"].nonzero()[0]
                action = int(legal[int(rng.random() * len(legal))])
                steps += 1
            env.step(action)
        if (passed := time.process_time() - start) >= seconds:
            return steps / passed


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, or a profile."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--rules", default="two_player")
    parser.add_argument("--observation", default="flat")
    given = parser.parse_args(arguments)
    if given.profile:
        env = hearts_v0.raw_env(given.rules, observation=given.observation)
        play(env, 0.2)
        with cProfile.Profile() as profile:
            play(env, given.seconds)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    print(f"{'arguments':42} {'env':>9} {'raw_env':>9} {'env, space.sample':>18}")
    for way in WAYS:
        made = [
            (hearts_v0.env(**way), False),
            (hearts_v0.raw_env(**way), False),
            (hearts_v0.env(**way), True),
        ]
        runs: list[list[float]] = [[] for _ in made]
        for _ in range(given.rounds + 1):  # in turn, so that a slow moment slows all; one to warm
            for (env, sample), speeds in zip(made, runs, strict=True):
                speeds.append(play(env, given.seconds, sample=sample))
        medians = [statistics.median(speeds[1:]) for speeds in runs]
        words = ", ".join(f"{name}={value!r}" for name, value in way.items()) or "(defaults)"
        print(f"{words:42} {medians[0]:9,.0f} {medians[1]:9,.0f} {medians[2]:18,.0f}", flush=True)


if __name__ == "__main__":
    main()
