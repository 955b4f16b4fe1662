"""What notebooks show by themselves: games and views as pictures, results as tables."""

from __future__ import annotations

import random

import pytest

from hearts_env import Game, Rules
from hearts_env.presets import PRESETS
from hearts_env.render.picture import picture_of, picture_of_view
from tests.reshuffle import reshuffled
from tests.test_render import GAMES, cards_in_svg, positions


# ---- pictures ------------------------------------------------------------------------------------
@pytest.mark.parametrize("game", GAMES, ids=lambda g: f"{g[0]}-{g[1]}")
def test_a_view_draws_what_the_game_draws_for_its_seat(game: tuple[str, int]) -> None:
    rules = Rules.preset(*game)
    for g in positions(rules, 4):
        for seat in range(rules.players):
            assert picture_of_view(g.view(seat), seat) == picture_of(g, seat)


@pytest.mark.parametrize("name", PRESETS)
def test_a_view_shows_its_own_cards_and_nobody_elses(name: str) -> None:
    rules = Rules.preset(name)
    rng = random.Random(5)
    for g in positions(rules, 5):
        if rng.random() < 0.15:
            seat = rng.randrange(rules.players)
            view = g.view(seat)
            svg = view._repr_svg_()
            known = {*view.hand, *view.passed, *view.received, *view.kitty}
            assert cards_in_svg(svg) <= known | {card for _, card in view.history}
            assert cards_in_svg(svg) >= set(view.hand)
            assert reshuffled(g, seat, rng.randrange(1000)).view(seat)._repr_svg_() == svg


def test_a_game_shows_all_hands() -> None:
    game = Game.deal("two_player", seed=7)
    assert cards_in_svg(game._repr_svg_()) == set(game.rules.deck)
