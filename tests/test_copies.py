"""Copies of every environment in mid-game play on as the original, and share nothing."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsVectorEnv
from hearts_env import BatchGame, hearts_v0
from tests.learners import plain

MATCH = {"rules": "micro", "episode": "match", "max_deals": 3}


def sb3(*args: Any, **options: Any) -> Any:
    return pytest.importorskip("hearts_agents.envs.sb3").HeartsSB3VecEnv(*args, **options)


MAKERS: dict[str, Callable[[], Any]] = {
    "raw_env": lambda: hearts_v0.raw_env("classic", reward="trick"),
    "raw_env match": lambda: hearts_v0.raw_env(**MATCH, reward="win"),
    "env": lambda: hearts_v0.env("hoyle", 3, reward="chips", action_mask="info"),
    "env match": lambda: hearts_v0.env(**MATCH, reward="trick"),
    "parallel_env": lambda: hearts_v0.parallel_env(render_mode="ansi", noop=True, max_deals=None),
    "HeartsEnv": lambda: HeartsEnv("classic", opponent="easy", reward="trick"),
    "HeartsEnv match": lambda: HeartsEnv("micro", opponent=["easy", "pro"], episode="match"),
    "HeartsVectorEnv": lambda: HeartsVectorEnv(6, opponent=["easy", "pimc?worlds=2"]),
    "HeartsVectorEnv match": lambda: HeartsVectorEnv(2, **MATCH, reward="trick"),
    "HeartsSB3VecEnv": lambda: sb3(4, opponent="easy", reward="trick"),
    "BatchGame": lambda: BatchGame("classic", 8, seed=1, num_threads=2),
}


def begin(env: Any) -> None:
    if isinstance(env, BatchGame):
        return
    if hasattr(env, "num_envs") and not isinstance(env, HeartsVectorEnv):
        env.seed(2)
        env.reset()
    else:
        env.reset(seed=2)


def play(env: Any, rng: random.Random) -> Any:
    """Return the result of a random legal action, or of a reset after the end."""
    if isinstance(env, BatchGame):
        return *env.step(env.random_actions()), env.done, env.seeds, env.scores()
    if hasattr(env, "aec_env"):
        if not env.agents:
            return env.reset()
        turn, action = env.aec_env.agent_selection, rng.choice(env.game.legal_actions())
        return env.step({turn: action}), env.render(), env.agents
    if hasattr(env, "agent_iter"):
        if not env.agents:
            env.reset()
        last = env.last()
        env.step(None if last[2] or last[3] else rng.choice(env.unwrapped.game.legal_actions()))
        # The acting player is omitted: its observation may be ready when a copy is made.
        seen = [env.observe(a) for a in env.possible_agents if a != env.agent_selection]
        payments = env.rewards, env._cumulative_rewards, env.terminations, env.truncations
        return last, seen, env.state(), env.infos, payments, env.agents, env.agent_selection
    masks = env.action_masks()
    if masks.ndim == 1:
        legal = np.flatnonzero(masks).tolist()
        return env.step(rng.choice(legal)) if legal else env.reset()
    return env.step(np.array([rng.choice(np.flatnonzero(mask).tolist()) for mask in masks]))


def without_times(value: Any) -> Any:
    """Return `value` without the seconds in stable-baselines3's infos."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key != "t"}
    if isinstance(value, tuple | list):
        return [without_times(part) for part in value]
    return value


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("name", MAKERS)
def test_copies_play_on_identically(name: str, copied: Any) -> None:
    env = MAKERS[name]()
    copied(env)  # also before the first reset
    begin(env)
    rng, twin = random.Random(1), None
    for step in range(120):
        if step % 7 == 3:  # it plays first, until the next copy: nothing is shared
            twin = copied(env)
        draws = rng.getstate()
        theirs = None if twin is None else plain(without_times(play(twin, rng)))
        rng.setstate(draws)
        mine = plain(without_times(play(env, rng)))
        assert twin is None or mine == theirs
