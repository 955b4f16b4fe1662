"""Ten minutes of play in every environment, the memory of the process flat: ``make soak``.

Each way to play has its share of the time. What it holds after a fifth of that, when everything
has been used once, it may exceed by a few megabytes at the end.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gymnasium
import numpy as np

from hearts_agents import make_agent
from hearts_env import BatchGame, Game, hearts_v0
from hearts_env.solve import solve_worlds
from tests.verification import section, write_page

MOST_GROWTH = 8.0
"""Megabytes by which the process may grow after the first fifth of the time."""


def batch() -> Iterator[int]:
    """Random play of 1,024 games at once, observed; yields the decisions of each round."""
    games = BatchGame("classic", 1024, seed=1, autodeal=True)
    out, masks = games.observe(), games.masks()
    while True:
        games.play(games.random_actions())
        games.observe(out)
        games.masks(masks)
        yield 1024


def vector() -> Iterator[int]:
    """Random play of 256 learners against ``standard``."""
    envs = gymnasium.make_vec("hearts_env/Hearts-v0", num_envs=256, opponent="standard")
    envs.reset(seed=1)
    rng = np.random.default_rng(1)
    while True:
        noise = rng.random((256, 28)) * envs.unwrapped.action_masks()  # type: ignore[attr-defined]
        envs.step(noise.argmax(1))
        yield 256


def turns() -> Iterator[int]:
    """PettingZoo's loop, matches of seven players with all that infos hold."""
    env = hearts_v0.env("party", 7, episode="match", observation="history")
    seed = 0
    while True:
        seed += 1
        env.reset(seed=seed)
        count = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else int(observation["action_mask"].argmax()))
            count += 1
        yield count


def exact() -> Iterator[int]:
    """Deals of ``pimc`` against ``pro``, every position solved in all worlds, written and read."""
    players = [make_agent("pimc", seed=0), make_agent("pro", seed=0)]
    seed = 0
    while True:
        seed += 1
        game = Game.deal("two_player", seed)
        while not game.is_over:
            view = game.view(game.player or 0)
            solve_worlds(view)
            game.play(players[view.player].act(view))
        assert Game.from_text(game.to_text()) == game
        yield 26


WAYS: dict[str, Callable[[], Iterator[int]]] = {
    "BatchGame": batch,
    "vector environment": vector,
    "AEC, matches": turns,
    "solver and players": exact,
}


@dataclass(frozen=True)
class Row:
    """What one way to play has shown."""

    way: str
    decisions: int
    seconds: float
    megabytes: float
    growth: float


def resident() -> float:
    """The megabytes of memory that this process holds."""
    gc.collect()
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def soak(way: str, seconds: float) -> Row:
    """Play for so long.

    Raises:
        AssertionError: the memory has grown.
    """
    play, decisions, early = WAYS[way](), 0, 0.0
    begin = time.monotonic()
    while (gone := time.monotonic() - begin) < seconds:
        decisions += next(play)
        if not early and gone > seconds / 5:
            early = resident()
    late = resident()
    assert late - early < MOST_GROWTH, f"{way}: grown from {early:.0f} to {late:.0f} MB"
    return Row(way, decisions, gone, late, late - early)


def main() -> None:
    """Play all ways, one after another, and renew the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all together")
    minutes = parser.parse_args().minutes
    rows = []
    for way in WAYS:
        rows.append(soak(way, 60 * minutes / len(WAYS)))
        print(rows[-1], flush=True)
    if minutes >= 10:
        says = (
            f"`make soak`: {minutes:g} minutes of play, an even share for each way. The memory "
            "that the process holds at the end, and by how much that is more than after a fifth of "
            f"the time; {MOST_GROWTH:g} MB more would be a fault."
        )
        columns = ["way", "decisions", "seconds", "MB", "grown by MB"]
        table = [[r.way, r.decisions, r.seconds, r.megabytes, f"{r.growth:.1f}"] for r in rows]
        write_page({"soak": section("soak", says, columns, table)})


if __name__ == "__main__":
    main()
