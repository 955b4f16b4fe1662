"""The PettingZoo environment: batteries, hand-counted rewards, seeds, copies and bad input."""

from __future__ import annotations

import copy
import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test
from pettingzoo.test.state_test import test_state_space as check_state_space

from hearts_env import (
    DealError,
    Game,
    HeartsError,
    IllegalActionError,
    Match,
    Rules,
    hearts_v0,
)
from hearts_env.cards import ALL_CARDS
from hearts_env.encoders import ENCODERS
from hearts_env.envs.observations import MASKS
from hearts_env.envs.options import ILLEGAL_ACTIONS
from hearts_env.envs.rewards import REWARDS as ALL_REWARDS
from hearts_env.game.state import encode_state, state_blocks
from hearts_env.rules.presets import GAMES
from tests.lockstep import QUICK
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases

REWARDS = tuple(reward for reward in ALL_REWARDS if reward != "chips")  # in every game
KINDS = list(itertools.product(ENCODERS, ("deal", "match"), REWARDS))
FORMATS = list(itertools.product((None, "float32", "float16"), MASKS))

# PettingZoo's battery warns about Dict spaces, though it wants action masks in them.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")

# Queen and ace of each suit. Hearts are trump, and moon_points and max_margin are 15.
MICRO = Rules.preset("micro")
MOON: dict[str, Any] = {"hands": [["QC", "QH", "AH"], ["QD", "QS", "AS"]], "kitty": ["AC", "AD"]}
"""Seat 0 leads QC, and takes QS, then leads QH and AH: it takes all there is."""
MOON_PLAY = ["QC", "QS", "QH", "AS", "AH", "QD"]
PLAIN: dict[str, Any] = {"hands": [["QC", "QD", "AS"], ["AC", "QS", "AH"]], "kitty": ["AD", "QH"]}
"""AC takes QC, AS takes QS for 13 points, and AH trumps QD for 1 point."""
PLAIN_PLAY = ["QC", "AC", "QS", "AS", "QD", "AH"]
# Six cards, three players, no moon, 3 points in all, max_margin 3.
THREE = Rules(
    players=3,
    removed=tuple(c for c in ALL_CARDS if c[0] not in "234" or c[1] not in "CH"),
    hand_size=2,
    moon="none",
)
THREE_DEAL: dict[str, Any] = {"hands": [["2C", "2H"], ["3C", "3H"], ["4C", "4H"]]}
"""4C takes the clubs. Then 4H takes the hearts: 0, 0 and 3 points."""
THREE_PLAY = ["2C", "3C", "4C", "4H", "2H", "3H"]


def arguments(i: int, game: tuple[str, int]) -> dict[str, Any]:
    """Return the i-th combination of settings for a game."""
    observation, episode, reward = KINDS[i % len(KINDS)]
    return {
        "rules": game[0],
        "players": game[1],
        "observation": observation,
        "episode": episode,
        "reward": reward,
        "max_deals": 1 + i % 2 if episode == "match" else None,
    }


def play_out(env: Any, choose: Any = None) -> dict[str, float]:
    """Play an episode to its end with ``last`` and ``step``; return each agent's rewards."""
    rng = random.Random(0)
    choose = choose or (lambda mask: rng.choice(np.flatnonzero(mask).tolist()))
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        returns[agent] += reward
        over = termination or truncation
        env.step(None if over else choose(observation["action_mask"]))
    return returns


def play_cards(env: Any, cards: list[str]) -> list[dict[str, float]]:
    """Play cards by name, and return ``rewards`` after each."""
    rewards = []
    for card in cards:
        env.step(env.unwrapped.rules.index[card])
        rewards.append(dict(env.rewards))
    return rewards


def legal(env: Any) -> int:
    """Return the first legal action."""
    return int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[0])


def made(deal: dict[str, Any], rules: Rules = MICRO, **kwargs: Any) -> Any:
    env: Any = hearts_v0.raw_env(rules=rules, **kwargs)
    env.reset(seed=0, options={"deal": deal})
    return env


# ---- the public batteries ------------------------------------------------------------------------
@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_pettingzoo_battery_passes(game: tuple[str, int]) -> None:
    """Each game has every encoder. All games together have every episode, reward and format."""
    offset = 5 * GAMES.index(game)
    rules = Rules.preset(*game)
    cycles = rules.hand_size + rules.pass_count + 2  # turns of each player in a deal
    for i, observation in enumerate(ENCODERS):
        ways = [kind for kind in range(len(KINDS)) if KINDS[kind][0] == observation]
        kwargs = arguments(ways[(offset + i) % len(ways)], game)
        kwargs["dtype"], kwargs["action_mask"] = FORMATS[(offset + i) % len(FORMATS)]
        api_test(hearts_v0.env(**kwargs), num_cycles=cycles)
        seed_test(lambda kwargs=kwargs: hearts_v0.env(**kwargs), num_cycles=4)


# ---- rewards, counted by hand --------------------------------------------------------------------
BY_HAND = {
    "moon": (MOON, MICRO, MOON_PLAY),
    "plain": (PLAIN, MICRO, PLAIN_PLAY),
    "three": (THREE_DEAL, THREE, THREE_PLAY),
}


@pytest.mark.parametrize(
    ("deal", "reward", "paid"),
    [
        # Scores 0 and 15 of at most 15, after tricks of 13, 1 and 1 points.
        ("moon", "margin", {5: [1, -1]}),
        ("moon", "trick", {1: [-13 / 15, 13 / 15], 3: [-1 / 15, 1 / 15], 5: [29 / 15, -29 / 15]}),
        ("moon", "points", {5: [0, -15]}),
        ("moon", "win", {5: [1, -1]}),
        ("plain", "margin", {5: [-12 / 15, 12 / 15]}),  # 13 points and 1
        ("plain", "trick", {3: [-13 / 15, 13 / 15], 5: [1 / 15, -1 / 15]}),
        ("plain", "points", {5: [-13, -1]}),
        ("plain", "win", {5: [-1, 1]}),
        ("three", "margin", {5: [0.5, 0.5, -1]}),  # others' mean 1.5 of 3; 0 - 3 of 3
        ("three", "trick", {5: [0.5, 0.5, -1]}),
        ("three", "points", {5: [0, 0, -3]}),
        ("three", "win", {5: [0.5, 0.5, -1]}),  # two share +1
    ],
)
def test_rewards_equal_hand_counts(deal: str, reward: str, paid: dict[int, list[float]]) -> None:
    """Rewards come after each card, and ``last`` returns all of them, the loser's last too."""
    known, rules, cards = BY_HAND[deal]
    env = hearts_v0.env(rules, reward=reward)
    env.reset(seed=0, options={"deal": known})
    twin = copy.deepcopy(env)
    for place, rewards in enumerate(play_cards(env, cards)):
        assert list(rewards.values()) == pytest.approx(paid.get(place, [0] * rules.players))
        assert {type(value) for value in rewards.values()} == {float}
    play = iter(cards)
    returns = play_out(twin, lambda _: rules.index[next(play)])
    totals = [sum(seat) for seat in zip(*paid.values(), strict=True)]
    assert list(returns.values()) == pytest.approx(totals)


@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_returns_are_zero_sum_and_follow_scores(game: tuple[str, int]) -> None:
    for seed in range(4):
        returns = {}
        for reward in REWARDS:
            env = hearts_v0.env(*game, reward=reward)
            env.reset(seed=seed)
            returns[reward] = list(play_out(env).values())
        scores = env.unwrapped.game.scores()
        rules = env.unwrapped.rules
        margins = [(sum(scores) - own) / (len(scores) - 1) - own for own in scores]
        assert returns["margin"] == pytest.approx([m / rules.max_margin for m in margins])
        assert max(map(abs, returns["margin"])) <= 1
        assert returns["trick"] == pytest.approx(returns["margin"])
        assert returns["points"] == [-score for score in scores]
        for zero_sum in ("margin", "trick", "win"):
            assert sum(returns[zero_sum]) == pytest.approx(0)


# ---- matches -------------------------------------------------------------------------------------
@pytest.mark.parametrize("reward", REWARDS)
def test_match_pays_deals_and_its_win_last(reward: str) -> None:
    env: Any = hearts_v0.raw_env("micro", episode="match", reward=reward)
    env.reset(seed=4)
    before = [0, 0]
    paid = 0.0
    while env.agents and not any(env.terminations.values()):
        game = env.game
        env.step(legal(env))
        paid += env.rewards["player_0"]
        if not game.is_over:
            assert reward == "trick" or env.rewards["player_0"] == 0
            continue
        scores = game.scores()
        deal = (scores[1] - scores[0]) / 15
        if reward in ("margin", "trick"):
            assert paid == pytest.approx(deal)
        elif reward == "points":
            assert paid == -scores[0]
        elif not env.match.is_over:
            assert paid == 0
        paid = 0.0 if reward != "win" else paid
        before = [b + s for b, s in zip(before, scores, strict=True)]
        assert env.match.totals == before
    if reward == "win":
        assert paid == (1.0 if before[0] < before[1] else -1.0)


def test_win_in_chips_goes_to_the_most_chips() -> None:
    rules = Rules.preset("hoyle", 3).replace(stake=5)
    env: Any = hearts_v0.raw_env(rules, episode="match", reward="win")
    env.reset(seed=1)
    play_out(env)
    totals = env.match.totals
    assert sum(totals) == 15
    env.reset(seed=1)
    returns = list(play_out(env).values())
    assert [r > 0 for r in returns] == [t == max(totals) for t in totals]
    assert sum(returns) == pytest.approx(0)


def test_max_deals_truncates_the_match() -> None:
    with raises_hearts_error(HeartsError, "max_deals"):
        hearts_v0.raw_env(max_deals=3)  # the episode is one deal
    env: Any = hearts_v0.raw_env("classic", episode="match", max_deals=2, reward="win")
    env.reset(seed=5)
    returns = play_out(env)
    env.reset(seed=5)
    while not any(env.truncations.values()):
        env.step(legal(env))
    assert set(env.truncations.values()) == {True}
    assert set(env.terminations.values()) == {False}
    assert env.match.num_deals == 2
    assert not env.match.is_over
    assert sum(returns.values()) == pytest.approx(0)
    assert any(returns.values())
    # A rule that ends the match is an end, not a cut.
    rules = Rules.preset("classic").replace(max_deals=2)
    env = hearts_v0.raw_env(rules, episode="match", max_deals=2)
    env.reset(seed=5)
    while not any(env.terminations.values()):
        env.step(legal(env))
    assert set(env.truncations.values()) == {False}


# ---- the end -------------------------------------------------------------------------------------
def test_info_at_the_end() -> None:
    env = made(MOON)
    play_cards(env, MOON_PLAY)
    for agent in env.agents:
        info = env.infos[agent]
        assert not info["action_mask"].any()
        assert info["scores"].tolist() == [0, 15]
        assert info["shooter"] == 0
        assert info["offender"] == -1
        assert info["points"].tolist() == env.game.points
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.agents == ["player_0", "player_1"]
    env.step(None)
    assert env.agents == ["player_1"]
    assert env.last()[1] == -1.0
    env.step(None)
    assert env.agents == []
    assert env.infos == env.rewards == env.terminations == env.truncations == {}
    assert not env.observe("player_0")["action_mask"].any()
    assert env.state().any()


# ---- illegal actions -----------------------------------------------------------------------------
def illegal(env: Any) -> int:
    """Return an illegal action."""
    return int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"] == 0)[0])


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_illegal_action_terminates_the_episode(episode: str) -> None:
    """The offender gets -1, the others 0, and the episode ends."""
    env = hearts_v0.env(rules="party", players=3, episode=episode)
    env.reset(seed=1)
    env.step(legal(env))
    offender = env.agent_selection
    env.step(illegal(env))
    assert env.rewards == {a: -1.0 if a == offender else 0.0 for a in env.possible_agents}
    assert set(env.terminations.values()) == {True}
    assert set(env.truncations.values()) == {False}
    assert env.infos["player_0"]["offender"] == int(offender[-1])
    assert Game.from_text(env.unwrapped.game.to_text()) == env.unwrapped.game
    assert not any(env.observe(a)["action_mask"].any() for a in env.possible_agents)
    returns = play_out(env)
    assert returns == {a: -1.0 if a == offender else 0.0 for a in env.possible_agents}
    assert env.agents == []
    env.reset()
    assert env.infos["player_0"]["offender"] == -1
    assert len(env.agents) == 3


def test_reset_forgets_who_ended_the_last_episode() -> None:
    env = hearts_v0.raw_env("micro", render_mode="ansi")
    env.reset(seed=1)
    mask = env.infos[env.agent_selection]["action_mask"]
    env.step(int(mask.argmin()))
    assert "illegal" in env.render()
    env.reset(seed=2)
    assert "illegal" not in env.render()
    while not env.is_over:
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    assert env.infos["player_0"]["offender"] == -1


def test_illegal_end_in_a_match_shows_chips_of_this_deal() -> None:
    env = hearts_v0.raw_env("hoyle", 3, episode="match")
    env.reset(seed=1)
    while env.match.num_deals == 0:
        env.step(env.game.legal_actions()[0])
    while not any(env.game.points):
        env.step(env.game.legal_actions()[0])
    assert env.game.chips() != env.match.last_net
    env.step(int(env.infos[env.agent_selection]["action_mask"].argmin()))
    assert env.infos["player_0"]["chips"].tolist() == [float(n) for n in env.game.chips()]


def test_raise_changes_nothing() -> None:
    env = hearts_v0.env(illegal_action="raise", reward="trick")
    env.reset(seed=1)
    for _ in range(5):
        env.step(legal(env))
    twin = copy.deepcopy(env)
    with raises_hearts_error(IllegalActionError, "action"):
        env.step(illegal(env))
    assert_same(env.unwrapped, twin.unwrapped)
    assert play_out(env) == play_out(twin)


def test_revoke_charges_the_offender_with_every_penalty_point() -> None:
    """The deck has 15 points, and QH lies dead in the kitty: the offender pays 14."""
    env = made(PLAIN, illegal_action="revoke")
    env.step(MICRO.index["QC"])
    env.step(MICRO.index["QS"])  # must follow with AC
    assert env.rewards == pytest.approx({"player_0": 14 / 15, "player_1": -14 / 15})
    assert env.infos["player_0"]["scores"].tolist() == [0, 14]
    assert env.infos["player_0"]["offender"] == 1
    assert set(env.terminations.values()) == {True}
    assert Game.from_text(env.game.to_text()) == env.game


@pytest.mark.parametrize("illegal_action", ILLEGAL_ACTIONS)
def test_invalid_action_is_refused(illegal_action: str) -> None:
    """Numbers outside the space raise, as in PettingZoo's AssertOutOfBoundsWrapper."""
    env = hearts_v0.env(illegal_action=illegal_action)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    words = ["2C", 1.0, True, np.bool_(True), [0], {}, np.zeros(2, int), None]
    for action in (*words, -1, 28, 10**30, np.int64(28)):
        with raises_hearts_error(IllegalActionError, "action"):
            env.step(action)
    assert_same(env.unwrapped, twin.unwrapped)


def test_actions_after_the_end() -> None:
    env = made(MOON)
    play_cards(env, MOON_PLAY)
    with raises_hearts_error(IllegalActionError, "action", "player_0"):
        env.step(0)
    env.step(None)
    env.step(None)
    with raises_hearts_error(IllegalActionError, "action"):
        env.step(None)
    with raises_hearts_error(HeartsError, "last"):
        env.last()


def test_calls_before_reset_or_step_are_refused() -> None:
    env = hearts_v0.env()
    for call in (env.last, env.state, env.render, env.agent_iter, lambda: env.step(0)):
        with pytest.raises((AssertionError, AttributeError), match="reset"):
            call()
    raw: Any = hearts_v0.raw_env()
    for name, call in (
        ("game", lambda: raw.game),
        ("step", lambda: raw.step(0)),
        ("last", raw.last),
    ):
        with raises_hearts_error(HeartsError, name):
            call()


# ---- seeds and options ---------------------------------------------------------------------------
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_later_resets_follow_from_the_first_seed(episode: str) -> None:
    one, other = (hearts_v0.raw_env("classic", episode=episode) for _ in range(2))
    one.reset(seed=3)
    other.reset(seed=8)
    other.reset()
    other.reset(seed=3)
    seeds = set()
    for _ in range(20):
        one.reset()
        other.reset()
        assert one.game == other.game
        assert one.episode_seed == other.episode_seed
        assert one.episode_seed is not None
        seeds.add(one.episode_seed)
        made = Match("classic", one.episode_seed).game
        assert one.game == (made if episode == "match" else Game.deal("classic", one.episode_seed))
    assert len(seeds) == 20


def test_without_a_seed_envs_differ() -> None:
    starts = set()
    for _ in range(3):
        env = hearts_v0.raw_env()
        env.reset()
        starts.add(env.episode_seed)
    assert len(starts) == 3


def test_options_fix_deal_number_and_dealer() -> None:
    env: Any = hearts_v0.raw_env("classic")
    env.reset(seed=1, options={"deal_number": 2, "dealer": 3})
    assert (env.game.deal_number, env.game.dealer, env.game.direction) == (2, 3, "across")
    assert env.game == Game.deal("classic", 1, 2, 3)
    env.reset(seed=1)
    assert env.game == Game.deal("classic", 1)
    match: Any = hearts_v0.raw_env("hoyle", 3, episode="match")
    match.reset(seed=1, options={"dealer": 1})
    assert match.game == Match("hoyle players=3", 1, dealer=1).game
    assert match.agent_selection == "player_2"


def test_options_give_a_deal() -> None:
    env: Any = hearts_v0.raw_env(MICRO)
    env.reset(seed=1, options={"deal": PLAIN})
    assert env.game.hand(0) == ("QC", "QD", "AS")
    without_kitty = {"hands": PLAIN["hands"]}
    env.reset(seed=1, options={"deal": without_kitty, "dealer": 1, "deal_number": 0})
    assert env.game == Game(MICRO, PLAIN["hands"], dealer=1)
    match: Any = hearts_v0.raw_env(MICRO, episode="match")
    match.reset(seed=1, options={"deal": PLAIN})
    assert match.game is match.match.game
    # Facts that the deal leaves open are drawn, as without it.
    assert match.game == Game(MICRO, PLAIN["hands"], dealer=Match(MICRO, 1).first_dealer)
    match.reset(seed=1, options={"deal": PLAIN, "dealer": 0})
    assert match.game == Game(MICRO, PLAIN["hands"])
    play_cards(match, PLAIN_PLAY)
    assert match.match.totals == [13, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dael": PLAIN}, HeartsError, "options|dael|deal"),
        ({"deal": 3}, DealError, "deal|3"),
        ({"deal": {"hands": [], "kity": []}}, DealError, "deal|kitty"),
        ({"deal": {"hands": [["2C", "QC", "AC"], ["QS", "AS", "QD"]]}}, DealError, "hands[0]|2C"),
        ({"deal": Game.deal("mini", 1)}, DealError, "deal|mini"),
        ({"dealer": 2}, DealError, "dealer|2"),
    ],
)
def test_invalid_reset_options_are_refused(
    options: Any, error: type[Exception], message: str
) -> None:
    env: Any = hearts_v0.raw_env(MICRO)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    with raises_hearts_error(error, *message.split("|")):
        env.reset(options=options)
    assert_same(env, twin)
    env.reset()
    twin.reset()
    assert env.game == twin.game


def test_a_match_begins_with_deal_0() -> None:
    env = hearts_v0.env(rules="classic", episode="match")
    with raises_hearts_error(DealError, "deal_number"):
        env.reset(options={"deal_number": 2})
    with raises_hearts_error(DealError, "dealer"):
        env.reset(options={"dealer": 9})


# ---- copies --------------------------------------------------------------------------------------
def assert_same(one: hearts_v0.raw_env, other: hearts_v0.raw_env) -> None:
    """Compare two environments in everything that a user can see."""
    assert one.agents == other.agents
    assert one.agent_selection == other.agent_selection
    assert one.game == other.game
    assert one.match == other.match
    for name in ("rewards", "_cumulative_rewards", "terminations", "truncations"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.state(), other.state())
    for agent in one.possible_agents:
        mine, theirs = one.observe(agent), other.observe(agent)
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine)
    for agent, info in one.infos.items():
        assert info.keys() == other.infos[agent].keys()
        assert all(np.array_equal(info[key], other.infos[agent][key]) for key in info)


# ---- state ---------------------------------------------------------------------------------------
def parts_of(rules: Rules, state: Any) -> dict[str, Any]:
    """Return the blocks of a state array by name: the cards' names, or the number."""
    facts, start = {}, 0
    for block in state_blocks(rules):
        part = state[start : start + block.size]
        start += block.size
        if block.size == len(rules.deck):
            assert set(part) <= {0, 1}
            facts[block.name] = tuple(rules.deck[i] for i in np.flatnonzero(part))
        else:
            facts[block.name] = part.tolist() if block.size > 1 else float(part[0])
    assert start == len(state)
    return facts


def one_hot(size: int, place: int | None) -> list[float]:
    return [float(i == place) for i in range(size)]


@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_state_shows_the_whole_game(game: tuple[str, int]) -> None:
    env: Any = hearts_v0.raw_env(*game)
    check_state_space(env)
    rules, n = env.rules, env.rules.players
    rng = random.Random(2)
    env.reset(seed=2)
    while True:
        state, g = env.state(), env.game
        assert env.state_space.contains(state)
        facts = parts_of(rules, state)
        for p in range(n):
            assert facts[f"hand_{p}"] == g.hand(p)
            assert facts[f"played_{p}"] == g.played(p)
            assert facts[f"taken_{p}"] == g.taken(p)
            assert facts.get(f"passed_{p}", ()) == g.passed(p)
            assert facts[f"tricks_{p}"] == pytest.approx(g.tricks_taken[p] / rules.hand_size)
            assert facts[f"total_{p}"] == 0
        deck = {card: i for i, card in enumerate(rules.deck)}
        assert facts["trick"] == tuple(sorted((c for _, c in g.trick), key=deck.__getitem__))
        assert facts.get("kitty", ()) == g.kitty
        seats = {
            "current_player": g.current_player,
            "leader": g.leader,
            "winner": g.winner,
            "dealer": g.dealer,
            "kitty_taker": g.kitty_taker,
            "shooter": g.shooter,
        }
        for name, seat in seats.items():
            assert facts.get(name, one_hot(n, seat)) == one_hot(n, seat)
        assert facts["broken"] == g.hearts_broken
        phases = ("pass", "play", "moon", "over")
        assert facts["phase"] == one_hot(4, phases.index(g.phase))
        if "exchange" in facts:
            steps = {"left": 1, "right": n - 1, "across": n // 2, "hold": 0}
            assert facts["exchange"] == one_hot(n, steps[g.direction])
        if not env.infos or any(env.terminations.values()):
            break
        env.step(rng.choice(g.legal_actions()))


def test_state_of_a_match_has_totals_and_pool() -> None:
    rules = Rules.preset("hoyle", 3).replace(settlement="sweepstakes", stake=10)
    game = Game.deal(rules, 1)
    state = encode_state(game, [Fraction(7, 2), 15, Fraction(-5)], Fraction(33, 2))
    facts = parts_of(rules, state)
    totals = [facts[f"total_{p}"] for p in range(3)]
    assert [*totals, facts["pool"]] == pytest.approx([3.5 / 30, 15 / 30, -5 / 30, 16.5 / 30])
    env: Any = hearts_v0.raw_env("micro", episode="match")
    env.reset(seed=1)
    for _ in range(6):
        env.step(env.game.legal_actions()[0])
    facts, scale = parts_of(env.rules, env.state()), env.rules.end_score
    assert [facts[f"total_{p}"] * scale for p in range(2)] == pytest.approx(env.match.totals)
    assert any(env.match.totals)
