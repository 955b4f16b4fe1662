"""The single-learner Gymnasium environment."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hearts_agents import Agent, HeartsEnv, HeartsVectorEnv
from hearts_env import HeartsError, IllegalActionError, Rules, hearts_v0
from hearts_env.envs import GYMNASIUM_ID
from hearts_env.rules.presets import GAMES
from hearts_env.seeds import episode_seed
from tests.refusals import raises_hearts_error


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def play_out(env, choose):
    """Play an episode from a reset. Return all rewards and the last info."""
    rewards, done = [], False
    info = {"action_mask": env.action_masks()}
    while not done:
        _, reward, terminated, truncated, info = env.step(choose(info["action_mask"]))
        rewards.append(reward)
        done = terminated or truncated
    return rewards, info


def chooser(seed):
    rng = np.random.default_rng(seed)
    return lambda mask: int(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("opponent", ["easy", "standard", ["pro", "easy"]])
@pytest.mark.parametrize("observation", ["flat", "recall", "history", "text"])
def test_gymnasium_checker_passes(opponent, observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(
            GYMNASIUM_ID, opponent=opponent, observation=observation, render_mode="ansi"
        )
        # The window and the pictures are checked once, below.
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.slow
def test_gymnasium_checker_renders_in_every_mode():
    check_env(gymnasium.make(GYMNASIUM_ID).unwrapped)


@pytest.mark.parametrize(("rules", "players"), GAMES)
def test_stable_baselines3_checker_passes(rules, players):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(HeartsEnv(rules, players, opponent="easy"))


def test_losers_last_reward_arrives_after_opponents_card():
    seen = set()
    env = HeartsEnv(opponent="pro", seat=0)
    for seed in range(60):
        env.reset(seed=seed)
        rewards, info = play_out(env, chooser(seed))
        own, other = info["scores"]
        assert rewards[:-1] == [0.0] * 12
        assert rewards[-1] == pytest.approx((other - own) / 20)
        last_player = env.game.history[-1][0]
        seen.add((own > other, last_player))
    assert (True, 1) in seen  # lost, and the opponent played last


@pytest.mark.parametrize("reward", ["margin", "points", "trick", "win"])
def test_illegal_action_ends_episode_with_minus_one(reward):
    env = HeartsEnv(reward=reward)
    _, info = env.reset(seed=3)
    before = env.game.clone()
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    observation, value, terminated, truncated, info = env.step(illegal)
    assert (value, terminated, truncated) == (-1.0, True, False)
    assert env.game == before
    assert observation in env.observation_space
    assert not info["action_mask"].any()
    assert {"scores", "points", "shooter"} <= set(info)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_seed_determines_all_later_episodes():
    def record(env, seed):
        env.reset(seed=seed)
        rewards, info = play_out(env, chooser(1))
        episodes, texts = [env.episode_seed], [env.game.to_text()]
        for _ in range(3):
            env.reset()
            episodes.append(env.episode_seed)
            more, info = play_out(env, chooser(2))
            rewards += more
            texts.append((env.game.to_text(), info["opponent"], info["seat"]))
        return episodes, rewards, texts

    options: dict[str, Any] = {"rules": "classic", "opponent": ["easy", "standard"]}
    first = record(HeartsEnv(**options), 5)
    env = HeartsEnv(**options)
    env.reset(seed=99)
    assert record(env, 5) == first
    assert record(env, 5) == first
    assert record(env, 6) != first
    assert first[0] == [episode_seed(5, number) for number in range(4)]
    assert len(set(first[0])) == 4


def test_seats_and_opponents_are_drawn_for_each_episode():
    env = HeartsEnv("party", 3, opponent=["easy", "standard"])
    drawn = {(i["seat"], i["opponent"]) for i in (env.reset(seed=s)[1] for s in range(80))}
    assert {seat for seat, _ in drawn} == {0, 1, 2}
    assert {opponent for _, opponent in drawn} == {-1, 0, 1}  # -1: two seats drew differently
    fixed = HeartsEnv("party", 3, seat=2)
    assert {fixed.reset(seed=s)[1]["seat"] for s in range(20)} == {2}


def test_skipping_forced_decisions_leaves_only_real_ones():
    env = HeartsEnv("micro", skip_forced=True, reward="trick")
    plain = HeartsEnv("micro", reward="trick")
    compared = 0
    for seed in range(200):
        _, info = env.reset(seed=seed)
        if env.episode_seed != episode_seed(seed, 0):  # a deal without any decision was passed over
            continue
        plain.reset(seed=seed)
        total: Any = 0.0
        done = False
        while not done:
            assert info["action_mask"].sum() > 1
            _, reward, done, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
            total += reward
        rewards, end = play_out(plain, lambda mask: int(np.flatnonzero(mask)[-1]))
        assert plain.episode_seed == env.episode_seed
        assert plain.game == env.game
        assert end["scores"].tolist() == info["scores"].tolist()
        assert sum(rewards) == pytest.approx(total)
        compared += 1
    assert 50 < compared < 200


@pytest.mark.slow
def test_rules_that_leave_nothing_to_decide_are_refused():
    env = HeartsEnv(Rules(players=2, hand_size=1), skip_forced=True)
    with raises_hearts_error(HeartsError, "skip_forced"):
        env.reset(seed=1)


class Answers(Agent):
    """Answers with the lowest legal action, in some form."""

    name = "answers"

    def __init__(self, form):
        self.form = form

    def act(self, view):
        return self.form(view, view.legal_actions()[0])


@pytest.mark.parametrize("make", [HeartsEnv, functools.partial(HeartsVectorEnv, 1)])
def test_opponent_may_only_name_a_card(make):
    def play(form):
        env = make(opponent=Answers(form), seat=0)
        seen = [env.reset(seed=[1] if make is not HeartsEnv else 1)[0].tolist()]
        for _ in range(6):
            mask = env.action_masks()
            step = int(mask.argmax()) if mask.ndim == 1 else mask.argmax(1)
            seen.append(env.step(step)[0].tolist())
        return seen

    assert play(lambda view, action: view.rules.deck[action]) == play(lambda _, action: action)

    def unheld(view, _):
        return next(action for action in range(28) if action not in view.legal_actions())

    wrong = (lambda *_: None, lambda *_: True, lambda *_: "the queen", lambda _, a: a + 0.7)
    for form in (unheld, *wrong):
        with raises_hearts_error(IllegalActionError, "opponent 'answers'"):
            play(form)


PICTURES = {"render_for", "render_scale", "render_names"}  # many environments have none


def test_vector_env_has_no_picture_arguments() -> None:
    assert not PICTURES & inspect.signature(HeartsVectorEnv).parameters.keys()


@pytest.mark.parametrize(
    ("make", "like"),
    [
        (HeartsVectorEnv, HeartsEnv),
        (hearts_v0.env, hearts_v0.raw_env),
        (hearts_v0.parallel_env, hearts_v0.raw_env),
    ],
)
def test_environments_share_options_and_defaults(make: Any, like: Any) -> None:
    shown, known = inspect.signature(make).parameters, inspect.signature(like).parameters
    described = inspect.getdoc(like.__init__)
    assert described is not None
    for name in known.keys() - (PICTURES if make is HeartsVectorEnv else set()):
        parameter = known[name]
        assert (shown[name].default, shown[name].annotation) == (
            parameter.default,
            parameter.annotation,
        )
        assert described.count(f"\n    {name}: ") == 1
