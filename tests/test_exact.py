"""Learning from exact values: the values, a network that learns them, and resumed runs."""

import numpy as np
import pytest
import torch

from hearts_agents.models.network import load_agent
from hearts_env.solve.best_response import exploitability, exploitability_of
from hearts_env.solve.tree import Tree
from hearts_train.learn import runs
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.exact import chances_of
from hearts_train.learn.loop import Trainer, make_learner
from hearts_train.learn.training import train
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
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
    "ema_decay": 0.5,
    "budget": {"decisions": 4000 * 60},
}


def recipe(exact=(), **changes):
    """Return the configuration with other settings."""
    return TrainConfig.model_validate(RECIPE | {"exact": RECIPE["exact"] | dict(exact)} | changes)


def test_action_values_equal_those_of_deviations():
    """A value equals the game's change if one card is always played in an information set."""
    learner, tree = make_learner(recipe()), Tree("micro")
    chances = list(random_policy(tree, 3))
    rng = np.random.default_rng(0)
    for player, side in enumerate(tree.sides):
        worths, there = learner._action_values(player, chances, chances[1 - player])
        before = tree.value(*chances) * (1 - 2 * player)
        other = side.plan(chances[player])
        reach = tree.reach(player, tree.sides[1 - player].plan(chances[1 - player]))
        for i in rng.choice(side.num_infosets, 40, replace=False):
            low, high = side.first[i], side.first[i + 1]
            actions = tree.view(player, int(i)).legal_actions()
            mean = chances[player][low:high] @ worths[i, actions]
            for place, action in enumerate(actions):
                changed = [chances[0].copy(), chances[1].copy()]
                changed[player][low:high] = 0.0
                changed[player][low + place] = 1.0
                gained = tree.value(*changed) * (1 - 2 * player) - before
                likely = _likely(tree, player, int(i), reach, chances)
                assert there[i] == pytest.approx(likely, abs=1e-12)
                expected = other[side.parent[i]] * likely * (worths[i, action] - mean)
                assert gained == pytest.approx(expected, abs=1e-9)


def _likely(tree, player, infoset, reach, chances):
    """Return the probability of an information set given only chance and the opponent."""
    side = tree.sides[player]
    weight = np.zeros(side.num_sequences)
    for i in range(infoset, side.num_infosets):
        rows = slice(side.first[i], side.first[i + 1])
        before = 1.0 if i == infoset else weight[side.parent[i]]
        weight[rows] = before * chances[player][rows]
    return float(weight @ reach)


def drawn(learner):
    """Return the exploitability of the learner's player, which draws its cards."""
    agent = learner.agent()
    agent.greedy = False
    return exploitability_of(agent, learner.tree).exploitability


@pytest.mark.slow
@pytest.mark.parametrize(("descent", "least"), [(0.0, 0.03), (0.5, 0.03), (1.0, 0.2)])
def test_exact_learning_approaches_equilibrium(descent, least):
    learner = make_learner(recipe({"descent": descent}))
    first = drawn(learner)
    logged = [learner.update() for _ in range(60)]
    assert learner.progress == 1.0
    mirrored = [figures["temperature"] for figures in logged if "temperature" in figures]
    assert len(mirrored) == round(60 * (1 - descent))
    if mirrored:
        assert mirrored[-1] == pytest.approx(0.01, rel=0.2)
    assert drawn(learner) < least < 0.5 < first
    learner.update()  # an update after the budget does no harm
    assert drawn(learner) < least


def fitted_to(learner):
    """Return the weights and losses of the learner's next update."""
    given = {}

    def note(weights, losses, *_):
        given.update(weights=weights, losses=losses)
        return 0.0

    learner._fit = note
    learner.update()
    return given


def test_second_stage_follows_the_exploitability_gradient():
    """The sum of its losses falls by as much as the best responses' value."""
    learner = make_learner(recipe({"descent": 1.0, "descent_floor": 0.0}))
    given = fitted_to(learner)
    sharpness, tree = learner.config.exact.inverse_temperature, learner.tree
    rng = np.random.default_rng(0)
    found = [learner.learnt.outputs(place.observations)[0].detach() for place in learner._positions]
    for player in range(2):
        rows = torch.arange(len(found[player]))
        shares = torch.from_numpy(given["weights"][player] / given["weights"][player].sum())
        push = torch.from_numpy(rng.normal(0, 1e-4, found[player].shape).astype(np.float32))

        def after(sign, player=player, push=push, rows=rows, shares=shares):
            logits = [each.clone() for each in found]
            logits[player] += sign * push
            chances = [
                chances_of(side, policy_of(sharpness * one, place.legal), place.legal.numpy())
                for side, one, place in zip(tree.sides, logits, learner._positions, strict=True)
            ]
            loss = given["losses"](player, rows, logits[player]).double() @ shares
            return float(loss), 2 * exploitability(tree, chances)

        (loss, value), (less, lower) = after(1), after(-1)
        assert loss - less == pytest.approx(value - lower, rel=0.02)
        assert abs(value - lower) > 1e-6


def test_rate_of_the_second_stage_falls_to_zero():
    made = make_learner(recipe({"descent": 0.5, "descent_rate": 0.01}))
    rates, budget = [], made.config.budget.decisions
    for share in (0.5, 0.75, 1.0):
        made.counters.decisions = round(share * budget)
        rates.append(made.update()["learning_rate"])
    assert rates == pytest.approx([0.01, 0.005, 0.0])


def test_player_has_the_sharpened_logits_of_the_network():
    made = make_learner(recipe({"inverse_temperature": 3.0}, ema_decay=0.0, precision="float32"))
    made.update()
    observations = made._positions[0].observations
    logits = made.learnt.outputs(observations)[0].detach().numpy()
    assert made.agent().network.logits(observations.numpy()) == pytest.approx(3 * logits, abs=1e-5)


def policy_of(logits, legal):
    """Return the probabilities of the legal actions."""
    return torch.softmax(logits.double().masked_fill(~legal, -torch.inf), 1).numpy()


@quick_cases("descent", [0.0, 59 / 60, 1.0], [59 / 60])
def test_exact_run_resumes_to_the_bit(descent):
    """In either stage, and after both."""
    given = recipe({"descent": descent})
    whole, stopped = make_learner(given), make_learner(given)
    for _ in range(2):
        stopped.update()
    resumed = make_learner(given, stopped.state())
    resumed.update()
    for _ in range(3):
        whole.update()
    for name, array in whole.state().tensors.items():
        np.testing.assert_array_equal(array, resumed.state().tensors[name], err_msg=name)


def test_large_or_trivial_games_raise(monkeypatch):
    for rules, words in (("two_player", "max_memory GB"), ("classic", "rules")):
        with raises_hearts_error(ConfigError, "env.rules", *words.split()):
            make_learner(recipe(env={"rules": rules}))
        env = {"rules": rules, "num_envs": 16}
        asked = {"env": env, "ppo": {"batch_size": 64}, "evaluation": {"exploitability": True}}
        with raises_hearts_error(ConfigError, "evaluation.exploitability"):
            Trainer(TrainConfig.model_validate(asked))
    with raises_hearts_error(ConfigError, "env.rules"):
        make_learner(recipe(env={"rules": "micro hand_size=1"}))
    monkeypatch.setattr("hearts_train.learn.exact.DEFAULT_MEMORY", 1e-6)
    with raises_hearts_error(ConfigError, "env.rules"):
        make_learner(recipe())


@pytest.mark.slow
def test_small_deck_runs_log_exploitability(tmp_path):
    """The last logged figures describe the player's file. No opponent is needed."""
    settings = {"times": 4, "opponents": [], "exploitability": True}
    given = recipe(evaluation=settings, budget={"decisions": 4000 * 8})
    result = train(given, tmp_path / "run", progress=False)
    rows = [row for row in runs.read_metrics(result.run_dir) if row["kind"] == "exploitability"]
    assert len(rows) == 5
    assert rows[-1]["drawn"] < 0.7 * rows[0]["drawn"]
    for name, greedy in (("drawn", False), ("preferred", True)):
        player = load_agent(result.run_dir, greedy=greedy, seed=0)
        found = exploitability_of(player, "micro").exploitability
        assert rows[-1][name] == pytest.approx(found, abs=1e-6)
        assert f"{found:.3f} (" in result.card.read_text()
