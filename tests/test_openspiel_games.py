"""The games in OpenSpiel: its own checks and algorithms, compared with our figures."""

from __future__ import annotations

import importlib
import itertools
import random
import unittest
from collections import Counter
from typing import Any

import numpy as np
import pytest

from hearts_env import Game, HeartsError, Rules, openspiel
from hearts_env.encoders import make_encoder
from hearts_env.envs.rewards import Rewarder
from hearts_env.openspiel.setup import Setup, rules_of, rules_word
from hearts_env.rules.presets import GAMES, PRESETS
from hearts_env.views.deals import all_deals
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.strategies import played_on

# ---- without OpenSpiel ---------------------------------------------------------------------------
HARD_TEXTS = (
    "micro queen_any_time=true",
    'micro card_points={"QS":13,"AH":-2} removed=["2C"] hand_size=3',
    "party players=5 pass_rotation=left trump=null",
    "hoyle players=3 settlement=howell",
)


@pytest.mark.parametrize("text", [*HARD_TEXTS, *PRESETS])
def test_rules_survive_as_openspiel_parameter(text: str) -> None:
    if "removed" in text:
        rules = Rules.make("micro").replace(card_points={"QS": 13, "AH": -2}, hand_size=2)
    else:
        rules = Rules.from_text(text)
    word = rules_word(rules)
    assert not set(word) & set("=,()")
    assert rules_of(word) == rules == rules_of(rules.name)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rules": "nope"}, "rules nope"),
        ({"rules": "micro hand_sise:2"}, "rules hand_sise"),
        ({"rules": ""}, "rules"),
        ({"rules": "micro players:3"}, "players 2"),
        ({"reward": "points"}, "reward hearts_env"),
        ({"observation": "flatt"}, "observation flatt flat"),
        ({"information_state": "x"}, "information_state x"),
        ({"dealer": 1}, "dealer hearts_env"),
    ],
)
def test_invalid_parameter_is_refused(parameters: dict[str, Any], message: str) -> None:
    with raises_hearts_error(HeartsError, *message.split()):
        Setup(parameters)


@pytest.mark.parametrize(("name", "players"), GAMES)
def test_returns_equal_environment_margins(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    setup = Setup({"rules": rules_word(rules)})
    for seed in range(4):
        assert setup.returns(Game.deal(rules, seed)) == [0.0] * players
        game = played_on(rules, seed, 1_000)
        returns = setup.returns(game)
        assert returns == pytest.approx(Rewarder(rules, "margin").step(game), abs=1e-12)
        assert all(-1 <= number <= 1 for number in returns)
        assert sum(returns) == pytest.approx(0, abs=1e-9)
        assert len(game.actions) <= setup.longest


# ---- with OpenSpiel ------------------------------------------------------------------------------
pyspiel = pytest.importorskip("pyspiel")

PLAYED = (
    "hearts_env(rules=micro)",
    "hearts_env(rules=micro,observation=history)",
    "hearts_env(rules=mini,information_state=flat)",
    "hearts_env",
    "hearts_env(rules=micro queen_any_time:true)",
    "hearts_env(rules=classic)",
    "hearts_env(rules=no_pass)",
    "hearts_env(rules=hoyle players:3)",
    "hearts_env(rules=kitty players:5,observation=recall)",
)


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    openspiel.register()
    openspiel.register()  # twice is once


def deal_of(game: Any, seed: int) -> Any:
    """A state after chance has dealt."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(rng.choice(state.legal_actions()))
    return state


@quick_cases("name", PLAYED, PLAYED[:3])
def test_games_pass_openspiel_simulation(name: str) -> None:
    game = pyspiel.load_game(name)
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)
    assert pyspiel.load_game(str(game)).setup.rules == game.setup.rules
    copy = pyspiel.deserialize_game(game.serialize()) if hasattr(game, "serialize") else game
    assert str(copy) == str(game)


@quick_cases("name", PLAYED, PLAYED[:3])
def test_state_follows_the_game_to_its_end(name: str) -> None:
    game = pyspiel.load_game(name)
    setup = game.setup
    rng = random.Random(name)
    for seed in range(3):
        state = deal_of(game, seed)
        assert len(state.history()) == game.max_chance_nodes_in_history()
        ours = state.hearts.clone()
        while not state.is_terminal():
            assert state.current_player() == ours.current_player
            assert state.legal_actions() == ours.legal_actions()
            for player in range(setup.rules.players):
                view = ours.view(player)
                assert state.information_state_string(player) == view.key()
                assert state.observation_string(player) == view.to_text()
            encoder = make_encoder(setup.parameters.get("observation", "flat"))
            shown = ours.view(ours.current_player).observe(encoder).ravel().astype(np.float32)
            assert state.observation_tensor() == shown.tolist()
            action = rng.choice(ours.legal_actions())
            assert state.action_to_string(action) == setup.rules.action_name(action)
            before = state.clone()
            state.apply_action(action)
            ours.play(action)
            assert before.hearts != state.hearts  # a copy does not change
            assert state.rewards() == state.returns() == setup.returns(ours)
        assert str(state) == ours.to_text()
        spare = setup.rules.moon == "choose" and ours.shooter is None
        spare += (ours.direction == "hold") * setup.rules.pass_count * setup.rules.players
        assert len(ours.actions) + spare == game.max_game_length()


def test_every_deal_has_one_equally_likely_history() -> None:
    for name in ("hearts_env(rules=micro)", "hearts_env(rules=micro hand_size:1)"):
        game = pyspiel.load_game(name)
        chances: Counter[str] = Counter()
        stack = [(game.new_initial_state(), 1.0)]
        while stack:
            state, chance = stack.pop()
            if not state.is_chance_node():
                assert " | ".join(" ".join(state.hearts.hand(p)) for p in (0, 1)) not in chances
                chances[" | ".join(" ".join(state.hearts.hand(p)) for p in (0, 1))] += chance
                continue
            stack += [(state.child(a), chance * p) for a, p in state.chance_outcomes()]
        size = game.setup.rules.hand_size
        assert len(chances) == {3: 560, 1: 56}[size]
        assert sum(chances.values()) == pytest.approx(1)
        assert max(chances.values()) == pytest.approx(min(chances.values()))


def test_chance_draws_deal_number_where_it_matters() -> None:
    classic = pyspiel.load_game("hearts_env(rules=classic)").new_initial_state()
    assert [p for _, p in classic.chance_outcomes()] == [0.25] * 4
    classic.apply_action(2)
    state = deal_of(classic.get_game(), 0)
    assert state.hearts.deal_number in range(4)
    hoyle = pyspiel.load_game("hearts_env(rules=hoyle players:3)").new_initial_state()
    assert [hoyle.action_to_string(a) for a in hoyle.legal_actions()] == [
        "deal 0 by 0", "deal 0 by 1", "deal 0 by 2",
    ]  # fmt: skip


def test_information_state_and_tensor_correspond() -> None:
    game = openspiel.load("micro")
    tensors: dict[str, tuple[float, ...]] = {}
    for deal in itertools.islice(all_deals("micro"), 0, None, 4):
        stack = [openspiel.state_of(game, Game("micro", deal[:-1]))]
        while stack:
            state = stack.pop()
            if not state.is_terminal():
                key, tensor = state.information_state_string(), state.information_state_tensor()
                assert tensors.setdefault(key, tuple(tensor)) == tuple(tensor)
                stack += [state.child(action) for action in state.legal_actions()]
    seats = [key.split("; ")[1] for key in tensors]
    by_seat = {s: {t for k, t in tensors.items() if f"; {s};" in k} for s in set(seats)}
    assert sum(map(len, by_seat.values())) == len(tensors) > 500
    assert not set.intersection(*by_seat.values())  # who knows it is part of it


@pytest.mark.parametrize(
    "name", ["hearts_env", "hearts_env(rules=micro)", "hearts_env(rules=classic)"]
)
def test_resampled_states_keep_the_players_information(name: str) -> None:
    game = pyspiel.load_game(name)
    rng = random.Random(name)
    differing = 0
    for seed in range(3):
        state = deal_of(game, seed)
        sampler = pyspiel.UniformProbabilitySampler(seed, 0.0, 1.0)
        while not state.is_terminal():
            for player in range(game.num_players()):
                other = state.resample_from_infostate(player, sampler)
                assert other.information_state_string(player) == (
                    state.information_state_string(player)
                )
                assert other.current_player() == state.current_player()
                assert other.legal_actions(player) == state.legal_actions(player)
                # Its history leads there.
                again = game.new_initial_state()
                for action in other.history():
                    again.apply_action(action)
                assert str(again) == str(other)
                differing += str(other) != str(state)
            for _ in range(1 + 8 * (name != "hearts_env(rules=micro)")):
                if not state.is_terminal():
                    state.apply_action(rng.choice(state.legal_actions()))
    assert differing > 5


def test_impossible_deal_is_refused() -> None:
    game = openspiel.load("micro")
    with raises_hearts_error(HeartsError, "rules", "mini"):
        openspiel.state_of(game, Game.deal("mini", 1))
    revoked = Game.deal("micro", 1)
    revoked.revoke()
    with raises_hearts_error(HeartsError, "game"):
        openspiel.state_of(game, revoked)
    with raises_hearts_error(HeartsError, "game", "HeartsGame"):
        openspiel.state_of(pyspiel.load_game("kuhn_poker"), Game.deal("micro", 1))
    with raises_hearts_error(HeartsError, "hearts", hint="deal"):
        openspiel.state_of(game, Game.deal("micro", 1).to_text())
    # Other numbers and dealers, where they count for nothing.
    moved = Game("micro", [["QC", "AC", "AS"], ["QD", "QS", "AH"]], dealer=1, deal_number=7)
    assert openspiel.state_of(game, moved).hearts.hand(0) == moved.hand(0)


def test_objects_that_are_no_policies_are_refused() -> None:
    game, other = openspiel.load("micro"), object()
    for convert, fix in (
        (openspiel.spiel_policy, "action_probs"),
        (openspiel.action_probs, "OpenSpiel"),
    ):
        with raises_hearts_error(HeartsError, "policy", hint=fix):
            convert(game, other)


def test_observer_returns_the_information_state() -> None:
    observation = importlib.import_module("open_spiel.python.observation")
    game = openspiel.load("micro")
    state = deal_of(game, 1)
    recall = observation.make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    recall.set_from(state, 1)
    assert recall.string_from(state, 1) == state.hearts.view(1).key()
    assert recall.tensor.tolist() == state.information_state_tensor(1)
    assert [*recall.dict] == ["player", "information_state"]
    assert recall.dict["player"].tolist() == [0, 1]
    seen = state.hearts.view(1).observe(make_encoder("history"))
    assert np.array_equal(recall.dict["information_state"], seen)
    assert recall.tensor.shape == tuple(game.information_state_tensor_shape())
    with raises_hearts_error(HeartsError, "params", "hearts_env"):
        game.make_py_observer(None, {"x": 1})


# ---- its own batteries ---------------------------------------------------------------------------
def their_tests(name: str, kind: str) -> unittest.TestSuite:
    """OpenSpiel's ``api_test`` on one game, on the whole tree or on some of it."""
    tests = importlib.import_module("open_spiel.integration_tests.api_test")
    base = getattr(tests, f"EnforceAPIOn{kind}TreeBase")
    made = type(name, (base,), {"game": pyspiel.load_game(name), "game_name": name})
    # Chance gives i of the 8 cards: to the kitty (at most 6), one to one player or one to each. One
    # deal in 56 for two cards: a leader, a follower, an end. Each follower's decision is in one
    # deal. A leader holds any of the eight cards except the last that would lead.
    nodes = sum((i <= 6) + 2 * i * (i <= 7) + i * (i - 1) for i in range(8))
    tests.TOTAL_NUM_STATES[WHOLE] = (nodes, 2 * 56, 56)
    tests.PERFECT_RECALL_NUM_STATES[WHOLE] = 56 + 2 * 7
    return unittest.defaultTestLoader.loadTestsFromTestCase(made)


WHOLE = "hearts_env(rules=micro hand_size:1)"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (WHOLE, "Full"),
        (WHOLE, "Partial"),
        pytest.param("hearts_env", "Partial", marks=pytest.mark.slow),
        pytest.param("hearts_env(rules=classic)", "Partial", marks=pytest.mark.slow),
        pytest.param(
            "hearts_env(rules=micro queen_any_time:true)", "Partial", marks=pytest.mark.slow
        ),
    ],
)
def test_games_pass_openspiel_api_test(name: str, kind: str) -> None:
    result = unittest.TestResult()
    their_tests(name, kind).run(result)
    assert result.testsRun >= 5
    assert result.wasSuccessful(), [text for _, text in result.failures + result.errors]
