"""The double-dummy solver: against brute force, by hand, and against itself."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env.solve import TranspositionTable, solve_batch, solve_worlds
from hearts_env.solve import solve_double_dummy as solve
from hearts_env.solve.dd import position
from tests.brute_force import brute_values, one_may_shoot, positions
from tests.deals import make_game, play
from tests.refusals import raises_hearts_error
from tests.slow import quick_count


# ---- against brute force ------------------------------------------------------------------------
@quick_count("count", 500, 1000)
def test_solver_equals_brute_force(count):
    shooting = wide = 0
    for game, table in positions(seed=1, count=count):
        assert solve(game, table=table).values == brute_values(game), game.to_text()
        shooting += one_may_shoot(game)
        wide += int(table.vector[position.H_WIDE])
    assert shooting > 50
    assert wide > 50


def test_moon_adds_the_value_of_bonus_cards():
    points = {"3C": 1, "4C": -1, "TC": 2, "3D": 5, "4D": 1, "9S": 8, "TS": -3, "3H": 1}
    points |= {"TH": -1, "KH": -2}
    game = make_game(
        "9C KC 9D 9H TH KH/3C 4C TC TD KD 4H",
        "3D 4D 3S 4S 9S TS KS 3H",
        trump="D",
        card_points=points,
        break_on=None,
        first_lead="eldest_hand",
        unbroken_lead="queen_frees_hearts",
        points_on_first_trick=False,
        moon="choose",
        moon_points=20,
    )
    play(game, "KD")
    assert solve(game).values == brute_values(game)


def test_full_deals_agree_with_a_search_without_endgames():
    rules = Rules.preset("two_player")
    plain = TranspositionTable(rules, endgames=0)
    for seed in range(60):
        game = Game.deal(rules, seed)
        plain.clear()
        assert solve(game, table=plain).value == solve(game).value


@pytest.mark.parametrize("wide", [False, True])
def test_table_whose_generations_wrap_changes_no_value(wide):
    rules = Rules.preset("two_player")
    if wide:
        rules = rules.replace(card_points={"QS": 13, "JD": -10, "AH": 3, "KH": 2})
    table = TranspositionTable(rules)
    assert table.vector[position.H_WIDE] == wide
    games = [Game.deal(rules, seed) for seed in range(10)]
    expected = [solve(game, table=table).values for game in games]
    table.vector[position.H_GENERATION] = 127 if wide else (1 << 19) - 1
    for game, values in zip(games, expected, strict=True):
        table.clear()
        assert solve(game, table=table).values == values
    assert table.vector[position.H_GENERATION] == len(games)


# ---- by hand ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("allowed", "value"), [(True, -2), (False, 2)])
def test_solver_keeps_points_off_the_first_trick(allowed, value):
    # Allowed, the queen goes on the club and seat 0 takes the two of hearts too. Forbidden, seat 1
    # must discard the diamond, and takes both with the queen.
    game = make_game("2C 2H/3D QH", "KC", moon="none", points_on_first_trick=allowed)
    assert solve(game).value == value


def test_solver_makes_the_moon_choice():
    game = make_game("2C AH/3C KH", moon="choose", card_points={"AH": 1, "KH": 1, "2C": -3})
    play(game, "2C 3C KH AH")
    assert game.phase == "moon"
    found = solve(game)
    expected = {}
    for action in game.legal_actions():
        after = game.clone()
        after.play(action)
        expected[action] = int(after.margins()[game.current_player])
    assert found.values == expected
    assert solve_batch([game]).tolist() == [found.value]
    game.play(found.best[0])
    over = solve(game)
    assert (over.value, over.best, over.values) == (int(game.margins()[0]), [], {})
    assert solve_batch([game]).tolist() == [over.value]


# ---- against itself -----------------------------------------------------------------------------
def test_best_play_keeps_the_value():
    for seed in range(20):
        game = Game.deal("two_player", seed)
        sign = 1 if game.current_player == 0 else -1
        value = sign * solve(game).value
        while not game.is_over:
            found = solve(game)
            assert found.value == (value if game.current_player == 0 else -value)
            assert found.best == [a for a, v in found.values.items() if v == found.value]
            game.play(found.best[seed % len(found.best)])
        assert game.margins()[0] == value


def test_worlds_and_single_solves_agree():
    for seed, plays in ((0, 2), (1, 3), (2, 8), (3, 0)):
        game = Game.deal("two_player", seed)
        rng = random.Random(seed)
        for _ in range(plays):
            game.play(rng.choice(game.legal_actions()))
        view = game.view(game.current_player)
        worlds, values = solve_worlds(view)
        assert worlds == list(view.worlds())
        assert values.shape == (len(worlds), len(view.legal_actions()))
        for world, row in zip(worlds, values, strict=True):
            table = TranspositionTable(game.rules, endgames=2)
            single = solve(Game.from_view(view, world), table=table)
            assert list(single.values.values()) == row.tolist()
            if seed:
                break
        some, again = solve_worlds(view, worlds[3:5])
        assert some == worlds[3:5]
        assert (again == values[3:5]).all()


def test_threads_and_batches_agree():
    batch = BatchGame("two_player", 300, seed=5, autodeal=False)
    rng = np.random.default_rng(0)
    for _ in range(7):
        masks = batch.masks()
        batch.play(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
    one = solve_batch(batch)
    assert one.dtype == np.int64
    assert (solve_batch(batch, num_threads=3) == one).all()
    games = [batch.game(i) for i in range(300)]
    assert (solve_batch(games) == one).all()
    assert [solve(game).value for game in games[:50]] == one[:50].tolist()
    assert solve_batch([]).shape == (0,)
    assert all(games[i] == batch.game(i) for i in range(50))  # solving changes no game


# ---- bad input ----------------------------------------------------------------------------------
DEAL = Game.deal("mini", 1)
LARGE = [Game.deal("two_player", 92_000 + seed) for seed in range(9)]
BAD: list[Any] = [
    ("players 4", lambda: solve(Game.deal("classic", 0))),
    ("players", lambda: solve_worlds(Game.deal("classic", 0).view(0))),
    ("phase", lambda: solve(Game.deal("mini pass_count=1 pass_rotation=left", 0))),
    (
        "view 1",
        lambda: solve_worlds(Game("micro", [["QC", "QD", "QS"], ["AC", "AD", "AS"]]).view(1)),
    ),
    ("view", lambda: solve_worlds(DEAL)),
    ("game", lambda: solve(DEAL.view(DEAL.current_player))),
    ("table mini", lambda: solve(Game.deal("micro", 0), table=TranspositionTable("mini"))),
    ("max_nodes 3", lambda: solve_batch(LARGE, max_nodes=3)),
    ("num_threads 0", lambda: solve_batch([DEAL], num_threads=0)),
    ("log2_bytes 99", lambda: TranspositionTable("micro", log2_bytes=99)),
    ("endgames 8", lambda: TranspositionTable("micro", endgames=8)),
    ("games", lambda: solve_batch([Game.deal("micro", 0), DEAL])),
    ("games", lambda: solve_batch(DEAL.vector[None])),
]


@pytest.mark.parametrize(("message", "call"), BAD)
def test_invalid_solver_input_is_refused(message, call):
    with raises_hearts_error(HeartsError, *message.split()):
        call()


def test_worlds_inconsistent_with_view_are_refused():
    game = Game.deal("two_player", 0)
    view = game.view(game.current_player)
    world = next(iter(view.worlds()))
    other = 1 - game.current_player
    few = tuple(cards[1:] if p == other else cards for p, cards in enumerate(world))
    swapped = (world[1], world[0], world[2])
    for wrong, message in ((few, 12), (swapped, swapped[0][0]), (("XX",), "XX")):
        with raises_hearts_error(HeartsError, "worlds", message):
            solve_worlds(view, [wrong])
    for wrong in (5, b"2C", np.zeros((2, 2))):
        with raises_hearts_error(HeartsError, "worlds") as caught:
            solve_worlds(view, wrong)
        assert "\n" not in str(caught.value)
