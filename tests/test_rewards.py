"""The reward ``chips``: exact, the same compiled as in fractions, in every environment."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearts_agents.envs.gym_env import HeartsEnv
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_env import Game, HeartsError, Match, Rules, chips_of, hearts_v0
from hearts_env import kernel as k
from hearts_env.envs.rewards import REWARDS, Rewarder
from hearts_env.game.chips import SHARES, net_chips
from hearts_train.learn.config_files import load_config
from tests.naive import naive_settle
from tests.refusals import raises_hearts_error
from tests.strategies import SEEDED, played_on

METHODS = ("simple", "sweepstakes", "howell")
IN_CHIPS = [
    *[f"{name} players={n}" for name in ("hoyle", "black_jack", "black_lady") for n in (2, 3, 6)],
    "hoyle players=4 settlement=sweepstakes",
    "black_lady settlement=howell",
]


def test_chips_by_hand_differ_from_margins() -> None:
    # Each player pays the own points. The second has the fewest and takes the 13.
    assert chips_of(Rules.preset("hoyle"), [1, 0, 6, 6]) == [-1, 13, -6, -6]
    # The others' mean is 4, so the first player's margin is +3, yet the deal costs a chip.
    # A pool that no one wins: only the first has points.
    sweepstakes = Rules.preset("hoyle").replace(settlement="sweepstakes")
    assert chips_of(sweepstakes, [13, 0, 0, 0]) == [-13, 0, 0, 0]
    howell = Rules.preset("hoyle").replace(settlement="howell")
    assert chips_of(howell, [1, 0, 6, 6]) == [9, 13, -11, -11]


@pytest.mark.parametrize("method", METHODS)
@settings(SEEDED, max_examples=150)
@given(st.integers(3, 7), st.integers(0, 2**32), st.booleans())
def test_compiled_chips_equal_the_settlement(
    method: str, players: int, seed: int, revoked: bool
) -> None:
    rng = random.Random(seed)
    rules = Rules.preset("hoyle", min(players, 6)).replace(settlement=method)
    game = Game.deal(rules, seed)
    if revoked:
        offender = game.current_player
        game.revoke()
        points = [13 if p == offender else 0 for p in range(rules.players)]
        # No one can be charged for hearts in a dead kitty.
        dead = sum(card[1] == "H" for card in game.kitty)
        points = [p and p - dead for p in points]
    else:
        points = [rng.choice([0, 0, 1, 2, 5, 13]) for _ in range(rules.players)]
        game.vector[k.every_seat(k.POINTS, rules.players)] = points
    net, _ = naive_settle(method, points, Fraction())
    assert game.chips() == net
    compiled = [int(net_chips(rules.vector, game.vector, p)) for p in range(rules.players)]
    assert compiled == [SHARES * chips for chips in net]


@pytest.mark.parametrize("text", IN_CHIPS)
def test_deal_pays_net_chips_at_its_end(text: str) -> None:
    env: Any = hearts_v0.raw_env(text, reward="chips")
    for seed in range(4):
        env.reset(seed=seed)
        rng = random.Random(seed)
        while not any(env.terminations.values()):
            assert not any(env.rewards.values())
            env.step(rng.choice(env.game.legal_actions()))
        net, _ = naive_settle(env.rules.settlement, env.game.points, Fraction())
        assert list(env.rewards.values()) == [float(chips) for chips in net]
        assert list(env.infos["player_0"]["chips"]) == [float(chips) for chips in net]


def play_out(env: HeartsEnv, seed: int) -> tuple[list[float], dict[str, Any]]:
    rng = random.Random(seed)
    _, info = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        _, reward, terminated, truncated, info = env.step(
            np.int64(rng.choice(np.flatnonzero(info["action_mask"]).tolist()))
        )
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards, info


@pytest.mark.parametrize("text", ["hoyle players=3", "hoyle settlement=sweepstakes stake=30"])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_learner_is_paid_chips_of_its_seat(text: str, episode: str) -> None:
    env = HeartsEnv(text, reward="chips", episode=episode, opponent="easy", max_deals=None)
    for seed in range(3):
        rewards, info = play_out(env, seed)
        if episode == "deal":
            assert rewards[-1] == float(env.game.chips()[env.seat])
            assert not any(rewards[:-1])
        else:  # the sum of rewards is the change of the stake, a carried pool included
            assert sum(rewards) == pytest.approx(info["totals"][env.seat] - env.rules.stake)
            assert np.count_nonzero(rewards) > 1


def test_final_pool_is_paid_with_last_deal() -> None:
    rules = Rules.from_text("hoyle settlement=sweepstakes max_deals=3")
    for seed in range(40):
        match, rewarder = Match(rules, seed), Rewarder(rules, "chips", episode="match")
        rng, paid = random.Random(seed), [0.0] * 4
        while not match.is_over:
            game = match.game
            match.play(rng.choice(match.legal_actions()))
            assert rewarder.step(game) is None  # it cannot know the pool
            if game.is_over:
                net = rewarder.deal_end(match.last_net)
                assert net is not None
                paid = [sum(both) for both in zip(paid, net, strict=True)]
        assert rewarder.episode_end(match.totals) is None
        assert paid == pytest.approx([float(total) - 100 for total in match.totals])


@pytest.mark.parametrize("make", [hearts_v0.raw_env, hearts_v0.env, HeartsEnv])
def test_chips_require_a_settlement_in_chips(make: Any) -> None:
    with raises_hearts_error(HeartsError, "reward", "chips", "two_player"):
        make(reward="chips")
    with raises_hearts_error(HeartsError, "reward"):
        HeartsVectorEnv(2, "classic", reward="chips")
    with raises_hearts_error(HeartsError, "chips", "classic"):
        Game.deal("classic", 1).chips()
    with raises_hearts_error(HeartsError, "chips"):
        chips_of(Rules.preset("classic"), [1, 2, 3, 4])
    for points in ([1, 2, 3], [1, 2, 3, 4, 5]):
        with raises_hearts_error(HeartsError, "points", 4):
            chips_of(Rules.preset("hoyle"), points)


@settings(SEEDED, max_examples=60)
@given(st.sampled_from(IN_CHIPS), st.integers(0, 2**40))
def test_deal_chips_stay_within_documented_bounds(text: str, seed: int) -> None:
    """With T points in all, at most T are won or lost. Under howell up to (n - 1) T are lost."""
    rules = Rules.from_text(text)
    total = sum(rules.card_points.get(card, 0) for card in rules.deck)
    worst = total * (rules.players - 1 if rules.settlement == "howell" else 1)
    game = played_on(rules, seed, 1_000)
    assert sum(game.chips()) <= 0
    assert all(-worst <= chips <= total for chips in game.chips())


@pytest.mark.parametrize("reward", REWARDS)
def test_recipes_take_every_reward(reward: str) -> None:
    config = load_config("smoke", ["env.rules=hoyle", f"env.reward={reward}"])
    assert config.env.reward == reward
