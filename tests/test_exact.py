"""Learning from exact values: what they are, that a network learns them, and that runs resume."""

import numpy as np
import pytest

from hearts_agents.network import load_agent
from hearts_env import HeartsError
from hearts_env.solve.best_response import best_response, exploit
from hearts_env.solve.tree import Tree
from hearts_train.learn import runs
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.exact import chances_of
from hearts_train.learn.ppo import Trainer, make_learner, train
from tests.test_exploit import random_policy

RECIPE = {
    "name": "exact",
    "algorithm": "exact",
    "threads": 1,
    "env": {"rules": "micro", "observation": "ranked"},
    "network": {"trunk": [64], "policy": [], "value": []},
    "exact": {
        "minibatches": 20,
        "batch_size": 200,
        "learning_rate": 0.01,
        "step": 0.4,
        "step_end": 0.4,
        "temperature_end": 0.01,
    },
    "average": 0.5,
    "budget": {"decisions": 4000 * 60},
}


def recipe(**changes):
    return TrainConfig.model_validate(RECIPE | changes)


def test_worths_are_those_of_the_game_with_each_card_played_instead():
    """Play one card always in an information set, and see by how much the whole game changes."""
    learner, tree = make_learner(recipe()), Tree("micro")
    chances = list(random_policy(tree, 3))
    rng = np.random.default_rng(0)
    for player, side in enumerate(tree.sides):
        worths, weights = learner._worths(player, chances)
        assert (weights > 0).all()
        before = tree.value(*chances) * (1 - 2 * player)
        other = side.plan(chances[player])
        reach = tree.reach(player, tree.sides[1 - player].plan(chances[1 - player]))
        for i in rng.choice(side.num_infosets, 40, replace=False):
            low, high = side.first[i], side.first[i + 1]
            actions = side.actions(int(i))
            mean = chances[player][low:high] @ worths[i, actions]
            for place, action in enumerate(actions):
                changed = [chances[0].copy(), chances[1].copy()]
                changed[player][low:high] = 0.0
                changed[player][low + place] = 1.0
                gained = tree.value(*changed) * (1 - 2 * player) - before
                there = _likely(tree, player, int(i), reach, chances)
                expected = other[side.parent[i]] * there * (worths[i, action] - mean)
                assert gained == pytest.approx(expected, abs=1e-9)


def _likely(tree, player, infoset, reach, chances):
    """How likely an information set is by chance and by the other player: of all lines after it."""
    side = tree.sides[player]
    weight = np.zeros(side.num_sequences)
    for i in range(infoset, side.num_infosets):
        rows = slice(side.first[i], side.first[i + 1])
        before = 1.0 if i == infoset else weight[side.parent[i]]
        weight[rows] = before * chances[player][rows]
    return float(weight @ reach)


def test_a_network_comes_near_the_equilibrium():
    learner = make_learner(recipe())
    tree = learner.tree

    def exploitability():
        agent = learner.agent()
        agent.greedy = False
        return exploit(agent, tree).exploitability

    first = exploitability()
    for _ in range(60):
        figures = learner.update()
    assert learner.progress == 1.0
    assert figures["temperature"] == pytest.approx(0.01, rel=0.1)
    assert exploitability() < 0.03 < 0.5 < first


def test_the_value_that_is_logged_is_that_of_the_policy_before():
    learner = make_learner(recipe())
    chances = [
        chances_of(side, learner._log_policy(learner.network, one).exp().numpy(), one.legal.numpy())
        for side, one in zip(learner.tree.sides, learner._positions, strict=True)
    ]
    assert learner.update()["value"] == pytest.approx(learner.tree.value(*chances))
    gain = best_response(learner.tree, 0, chances[1]).value
    assert gain >= learner.tree.value(*chances)


def test_it_is_resumed_to_the_bit():
    whole, stopped = make_learner(recipe()), make_learner(recipe())
    stopped.update()
    resumed = make_learner(recipe(), stopped.state())
    resumed.update()
    for _ in range(2):
        whole.update()
    for name, array in whole.state().tensors.items():
        np.testing.assert_array_equal(array, resumed.state().tensors[name], err_msg=name)


@pytest.mark.parametrize(
    ("rules", "words"), [("two_player", "gigabytes|GB"), ("classic", "two|players")]
)
def test_games_that_cannot_be_listed_are_refused(rules, words):
    with pytest.raises(HeartsError, match=words):
        make_learner(recipe(env={"rules": rules}))


def test_a_game_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("hearts_train.learn.exact.DEFAULT_MEMORY", 1e-6)
    with pytest.raises(ConfigError, match=r"env.rules: micro has .* information sets.* smaller"):
        make_learner(recipe())


def test_settings_that_it_has_no_use_for_are_refused():
    with pytest.raises(ValueError, match=r"lessons.positions: not for exact; leave it out, or"):
        recipe(lessons={"positions": 1000})
    with pytest.raises(ValueError, match=r"device: 'cuda' is not for exact"):
        recipe(device="cuda")


def test_runs_in_small_decks_log_how_exploitable_the_player_is(tmp_path):
    """The log's last figures are those of the player's file, and the best is the least exploitable.

    Margins are not asked for: nobody has to be there to play against.
    """
    settings = {"times": 4, "opponents": [], "exploitability": True}
    given = recipe(evaluation=settings, budget={"decisions": 4000 * 8})
    result = train(given, tmp_path / "run", progress=False)
    rows = [row for row in runs.read_metrics(result.run_dir) if row["kind"] == "exploitability"]
    assert len(rows) == 5
    assert rows[-1]["drawn"] < 0.7 * rows[0]["drawn"]
    for name, greedy in (("drawn", False), ("preferred", True)):
        found = exploit(load_agent(result.run_dir, greedy=greedy, seed=0), "micro").exploitability
        assert rows[-1][name] == pytest.approx(found, abs=1e-6)
        assert f"{found:.3f} (" in result.card.read_text()
    best = min(rows, key=lambda row: (row["drawn"], -row["decisions"]))
    assert runs.best_decisions(result.run_dir) == best["decisions"]


def test_exploitability_of_a_game_that_cannot_be_listed_is_refused_at_once():
    for rules in ("two_player", "classic"):
        env = {"rules": rules, "num_envs": 16}
        given = TrainConfig.model_validate(
            {"env": env, "ppo": {"batch_size": 64}, "evaluation": {"exploitability": True}}
        )
        with pytest.raises(ConfigError, match=r"^evaluation.exploitability: "):
            Trainer(given)
