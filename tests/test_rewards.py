"""The reward ``chips``: exact, the same compiled as in fractions, in every environment."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearts_agents.envs.gym_env import HeartsEnv
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_env import Game, HeartsError, Match, Rules, chips_of, hearts_v0
from hearts_env import kernel as k
from hearts_env.envs.rewards import Rewarder
from hearts_env.game.chips import SHARES, net_chips
from tests.naive import naive_settle
from tests.refusals import raises_hearts_error
from tests.strategies import SEEDED

METHODS = ("simple", "sweepstakes", "howell")
IN_CHIPS = [
    *[f"{name} players={n}" for name in ("hoyle", "black_jack", "black_lady") for n in (2, 3, 6)],
    "hoyle players=4 settlement=sweepstakes",
    "black_lady settlement=howell",
]


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
