"""Requirements of other libraries, tested without them."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from hearts_agents import HeartsVectorEnv
from hearts_env import hearts_v0
from hearts_env.envs.observations import MASKS


# ---- spaces --------------------------------------------------------------------------------------
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("noop", [False, True])
def test_unwrapped_parallel_environment_has_own_spaces(noop: bool, mask: str) -> None:
    """The library skrl reads them there. The game stays reachable."""
    env = hearts_v0.parallel_env("mini", noop=noop, action_mask=mask)
    observations, _ = env.reset(seed=4)
    for one in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        inner = one.unwrapped
        assert inner.aec_env.game == inner.game == env.game
        assert (inner.rules, inner.match, inner.episode_seed) == (env.rules, None, 4)
        for agent in env.possible_agents:
            assert inner.action_space(agent) == env.action_space(agent)
            assert inner.action_spaces[agent].n == env.rules.num_actions + noop
            assert inner.observation_space(agent) == env.observation_space(agent)
            assert observations[agent] in inner.observation_space(agent)


# ---- the last mask -------------------------------------------------------------------------------
@pytest.mark.parametrize("mask", MASKS)
def test_next_step_masks_are_never_empty(mask: str) -> None:
    """Any action for an episode that has ended plays nothing."""
    given: dict[str, Any] = {"rules": "micro", "action_mask": mask, "autoreset_mode": "NEXT_STEP"}
    envs, others = HeartsVectorEnv(4, **given), HeartsVectorEnv(4, **given)
    observations, infos = envs.reset(seed=1)
    others.reset(seed=1)
    over, ends = np.zeros(4, bool), 0
    for _ in range(20):
        found = [envs.action_masks()]
        found += [observations["action_mask"]] if mask != "info" else []
        found += [infos["action_mask"]] if mask != "observation" else []
        for masks in found:
            assert (masks.any(1) & (~over | ((masks[:, 0] == 1) & (masks.sum(1) == 1)))).all()
        actions = found[0].argmax(1)
        observations, _, over_now, _, infos = envs.step(actions)
        others.step(np.where(over, 7, actions))
        assert pickle.dumps(envs.arena.states) == pickle.dumps(others.arena.states)
        ends += over.sum()
        over = over_now
    assert ends > 6


# ---- the page ------------------------------------------------------------------------------------
def test_module_docstring_is_the_games_page() -> None:
    """As PettingZoo's: people, its site and its language agents read the page there."""
    env = hearts_v0.env()
    page = inspect.getdoc(inspect.getmodule(env.unwrapped)) or ""
    assert page.startswith("# Hearts")
    for heading in ("Rules", "Actions", "Observations", "Rewards", "Infos", "Arguments",
                    "Version history"):  # fmt: skip
        assert f"\n## {heading}\n" in page
    table = page[page.index("\n| ") : page.index("\n\n", page.index("\n| "))]
    for agent in env.possible_agents:
        assert agent in table
    assert str(env.observation_space("player_0")["observation"].shape) in table
    assert str(env.action_space("player_0")) in table
    deck = env.unwrapped.rules.deck
    assert all(f"{i:2} {deck[i]}" in page for i in range(len(deck)))
    arguments = page[page.index("\n## Arguments\n") :]
    for name, parameter in inspect.signature(hearts_v0.env).parameters.items():
        assert f"{name}={parameter.default!r}".replace("'", '"') in arguments
    infos = page[page.index("\n## Infos\n") : page.index("\n## Arguments\n")]
    env.reset(seed=1)
    assert all(f"`{key}`" in infos for key in env.infos["player_0"])
