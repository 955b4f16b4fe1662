"""Episodes that continue a given game, even in mid-deal, in every environment."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsVectorEnv, make_agent
from hearts_env import DealError, Game, HeartsError, Match, Rules, hearts_v0
from tests.learners import plain
from tests.refusals import raises_hearts_error
from tests.strategies import played_on

MAKERS = {
    "raw_env": hearts_v0.raw_env,
    "env": hearts_v0.env,
    "parallel_env": hearts_v0.parallel_env,
    "HeartsEnv": HeartsEnv,
    "HeartsVectorEnv": lambda *args, **options: HeartsVectorEnv(2, *args, **options),
}
SINGLE = [name for name in MAKERS if name != "HeartsVectorEnv"]


def turn(env: Any) -> Any:
    """Return every agent's observation and info at a turn."""
    agents = env.possible_agents
    seen = [env.observe(agent) for agent in agents]
    parts = env.agent_selection, env.last(), seen, env.rewards, env.terminations, env.infos
    return plain(parts)


@pytest.mark.parametrize("reward", ["margin", "points", "trick", "win"])
@pytest.mark.parametrize("rules", ["two_player", "classic", "micro moon=choose", "kitty players=3"])
def test_episode_from_mid_deal_continues_as_from_start(rules: str, reward: str) -> None:
    first, second = (hearts_v0.raw_env(rules, reward=reward) for _ in range(2))
    length = len(Rules.from_text(rules).deck)
    for start in range(0, length, 5):
        first.reset(seed=5)
        rng = random.Random(start)
        while len(first.game.actions) < start and not first.game.is_over:
            first.step(rng.choice(first.game.legal_actions()))
        if first.game.is_over:
            break
        for agent in first.possible_agents:  # earlier rewards are not paid again
            first._cumulative_rewards[agent] = first.rewards[agent] = 0.0
        given, before = first.game.clone(), first.game.clone()
        second.reset(seed=9, options={"game": given})
        while not second.game.is_over:
            assert turn(first) == turn(second)
            action = rng.choice(first.game.legal_actions())
            first.step(action)
            second.step(action)
        assert turn(first) == turn(second)
        assert (given, given.actions) == (before, before.actions)
        assert second.game.start() == before.start()


@pytest.mark.parametrize("reward", ["margin", "trick"])
def test_learner_from_mid_deal_continues_as_from_start(reward: str) -> None:
    """Episodes continue from every decision against a deterministic opponent."""
    for seat in range(2):
        env = HeartsEnv(seat=seat, reward=reward)
        env.reset(seed=2)
        games, steps, is_over = [], [], False
        while not is_over:
            games.append(env.game.clone())
            steps.append(env.step(games[-1].legal_actions()[-1]))
            is_over = steps[-1][2]
        for number, given in enumerate(games):
            env.reset(seed=7, options={"game": given})
            for observation, paid, over, _, info in steps[number:]:
                result = env.step(env.game.legal_actions()[-1])
                assert plain(result[0]) == plain(observation)
                assert (result[1], result[2]) == (pytest.approx(paid), over)
                assert plain(result[4]) == plain(info)


def choose(masks: Any) -> list[int]:
    return [int(np.flatnonzero(mask)[-1]) for mask in masks]


@pytest.mark.parametrize(
    "options",
    [
        {"reward": "trick", "opponent": "standard"},
        {"rules": "classic", "opponent": ["easy", "standard"]},
        {"reward": "points", "skip_forced": True},
        {"rules": "mini", "episode": "match", "max_deals": 4},
        {"seat": 1, "opponent": "pro"},
    ],
)
def test_vector_from_mid_deal_equals_single_environments(options: dict[str, Any]) -> None:
    rules = options.get("rules", "two_player")
    actions = 6 if rules == "mini" else 17  # points have been taken
    games: list[Game | None] = [played_on(rules, seed, actions) for seed in range(1, 4)]
    games[1] = None  # dealt from the seed
    kept = [game and game.clone() for game in games]
    many = HeartsVectorEnv(3, **options)
    ones = [HeartsEnv(**options) for _ in range(3)]
    _, infos = many.reset(seed=11, options={"game": games})
    for place, (one, game) in enumerate(zip(ones, games, strict=True)):
        one.reset(seed=11 + place, options=None if game is None else {"game": game})
    ended = 0
    while ended < 6:  # into episodes that are dealt again
        masks = many.action_masks()
        assert masks.tolist() == [one.action_masks().tolist() for one in ones]
        assert infos["seat"].tolist() == [one.seat for one in ones]
        actions = choose(masks)
        _, rewards, terminated, truncated, infos = many.step(np.array(actions))
        for place, one in enumerate(ones):
            _, reward, over, cut, _ = one.step(actions[place])
            assert reward == pytest.approx(rewards[place])
            assert (over, cut) == (terminated[place], truncated[place])
            if over or cut:
                ended += 1
                one.reset()
    assert games == kept


def test_one_game_goes_to_all_unmasked_environments() -> None:
    given, other = played_on("two_player", 4, 8), played_on("two_player", 6, 5)
    envs = HeartsVectorEnv(3, seat=given.current_player)
    envs.reset(seed=1, options={"game": given})
    assert [envs.arena.batch.game(place) for place in range(3)] == [given] * 3
    mask = np.array([False, True, False])
    envs.reset(options={"game": [None, other, None], "reset_mask": mask})
    games = [envs.arena.batch.game(place) for place in range(3)]
    assert (games[0], games[2]) == (given, given)
    assert games[1].start() == other.start()


def test_stable_baselines3_sets_games_as_options() -> None:
    pytest.importorskip("stable_baselines3")
    from hearts_agents.envs.sb3 import HeartsSB3VecEnv

    given = played_on("two_player", 4, 8)
    envs = HeartsSB3VecEnv(2, seat=given.current_player, seed=1)
    envs.set_options({"game": given})
    envs.reset()
    assert [envs.arena.batch.game(place) for place in range(2)] == [given] * 2
    envs.reset()  # options are for one reset
    assert envs.arena.batch.game(0) != given
    for wrong in ({"deal": given}, 5, [{}], [{}, 1], [[]] * 2):
        with raises_hearts_error(HeartsError, "options"):
            envs.set_options(wrong)
    envs.set_options([{}, {"game": given}])
    envs.set_options(None)
    envs.reset()
    assert envs.arena.batch.game(1) != given


def test_opponents_play_up_to_the_learners_turn() -> None:
    given = played_on("classic", 5, 17)
    for seat in range(4):
        env, beside = HeartsEnv("classic", seat=seat), given.clone()
        _, info = env.reset(seed=1, options={"game": given})
        while beside.current_player != seat:
            beside.play(make_agent("standard").act(beside.view(beside.current_player)))
        assert env.game == beside
        assert np.flatnonzero(info["action_mask"]).tolist() == beside.legal_actions()


def test_match_continues_with_number_dealer_and_totals() -> None:
    match, rng = Match("classic", 3), random.Random(1)
    while match.num_deals < 3 or len(match.game.actions) < 20:
        match.play(rng.choice(match.legal_actions()))
    env = hearts_v0.raw_env("classic", episode="match")
    env.reset(seed=8, options={"game": match.game})
    assert env.match is not None
    assert (env.match.totals, env.match.num_deals) == (match.totals, 3)
    while match.num_deals == 3:
        action = match.legal_actions()[0]
        match.play(action)
        env.step(action)
    assert env.match.totals == match.totals
    assert env.match.last_game == match.last_game
    assert (env.game.deal_number, env.game.dealer) == (match.game.deal_number, match.game.dealer)
    assert env.game.totals == match.game.totals


def test_known_deal_gives_number_dealer_and_totals() -> None:
    """A match begins with the deal's cards and dealer, and a new score."""
    known = played_on("classic", 1, 30, deal_number=2, dealer=3, totals=[10, 20, 30, 40])
    env = hearts_v0.raw_env("classic")
    for options, table in (
        ({}, (2, 3)),
        ({"deal_number": 1}, (1, 3)),
        ({"dealer": 0}, (2, 0)),
    ):
        for deal in (known, known.to_text()):
            env.reset(seed=5, options={"deal": deal, **options})
            assert [env.game.hand(seat) for seat in range(4)] == [
                known.start().hand(seat) for seat in range(4)
            ]
            assert (env.game.deal_number, env.game.dealer) == table
            assert env.game.totals == (10, 20, 30, 40)
            assert not env.game.actions
    matches = hearts_v0.raw_env("classic", episode="match")
    matches.reset(seed=5, options={"deal": known})
    assert (matches.game.deal_number, matches.game.dealer) == (0, 3)
    assert matches.game.totals == (0, 0, 0, 0)
    assert matches.game.hand(0) == known.start().hand(0)


# ---- errors --------------------------------------------------------------------------------------
OVER = played_on("two_player", 1, 26)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (Game.deal("classic", 1), DealError),
        (OVER, DealError),
        (Game.deal("two_player", 1).to_text(), HeartsError),
    ],
)
def test_games_unfit_to_begin_from_are_refused(name: str, given: Any, error: Any) -> None:
    env: Any = MAKERS[name]("two_player")
    hint = "Game.from_text" if isinstance(given, str) else "give a game"
    hint = "give one" if given is OVER else hint
    with raises_hearts_error(error, "game", hint=hint):
        env.reset(seed=1, options={"game": given})
    env.reset(seed=1)


@pytest.mark.parametrize("name", SINGLE)
def test_game_together_with_deal_options_is_refused(name: str) -> None:
    game = Game.deal("two_player", 1)
    for option, value in (("deal", game), ("deal_number", 0), ("dealer", 1)):
        with raises_hearts_error(HeartsError, option, "game"):
            MAKERS[name]().reset(seed=1, options={"game": game, option: value})


def test_list_of_games_needs_one_per_environment() -> None:
    game = Game.deal("two_player", 1)
    envs = HeartsVectorEnv(3)
    with raises_hearts_error(HeartsError, "game", 3):
        envs.reset(seed=1, options={"game": [game] * 4})
    with raises_hearts_error(DealError, "game[2]"):
        envs.reset(seed=1, options={"game": [game, None, OVER]})
    with raises_hearts_error(HeartsError, "options"):
        envs.reset(seed=1, options={"game": game, "deal": game})


def test_game_without_a_decision_is_refused() -> None:
    game = played_on("two_player", 1, 25)
    seat = 1 - game.current_player
    env = HeartsEnv(seat=seat)
    with raises_hearts_error(HeartsError, "game"):
        env.reset(seed=1, options={"game": game})
    other = HeartsEnv(seat="random")  # the seat that has something to decide is found
    for seed in range(4):
        other.reset(seed=seed, options={"game": game})
        assert other.seat == game.current_player


def test_game_of_a_finished_match_is_refused() -> None:
    rules = Rules.preset("classic")
    game = Game.deal(rules, 1, deal_number=1, totals=[100, 0, 1, 2])
    with raises_hearts_error(HeartsError, "totals"):
        hearts_v0.raw_env(rules, episode="match").reset(seed=1, options={"game": game})
    late = Game.deal(rules, 1, deal_number=3)
    for env in (
        hearts_v0.raw_env(rules, episode="match", max_deals=3),
        HeartsVectorEnv(1, rules, episode="match", max_deals=3),
        hearts_v0.raw_env(rules.replace(max_deals=3), episode="match"),
    ):
        given = late if env.rules == rules else Game.deal(env.rules, 1, deal_number=3)
        with raises_hearts_error(HeartsError, "game", 3):
            env.reset(seed=1, options={"game": given})
    with raises_hearts_error(HeartsError, "game"):
        Match.from_game(OVER, 1)
