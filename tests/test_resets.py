"""Resets in mid-deal, seeds of 0 and numbers of other libraries, in every environment alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsVectorEnv, make_agent
from hearts_env import BatchGame, Game, Match, Rules, hearts_v0
from tests.slow import slow

Step = tuple[bytes, float]
"""An observation and the reward that came with it."""


def make(way: str, **options: Any) -> Any:
    """Return an environment of `way`; the vector environments have two."""
    if way == "hearts_v0":
        return hearts_v0.env("mini", **options)
    if way == "parallel":
        return hearts_v0.parallel_env("mini", **options)
    if way == "gymnasium":
        return HeartsEnv("mini", **options)
    if way == "vector":
        return HeartsVectorEnv(2, "mini", **options)
    pytest.importorskip("stable_baselines3")
    from hearts_agents import HeartsSB3VecEnv

    return HeartsSB3VecEnv(2, "mini", **options)


WAYS = ("hearts_v0", "parallel", "gymnasium", "vector", "stable-baselines3")


def play(
    way: str,
    env: Any,
    seed: int,
    steps: int,
    number: Callable[[Any], Any] = lambda action: action,
    *,
    last: int | None = None,
) -> list[Step]:
    """Reset with `seed`, play the lowest legal actions and return what the players get.

    Args:
        way: the kind of `env`.
        env: the environment.
        seed: the seed of the reset.
        steps: the number of steps at most.
        number: what is given for an action, or for the array of actions.
        last: the action of the last step. If None, a legal one.
    """
    seen: list[Step] = []

    def note(observation: Any, reward: Any = 0.0) -> None:
        values = observation["observation"] if isinstance(observation, dict) else observation
        seen.append((np.asarray(values).tobytes(), np.asarray(reward, float).tolist()))

    if way == "stable-baselines3":
        env.seed(seed)
        note(env.reset())
    elif way in ("gymnasium", "vector"):
        note(env.reset(seed=seed)[0])
    else:
        env.reset(seed=seed)
    for left in range(steps, 0, -1):
        if way in ("hearts_v0", "parallel"):
            table = env.unwrapped if way == "hearts_v0" else env.aec_env
            if not table.agents or table.is_over:
                break
            agent = table.agent_selection
            action: Any = int(table.infos[agent]["action_mask"].argmax())
        else:
            action = env.action_masks().argmax(-1)
        if last is not None and left == 1:
            action = np.full_like(action, last)
        if way in ("vector", "gymnasium"):
            observation, reward, terminated, *_ = env.step(number(action))
            note(observation, reward)
            if way == "gymnasium" and terminated:
                break
        elif way == "stable-baselines3":
            observation, reward, *_ = env.step(number(action))
            note(observation, reward)
        elif way == "parallel":
            observations, rewards, *_ = env.step({agent: number(action)})
            note(observations[agent], rewards[agent])
        else:
            env.step(number(int(action)))
            note(*env.last()[:2])
    return seen


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("way", WAYS)
def test_reset_in_mid_deal_leaves_nothing_behind(way: str, episode: str) -> None:
    options: dict[str, Any] = {"reward": "trick", "episode": episode}
    if way not in ("hearts_v0", "parallel"):
        options["skip_forced"] = True
    fresh = [play(way, make(way, **options), seed, 30) for seed in (4, 5)]
    env = make(way, **options)
    for seed in range(10, 14):
        play(way, env, seed, steps=5)
        assert play(way, env, 4, 30) == fresh[0]
        illegal = Rules.preset("mini").num_actions - 1  # the ace of trumps
        play(way, env, seed, steps=3, last=illegal)
        assert play(way, env, 5, 30) == fresh[1]


@pytest.mark.parametrize("way", WAYS)
def test_seed_of_zero_is_a_seed(way: str) -> None:
    env = make(way)
    assert play(way, env, 0, 12) == play(way, env, 0, 12) == play(way, make(way), 0, 12)
    assert play(way, env, 0, 12) != play(way, env, 1, 12)
    if way in ("hearts_v0", "parallel"):
        env.reset(seed=0)
        assert env.unwrapped.game == Game.deal("mini", 0)


def test_games_batches_and_agents_take_seed_zero() -> None:
    assert Match("mini", 0).game == Match("mini", 0).game
    assert (
        BatchGame("mini", 3, seed=0).seeds.tolist() == BatchGame("mini", 3, seed=0).seeds.tolist()
    )
    batch = BatchGame("mini", 2)
    batch.reset(np.array([0, 0]))
    assert [batch.game(i) for i in range(2)] == [Game.deal("mini", 0)] * 2
    many = BatchGame("mini", 64, seed=1)
    many.play(many.random_actions())
    views = many.views()
    draws = [make_agent("easy", seed=seed).act_batch(views).tolist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("library", ["numpy", "torch", pytest.param("jax", marks=slow)])
def test_numbers_of_any_library_are_actions(library: str, way: str) -> None:
    if library == "numpy":
        kinds: list[Any] = [np.int8, np.uint16, np.int64, np.array, np.float64]
    elif library == "torch":
        torch = pytest.importorskip("torch")
        kinds = [lambda action: torch.as_tensor(action).to(torch.int32), torch.as_tensor]
    else:
        kinds = [pytest.importorskip("jax").numpy.asarray]
    options: dict[str, Any] = {"reward": "trick"}
    expected = play(way, make(way, **options), 3, 12)
    for kind in kinds:
        if kind is np.float64:
            with pytest.raises(ValueError, match=r"actions?: "):
                play(way, make(way, **options), 3, 12, kind)
        else:
            assert play(way, make(way, **options), 3, 12, kind) == expected
