"""Guarantees of all algorithms, the returns of VRPO in closed form, and a game of known value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from hearts_env import CheckpointError
from hearts_env.solve.tree import Tree
from hearts_train.learn import games as sp
from hearts_train.learn.config_files import make_config
from hearts_train.learn.loop import exploitabilities, make_learner
from hearts_train.learn.ppo import FIGURES
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases

RECIPE: dict[str, Any] = {
    "threads": 1,
    "env": {"rules": "micro", "num_envs": 128, "observation": "recall", "reward": "trick"},
    "network": {"trunk": [32], "policy": [], "value": []},
    "ppo": {"num_steps": 8, "batch_size": 256},
    "budget": {"decisions": 60 * 128 * 8},
    "evaluation": {"opponents": []},
}


SMALL: dict[str, Any] = {
    "env": RECIPE["env"] | {"num_envs": 12},
    "ppo": {"num_steps": 4, "batch_size": 16},
    "budget": {"decisions": 10 * 12 * 4},
}


def learner(algorithm: str, state: Any = None, **changes: Any) -> Any:
    tree = RECIPE | {"algorithm": algorithm} | changes
    return make_learner(make_config(tree), state)


# ---- guarantees of all algorithms ----------------------------------------------------------------
def assert_same(made: Any, other: Any) -> None:
    """Compare all tensors of two learners, bit by bit."""
    ours, theirs = made.state().tensors, other.state().tensors
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("algorithm", ["ppo", "vrpo"])
def test_warm_up_has_no_side_effects(algorithm):
    settings = SMALL | {"schedule": [{"opponents": {"self": 1, "easy": 1, "random": 1}}]}
    made, cold = learner(algorithm, **settings), learner(algorithm, **settings)
    made.warm_up()
    assert_same(made, cold)
    for one in (made, cold):
        one.update()
    assert_same(made, cold)


def test_update_logs_rates_and_figures():
    made = learner("ppo", **SMALL)
    for _ in range(4):
        row = made.update()
    logged = {*FIGURES, "learning_rate", "ent_coef"}
    assert logged <= row.keys()
    assert all(row[name] != 0.0 for name in logged - {"clip_fraction", "magnet_kl"})


def test_earlier_snapshots_keep_their_policy():
    settings = {"self_play": {"latest_share": 0.5, "keep": 1, "keep_every": 1}}
    made = learner("ppo", **SMALL | settings)
    made.update()
    past = made.opponents.snapshots[1]
    views = made.games.batch.views(np.arange(12))
    chances = past.action_probs(views)
    assert ((chances > 0.0) == (views.legal_table != 0)).all()
    expected = made.agent()
    expected.greedy = False
    np.testing.assert_array_equal(chances, expected.action_probs(views))


@quick_cases("algorithm", ["ppo", "vrpo", "exact", "maskable_ppo"], ["ppo"])
def test_state_without_an_array_raises(algorithm):
    settings = SMALL | {"exact": {"minibatches": 1}}
    made = learner(algorithm, **settings)
    made.update()
    state = made.state()
    for name in state.tensors:
        lacking = {n: array for n, array in state.tensors.items() if n != name}
        with raises_hearts_error(CheckpointError, "resume"):
            learner(algorithm, replace(state, tensors=lacking), **settings)
            pytest.fail(name)


# ---- VRPO ----------------------------------------------------------------------------------------
def returns_by(made: Any, q_values: Any) -> tuple[Any, Any]:
    """Return all returns of a learner's games if the critic outputs `q_values`, and the ready rows.

    Values are its mean under the policy that drew the cards: uniform here.
    """
    games = made.games
    some = slice(0, games.size)
    legal = games.rollout.masks[some] != 0
    games.q_values[some] = q_values
    games.rollout.values[some] = np.where(legal, q_values, 0.0).sum(1) / legal.sum(1)
    ready = made.estimate()
    return games.rollout.returns[: games.size].copy(), ready


def played(gae_lambda: float) -> Any:
    """A learner after some cards drawn uniformly: the weights of its policy are 0."""
    made = learner("vrpo", ppo=RECIPE["ppo"] | {"gae_lambda": gae_lambda})
    with torch.no_grad():
        made.network.policy[-1].weight[:] = 0.0
        made.network.policy[-1].bias[:] = 0.0
    made._play(8)
    return made


def test_zero_critic_gives_plain_returns():
    """With lambda 1: the sum of rewards, which change their sign with the player."""
    made = played(1.0)
    rows, (returns, ready) = made.games.rollout, returns_by(made, 0.0)
    plain = learner("ppo")
    plain._play(8)
    assert len(set(rows.seats[ready])) == 2
    ends = ready[rows.nexts[ready] == sp.END]
    np.testing.assert_allclose(returns[ends], rows.rewards[ends])
    inner = ready[rows.nexts[ready] >= 0]
    after = rows.nexts[inner]
    sign = np.where(rows.seats[after] == rows.seats[inner], 1.0, -1.0)
    is_known = np.isin(after, ready)
    expected = rows.rewards[inner] + sign * returns[after]
    np.testing.assert_allclose(returns[inner][is_known], expected[is_known], atol=1e-6)
    assert {-1.0, 1.0} == set(sign)


def test_critic_removes_variance_and_keeps_the_mean():
    """The critic's noise of later cards has mean 0: a return differs by it alone, with lambda 1."""
    made, rng = played(1.0), np.random.default_rng(0)
    games = made.games
    plain, _ = returns_by(made, 0.0)
    noise = rng.normal(size=(games.size, made.rules.num_actions)).astype(np.float32)
    found, ready = returns_by(made, noise)
    rows = games.rollout
    legal = rows.masks[: games.size] != 0
    means = np.where(legal, noise, 0.0).sum(1) / legal.sum(1)
    luck = noise[np.arange(games.size), rows.actions[: games.size]] - means
    later = np.zeros(games.size)
    for row in reversed(range(games.size)):
        after = rows.nexts[row]
        if after >= 0:
            sign = 1.0 if rows.seats[after] == rows.seats[row] else -1.0
            known = luck[after] if rows.nexts[after] != sp.PENDING else -means[after]
            later[row] = sign * (known + later[after])
    np.testing.assert_allclose(found[ready], (plain - later)[ready], atol=1e-5)
    assert abs(luck.mean()) < 5 * luck.std() / math.sqrt(len(luck))


def test_lambda_0_bootstraps_after_one_card():
    made = played(0.0)
    games, rows = made.games, made.games.rollout
    q_values = np.random.default_rng(1).normal(size=(games.size, made.rules.num_actions))
    legal = rows.masks[: games.size] != 0
    means = np.where(legal, q_values, 0.0).sum(1) / legal.sum(1)
    returns, ready = returns_by(made, q_values.astype(np.float32))
    for row in ready:
        after = rows.nexts[row]
        sign = 0.0 if after < 0 else 1.0 if rows.seats[after] == rows.seats[row] else -1.0
        assert returns[row] == pytest.approx(rows.rewards[row] + sign * means[after], abs=1e-5)


def test_critic_sees_the_other_hands():
    made = learner("vrpo", env=RECIPE["env"] | {"rules": "party players=4 hand_size=3"})
    games, actions = made.games, made.rules.num_actions
    states = games.batch.states.copy()
    made._play(1)
    for g, state in enumerate(states):
        own = state[sp.k.PLAYER]
        for other in range(1, 4):
            seen = games.hands[g, (other - 1) * actions : other * actions]
            hand = state[sp.k.HANDS + sp.k.SEAT * ((own + other) % 4)]
            assert sum(1 << card for card in np.flatnonzero(seen).tolist()) == hand


@pytest.mark.parametrize(
    ("rules", "reward", "chains"),
    [("mini", "trick", 1), ("mini", "points", 2), ("party players=4 hand_size=3", "trick", 4)],
)
def test_zero_sum_games_have_one_chain(rules, reward, chains):
    made = learner("vrpo", env=RECIPE["env"] | {"rules": rules, "reward": reward})
    made._play(8)
    rows, size = made.games.rollout, made.games.size
    inner = np.flatnonzero(rows.nexts[:size] >= 0)
    is_same = rows.seats[rows.nexts[inner]] == rows.seats[inner]
    assert made.games.table.last.shape[1] == chains
    assert is_same.all() == (chains > 1)


# ---- a game of known value -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("algorithm", "changes", "bound"),
    [
        ("ppo", {"clip_range": None, "kl_coef": 0.3, "ent_coef": 0.1, "ent_coef_end": 0.01}, 0.3),
        ("vrpo", {"ent_coef": 0.1, "ent_coef_end": 0.01}, 0.3),
    ],
)
def test_algorithm_approaches_equilibrium_and_resumes_exactly(algorithm, changes, bound):
    settings = {"ppo": RECIPE["ppo"] | changes}
    made, tree = learner(algorithm, **settings), Tree("micro")
    before = exploitabilities(made, tree)["drawn"]
    assert before > 1.0
    for _ in range(30):
        made.update()
    resumed = learner(algorithm, made.state(), **settings)
    for _ in range(30):
        made.update()
        resumed.update()
    assert_same(made, resumed)
    assert exploitabilities(made, tree)["drawn"] < bound
