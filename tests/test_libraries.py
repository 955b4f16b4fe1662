"""Requirements of other libraries, tested without them."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

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
