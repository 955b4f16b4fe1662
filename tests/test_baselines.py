"""The baseline agents: rule by rule, against a second implementation, and in strength."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_agents.baseline_kernel import rule_action
from hearts_env import BatchGame, BatchView, Game, HeartsError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env.rules.presets import GAMES
from hearts_env.views.worlds import Worlds
from hearts_train.measure.evaluation import evaluate
from tests.lockstep import naive_of
from tests.naive import naive_world_bound
from tests.naive_agents import naive_pro, naive_standard, naive_standard_trump
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases, quick_count, quick_given
from tests.strategies import games, rule_sets

AGENTS = ("easy", "standard", "standard_trump", "pro", "pro_trump")


# ---- rule by rule: positions in text, expected actions from the rule book ------------------------
def position(hands: str, plays: str = "", **fields: Any) -> Game:
    """Hands separated by bars and the cards played. Seat 0 may lead any card."""
    dealt = [hand.split() for hand in hands.split("|")]
    options: dict[str, Any] = {
        "first_lead": "eldest_hand",
        "break_on": None,
        "moon": "none",
    } | fields
    rules = Rules(players=len(dealt), hand_size=len(dealt[0]), **options)
    game = Game(rules, dealt, dealer=len(dealt) - 1)
    for card in plays.split():
        game.play(card)
    return game


def own_view(game):
    """The acting player's view."""
    return game.view(game.current_player)


def choice(name: str, game: Game) -> str:
    action = make_agent(name, seed=1).act(own_view(game))
    return game.rules.action_name(action)


JACK = {"JD": -10, "QS": 13, "2H": 1}
POSITIONS: dict[str, list[tuple[Any, ...]]] = {
    # hands, cards played, the card of standard, and of standard_trump if it differs
    "leading, the lowest by value": [
        ("9C 5H 5S 5D | 6C 6D 6H 6S", "", "5D"),  # of equal rank diamonds are the lowest here
        ("5H 5S 5C 5D | 6C 6D 6H 6S", "", "5C"),
        ("5H 5S KC KD | 6C 6D 6H 6S", "", "5H"),
        ("AS AH 2S 3C | 6C 6D 6H 6S", "", "2S"),  # rank before suit
    ],
    "following, not last: the highest that does not take, else the lowest": [
        ("TD 2C 2S | 9D 4D JD | 3C 3D 3H", "TD", "9D"),
        ("TD 2C 2S | AD JD 2H | 3C 3D 3H", "TD", "JD"),
        # QD would beat the jack. The nine beats the five led, but not the jack.
        ("5D 2C 2S | JD 3C 3S | QD 9D 6D | 4C 4D 4H", "5D JD", "9D"),
    ],
    "following a trumped trick, nothing of the suit takes": [
        ("5D 2C 2S | 2H 3C 3S | QD 9D AD | 4C 4D 4H", "5D 2H", "AD", "AD", {"trump": "H"})
    ],
    "last, with points: the highest that does not take, else the highest": [
        ("5H 2C 2S | 3H 4H KH", "5H", "4H"),
        ("5H 2C 2S | 9H KH AC", "5H", "KH"),
        ("TS 2C 3C | 4H 4D 4C | QS JS AC", "TS 4H", "JS"),  # not the queen
        ("TS 2C 3C | 4H 4D 4C | QS JC AC", "TS 4H", "QS"),
    ],
    "last, without points: the highest, even the queen": [
        ("TC 2C 2S | 3C KC AD", "TC", "KC"),
        # The reading: literally the highest. standard_trump takes with another spade instead.
        ("TS 2C 2D | QS JS AD", "TS", "QS", "JS"),
        ("TS 2C 2D | QS 2S AD", "TS", "QS", "2S"),
        ("TS 2C 2D | QS AC AD", "TS", "QS"),
    ],
    "last: a bonus that outweighs the points is worth taking": [
        ("JD 2C 3C | AD 2D 3S", "JD", "AD", "AD", {"card_points": JACK}),
        ("JD 2C 3C | 2H 4S 4C | AD 2D 3S", "JD 2H", "AD", "AD", {"card_points": JACK}),
    ],
    "void: the queen of spades, else the highest": [
        ("TC 2C 3C | QS AH AD", "TC", "QS"),
        ("TC 2C 3C | KS AH AD", "TC", "AH"),
        ("TC 2C 3C | AS AH AD", "TC", "AS"),
    ],
    "void: standard takes with trump, standard_trump does not, or with its lowest": [
        ("TS 2C 3C | AH AD 4D", "TS", "AH", "AD", {"trump": "H"}),
        ("TS 2C 3C | AH 4H 8H", "TS", "AH", "4H", {"trump": "H"}),
        # The seven of trump does not take either, but is lower.
        ("TS 2C 3C | 8H 3D 4D | AH 7H TD", "TS 8H", "AH", "TD", {"trump": "H"}),
        ("TC 2C 3C | QS KS 3D", "TC", "QS", "3D", {"trump": "S"}),
        ("TC 2C 3C | QS KS 4S", "TC", "QS", "4S", {"trump": "S"}),
        ("TC 2C 3C | QS KS AS", "TC", "QS", "AS", {"trump": "S"}),
    ],
}


@pytest.mark.parametrize("rule", POSITIONS)
def test_standard_plays_by_the_rule_book(rule):
    for hands, plays, card, *more in POSITIONS[rule]:
        aware, fields = [*more, *[card, {}][len(more) :]]
        game = position(hands, plays, **fields)
        assert (choice("standard", game), choice("standard_trump", game)) == (card, aware), hands


def test_baselines_let_others_pay_for_a_moon():
    game = position("5H | 3H", "5H 3H", moon="choose", moon_points=26)
    assert game.phase == "moon"
    assert {choice(name, game) for name in AGENTS[1:]} == {"moon:others"}


def test_easy_chooses_uniformly_in_every_phase():
    easy = make_agent("easy", seed=3)
    moon = position("5H | 3H", "5H 3H", moon="choose", moon_points=26)
    lead = position("9C 5H 5S 5D | 6C 6D 6H 6S")
    exchange = Game.deal("classic", 1, deal_number=0)
    for game in (moon, lead, exchange):
        legal = game.legal_actions()
        view = own_view(game)
        drawn = [easy.act(view) for _ in range(400 * len(legal))]
        counts = np.bincount(drawn, minlength=60)[legal]
        assert counts.sum() == len(drawn)
        assert abs(counts - 400).max() < 5 * 20  # five standard deviations


# ---- against the second implementation -----------------------------------------------------------
@pytest.mark.parametrize(("preset", "players"), GAMES)
def test_standard_equals_second_implementation(preset, players):
    rules = Rules.preset(preset, players)
    check_lockstep(rules, range(12))


@pytest.mark.parametrize(
    "fields",
    [
        {"queen_any_time": True},
        {"trump": "C", "queen_any_time": True},
        {"card_points": {"QS": 13, "JD": -10, "AH": 2}},
        {"first_lead": "any_club", "break_on": "void"},
    ],
)
@pytest.mark.parametrize("players", [2, 3, 5])
def test_standard_equals_second_implementation_under_single_options(fields, players):
    check_lockstep(Rules(players=players, hand_size=9, **fields), range(10))


def check_lockstep(rules: Rules, seeds: range) -> None:
    """Random play. At every decision both players answer."""
    plain, aware = make_agent("standard"), make_agent("standard_trump")
    for seed in seeds:
        rng = random.Random(seed)
        game = Game.deal(rules, seed)
        naive = naive_of(game)
        while not game.is_over:
            view = own_view(game)
            assert plain.act(view) == naive_standard(naive), game.to_text()
            assert aware.act(view) == naive_standard_trump(naive), game.to_text()
            # half of the actions are standard's own, for positions like those of its playouts
            action = rng.choice(game.legal_actions()) if rng.random() < 0.5 else plain.act(view)
            game.play(action)
            naive.play(action)


def random_play(rules, deals, **deal):
    """Yield every position of random deals, with that of the second implementation."""
    for seed in range(deals):
        rng = random.Random(seed)
        game = Game.deal(rules, seed, **deal)
        naive = naive_of(game)
        while not game.is_over:
            yield game, naive
            action = rng.choice(game.legal_actions())
            game.play(action)
            naive.play(action)


@pytest.mark.parametrize(
    ("preset", "deals", "most_cards"), [("micro", 60, 3), ("mini", 12, 5), ("two_player", 4, 6)]
)
@pytest.mark.parametrize("name", ["pro", "pro_trump"])
def test_pro_over_all_worlds_equals_second_implementation(preset, deals, most_cards, name):
    policy = naive_standard if name == "pro" else naive_standard_trump
    agent = make_agent(name)
    for game, naive in random_play(Rules.preset(preset), deals):
        if len(own_view(game).hand) <= most_cards:
            assert agent.act(own_view(game)) == naive_pro(naive, policy), game.to_text()


@pytest.mark.parametrize(
    ("preset", "players", "deals", "most_cards"),
    [
        ("micro", 2, 20, 3),
        ("mini", 2, 4, 5),
        ("two_player", 2, 2, 5),
        ("kitty", 3, 2, 2),
        pytest.param("classic", 4, 12, 3, marks=pytest.mark.slow),
        pytest.param("party", 7, 12, 3, marks=pytest.mark.slow),
    ],
)
def test_sampling_pro_equals_second_implementation(preset, players, deals, most_cards):
    rules = Rules.preset(preset, players)
    agent: Any = make_agent("pro", seed=0, worlds=5000)
    compared = 0
    for game, naive in random_play(rules, deals, deal_number=3):
        view = own_view(game)
        late = game.phase == "play" and len(view.hand) <= most_cards
        if late and naive_world_bound(rules, naive.knowledge(view.player)) <= 300:
            expected = naive_pro(naive, naive_standard)
            assert agent.act(view) == expected, game.to_text()
            assert agent._act_in_sample(rules, view.vector, view.player) == expected
            compared += 1
    assert compared > 5


def check_playouts(game: Game, worlds: int) -> int:
    """Compare playouts of all cards in some worlds with the kernel's play; return their number."""
    view, r = own_view(game), game.rules.vector
    cards = view.legal_actions()
    for name in ("pro", "pro_trump"):
        agent: Any = make_agent(name, 0, worlds=worlds)
        table, _, _ = agent.world_margins(view)
        for row, margins in enumerate(table):
            state = view.vector.copy()
            *hands, kitty = agent.memory.worlds[row, : game.rules.players + 1]
            state[k.every_seat(k.HANDS, game.rules.players)] = hands
            if state[k.KITTY_TAKER] < 0:
                state[k.KITTY] = kitty
            expected = [played_out(r, state, view.player, c, name == "pro_trump") for c in cards]
            assert (margins * (game.rules.players - 1)).tolist() == expected, game.to_text()
    return 2 * table.size


def played_out(r: Any, state: Any, player: int, card: int, aware: bool) -> int:
    """Play a card and the rest of the deal by the kernel, all as a baseline; return the margin."""
    s = state.copy()
    k.play(r, s, card)
    while s[k.PHASE] != k.OVER:
        k.play(r, s, rule_action(r, s, aware))
    return k.margin_sum(r, s, player)


@quick_count("deals", 1, 4)
@pytest.mark.parametrize(("preset", "players"), GAMES)
def test_playouts_equal_play_by_the_kernel(preset, players, deals):
    compared = 0
    for game, _ in random_play(Rules.preset(preset, players), deals, deal_number=0):
        if game.phase == "play":
            compared += check_playouts(game, 1 if deals == 1 else 3)
    assert compared >= 12


@quick_given(12, 300, games(rule_sets()))
def test_playouts_equal_play_under_any_rules(game):
    if game.phase == "play":
        check_playouts(game, 2)


@pytest.mark.parametrize(
    ("option", "value"),
    [("worlds", 0), ("worlds", 10**6 + 1), ("worlds", True)],
)
def test_invalid_option_of_pro_is_refused(option, value):
    with raises_hearts_error(HeartsError, option):
        make_agent("pro", **{option: value})


# ---- sampling, seeds, batches --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "preset", "players"),
    [
        *((n, p, k) for n in AGENTS for p, k in (("two_player", 2), ("classic", 4), ("kitty", 3))),
        ("pimc", "mini", 2),
        ("pimc_belief", "mini", 2),
    ],
)
def test_batch_decisions_equal_single_ones(name, preset, players):
    options = {"worlds": 6} if name.startswith("pro") and players > 2 else {}
    rules = Rules.preset(preset, players)
    batch = BatchGame(rules, 4 if options else 40, seed=3, autodeal=False)
    rng = np.random.default_rng(0)
    for _ in range(9):
        masks = batch.masks()
        batch.play((masks * rng.random(masks.shape)).argmax(axis=1))
    together, single = make_agent(name, 7, **options), make_agent(name, 7, **options)
    views = batch.views()
    actions = together.act_batch(views)
    assert actions.dtype == np.int64
    assert actions.tolist() == [single.act(view) for view in views]
    assert all(views[i].legal_mask >> a & 1 for i, a in enumerate(actions.tolist()))


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("preset", ["two_player", "classic"])
def test_hidden_cards_change_no_decision(name, preset):
    rules = Rules.preset(preset)
    options = {"worlds": 6} if name.startswith("pro") else {}
    for seed in range(6):
        rng = random.Random(seed)
        game = Game.deal(rules, seed)
        while not game.is_over:
            view = own_view(game)
            if rng.random() < 0.3:
                world = Worlds(view).sampler(rng)()
                vector = game.vector.copy()
                vector[k.every_seat(k.HANDS, rules.players)] = world[:-1]
                agent = make_agent(name, 5, **options)
                other: Any = make_agent(name, 5, **options)
                seat = np.array([view.player])
                states = BatchView(rules, vector[np.newaxis], seat)
                assert agent.act(view) == other.act_batch(states)[0]
            game.play(rng.choice(game.legal_actions()))


def test_same_seed_or_reseed_repeats_draws():
    game = Game.deal("classic", 1, deal_number=3)
    game.play(game.legal_actions()[0])
    view = own_view(game)

    def draws(agent):
        return [agent.act(view) for _ in range(30)]

    agent = make_agent("easy", 4)
    first = draws(agent)
    assert draws(agent) != first
    assert draws(make_agent("easy", 4)) == first
    assert draws(make_agent("easy", 5)) != first
    agent.reseed(4)
    assert draws(agent) == first


# ---- strength ------------------------------------------------------------------------------------
@quick_cases(
    ("name", "other", "margin", "deals"),
    [
        ("standard", "easy", 2.2, 2000),
        ("standard_trump", "standard", 2.0, 2000),
        ("pro", "standard", 10.4, 300),
        ("pro", "easy", 8.8, 300),
        ("pro_trump", "pro", -0.5, 300),
    ],
    [("standard", "easy", 2.2, 2000), ("standard_trump", "standard", 2.0, 2000)],
)
def test_strength_over_duplicate_deals_is_as_published(name, other, margin, deals):
    found = evaluate(name, other, "two_player", deals, seed=500)
    error = (found.ci95[1] - found.ci95[0]) / 2 / 1.96
    assert abs(found.margin - margin) < 4 * error + 0.05


def late_view(rules: Rules, seed: int, most_worlds: int) -> PlayerView:
    """Return the first view of a deal with a choice and at most `most_worlds` worlds."""
    game = Game.deal(rules, seed, deal_number=3)
    while len(game.legal_actions()) < 2 or own_view(game).num_worlds > most_worlds:
        game.play(game.legal_actions()[0])
    return own_view(game)


def test_sampled_worlds_are_a_fair_sample() -> None:
    view = late_view(Rules.preset("classic"), 3, 5000)
    worlds = list(Worlds(view))
    assert len(worlds) > 100
    places = []
    for seed in range(60):
        agent: Any = make_agent("pro", seed=seed, worlds=8)
        assert len(agent.world_margins(view)[0]) == 8
        places += [worlds.index((*row[:5].tolist(),)) for row in agent.memory.worlds[:8]]
    # The mean of 480 uniform places, within five standard errors.
    error = len(worlds) / 12**0.5 / 480**0.5
    assert np.mean(places) == pytest.approx(len(worlds) / 2, abs=5 * error)
