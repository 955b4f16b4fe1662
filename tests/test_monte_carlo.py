"""Deep Monte Carlo: how it draws its cards, what it learns, and that runs resume."""

import numpy as np
import pytest

from hearts_train.learn import selfplay_kernel as sk
from hearts_train.learn.action_values import epsilon_greedy
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.training import make_learner
from hearts_train.measure.evaluation import evaluate

RECIPE = {
    "name": "dmc",
    "algorithm": "monte_carlo",
    "threads": 1,
    "env": {"rules": "mini", "num_envs": 64, "observation": "ranked"},
    "network": {"trunk": [64], "policy": [], "value": []},
    "ppo": {"num_steps": 16, "batch_size": 128, "learning_rate": 0.005},
    "budget": {"decisions": 60 * 64 * 16},
}


def recipe(**changes):
    return TrainConfig.model_validate(RECIPE | changes)


def test_cards_are_drawn_epsilon_greedily():
    rng = np.random.default_rng(0)
    values, legal = rng.normal(size=(200, 7)), rng.random((200, 7)) < 0.5
    legal[:, 3] = True
    for epsilon in (0.0, 0.2, 1.0):
        chances = np.where(legal, np.exp(epsilon_greedy(values, legal, epsilon)), 0.0)
        np.testing.assert_allclose(chances.sum(1), 1.0, rtol=1e-5)
        best = np.where(legal, values, -np.inf).argmax(1)
        expected = np.where(legal, epsilon / legal.sum(1, keepdims=True), 0.0)
        expected[np.arange(200), best] += 1 - epsilon
        np.testing.assert_allclose(chances, expected, atol=1e-6)


def test_what_is_learnt_is_what_the_seat_earned_to_the_end():
    """Whatever reward is paid on the way, and whatever PPO's discounts are."""
    learner = make_learner(
        recipe(
            env=RECIPE["env"] | {"reward": "trick"},
            ppo=RECIPE["ppo"] | {"gamma": 0.5, "gae_lambda": 0.3},
        )
    )
    learner._collect(0, 16)
    games = learner.games[0]
    rows = learner._estimate(games)
    nexts, rewards, returns = games.rows.nexts, games.rows.rewards, games.rows.returns
    ends = set()
    for row in rows:
        total, at = 0.0, int(row)
        while nexts[at] >= 0:
            total, at = total + float(rewards[at]), int(nexts[at])
        ends.add(int(nexts[at]))
        total += float(rewards[at]) if nexts[at] == sk.END else float(games.rows.values[at])
        assert returns[row] == pytest.approx(total, abs=1e-5)
    assert ends == {sk.END, sk.PENDING}


@pytest.mark.slow
def test_it_learns_to_beat_easy_and_resumes_to_the_bit():
    learner = make_learner(recipe())
    for _ in range(30):
        learner.update()
    resumed = make_learner(recipe(), learner.state())
    for _ in range(30):
        learner.update()
        resumed.update()
    assert learner.epsilon == pytest.approx(0.01)
    for name, array in learner.tensors().items():
        np.testing.assert_array_equal(array, resumed.tensors()[name])
    result = evaluate(learner.agent(), "easy", "mini", 1500, seed=3)
    assert result.ci95[0] > 0.3


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"lessons": {"positions": 100}}, "lessons.positions"),
        ({"average": 0.5, "ppo": RECIPE["ppo"] | {"magnet_coef": 0.1}}, "ppo.magnet_coef"),
    ],
)
def test_what_it_has_not_is_refused(changes, name):
    with pytest.raises(ValueError, match=f"{name}: .*monte_carlo"):
        recipe(**changes)
