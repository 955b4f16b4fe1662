"""A step is one compiled call that plays and observes. It is compared with `Game` at each turn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hearts_env import Game, IllegalActionError, Match, Rules, hearts_v0
from hearts_env.encoders import ENCODERS, FlatEncoder
from hearts_env.envs.rewards import Rewarder
from hearts_env.rules.presets import GAMES
from tests.lockstep import QUICK
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases

OTHERS = [name for name in ENCODERS if name != "flat"]


def masked(rules: Rules, legal: list[int]) -> Any:
    mask = np.zeros(rules.num_actions, np.int8)
    mask[legal] = 1
    return mask


def assert_turn(env: Any, game: Game) -> None:
    """Compare the observations of the player to act and, in turn, of another with `game`."""
    rules, agent = game.rules, f"player_{game.current_player}"
    assert env.agent_selection == agent
    observation, _, termination, truncation, info = env.last()
    assert not termination
    assert not truncation
    assert observation in env.observation_space(agent)
    expected = game.view(game.current_player).observe(env.encoder)
    mask = masked(rules, game.legal_actions())
    for given in (observation, env.observe(agent)):  # the first is ready, the second made for us
        assert given["observation"].dtype == expected.dtype
        assert np.array_equal(given["observation"], expected)
        assert given["action_mask"].dtype == np.int8
        assert np.array_equal(given["action_mask"], mask)
    assert np.array_equal(info["action_mask"], mask)
    other = (game.current_player + 1 + len(game.actions) % (rules.players - 1)) % rules.players
    waiting = env.observe(f"player_{other}")
    assert np.array_equal(waiting["observation"], game.view(other).observe(env.encoder))
    assert not waiting["action_mask"].any()
    assert not env.infos[f"player_{other}"]["action_mask"].any()


@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_every_turn_equals_a_game_beside(game: tuple[str, int]) -> None:
    """Under every preset with ``flat`` and with the other encoders by turns: to the bit."""
    rules, place = Rules.preset(*game), GAMES.index(game)
    rng = random.Random(place)
    others = [OTHERS[(place + j) % len(OTHERS)] for j in range(2)]
    for kind, reward in zip(["flat", *others], ["trick", "points", "margin"], strict=True):
        env: Any = hearts_v0.raw_env(rules, observation=kind, reward=reward)
        env.reset(seed=place)
        beside, rewarder = Game.deal(rules, place), Rewarder(rules, reward)
        while not beside.is_over:
            assert_turn(env, beside)
            action = rng.choice(beside.legal_actions())
            beside.play(action)
            env.step(action)
            paid = rewarder.step(beside) or [0.0] * rules.players
            assert list(env.rewards.values()) == paid
            assert env.game == beside
            assert env.game.actions == beside.actions
            assert env.game.legal_actions() == beside.legal_actions()
        for seat, agent in enumerate(env.possible_agents):
            last = env.observe(agent)
            assert np.array_equal(last["observation"], beside.view(seat).observe(env.encoder))
            assert not last["action_mask"].any()
            info = env.infos[agent]
            assert info["scores"].tolist() == beside.scores()
            assert info["points"].tolist() == beside.points


def test_match_env_equals_match_of_its_seed() -> None:
    env: Any = hearts_v0.raw_env("mini", episode="match", reward="points")
    env.reset(seed=11)
    match = Match("mini", 11)
    while not env.is_over:
        assert env.game == match.game
        assert_turn(env, match.game)
        action = match.legal_actions()[0]
        match.play(action)
        env.step(action)
    assert match.is_over
    assert match.num_deals > 1
    for info in env.infos.values():
        assert (info["totals"].tolist(), info["winner"]) == (match.totals, match.winner)


@pytest.mark.parametrize("illegal_action", ["raise", "revoke", "terminate"])
def test_illegal_action_leaves_no_stale_observation(illegal_action: str) -> None:
    env: Any = hearts_v0.raw_env("mini", illegal_action=illegal_action)
    env.reset(seed=1)
    env.step(env.game.legal_actions()[0])
    before, wrong = env.game.clone(), next(a for a in range(5) if not env.game.legal_mask >> a & 1)
    if illegal_action == "raise":
        with raises_hearts_error(IllegalActionError, "action"):
            env.step(wrong)
        assert_turn(env, before)
        return
    env.step(wrong)
    observation, _, termination, *_ = env.last()
    seat = int(env.agent_selection[-1])
    assert termination
    assert not observation["action_mask"].any()
    assert np.array_equal(observation["observation"], env.game.view(seat).observe(env.encoder))


def test_writing_into_observations_spoils_nothing() -> None:
    env: Any = hearts_v0.raw_env("classic")
    env.reset(seed=2)
    beside, kept = env.game.clone(), []
    for _ in range(20):
        assert_turn(env, beside)
        agent = env.agent_selection
        kept += env.observe(agent), env.observe(env.possible_agents[-1]), env.last()[0]
        for given in kept[-3:]:
            given["observation"][:] = 7
            given["action_mask"][:] = 7
        env.infos[agent]["action_mask"][:] = 7
        env.infos[agent]["scores"] = None
        action = beside.legal_actions()[0]
        env.step(action)
        beside.play(action)
        for name, info in env.infos.items():
            if name != env.agent_selection:
                with pytest.raises(ValueError, match="read-only"):
                    info["action_mask"][:] = 7
    for given in kept:  # nor does the environment write there again
        assert (given["observation"] == 7).all()
        assert (given["action_mask"] == 7).all()


def test_encoder_derived_from_flat_uses_its_own_write() -> None:
    class Marked(FlatEncoder):
        def write(self, view: Any, out: Any) -> None:
            super().write(view, out)
            out[0] = 1

    env: Any = hearts_v0.raw_env(observation=Marked())
    env.reset(seed=1)
    while not env.is_over:
        assert env.last()[0]["observation"][0] == 1
        env.step(env.game.legal_actions()[0])


def test_agent_iter_follows_pettingzoo() -> None:
    raw, env = hearts_v0.raw_env("mini"), hearts_v0.env("mini")
    for each in (raw, env):
        each.reset(seed=1)
        turns = each.agent_iter(3)
        seen = []
        for agent in turns:
            seen.append(agent)
            each.step(each.unwrapped.game.legal_actions()[0])
        assert len(seen) == 3
        assert list(each.agent_iter(0)) == []
        assert next(iter(each.agent_iter(max_iter=1e6))) == each.agent_selection


def test_wrapper_may_end_an_episode() -> None:
    for name in ("terminations", "truncations"):
        env: Any = hearts_v0.env("mini")
        env.reset(seed=1)
        env.step(env.unwrapped.game.legal_actions()[0])
        setattr(env.unwrapped, name, dict.fromkeys(env.agents, True))
        for _ in env.agent_iter(10):
            assert any(env.last()[2:4])
            env.step(None)
        assert env.agents == []
