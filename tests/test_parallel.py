"""All agents in one dictionary, and the names under which libraries find the environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test
from pettingzoo.utils import aec_to_parallel, turn_based_aec_to_parallel

from hearts_agents import HeartsEnv, HeartsVectorEnv
from hearts_env import IllegalActionError, hearts_v0
from hearts_env.envs.interfaces import ParallelHearts
from tests.refusals import raises_hearts_error

KINDS: list[dict[str, Any]] = [
    {},
    {"rules": "classic", "noop": True, "reward": "trick"},
    {"rules": "party", "players": 7, "dtype": "float32"},
    {"rules": "mini", "episode": "match", "max_deals": 2, "noop": True, "action_mask": "info"},
    {"rules": "hoyle", "players": 3, "reward": "chips", "action_mask": "info"},
]


def masks_of(infos: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {agent: info["action_mask"] for agent, info in infos.items()}


def first_legal(infos: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Return each agent's first legal action, 0 if it has none."""
    return {agent: int(mask.argmax()) for agent, mask in masks_of(infos).items()}


# ---- PettingZoo's own tests ----------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parallel_env_passes_pettingzoo_tests(kind: dict[str, Any]) -> None:
    parallel_api_test(hearts_v0.parallel_env(**kind), num_cycles=60)
    parallel_seed_test(lambda: hearts_v0.parallel_env(**kind), num_cycles=8)


def test_parallel_env_equals_pettingzoo_conversion() -> None:
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(hearts_v0.env())
    theirs, ours = turn_based_aec_to_parallel(hearts_v0.env()), hearts_v0.parallel_env()
    theirs.reset(seed=3)
    _, infos = ours.reset(seed=3)
    while ours.agents:
        actions = first_legal(infos)
        one, two = theirs.step(actions), ours.step(actions)
        for agent, observation in two[0].items():
            for key, array in observation.items():
                assert np.array_equal(array, one[0][agent][key])
        assert two[1:4] == one[1:4]
        infos = two[4]
    assert theirs.agents == []


# ---- beside the environment in turns -------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parallel_agents_get_the_same_as_in_turns(kind: dict[str, Any]) -> None:
    """Observations of all, rewards, ends, and infos with the same keys and types at each step."""
    env = hearts_v0.parallel_env(**kind)
    table: Any = hearts_v0.raw_env(**{key: kind[key] for key in kind.keys() - {"noop"}})
    n, noop = table.rules.num_actions, env.has_noop
    observations, infos = env.reset(seed=5)
    table.reset(seed=5)
    shapes, steps = set(), 0
    while True:
        over = table.is_over
        assert [*observations] == [*infos] == table.possible_agents
        for agent, observation in observations.items():
            assert observation in env.observation_space(agent)
            mask = infos[agent]["action_mask"]
            assert mask.shape == (n + noop,)
            assert mask[:n].tolist() == table.infos[agent]["action_mask"].tolist()
            assert not noop or mask[n] == (over or agent != table.agent_selection)
            assert infos[agent]["active_agent"] == (-1 if over else table.game.current_player)
            wanted = table.observe(agent)
            if isinstance(observation, dict):
                assert np.array_equal(observation["action_mask"], mask)
                observation, wanted = observation["observation"], wanted["observation"]
            assert np.array_equal(observation, wanted)
            shapes.add(str({k: (type(v), np.shape(v)) for k, v in infos[agent].items()}))
        if over:
            break
        actions: dict[str, Any] = first_legal(infos)
        table.step(actions[table.agent_selection])
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert rewards == pytest.approx(table.rewards)
        assert (terminations, truncations) == (table.terminations, table.truncations)
        steps += 1
    assert len(shapes) == 1
    assert steps >= table.rules.players * table.rules.hand_size
    assert env.agents == []
    assert infos["player_0"]["scores"].tolist() == env.unwrapped.game.scores()
    assert np.array_equal(env.state(), table.state())
    assert env.step({}) == ({}, {}, {}, {}, {})


# ---- agents that wait ----------------------------------------------------------------------------
@pytest.mark.parametrize("noop", [False, True])
def test_parallel_ignores_actions_of_waiting_agents(noop: bool) -> None:
    one, two = (hearts_v0.parallel_env(noop=noop, illegal_action="raise") for _ in range(2))
    _, infos = one.reset(seed=1)
    two.reset(seed=1)
    for _ in range(8):
        turn = f"player_{infos['player_0']['active_agent']}"
        actions: dict[str, Any] = first_legal(infos)
        *_, infos = one.step({turn: actions[turn]})
        two.step({agent: actions[agent] if agent == turn else "?" for agent in actions})
    assert one.unwrapped.game == two.unwrapped.game


def test_waiting_in_turn_is_an_illegal_action() -> None:
    for action in (28, np.int64(28), np.array([28])):
        env = hearts_v0.parallel_env(noop=True, reward="trick")
        _, infos = env.reset(seed=1)
        turn = f"player_{infos['player_0']['active_agent']}"
        _, rewards, terminations, _, infos = env.step(dict.fromkeys(env.agents, action))
        assert rewards == {agent: -1.0 if agent == turn else 0.0 for agent in infos}
        assert all(terminations.values())
        assert infos["player_1"]["offender"] == int(turn[-1])
        assert all(mask.tolist() == [0] * 28 + [1] for mask in masks_of(infos).values())
    env = hearts_v0.parallel_env(noop=True, illegal_action="raise")
    env.reset(seed=1)
    before = env.unwrapped.game.clone()
    with raises_hearts_error(IllegalActionError, "action", 28):
        env.step(dict.fromkeys(env.agents, 28))
    assert env.unwrapped.game == before


# ---- names ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["hearts_env/hearts-v0", "hearts_env/Hearts-v0"])
def test_environment_aliases_work_in_both_libraries(name: str) -> None:
    assert isinstance(gymnasium.make(name, rules="mini").unwrapped, HeartsEnv)
    assert isinstance(gymnasium.make(f"hearts_env:{name}").unwrapped, HeartsEnv)
    assert isinstance(gymnasium.make_vec(name, num_envs=2, rules="mini"), HeartsVectorEnv)
    pytest.importorskip("pettingzoo.env_registry", reason="PettingZoo before 1.27 has no names")
    env = pettingzoo.make("aec", name, reward="win", rules="mini")
    assert isinstance(env.unwrapped, hearts_v0.raw_env)
    env.reset(seed=1)
    assert len(env.agents) == 2
    together = pettingzoo.make("parallel", name, noop=True, rules="mini")
    assert isinstance(together, ParallelHearts)
    assert together.has_noop


def test_parallel_env_draws_in_its_render_mode() -> None:
    env = hearts_v0.parallel_env("micro", render_mode="ansi")
    env.reset(seed=1)
    assert env.render_mode == "ansi"
    assert env.render() == env.aec_env.render()
    assert "player_0" in env.render()
