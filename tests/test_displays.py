"""Displays: games and views as pictures in notebooks, analyses as tables."""

from __future__ import annotations

import dataclasses

import pytest

from hearts_env import Game
from hearts_env.cards import card_text
from hearts_train import benchmark, compare, evaluate, exploit, solve, tournament
from hearts_train.measure.analysis import analyse, card_table
from tests.strategies import played_on
from tests.test_cli import run
from tests.test_render import cards_in_svg


def test_game_shows_all_hands_but_view_one() -> None:
    game = Game.deal("two_player", seed=7)
    assert cards_in_svg(game._repr_svg_()) == set(game.rules.deck)
    assert cards_in_svg(game.view(1)._repr_svg_()) == set(game.hand(1))


def timeless(text: str) -> list[str]:
    """Return the lines of tables without their last column, which has times in some."""
    return [line.rpartition("  ")[0].rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        ("evaluate easy --opponents easy --deals 4", lambda: evaluate("easy", "easy", deals=4)),
        (
            "evaluate easy --opponents easy --deals 2 --unit match",
            lambda: evaluate("easy", "easy", deals=2, unit="match"),
        ),
        ("compare pro easy --deals 64", lambda: compare("pro", "easy", deals=64)),
        ("tournament easy pro --deals 4", lambda: tournament(["easy", "pro"], deals=4)),
        ("exploit easy --rules micro", lambda: exploit("easy", "micro")),
        ("benchmark pro --track micro --deals 4", lambda: benchmark("pro", "micro", deals=4)),
        (
            "exploit standard --rules micro --attackers belief,lbr --deals 4",
            lambda: exploit("standard", "micro", ["belief", "lbr"], deals=4),
        ),
        (
            "exploit pro --rules micro --attackers lbr --deals 4",
            lambda: exploit("pro", "micro", ["lbr"], deals=4),
        ),
        (
            "exploit pro --rules mini --attackers best_response --deals 2",
            lambda: exploit("pro", "mini", ["best_response"], deals=2),
        ),
        (
            "solve micro --iterations 2",
            lambda: solve("micro", iterations=2),
        ),
    ],
)
def test_printed_result_is_the_table_of_the_command(words, measure):
    shown, text = run(*words.split()), str(measure())
    assert shown.exit_code == 0, shown.stderr
    assert timeless(text) == timeless(shown.stdout)
    assert any(timeless(text))


def test_printed_result_writes_out_invisible_characters() -> None:
    result = dataclasses.replace(evaluate("easy", "easy", deals=2), opponent="a\x1b[2J\u202eb")
    assert r"a\x1b[2J\u202eb" in str(result)


def test_an_analysis_shows_every_card() -> None:
    game = played_on("mini", 3, 10)
    table = card_table(analyse(game, names=["Ann", "Bob"]))
    cards = [card_text(card) for _, card in game.history]
    assert [row[2].split()[0] for row in table.rows] == cards
    assert [row[1] for row in table.rows] == [("Ann", "Bob")[seat] for seat, _ in game.history]
