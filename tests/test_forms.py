"""The form of observations: every dtype and both places of the mask, in all environments alike."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict
from pettingzoo.test import api_test, seed_test

from hearts_env import HeartsError, hearts_v0
from hearts_env.encoders import ENCODERS
from hearts_env.form import DTYPES, MASKS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")

KNOWN = "int8, float32, float16"


def array_of(observation: Any) -> Any:
    return observation["observation"] if isinstance(observation, dict) else observation


# ---- PettingZoo ----------------------------------------------------------------------------------
@pytest.mark.parametrize("observation", ENCODERS)
@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_every_dtype_shows_the_same_numbers(observation: str, dtype: str | None) -> None:
    """Only float16 rounds; a copy in mid-game shows the same too."""
    plain: Any = hearts_v0.raw_env("mini", observation=observation)
    own = plain.encoder.space(plain.rules).dtype
    if dtype == "int8" and own != np.int8:
        with pytest.raises(HeartsError, match=f"dtype: 'int8', but this observation is {own}"):
            hearts_v0.raw_env("mini", observation=observation, dtype=dtype)
        return
    cast: Any = hearts_v0.raw_env("mini", observation=observation, dtype=dtype, mask="info")
    box = cast.observation_space("player_1")
    assert isinstance(box, Box)
    assert box.dtype == cast.form.dtype == (dtype or own)
    for env in (plain, cast):
        env.reset(seed=3)
    for _ in range(5):
        for env in (cast, copy.deepcopy(cast), pickle.loads(pickle.dumps(cast))):
            for agent in env.possible_agents:
                seen, wanted = env.observe(agent), plain.observe(agent)
                assert seen in box
                assert np.array_equal(seen, wanted["observation"].astype(seen.dtype))
                assert np.array_equal(env.infos[agent]["action_mask"], wanted["action_mask"])
        action = plain.game.legal_actions()[-1]
        plain.step(action)
        cast.step(action)
        assert cast.last()[0] in box


def test_a_dtype_may_be_given_as_numpy_has_it() -> None:
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert hearts_v0.raw_env(dtype=dtype).form.dtype == np.float32
    assert hearts_v0.raw_env(observation="text", dtype="uint8").form.dtype == np.uint8  # its own


def test_bounds_follow_the_dtype() -> None:
    class Wide:
        def space(self, rules: Any) -> Box:
            return Box(-(10**6), 10**6, (2,), np.int64)

        def write(self, view: Any, out: Any) -> None:
            out[:] = -7, 7

    form = hearts_v0.raw_env(observation=Wide(), dtype="float32").form
    assert (form.box.low[0], form.box.high[0]) == (-(10**6), 10**6)
    env: Any = hearts_v0.raw_env(observation=Wide(), dtype="float16", mask="info")
    assert np.isinf(env.form.box.high).all()  # more than float16 can hold
    env.reset(seed=1)
    assert env.last()[0].tolist() == [-7.0, 7.0]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_battery_of_pettingzoo(dtype: str, mask: str) -> None:
    api_test(hearts_v0.env("mini", dtype=dtype, mask=mask), num_cycles=12)
    seed_test(lambda: hearts_v0.env("mini", dtype=dtype, mask=mask), num_cycles=4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dtype": "float64"}, f"dtype: 'float64' is unknown; give one of {KNOWN}, or None"),
        ({"dtype": float}, f"dtype: <class 'float'> is unknown; give one of {KNOWN}"),
        ({"dtype": np.floating}, f"is unknown; give one of {KNOWN}"),
        ({"dtype": 8}, f"dtype: 8 is unknown; give one of {KNOWN}"),
        ({"mask": "infos"}, "mask: 'infos' is unknown; did you mean 'info'? known: observation, "),
        ({"mask": None}, "mask: None is unknown; known: observation, info"),
    ],
)
def test_unknown_forms_list_the_choices(given: dict[str, Any], message: str) -> None:
    for make in (hearts_v0.raw_env, hearts_v0.env):
        with pytest.raises(HeartsError) as caught:
            make(**given)
        assert message in str(caught.value)


def test_the_mask_is_in_the_observation_or_not() -> None:
    both: Any = hearts_v0.raw_env("classic")
    assert isinstance(both.observation_space("player_0"), Dict)
    alone: Any = hearts_v0.raw_env("classic", mask="info")
    for env in (both, alone):
        env.reset(seed=1)
    while not both._is_stopped:
        agent = both.agent_selection
        assert np.array_equal(array_of(both.last()[0]), alone.last()[0])
        masks = [env.last()[4]["action_mask"] for env in (both, alone)]
        assert np.array_equal(*masks)
        assert np.flatnonzero(masks[0]).tolist() == both.game.legal_actions()
        for env in (both, alone):
            env.step(int(np.flatnonzero(masks[0])[0]))
        assert not alone.infos[agent]["action_mask"].any() or alone.agent_selection == agent
