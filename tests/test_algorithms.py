"""Guarantees of all algorithms, the returns of VRPO in closed form, and a game of known value."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.models.network import load_agent
from hearts_env import CheckpointError, HeartsError
from hearts_env.solve.best_response import exploitability_of
from hearts_env.solve.tree import Tree
from hearts_train.cli.app import app
from hearts_train.learn import games as sp
from hearts_train.learn.config import ConfigError
from hearts_train.learn.config_files import load_config, make_config, shipped_configs
from hearts_train.learn.learner import Learner
from hearts_train.learn.loop import Trainer, exploitabilities, make_learner
from hearts_train.learn.ppo import PPO
from hearts_train.learn.runs import CHECKPOINTS_NAME, read_metrics
from hearts_train.learn.training import train
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.training_runs import smaller

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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_shipped_configs_train_resume_and_play(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def hearts(*words: str) -> Any:
        done = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    less, more = ([f"--set={one}" for one in smaller(name, updates)] for updates in (2, 4))
    opponents = {"easy", "standard", *load_config(name).evaluation.opponents}
    for words in (
        ["train", name, "--run", "player", *less],
        ["train", "--resume", "player", *more],
    ):
        figures = hearts(*words)["evaluations"]
        assert opponents <= {one["opponent"] for one in figures}
    played = hearts("evaluate", "player", "--deals", "2", "--opponents", "easy")
    assert [figures["faults"] for figures in played] == [0]
    updates = [row["kind"] for row in read_metrics(Path("player"))].count("update")
    assert updates == 4 + bool(load_config(name).pretraining.positions)
    first, second, third = (
        read_checkpoint(path)[0] for path in sorted(Path("player", CHECKPOINTS_NAME).iterdir())
    )
    for before, after in ((first, second), (second, third)):
        assert before.keys() == after.keys()
        assert any(not np.array_equal(array, after[key]) for key, array in before.items())


@pytest.mark.parametrize("algorithm", ["ppo", "vrpo"])
def test_warm_up_has_no_side_effects(algorithm):
    settings = SMALL | {"opponents": {"self": 1, "easy": 1, "random": 1}}
    made, cold = learner(algorithm, **settings), learner(algorithm, **settings)
    made.warm_up()
    assert_same(made, cold)
    for one in (made, cold):
        one.update()
    assert_same(made, cold)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda loss, figures: loss, "pair"),
        (lambda loss, figures: (loss.detach(), figures), "gradient"),
        (lambda loss, figures: (loss.expand(3), figures), "gradient"),
        (lambda loss, figures: (loss, {}), "approx_kl"),
        (lambda loss, figures: (loss, figures | {"updates": loss}), "rename"),
        (lambda loss, figures: (loss, figures | {"rows": loss.expand(3)}), "array"),
        (lambda loss, figures: (loss, figures | {"stage": "late"}), "number"),
    ],
)
def test_loss_of_another_form_raises(change, words):
    class Own(PPO):
        def loss(self, batch):
            return change(*super().loss(batch))

    config = load_config("smoke", {"compile": False, "ppo.target_kl": 0.1})
    made = Own(config)
    with raises_hearts_error(HeartsError, "loss", words):
        made.warm_up()


def test_values_of_another_shape_raise():
    class Own(PPO):
        def outputs(self, batch):
            logits, values = super().outputs(batch)
            return logits, values[:, None]

    made = Own(load_config("smoke", {"compile": False}))
    with raises_hearts_error(HeartsError, "outputs", "(n,)"):
        made.warm_up()


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("learn", None, ["learn", "dict"]),
        ("learn", {"mine": torch.zeros(2)}, ["learn", "'mine'", "Tensor", "float"]),
        ("learn", {"pretraining": 0.5}, ["learn", "'pretraining'", "rename"]),
        ("estimate", None, ["estimate", "games.ready()"]),
    ],
)
def test_methods_that_return_something_else_raise(method, result, words):
    own = type("Own", (PPO,), {method: lambda _: result})
    with raises_hearts_error(HeartsError, *words):
        own(load_config("smoke")).update()


@pytest.mark.parametrize("given", [5, dict, Learner])
def test_learner_that_is_none_raises(given, tmp_path):
    with raises_hearts_error(ConfigError, "learner", "PPO"):
        train(load_config("smoke"), tmp_path / "run", learner=given)


def test_earlier_snapshots_keep_their_policy():
    """The opponents that may be drawn are the latest players, of which two are kept."""
    settings = {"self_play": {"latest_share": 0.5, "keep": 2, "keep_every": 1}}
    made = learner("ppo", **SMALL | settings)
    views = made.games.batch.views(np.arange(12))
    learnt: list[Any] = []
    for number in range(1, 4):
        made.update()
        learnt.append(made._player(made.tensors()).with_greedy(False).action_probs(views))
        kept, pool = learnt[-2:], made.opponents.pool
        past = [place for place in (1, 2) if pool.entries[pool.place(f"self {place}")].weight]
        assert len(past) == min(number, 2)
        for place in past:
            chances = made.opponents.snapshots[place].action_probs(views)
            assert ((chances > 0.0) == (views.legal_table != 0)).all()
            assert sum(np.array_equal(chances, one) for one in kept) == 1


def test_resumed_run_begins_its_average_at_the_weights():
    made = learner("ppo", **SMALL)
    made.update()
    resumed = learner("ppo", made.state(), **SMALL, ema_decay=0.9)
    assert torch.equal(resumed.average.weights, made.network.weights)


@quick_cases("algorithm", ["ppo", "vrpo", "maskable_ppo"], ["ppo"])
def test_state_without_an_array_raises(algorithm):
    made = learner(algorithm, **SMALL)
    made.update()
    state = made.state()
    for name in state.tensors:
        lacking = {n: array for n, array in state.tensors.items() if n != name}
        with raises_hearts_error(CheckpointError, "resume"):
            learner(algorithm, replace(state, tensors=lacking), **SMALL)
            pytest.fail(name)


def test_rounded_networks_follow_the_weights(monkeypatch):
    """The magnet is computed by the rounded average."""
    monkeypatch.setattr("hearts_train.learn.learner.find_precision", lambda *_: torch.bfloat16)
    made = learner("ppo", **SMALL | {"ema_decay": 0.5})
    made.update()
    for network in (made.network, made.average):
        weights = torch.nn.utils.parameters_to_vector(network.rounded.parameters())
        assert torch.equal(weights, network.weights.bfloat16())


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("algorithm", ["ppo", "vrpo"])
def test_ratio_is_one_before_the_first_step(algorithm, precision, monkeypatch):
    """The policy that learns first is the one that played. Its weights are rounded alike."""
    monkeypatch.setattr("hearts_train.learn.learner.find_precision", lambda *_: precision)
    ppo = {**SMALL.get("ppo", {}), "learning_rate": 1e-30, "learning_rate_end": 1e-30}
    made = learner(algorithm, **SMALL | {"ppo": ppo})
    for _ in range(2):
        logged = made.update()
        assert abs(logged["approx_kl"]) < 1e-6
        assert logged["clip_fraction"] == 0.0


# ---- VRPO ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "reward", "is_zero_sum"),
    [("micro", "margin", True), ("micro", "points", False), ("party players=3", "margin", False)],
)
def test_vrpo_links_seats_in_zero_sum_games_alone(rules, reward, is_zero_sum):
    env = RECIPE["env"] | {"rules": rules, "reward": reward}
    made = learner("vrpo", env=env)
    made.play(8)
    rows = made.games.rollout
    linked = np.flatnonzero(rows.nexts[: made.games.size] >= 0)
    assert (rows.seats[linked] == rows.seats[rows.nexts[linked]]).all() == (not is_zero_sum)


@pytest.mark.parametrize("gae_lambda", [0.0, 0.9, 1.0])
def test_vrpo_returns_equal_the_closed_form(gae_lambda):
    """The formula of vrpo.py, row by row, for any Q, if the policy is uniform."""
    made = learner("vrpo", ppo=RECIPE["ppo"] | {"gae_lambda": gae_lambda})
    with torch.no_grad():
        made.network.module.policy[-1].weight[:] = 0.0
        made.network.module.policy[-1].bias[:] = 0.0
    made.play(8)
    games, rows = made.games, made.games.rollout
    q_values = np.random.default_rng(0).normal(size=(games.size, made.rules.num_actions))
    legal = rows.masks[: games.size] != 0
    means = np.where(legal, q_values, 0.0).sum(1) / legal.sum(1)
    games.q_values[: games.size] = q_values
    rows.values[: games.size] = means
    expected, signs = np.zeros(games.size), set()
    for row in reversed(range(games.size)):
        after = rows.nexts[row]
        expected[row] = rows.rewards[row]
        if after >= 0:
            sign = 1 if rows.seats[after] == rows.seats[row] else -1
            later = means[after]
            if rows.nexts[after] != sp.PENDING:
                later += gae_lambda * (expected[after] - q_values[after, rows.actions[after]])
            expected[row] += sign * later
            signs.add(sign)
    ready = made.estimate()
    assert len(ready) > 100
    assert signs == {-1, 1}
    np.testing.assert_allclose(rows.returns[ready], expected[ready], atol=1e-5)


def test_critic_sees_the_other_hands():
    made = learner("vrpo", env=RECIPE["env"] | {"rules": "party players=4 hand_size=3"})
    games, actions = made.games, made.rules.num_actions
    states = games.batch.states.copy()
    made.play(1)
    for g, state in enumerate(states):
        own = state[sp.k.PLAYER]
        for other in range(1, 4):
            seen = games.hands[g, (other - 1) * actions : other * actions]
            hand = state[sp.k.HANDS + sp.k.SEAT * ((own + other) % 4)]
            assert sum(1 << card for card in np.flatnonzero(seen).tolist()) == hand


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
    before = exploitabilities(made, tree)["sampled"]
    assert before > 1.0
    for _ in range(30):
        made.update()
    resumed = learner(algorithm, made.state(), **settings)
    for _ in range(30):
        made.update()
        resumed.update()
    assert_same(made, resumed)
    assert exploitabilities(made, tree)["sampled"] < bound


# ---- exploitability in evaluations ---------------------------------------------------------------
@pytest.mark.slow
def test_small_deck_runs_log_exploitability(tmp_path):
    """The last logged figures describe the player's file. No opponent is needed."""
    settings = {"times": 4, "opponents": [], "exploitability": True}
    given = make_config(RECIPE | {"evaluation": settings, "budget": {"decisions": 16 * 128 * 8}})
    result = train(given, tmp_path / "run", progress=False)
    rows = [row for row in read_metrics(result.run_dir) if row["kind"] == "exploitability"]
    assert len(rows) == 5
    assert rows[-1]["sampled"] < 0.9 * rows[0]["sampled"]
    for name, greedy in (("sampled", False), ("greedy", True)):
        player = load_agent(result.run_dir, greedy=greedy, seed=0)
        found = exploitability_of(player, "micro").exploitability
        assert rows[-1][name] == pytest.approx(found, abs=1e-6)
        assert f"{found:.3f} (" in result.card.read_text()


@pytest.mark.parametrize("rules", ["two_player", "classic"])
def test_exploitability_without_a_small_deck_raises(rules):
    settings = {"env": {"rules": rules, "num_envs": 12}, "evaluation": {"exploitability": True}}
    with raises_hearts_error(ConfigError, "evaluation.exploitability"):
        Trainer(make_config(RECIPE | SMALL | settings))
