"""Play in every environment leaves the memory of the process as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import BatchGame, Game, hearts_v0
from hearts_env.solve import solve_worlds
from tests.slow import TIMES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux"),
]


def batch() -> Iterator[None]:
    """Random play of 1,024 games at once, observed."""
    games = BatchGame("classic", 1024, seed=1, autodeal=True)
    out, masks = games.observe(), games.masks()
    while True:
        games.play(games.random_actions())
        games.observe(out)
        games.masks(masks)
        yield


def vector() -> Iterator[None]:
    """Random play of 256 learners against ``standard``."""
    envs = gymnasium.make_vec("hearts_env/Hearts-v0", num_envs=256, opponent="standard")
    envs.reset(seed=1)
    rng = np.random.default_rng(1)
    while True:
        noise = rng.random((256, 28)) * envs.unwrapped.action_masks()  # type: ignore[attr-defined]
        envs.step(noise.argmax(1))
        yield


def turns() -> Iterator[None]:
    """PettingZoo's loop, matches of seven players with all that infos hold."""
    env = hearts_v0.env("party", 7, episode="match", observation="history")
    seed = 0
    while True:
        seed += 1
        env.reset(seed=seed)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else int(observation["action_mask"].argmax()))
        yield


def exact() -> Iterator[None]:
    """Deals of ``pimc`` against ``pro``, every position solved in all worlds, written and read."""
    players = [make_agent("pimc", seed=0), make_agent("pro", seed=0)]
    seed = 0
    while True:
        seed += 1
        game = Game.deal("two_player", seed)
        while not game.is_over:
            view = game.view(game.current_player or 0)
            solve_worlds(view)
            game.play(players[view.player].act(view))
        assert Game.from_text(game.to_text()) == game
        yield


WAYS: dict[str, tuple[Callable[[], Iterator[None]], int]] = {
    "BatchGame": (batch, 2000),
    "vector environment": (vector, 1500),
    "AEC, matches": (turns, 10),
    "solver and players": (exact, 20),
}
"""How it is played, and how many rounds."""


def resident() -> float:
    """The megabytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.mark.parametrize("way", WAYS)
def test_play_keeps_no_memory(way: str) -> None:
    make, rounds = WAYS[way]
    play = make()
    for _ in range(rounds // 4):  # whatever is made once
        next(play)
    before = resident()
    for _ in range(rounds * TIMES):
        next(play)
    assert resident() - before < 8.0
