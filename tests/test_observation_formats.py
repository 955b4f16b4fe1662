"""The format of observations: every dtype and place of the mask, in all environments alike."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from hearts_env import HeartsError, hearts_v0
from hearts_env.envs.observations import DTYPES, MASKS
from tests.learners import LEARNERS, made, turns
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases


def array_of(observation: Any) -> Any:
    return observation["observation"] if isinstance(observation, dict) else observation


# ---- PettingZoo ----------------------------------------------------------------------------------


def test_bounds_follow_the_dtype() -> None:
    class Wide:
        def space(self, rules: Any) -> Box:
            return Box(-(10**6), 10**6, (2,), np.int64)

        def write(self, view: Any, out: Any) -> None:
            out[:] = -7, 7

    wide = hearts_v0.raw_env(observation=Wide(), dtype="float32").observation_format
    assert (wide.box.low[0], wide.box.high[0]) == (-(10**6), 10**6)
    env: Any = hearts_v0.raw_env(observation=Wide(), dtype="float16", action_mask="info")
    assert np.isinf(env.observation_format.box.high).all()  # more than float16 can hold
    env.reset(seed=1)
    assert env.last()[0].tolist() == [-7.0, 7.0]


def test_mask_is_in_observation_info_or_both() -> None:
    envs: Any = {mask: hearts_v0.raw_env("classic", action_mask=mask) for mask in MASKS}
    both = envs["both"]
    assert hearts_v0.raw_env("classic").observation_spaces == both.observation_spaces
    for mask, env in envs.items():
        assert isinstance(env.observation_space("player_0"), Box if mask == "info" else Dict)
        env.reset(seed=1)
    while both.agents:
        agent = both.agent_selection
        legal = [] if both.is_over else both.game.legal_actions()
        wanted = both.observe(agent)["observation"]
        for mask, env in envs.items():
            for other in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
                observation, *_, info = other.last()
                seen = observation if mask == "info" else observation["observation"]
                assert np.array_equal(seen, wanted)
                for where, found in (("observation", observation), ("info", info)):
                    if mask in (where, "both"):
                        assert np.flatnonzero(found["action_mask"]).tolist() == legal
                assert ("action_mask" in info) == (mask != "observation")
                assert all(i.keys() == info.keys() for i in other.infos.values())
            env.step(legal[0] if legal else None)
            infos = env.infos.items()
            waiting = [info for other, info in infos if other != env.agent_selection]
            assert not any(info.get("action_mask", env._no_mask).any() for info in waiting)


# ---- the environments of one learner -------------------------------------------------------------
def mostly_legal() -> Callable[[Any], Any]:
    """Choose the first legal action of each row, but every seventh time an illegal one."""
    steps = itertools.count()
    return lambda masks: (masks == (next(steps) % 7 != 6)).argmax(-1)


@pytest.mark.parametrize("way", LEARNERS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", [None, *DTYPES])
@quick_cases("observation", ["flat", "history", "text"], ["flat"])
def test_learners_see_equal_numbers_in_every_format(
    way: str, mask: str, dtype: str | None, observation: str
) -> None:
    options: dict[str, Any] = {"rules": "micro", "observation": observation, "opponent": "easy"}
    if dtype == "int8" and observation == "text":
        with raises_hearts_error(HeartsError, "dtype", "int8", "float32"):
            made(way, dtype=dtype, **options)
        return
    plain, cast = made(way, **options), made(way, dtype=dtype, action_mask=mask, **options)
    box = cast.observation_space
    box = box if mask == "info" else box["observation"]
    own = plain.observation_space.dtype
    assert box.dtype == (dtype or own)
    shown, cast_shown = (turns(env, 30, mostly_legal()) for env in (plain, cast))
    both = zip(shown, cast_shown, strict=True)
    for (wanted, infos, masks), (seen, cast_infos, _) in both:
        assert array_of(seen).dtype == box.dtype
        if way == "stable-baselines3":  # whose space is that of a single environment
            assert array_of(seen)[1] in box
        else:
            assert seen in cast.observation_space
        assert isinstance(seen, dict) == (mask != "info")
        assert np.array_equal(array_of(seen), wanted.astype(box.dtype))
        if isinstance(seen, dict):
            assert np.array_equal(seen["action_mask"], masks)
        if mask == "observation":
            last_infos = (
                cast_infos
                if way == "stable-baselines3"
                else [cast_infos, cast_infos.get("final_info", {})]
            )
            assert not any("action_mask" in info for info in last_infos)
        elif way == "stable-baselines3":
            assert np.array_equal(np.stack([info["action_mask"] for info in cast_infos]), masks)
        else:
            assert np.array_equal(cast_infos["action_mask"], masks)
        if way == "stable-baselines3":
            for info, other in zip(cast_infos, infos, strict=True):
                check_last(cast, info.get("terminal_observation"), other, mask)
        else:
            for last, other in zip(
                cast_infos.get("final_obs", []), infos.get("final_obs", []), strict=True
            ):
                check_last(cast, last, {"terminal_observation": other}, mask)


def check_last(env: Any, last: Any, other: Any, mask: str) -> None:
    """The last observation of an episode, where there is one: no mask, also by illegal actions."""
    if last is None:
        return
    assert last in getattr(env, "single_observation_space", env.observation_space)
    array = array_of(last)
    assert np.array_equal(array, other["terminal_observation"].astype(array.dtype))
    if mask != "info":
        assert not last["action_mask"].any()


def test_encoder_with_invalid_space_is_named() -> None:
    class Wrong:
        def space(self, rules: Any) -> int:
            return 7

        def write(self, view: Any, out: Any) -> None:
            pass

    with raises_hearts_error(HeartsError, "observation", "Wrong.space(rules)"):
        hearts_v0.env(observation=Wrong())
