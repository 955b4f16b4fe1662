"""Policies of other scripts are exported faithfully or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from hearts_agents import make_agent
from hearts_agents.envs.sb3 import HeartsSB3VecEnv
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_env import BatchGame, HeartsError
from hearts_train import ExploitabilityCallback, exploitability, export_policy
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
        ("model.zip", "model"),
        (DQN("MlpPolicy", env, device="cpu", buffer_size=10), "model DQN"),
        (model_of(RecurrentPPO, policy="MlpLstmPolicy"), "model"),
        (model_of(PPO, policy_kwargs=own_layer), "model ReLU Tanh"),
        (model_of(PPO, policy_kwargs={"activation_fn": nn.ELU}), "model ReLU Tanh"),
        (model_of(PPO, policy_kwargs={"activation_fn": Odd}), "model ReLU Tanh"),
        (model_of(PPO, envs("mini")), "model"),
        (model_of(PPO, with_masks, "MultiInputPolicy"), "model MlpPolicy .zip"),
        (normalised, "model VecNormalize"),
        (diverged, "model"),
    ]:
        with raises_hearts_error(HeartsError, *words.split()):
            export_policy(model, tmp_path / "player", "micro")
    good = model_of(PPO)
    for options, words in [
        ({"training": {"x": float("nan")}}, "training"),
        ({"training": {"x": object()}}, "training"),
        ({"observation": 7}, "observation"),
        ({"observation": "observation"}, "observation"),
    ]:
        with raises_hearts_error(HeartsError, words):
            export_policy(good, tmp_path / "player", "micro", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("algorithm", [MaskablePPO, DQN])
def test_callback_logs_exploitability(algorithm):
    is_drawn = algorithm is MaskablePPO
    steps = {"n_steps": 4} if is_drawn else {"learning_starts": 10_000}
    model = algorithm("MlpPolicy", envs(), batch_size=16, seed=0, device="cpu", **steps)
    before = exploitability(model, "micro", greedy=True), exploitability(model, "micro")
    assert (before[0] == before[1]) is not is_drawn
    out = Kept()
    model.set_logger(Logger(None, [out]))
    callback = ExploitabilityCallback("micro", every=20)
    model.learn(48, callback=callback)
    assert [row["timesteps"] for row in callback.curve] == [0, 20, 40]
    assert callback.curve[0]["preferred"] == before[0]
    assert callback.curve[0].get("drawn") == (before[1] if is_drawn else None)
    if is_drawn:
        assert callback.curve[2]["drawn"] != before[1]
    names = ("exploitability/preferred", "exploitability/drawn", "exploitability/seconds")
    logged = [row for row in out.rows if names[0] in row]
    for row, told in zip(logged, callback.curve, strict=True):
        assert [row.get(name) for name in names] == [
            told.get(name.rpartition("/")[2]) for name in names
        ]
        assert row["time/total_timesteps"] == told["timesteps"]


def test_callback_refuses_large_decks_before_learning():
    with raises_hearts_error(HeartsError, "every", value=0):
        ExploitabilityCallback("micro", every=0)
    for rules, argument in (("two_player", "max_memory"), ("mini", "encoder")):
        model = model_of(MaskablePPO, envs("two_player" if rules == "two_player" else "micro"))
        with raises_hearts_error(HeartsError, argument):
            model.learn(16, callback=ExploitabilityCallback(rules))
        assert model.num_timesteps == 0


class Kept(KVWriter):
    """Keeps all logged values."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def write(self, key_values: Any, key_excluded: Any, step: int = 0) -> None:
        self.rows.append(dict(key_values))

    def close(self) -> None:
        """Nothing is open."""
