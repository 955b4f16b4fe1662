"""What other libraries ask of the environments, as far as it can be shown without them."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeAwareObservation

import hearts_env
from hearts_agents import HeartsEnv, HeartsVectorEnv
from hearts_agents.envs.gym_env import ENV_ID
from hearts_env import HeartsError, Rules, hearts_v0
from hearts_env.envs.observations import MASKS

HeartsSB3VecEnv = pytest.importorskip("hearts_agents.envs.sb3").HeartsSB3VecEnv

DOORS: dict[str, Callable[..., Any]] = {
    "raw_env": hearts_v0.raw_env,
    "env": hearts_v0.env,
    "parallel_env": hearts_v0.parallel_env,
    "HeartsEnv": HeartsEnv,
    "HeartsVectorEnv": HeartsVectorEnv,
    "HeartsSB3VecEnv": HeartsSB3VecEnv,
    "make": lambda **given: gymnasium.make(ENV_ID, **given),
    "make_vec": lambda **given: gymnasium.make_vec(ENV_ID, num_envs=2, **given),
}


# ---- unexpected keywords -------------------------------------------------------------------------
@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_keyword_is_refused_in_pythons_words(door: str) -> None:
    """And the nearest is named; of an argument that has another name now, that."""
    for name, meant in (("episod", "episode"), ("mask", "action_mask"), ("texts", "text_infos")):
        with pytest.raises(TypeError) as caught:
            DOORS[door](**{name: "x"})
        words, _, hint = str(caught.value).partition(";")
        assert words.endswith(f"__init__() got an unexpected keyword argument {name!r}")
        assert repr(meant) in hint


def test_torchrls_gym_env_gets_through() -> None:
    """As ``torchrl.envs.GymEnv`` makes environments: what is refused in these words is left out."""
    accepted = {
        "render_mode": "__init__() got an unexpected keyword argument 'render_mode'",
        "frameskip": "unexpected keyword argument 'frameskip'",
    }
    given: dict[str, Any] = {"frameskip": 1, "rules": "mini"}
    tries, env = 0, None
    while env is None:
        tries += 1
        try:
            env = gymnasium.make(ENV_ID, **given)
        except TypeError as error:
            name = next(name for name, words in accepted.items() if words in str(error))
            del given[name]
    assert tries == 2
    assert env.unwrapped.rules == Rules.preset("mini")  # type: ignore[attr-defined]


# ---- spaces --------------------------------------------------------------------------------------
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("noop", [False, True])
def test_the_unwrapped_parallel_environment_has_its_own_spaces(noop: bool, mask: str) -> None:
    """There skrl reads them. What the game is stays in reach."""
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


# ---- numbers alone -------------------------------------------------------------------------------
def leaves(value: Any) -> Iterator[Any]:
    """What lies in nested dictionaries and lists, ends of episodes among them."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def check_numbers(value: Any, *, least: int) -> None:
    """Everything can become a tensor: arrays by DLPack, as Gymnasium's ``NumpyToTorch`` does it."""
    found = list(leaves(value))
    assert len(found) >= least
    for leaf in found:
        assert isinstance(leaf, np.ndarray | np.number | float | int | bool), leaf
        if isinstance(leaf, np.ndarray):
            np.from_dlpack(leaf.copy())


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_vector_infos_without_texts_are_numbers(mode: AutoresetMode, mask: str) -> None:
    given: dict[str, Any] = {"rules": "micro", "action_mask": mask, "autoreset_mode": mode}
    told, envs = (
        gymnasium.make_vec(ENV_ID, num_envs=3, text_infos=texts, **given) for texts in (True, False)
    )
    both, infos = told.reset(seed=1)[1], envs.reset(seed=1)[1]
    texts = {"opponent", "_opponent", "deal", "_deal"}
    ends = 0
    for _ in range(8):
        check_numbers(infos, least=12)
        assert both.keys() - infos.keys() == texts
        for name in infos.keys() - {"final_obs", "final_info"}:
            assert np.array_equal(infos[name], both[name])
        if "final_info" in infos:
            ends += 1
            over = np.flatnonzero(infos["_final_obs"])
            last, wanted = infos["final_obs"], both["final_obs"]
            last = last if isinstance(last, dict) else {"": last}
            for game in over:
                one = wanted[game] if isinstance(wanted[game], dict) else {"": wanted[game]}
                assert all(np.array_equal(last[name][game], one[name]) for name in one)
            assert both["final_info"].keys() - infos["final_info"].keys() == texts
            assert infos["final_info"]["seed"][over].all()
        actions = told.unwrapped.action_masks().argmax(1)
        *_, both = told.step(actions)
        *_, terminated, _, infos = envs.step(actions)
        if mode is AutoresetMode.DISABLED and terminated.any():
            again = {"options": {"reset_mask": terminated}}
            both, infos = told.reset(**again)[1], envs.reset(**again)[1]
    assert ends or mode is not AutoresetMode.SAME_STEP


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_single_infos_without_texts_are_numbers(episode: str) -> None:
    given: dict[str, Any] = {"rules": "micro", "episode": episode, "reward": "win"}
    told, plain = (HeartsEnv(text_infos=texts, **given) for texts in (True, False))
    both, info = told.reset(seed=2)[1], plain.reset(seed=2)[1]
    over = False
    while True:
        check_numbers(info, least=7)
        assert both.keys() - info.keys() == {"opponent", "deal"}
        assert all(np.array_equal(info[name], both[name]) for name in info)
        if over:
            break
        action = int(info["action_mask"].argmax())
        *_, both = told.step(action)
        *_, over, _, info = plain.step(action)
    assert info["seed"] >= 0


def test_infos_of_stable_baselines3_without_texts_are_numbers() -> None:
    told, envs = (HeartsSB3VecEnv(3, "micro", seed=1, text_infos=texts) for texts in (True, False))
    told.reset()
    envs.reset()
    both, infos, ends = told.reset_infos, envs.reset_infos, 0
    for _ in range(8):
        check_numbers(infos, least=24)
        for info, other in zip(infos, both, strict=True):
            assert other.keys() - info.keys() == {"opponent", "deal"}
            ends += "terminal_observation" in info
        actions = envs.action_masks().argmax(1)
        both, infos = told.step(actions)[-1], envs.step(actions)[-1]
    assert ends
    with pytest.raises(HeartsError, match=r"^text_infos: "):
        HeartsSB3VecEnv(text_infos="no")


# ---- the last mask -------------------------------------------------------------------------------
@pytest.mark.parametrize("mask", MASKS)
def test_under_next_step_no_mask_is_empty(mask: str) -> None:
    """The action that is given for an episode that has ended plays nothing, whatever it is."""
    given: dict[str, Any] = {"rules": "micro", "action_mask": mask, "autoreset_mode": "NEXT_STEP"}
    envs, others = HeartsVectorEnv(4, **given), HeartsVectorEnv(4, **given)
    rng, ends = np.random.default_rng(1), 0
    observations, infos = envs.reset(seed=1)
    others.reset(seed=1)
    over = np.zeros(4, bool)
    for _ in range(20):
        found = [envs.action_masks()]
        found += [observations["action_mask"]] if mask != "info" else []
        found += [infos["action_mask"]] if mask != "observation" else []
        for masks in found:
            assert masks.any(1).all()
            assert (masks[over].argmax(1) == 0).all()
            assert (masks[over].sum(1) == 1).all()
        actions = (found[0] * rng.random(found[0].shape)).argmax(1)
        if not over.any():  # an illegal action ends an episode in mid-game
            actions[0] = (found[0][0] == 0).argmax()
        observations, rewards, over_now, _, infos = envs.step(actions)
        ends += over.sum()
        assert not rewards[over].any()
        assert not over_now[over].any()
        others.step(np.where(over, 7, actions))
        assert pickle.dumps(envs.arena.states) == pickle.dumps(others.arena.states)
        over = over_now
    assert ends > 6


# ---- the length of an episode --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "length"),
    [
        ({}, 13),
        ({"rules": "mini"}, 5),
        ({"rules": "classic"}, 16),  # three cards are passed
        ({"rules": "no_pass"}, 14),  # a moon is chosen
        ({"rules": "kitty", "players": 3}, 20),  # three of them again
        ({"episode": "match"}, None),
    ],
    ids=str,
)
def test_the_spec_says_how_long_an_episode_is(given: dict[str, Any], length: int | None) -> None:
    env = gymnasium.make(ENV_ID, opponent="easy", **given)
    assert env.spec is not None
    assert env.spec.max_episode_steps == length
    assert "TimeLimit" not in str(env)
    assert gymnasium.spec(ENV_ID).max_episode_steps is None
    _, info = env.reset(seed=3)
    steps, over = 0, False
    while not over and steps < 60:
        *_, over, truncated, info = env.step(int(info["action_mask"].argmax()))
        steps += 1
        assert not truncated
    if length is None:
        assert not over
        return
    assert over
    assert length - 3 <= steps <= length
    many = gymnasium.make_vec(env.spec, num_envs=2)  # which hands the number on
    assert isinstance(many, HeartsVectorEnv)
    assert many.rules == env.unwrapped.rules  # type: ignore[attr-defined]
    seen = TimeAwareObservation(env, normalize_time=False, flatten=False)
    observation, info = seen.reset(seed=3)
    for step in range(3):
        assert observation["time"] == [step]
        observation, *_, info = seen.step(int(info["action_mask"].argmax()))


def test_a_length_that_would_cut_a_deal_short_is_refused() -> None:
    for given in ({"max_episode_steps": 12}, {"max_episode_steps": 99, "episode": "match"}):
        with pytest.raises(HeartsError, match=r"^max_episode_steps: "):
            HeartsVectorEnv(2, **given)  # type: ignore[arg-type]


# ---- what readers are told -----------------------------------------------------------------------
def test_the_module_is_the_games_page() -> None:
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


def test_the_learners_environment_says_what_it_is() -> None:
    told = " ".join((inspect.getdoc(gymnasium.make(ENV_ID).unwrapped) or "").split())
    for word in ("queen of spades", "rules.deck[i]", "action_mask", "reward", "hearts_v0"):
        assert word in told
    assert hearts_env.hearts_v0.__name__ in told
