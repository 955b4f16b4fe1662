"""Policies of other scripts are exported faithfully or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from hearts_agents import make_agent
from hearts_agents.envs.sb3 import HeartsSB3VecEnv
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_env import BatchGame, HeartsError
from hearts_train import exploitability, export_policy
from tests.refusals import raises_hearts_error


def envs(rules: str = "micro") -> HeartsSB3VecEnv:
    return HeartsSB3VecEnv(4, rules, seed=1)


def model_of(algorithm: Any, env: Any = None, policy: str = "MlpPolicy", **kwargs: Any) -> Any:
    if algorithm is not A2C:
        kwargs["batch_size"] = 16
    return algorithm(policy, env or envs(), n_steps=4, seed=0, device="cpu", **kwargs)


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO])
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_exported_policy_plays_like_the_model(tmp_path, algorithm, activation):
    kwargs = {"net_arch": [12, 9], "activation_fn": activation}
    model = model_of(algorithm, policy_kwargs=kwargs)
    model.learn(8)
    path = tmp_path / "player.safetensors"
    export_policy(model, path, "micro", training={"note": "a test"})
    _, meta = read_checkpoint(path)
    assert meta.training == {"algorithm": algorithm.__name__, "decisions": 16, "note": "a test"}
    batch = BatchGame("micro", 50, seed=2)
    with torch.no_grad():
        logits = model.policy.get_distribution(
            torch.as_tensor(batch.observe())
        ).distribution.logits.numpy()
    expected = np.where(batch.masks() == 1, logits, -np.inf).argmax(axis=1)
    assert make_agent(path).act_batch(batch.views()).tolist() == expected.tolist()


class Odd(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


def test_unsupported_model_is_refused_with_a_reason(tmp_path: Path) -> None:
    env = HeartsSB3VecEnv(1, "micro", seed=1)
    with_masks = HeartsSB3VecEnv(1, "micro", seed=1, action_mask="both")
    normalised = model_of(PPO, VecNormalize(envs()))
    diverged = model_of(PPO)
    with torch.no_grad():
        diverged.policy.action_net.bias[0] = torch.nan
    own_layer = {"net_arch": [8], "activation_fn": nn.PReLU}
    for model, words in [
        (None, "model NoneType"),
        (DQN("MlpPolicy", env, device="cpu", buffer_size=10), "model DQN"),
        (model_of(RecurrentPPO, policy="MlpLstmPolicy"), "model"),
        (model_of(PPO, policy_kwargs=own_layer), "model ReLU Tanh"),
        (model_of(PPO, policy_kwargs={"activation_fn": Odd}), "model ReLU Tanh"),
        (model_of(PPO, envs("mini")), "layers"),
        (model_of(PPO, with_masks, "MultiInputPolicy"), "model MlpPolicy .zip"),
        (normalised, "model VecNormalize"),
        (diverged, "model"),
    ]:
        with raises_hearts_error(HeartsError, *words.split()):
            export_policy(model, tmp_path / "player", "micro")
    good = model_of(PPO)
    for options, words in [
        ({"training": {"x": float("nan")}}, "training"),
        ({"observation": "observation"}, "observation"),
    ]:
        with raises_hearts_error(HeartsError, words):
            export_policy(good, tmp_path / "player", "micro", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("algorithm", [MaskablePPO, DQN])
def test_exploitability_of_a_model_may_be_greedy(algorithm):
    steps = {"n_steps": 4} if algorithm is MaskablePPO else {"buffer_size": 10}
    model = algorithm("MlpPolicy", envs(), batch_size=16, seed=0, device="cpu", **steps)
    greedy = exploitability(model, "micro", greedy=True)
    assert (greedy == exploitability(model, "micro")) is (algorithm is DQN)
    with raises_hearts_error(HeartsError, "encoder"):
        exploitability(model, "mini")
