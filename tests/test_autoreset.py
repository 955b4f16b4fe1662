"""Gymnasium's three autoreset modes and its vector wrappers."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import (
    RecordEpisodeStatistics,
)

from hearts_agents import HeartsVectorEnv
from hearts_env import HeartsError
from hearts_env.envs import GYMNASIUM_ID
from tests.refusals import raises_hearts_error

MODES = [*AutoresetMode]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_a_mode_may_be_given_by_its_name(mode: AutoresetMode) -> None:
    for name in (mode.name, mode.value, mode.name.lower()):
        assert HeartsVectorEnv(2, "micro", autoreset_mode=name).autoreset_mode is mode
    envs = gymnasium.make_vec(GYMNASIUM_ID, num_envs=2, autoreset_mode=mode.name)
    assert envs.metadata["autoreset_mode"] is mode
    assert HeartsVectorEnv(2).autoreset_mode is AutoresetMode.SAME_STEP


def test_stable_baselines3_accepts_no_other_mode() -> None:
    pytest.importorskip("stable_baselines3")
    from hearts_agents import HeartsSB3VecEnv

    with raises_hearts_error(HeartsError, "autoreset_mode", "HeartsSB3VecEnv"):
        HeartsSB3VecEnv(2, "micro", autoreset_mode="DISABLED")  # type: ignore[call-arg]


def test_ended_episode_waits_for_its_reset() -> None:
    envs = HeartsVectorEnv(3, "micro", autoreset_mode="DISABLED", seat=0)
    _, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(1)
    actions[1] = (infos["action_mask"][1] == 0).argmax()  # ends this one alone
    assert envs.step(actions)[2].tolist() == [False, True, False]
    before = pickle.dumps(envs.arena.states)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        envs.step(actions)
    assert pickle.dumps(envs.arena.states) == before
    others = [*map(envs.arena.batch.game, range(3))]
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    games = [*map(envs.arena.batch.game, range(3))]
    assert (games[0], games[2]) == (others[0], others[2])
    assert games[1] != others[1]
    envs.step(envs.action_masks().argmax(1))


def test_seeds_go_to_reset_environments_only() -> None:
    envs = HeartsVectorEnv(4, "mini", autoreset_mode="DISABLED")

    def seeds() -> list[int]:
        return envs.episode_seeds.tolist()

    envs.reset(seed=1)
    first = seeds()
    envs.reset(seed=11)
    other = seeds()
    envs.reset(seed=1)
    some = np.array([True, False, True, False])
    envs.reset(seed=11, options={"reset_mask": some})
    assert seeds() == [other[0], first[1], other[2], first[3]]
    envs.reset(seed=[1, 2, None, 4], options={"reset_mask": some})
    after = seeds()
    assert after[:2] == first[:2]
    assert after[2] not in (first[2], other[2])  # the next of its own sequence
    assert after[3] == first[3]
    envs.reset(seed=1, options={"reset_mask": np.ones(4, bool)})
    assert seeds() == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset_mask": np.ones(2, bool), "x": 1}, "options reset_mask"),
        (7, "options 7"),
        ({"reset_mask": np.ones(3, bool)}, "options (3,) reset_mask (2,)"),
        ({"reset_mask": np.zeros(2, bool)}, "options reset_mask"),
    ],
)
def test_invalid_mask_is_refused(options: Any, message: str) -> None:
    envs = HeartsVectorEnv(2, autoreset_mode="DISABLED")
    with raises_hearts_error(HeartsError, "options", "reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=1, options={"reset_mask": np.ones(2, bool)})
    before = envs.episode_seeds
    with raises_hearts_error(HeartsError, *message.split()):
        envs.reset(options=options)
    assert (envs.episode_seeds == before).all()


def test_reset_mask_is_not_modified() -> None:
    """Gymnasium's environments pop it, and its statistics then restart everywhere."""
    envs = RecordEpisodeStatistics(HeartsVectorEnv(2, "mini", autoreset_mode="DISABLED"))
    envs.reset(seed=1)
    envs.step(envs.unwrapped.action_masks().argmax(1))
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.episode_lengths.tolist() == [0, 1]
