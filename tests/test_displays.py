"""Displays: games and views as pictures in notebooks, analyses as tables."""

from __future__ import annotations

from hearts_env import Game
from hearts_train.measure.analysis import analyse, card_table
from tests.strategies import played_on
from tests.test_render import cards_in_svg


def test_game_shows_all_hands_but_view_one() -> None:
    game = Game.deal("two_player", seed=7)
    assert cards_in_svg(game._repr_svg_()) == set(game.rules.deck)
    assert cards_in_svg(game.view(1)._repr_svg_()) == set(game.hand(1))


def test_an_analysis_shows_every_card() -> None:
    game = played_on("mini", 3, 10)
    table = card_table(analyse(game, names=["Ann", "Bob"]))
    assert [row[2].split()[0] for row in table.rows] == [card for _, card in game.history]
    assert [row[1] for row in table.rows] == [("Ann", "Bob")[seat] for seat, _ in game.history]
