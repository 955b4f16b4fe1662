"""Whatever is given for an argument: it is taken, or refused in our words and by its name."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium
import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsVectorEnv
from hearts_env import HeartsError, hearts_v0
from hearts_env.envs.options import RESET_OPTIONS
from hearts_env.support.errors import quoted
from tests.refusals import refused
from tests.test_arguments import ODD


def environments() -> dict[str, Any]:
    """How each is made."""
    made: dict[str, Any] = {
        "hearts_v0": hearts_v0.raw_env,
        "parallel": hearts_v0.parallel_env,
        "gymnasium": HeartsEnv,
        "vector": HeartsVectorEnv,
    }
    try:
        from hearts_agents.envs.sb3 import HeartsSB3VecEnv
    except ImportError:
        return made
    return {**made, "stable-baselines3": HeartsSB3VecEnv}


MADE = environments()
SINGLE = ("hearts_v0", "parallel", "gymnasium")
ARGUMENTS = [
    (way, name) for way, make in MADE.items() for name in inspect.signature(make).parameters
]


def is_refused(call: Any, *also: type[Exception], names: tuple[str, ...] = ()) -> bool:
    """Whether a call was refused in our words; any other error goes through and fails the test.

    The error says what to do, and begins with the argument, one of `names`, where they are given.
    """
    try:
        call()
    except also:
        return True
    except HeartsError as error:
        refusal = error
    else:
        return False
    assert 10 < len(str(refusal)) < 700
    assert refusal.hint, str(refusal)
    assert not names or refusal.argument in names, str(refusal)
    return True


@pytest.mark.parametrize(("way", "name"), ARGUMENTS)
def test_odd_arguments_are_taken_or_refused(way: str, name: str) -> None:
    given = {"episode": "match"} if name == "max_deals" else {}
    said = {"opponent": (name, "agent", "weight"), "rules": (name, "players")}.get(name, (name,))
    taken = [
        v for v in ODD if not is_refused(lambda v=v: MADE[way](**given, **{name: v}), names=said)
    ]
    # None, 1 and True are what some arguments may be; nothing takes all of these.
    assert len(taken) < 8, [quoted(value) for value in taken]


@pytest.mark.parametrize("way", MADE)
def test_odd_seeds_and_options_are_taken_or_refused(way: str) -> None:
    env = MADE[way]("micro") if way in SINGLE else MADE[way](2, "micro")
    taken = []
    for value in ODD:
        if way == "stable-baselines3":
            calls = [lambda v=value: (env.seed(v), env.reset())]
        else:
            calls = [
                lambda v=value: env.reset(seed=v),
                lambda v=value: env.reset(options=v),
                *(
                    lambda v=value, key=key: env.reset(options={key: v})
                    for key in (*RESET_OPTIONS, "x")
                ),
                lambda v=value: env.reset(options={"deal": {"hands": v}}),
                lambda v=value: env.reset(options={"deal": {"hands": [v, v], "kitty": v}}),
            ]
        taken += [place for place, call in enumerate(calls) if not is_refused(call)]
    assert 0 in taken  # None, 1 and a large number are seeds
    env.reset()


@pytest.mark.parametrize("way", MADE)
def test_odd_actions_are_taken_or_refused(way: str) -> None:
    for value in [*ODD, -2, 7, 2.0, np.bool_(True), [[1]]]:
        env = MADE[way]("micro") if way in SINGLE else MADE[way](2, "micro")
        is_refused(lambda env=env, v=value: env.step(v), gymnasium.error.ResetNeeded)
        if way == "stable-baselines3":
            env.seed(1)
            env.reset()
        else:
            env.reset(seed=1)
        before = env.unwrapped.game.clone() if way in SINGLE else None
        if is_refused(lambda env=env, v=value: env.step(v)) and way in SINGLE:
            assert env.unwrapped.game == before
        if way not in SINGLE:
            is_refused(lambda env=env, v=value: env.step([v, v]))
            is_refused(lambda env=env, v=value: env.step(np.array([v, v], dtype=object)))


def test_odd_agents_are_refused() -> None:
    for env in (hearts_v0.raw_env(), hearts_v0.env()):
        env.reset(seed=1)
        for value in ODD:
            for call in (env.observe, env.observation_space, env.action_space):
                assert is_refused(lambda call=call, v=value: call(v))


def test_the_end_of_an_episode_is_told_in_words() -> None:
    env = hearts_v0.env(rules="micro")
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        over = termination or truncation
        env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
    for table in (env, env.unwrapped, hearts_v0.raw_env()):
        with refused(HeartsError, "last"):
            table.last()
    with refused(HeartsError, "step"):
        hearts_v0.raw_env().step(0)
    assert is_refused(HeartsEnv(render_mode="ansi").render)
    assert not HeartsEnv().action_masks().any()
