"""MaskablePPO: every setting, opponents, a game's known value, resuming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO

from hearts_agents import make_agent
from hearts_env.solve.best_response import exploitability, policy_of
from hearts_env.solve.tree import Tree
from hearts_train.learn.actor_critic import policy_tensors
from hearts_train.learn.config import EnvConfig, PPOConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.export import policy_layers
from hearts_train.learn.loop import Trainer, make_learner


def smoke(*overrides: str):
    return load_config("smoke", ["algorithm=maskable_ppo", "threads=1", *overrides])


# Every setting of `ppo` apart from its default, all numbers different.
PPO = {
    "num_steps": 6,
    "batch_size": 48,
    "num_epochs": 3,
    "learning_rate": 0.011,
    "learning_rate_end": 0.007,
    "gamma": 0.6,
    "gae_lambda": 0.3,
    "clip_range": 0.17,
    "clip_range_vf": 0.23,
    "normalize_advantage": False,
    "ent_coef": 0.041,
    "ent_coef_end": 0.019,
    "vf_coef": 0.77,
    "max_grad_norm": 0.31,
    "target_kl": 0.53,
}


def settings_of(model: MaskablePPO) -> dict[str, Any]:
    """Return the settings that an update used."""
    names = ("batch_size", "normalize_advantage", "ent_coef", "vf_coef", "max_grad_norm")
    return {name: getattr(model, name) for name in (*names, "target_kl")} | {
        "num_steps": model.rollout_buffer.buffer_size,
        "num_epochs": model.n_epochs,
        "learning_rate": model.policy.optimizer.param_groups[0]["lr"],
        "gamma": model.rollout_buffer.gamma,
        "gae_lambda": model.rollout_buffer.gae_lambda,
        "clip_range": model.clip_range(1.0),
        "clip_range_vf": model.clip_range_vf(1.0),
    }


def test_every_ppo_setting_reaches_the_library():
    ours = {"kl_coef", "magnet", "magnet_coef", "magnet_coef_end"}  # of our own trainer alone
    assert PPO.keys() == PPOConfig.model_fields.keys() - ours
    defaults = PPOConfig()
    assert all(value != getattr(defaults, name) for name, value in PPO.items())
    given = [f"ppo.{name}={str(value).lower()}" for name, value in PPO.items()]
    learner = Trainer(smoke("env.num_envs=16", "budget.decisions=1000", *given)).learner
    for decisions, rate, bonus in ((0, 0.011, 0.041), (500, 0.009, 0.03), (1000, 0.007, 0.019)):
        learner.counters.decisions = learner.model.num_timesteps = decisions
        learner.update()
        expected = {k: v for k, v in PPO.items() if not k.endswith("_end")}
        expected |= {"learning_rate": rate, "ent_coef": bonus}
        assert settings_of(learner.model) == pytest.approx(expected)


def test_environment_gets_every_game_setting():
    settings = {
        "rules": "mini",
        "observation": "recall",
        "reward": "win",
        "seat": 1,
        "num_envs": 48,
        "skip_forced": False,
    }
    assert settings.keys() == EnvConfig.model_fields.keys()
    config = smoke(*(f"env.{name}={str(value).lower()}" for name, value in settings.items()))
    arena = Trainer(config).learner.env.arena
    assert (arena.rules.name, arena.rules.players) == ("mini", 2)
    assert arena.rewarder.kind == "win"
    assert type(arena.batch.encoder).__name__ == "RecallEncoder"
    assert (arena.seat, arena.num_envs) == (1, 48)
    assert not arena.skip_forced
    assert (arena.learner == 1).all()


# ---- opponents -----------------------------------------------------------------------------------
def test_kept_snapshots_equal_the_earlier_player():
    trainer = Trainer(
        smoke(
            "opponents={self: 1}",
            "self_play={every: 2, keep: 3, keep_every: 1}",
            "env.num_envs=32",
        )
    )
    past = []
    for update in range(1, 11):
        trainer.learner.update()
        if update % 2 == 0:
            past.append(policy_tensors(policy_layers(trainer.learner.model.policy)))
    # Five snapshots in three places: the fourth and fifth replaced the first two.
    kept = [agent.network.tensors() for agent in trainer.learner.opponents.snapshots]
    for network, number in zip(kept, (4, 3, 4, 2), strict=True):
        for name, array in past[number].items():
            assert np.array_equal(network[name], array), (number, name)
    assert not np.array_equal(past[2]["policy.0.weight"], past[3]["policy.0.weight"])


# ---- a known value -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def micro_values() -> tuple[Tree, float]:
    """The tree of `micro`, and a best response's margin over `easy`, the mean of both seats."""
    tree = Tree("micro")
    easy, _ = policy_of(make_agent("easy", seed=0), tree)
    return tree, exploitability(tree, easy)


def exact_margin(tree: Tree, agent: Any) -> float:
    """Return the exact margin of `agent` over `easy` per deal, the mean of both seats."""
    own, _ = policy_of(agent, tree)
    easy, _ = policy_of(make_agent("easy", seed=0), tree)
    return (tree.value(own[0], easy[1]) - tree.value(easy[0], own[1])) / 2


@pytest.mark.slow
def test_tiny_game_is_learnt_to_known_value(micro_values):
    tree, best = micro_values
    config = smoke(
        "budget.decisions=120000",
        "env={rules: micro, reward: trick, num_envs: 512}",
        "ppo={num_steps: 4, batch_size: 512, learning_rate: 0.005, ent_coef: 0.02}",
        "network={trunk: [], policy: [64], value: [64]}",
        "evaluation.times=0",
    )
    learner = Trainer(config).learner
    while learner.progress < 1.0:
        learner.update()
    margin = exact_margin(tree, learner.agent())
    assert best > 1.5  # `easy` itself wins 0 against `easy`, `pro` 1.35
    assert 0.95 * best < margin <= best + 1e-9


# ---- resuming ------------------------------------------------------------------------------------
def test_resumed_maskable_run_keeps_weights_and_moments():
    learner = make_learner(
        smoke("env.num_envs=16", "ppo.batch_size=32", "self_play={keep: 2, keep_every: 1}")
    )
    for _ in range(3):
        learner.update()
    resumed = make_learner(learner.config, learner.state())
    before, after = learner.state(), resumed.state()
    assert before.tensors.keys() == after.tensors.keys()
    for name, array in before.tensors.items():
        np.testing.assert_array_equal(array, after.tensors[name], err_msg=name)
    seeds = (one.env.vector.episode_seeds for one in (learner, resumed))
    assert not np.intersect1d(*seeds).size
    assert resumed.update()["updates"] == 4
    assert resumed.counters.decisions == resumed.model.num_timesteps > before.counters.decisions
    again = make_learner(learner.config, learner.state())
    again.update()
    for name, array in again.state().tensors.items():
        np.testing.assert_array_equal(array, resumed.state().tensors[name], err_msg=name)
