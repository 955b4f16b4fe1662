"""Posteriors against a plain computation of Bayes' rule."""

from __future__ import annotations

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import BatchView, Game, HeartsError, Rules
from hearts_env.cards import mask_of
from hearts_env.solve.beliefs import belief
from tests.players import network_player
from tests.refusals import raises_hearts_error
from tests.strategies import played_on


def plain_posterior(view, agent, epsilon):
    """Return the posterior by Bayes' rule, with every world replayed in a ``Game``."""
    rules, other = view.rules, 1 - view.player
    weights = []
    for world in view.worlds():
        game = Game.from_view(view, world).start()
        weight = 1.0
        for seat, card in view.history:
            if seat == other:
                views = BatchView.of([game.view(other)])
                chances = agent.action_probs(views)[0]
                uniform = 1.0 / len(game.legal_actions())
                weight *= (1 - epsilon) * chances[rules.index[card]] + epsilon * uniform
            game.play(card)
        weights.append(weight)
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("name", ["micro", "mini", "two_player"])
def test_posterior_follows_bayes_rule(name: str) -> None:
    rules = Rules.preset(name)
    agent = network_player(rules, 4, greedy=False)
    for seed in range(6):
        game = played_on(rules, seed, 2 + seed)
        for player in range(2):
            view = game.view(player)
            found = belief(view, agent.action_probs, epsilon=0.1)
            expected = plain_posterior(view, agent, 0.1)
            # float32 sums depend on the number of views
            assert np.allclose(found.weights, expected, rtol=1e-4)
            worlds = [mask_of(map(rules.index.get, world[1 - player])) for world in view.worlds()]
            assert found.hands.tolist() == worlds


def test_deterministic_policy_rules_out_worlds() -> None:
    """`standard` is deterministic, so every world with another card is ruled out."""
    standard = make_agent("standard", seed=0)
    ruled_out = 0
    for seed in range(20):
        game = Game.deal("two_player", seed)
        for _ in range(12):
            game.play(standard.act(game.view(game.current_player)))
        view = game.view(0)
        found = belief(view, standard.action_probs)
        own = mask_of(game.rules.index[card] for card in game.hand(1))
        assert found.weights[found.hands == own].sum() > 0
        ruled_out += int((found.weights == 0).sum())
        live = found.weights > 0
        assert np.allclose(found.weights[live], 1 / live.sum())
    assert ruled_out > 100


def test_worlds_weigh_the_same_after_unexplained_play() -> None:
    view = played_on("two_player", 5, 20).view(0)

    def contrary(views: BatchView) -> np.ndarray:
        legal = views.legal_table
        chances = np.zeros(legal.shape)
        chances[np.arange(len(legal)), legal.shape[1] - 1 - legal[:, ::-1].argmax(1)] = 1.0
        return chances

    found = belief(view, contrary)
    assert not np.isfinite(found.log_likelihoods).any()
    assert np.allclose(found.weights, 1 / view.num_worlds)


def test_invalid_belief_arguments_are_refused() -> None:
    game = played_on("mini", 1, 4)
    view = game.view(0)
    wrong = [
        (lambda: belief(game), "view"),
        (lambda: belief(view, "pro"), "policy"),
        (lambda: belief(view, lambda views: "a"), "policy"),
        (lambda: belief(view, None, epsilon=2.0), "epsilon"),
        (lambda: belief(Game.deal("no_pass", 1).view(0)), "rules"),
    ]
    for call, field in wrong:
        with raises_hearts_error(HeartsError, field):
            call()
