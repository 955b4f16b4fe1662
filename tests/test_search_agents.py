"""The searching players against the same search written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from hearts_agents import agent_names, make_agent
from hearts_env import Game, HeartsError, Rules
from hearts_env.solve import solve_double_dummy
from hearts_env.solve.beliefs import belief
from tests.refusals import raises_hearts_error
from tests.strategies import played_on

TWO = ["two_player", "mini", "micro"]


def some_views(name: str, number: int, late: int = 0):
    """Views of the player to act, at random times of random play, some cards from the start."""
    rng, rules = np.random.default_rng(3), Rules.preset(name)
    for seed in range(number):
        game = played_on(rules, seed, int(rng.integers(late, 2 * rules.hand_size - 1)))
        yield game, game.view(game.current_player)


def plain_margins(view, weights=None):
    """The mean over all worlds of every card's double-dummy value, game by game."""
    worlds = list(view.worlds())
    weights = np.ones(len(worlds)) if weights is None else weights
    totals = np.zeros(len(view.legal_actions()))
    for world, weight in zip(worlds, weights, strict=True):
        values = solve_double_dummy(Game.from_view(view, world)).values
        totals += weight * np.array([values[action] for action in view.legal_actions()])
    return totals / weights.sum()


@pytest.mark.parametrize("name", TWO)
def test_pimc_weighs_all_worlds_alike(name: str) -> None:
    pimc = make_agent("pimc", seed=0)
    for _, view in some_views(name, 25, late=8 if name == "two_player" else 0):
        expected = plain_margins(view)
        assert np.allclose(pimc.margins(view), expected)
        chosen = view.legal_actions().index(pimc.act(view))
        assert np.isclose(expected[chosen], expected.max())


@pytest.mark.parametrize("name", TWO)
def test_pimc_belief_weighs_worlds_by_its_model(name: str) -> None:
    standard = make_agent("standard", seed=0)
    player = make_agent("pimc_belief", seed=0, model="standard", epsilon=0.2)
    differ = 0
    number, late = (8, 14) if name == "two_player" else (60, 2)
    for _, view in some_views(name, number, late):
        weights = belief(view, standard.action_probs, epsilon=0.2).weights
        expected = plain_margins(view, weights)
        assert np.allclose(player.margins(view), expected)
        differ += np.ptp(weights) > 0 and not np.allclose(expected, plain_margins(view))
    assert differ > 1


def test_fewer_worlds_are_drawn_from_the_seed() -> None:
    game = Game.deal("two_player", 4)
    for _ in range(8):
        game.play(game.legal_actions()[-1])
    view = game.view(game.current_player)
    few = [make_agent("pimc", seed=s, worlds=2).margins(view) for s in (1, 1, 2, 3, 4)]
    assert few[0] == few[1]
    assert any(margins != few[0] for margins in few[2:])
    agent = make_agent("pimc", seed=1, worlds=2)
    assert agent.margins(view) == few[0]
    agent.reseed(1)
    assert agent.margins(view) == few[0]
    everything = make_agent("pimc", seed=1, worlds=10**6).margins(view)
    assert everything == make_agent("pimc", seed=2).margins(view)


def test_search_agents_choose_after_a_moon() -> None:
    rules = Rules.preset("micro").replace(moon="choose")
    pimc = make_agent("pimc", seed=0)
    made = 0
    for seed in range(300):
        game = Game.deal(rules, seed)
        while not game.is_over:
            if game.phase == "moon":
                made += 1
                action = pimc.act(game.view(game.current_player))
                shooter = game.current_player
                margins = {}
                for choice in game.legal_actions():
                    after = game.clone()
                    after.play(choice)
                    margins[choice] = after.margins()[shooter]
                assert margins[action] == max(margins.values())
                game.play(action)
            else:
                game.play(game.legal_actions()[-1])
    assert made > 3


def test_pimc_belief_can_model_a_pimc_belief() -> None:
    view = Game.deal("micro", 1).view(0)
    agents = [
        make_agent(f"pimc_belief?model=pimc_belief{end}", seed=0) for end in ("", "?model=pro")
    ]
    assert agents[0].model.name == agents[1].model.name == "pimc_belief"
    assert agents[0].margins(view) == agents[1].margins(view)


def test_invalid_name_option_or_game_is_refused() -> None:
    assert {"pimc", "pimc_belief"} <= set(agent_names())
    for name, options in [
        ("pimc", {"worlds": 0}),
        ("pimc_belief", {"epsilon": 0}),
        ("pimc_belief", {"epsilon": 1.5}),
        ("pimc_belief", {"model": ""}),
        ("pimc_belief", {"model": "nobody"}),
    ]:
        field = "agent" if "model" in options else next(iter(options))
        with raises_hearts_error(HeartsError, field):
            make_agent(name, seed=0, **options)
    pimc = make_agent("pimc", seed=0)
    with raises_hearts_error(HeartsError, "rules", 4):
        pimc.act(Game.deal("no_pass", 1).view(Game.deal("no_pass", 1).current_player))
