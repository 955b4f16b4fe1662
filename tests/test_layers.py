"""Policies of linear layers are saved faithfully, and play as their files say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hearts_agents import make_agent, save_policy
from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, HeartsError
from hearts_train import evaluate
from tests.refusals import raises_hearts_error

SIZES = (90, 7, 5, 8)
"""The layers of a small network for `flat` observations of `micro`."""


def pairs(seed: int = 0, sizes: tuple[int, ...] = SIZES) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(b, a)).astype(np.float32), rng.normal(size=b).astype(np.float32))
        for a, b in itertools.pairwise(sizes)
    ]


def module_of(layers: list[tuple[np.ndarray, np.ndarray]], activation: type[nn.Module]) -> Any:
    parts: list[nn.Module] = [nn.Flatten()]
    for weight, bias in layers:
        linear = nn.Linear(weight.shape[1], len(weight))
        with torch.no_grad():
            linear.weight.copy_(torch.as_tensor(weight))
            linear.bias.copy_(torch.as_tensor(bias))
        parts += [linear, activation()]
    return nn.Sequential(*parts[:-2], nn.Dropout(), nn.Sequential(parts[-2]))


@pytest.mark.parametrize(("activation", "name"), [(nn.ReLU, "relu"), (nn.Tanh, "tanh")])
def test_saved_layers_play_like_the_module(tmp_path, activation, name):
    layers, batch = pairs(), BatchGame("micro", 200, seed=2)
    module = module_of(layers, activation).eval()
    save_policy(module, tmp_path / "a.safetensors", "micro", greedy=True)
    save_policy(layers, tmp_path / "b.safetensors", "micro", greedy=True, activation=name)
    with torch.no_grad():
        logits = module(torch.as_tensor(batch.observe(), dtype=torch.float32)).numpy()
    expected = np.where(batch.masks() == 1, logits, -np.inf).argmax(axis=1)
    for file in ("a.safetensors", "b.safetensors"):
        actions = make_agent(tmp_path / file).act_batch(batch.views())
        assert (actions == expected).mean() > 0.99  # equal but for rounding


def test_layer_without_bias_is_saved_with_zeros(tmp_path):
    (weight, _), *_ = pairs(sizes=(90, 8))
    save_policy([(weight, None)], tmp_path / "p.safetensors", "micro", greedy=True)
    save_policy(nn.Linear(90, 8), tmp_path / "q.safetensors", "micro", greedy=True)
    network: Any = make_agent(tmp_path / "p.safetensors")
    assert (network.network.layers[0][0] == weight.T).all()
    assert not network.network.layers[0][1].any()


def test_saved_greedy_is_obeyed_unless_overridden(tmp_path: Path) -> None:
    batch = BatchGame("micro", 300, seed=2)
    batch.play(batch.random_actions())  # the first lead is forced
    views = batch.views()
    path, layers = tmp_path / "p.safetensors", [(0.02 * w, b) for w, b in pairs(sizes=(90, 8))]
    save_policy(layers, path, "micro", greedy=False)
    sampled = make_agent(path).action_probs(views)
    assert ((sampled > 0).sum(axis=1) > 1).any()
    for text, is_sampled in (("?greedy=false", True), ("?greedy=true", False)):
        probs = make_agent(f"{path}{text}").action_probs(views)
        assert np.array_equal(probs, sampled) is is_sampled
    save_policy(layers, path, "micro", greedy=True)
    assert (make_agent(path).action_probs(views).max(axis=1) == 1).all()


def test_files_that_differ_in_greedy_have_different_digests(tmp_path: Path) -> None:
    digests = []
    for greedy in (True, False):
        path = tmp_path / f"{greedy}.safetensors"
        save_policy(pairs(), path, "micro", greedy=greedy, activation="relu")
        digests.append(AgentSpec.parse(path).digest(make_agent(path)))
    assert digests[0] != digests[1]
    result = evaluate(tmp_path / "False.safetensors", "easy", "micro", deals=4)
    assert result.agents[0]["digest"] == digests[1]


def test_files_that_differ_in_activation_have_different_digests(tmp_path: Path) -> None:
    path, digests = tmp_path / "p.safetensors", set()
    for activation in ("relu", "tanh"):
        save_policy(pairs(), path, "micro", greedy=True, activation=activation)
        digests.add(AgentSpec.parse(path).digest(make_agent(path)))
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("layers", "options", "argument"),
    [
        (nn.Sequential(nn.Linear(90, 9), nn.GELU(), nn.Linear(9, 8)), {}, "layers"),
        (nn.Sequential(nn.Linear(90, 9), nn.Linear(9, 8)), {}, "activation"),
        (nn.Sequential(nn.Linear(90, 8), nn.Tanh()), {}, "layers"),
        ([nn.Linear(90, 9), nn.ReLU(), nn.Linear(9, 9), nn.Linear(9, 8)], {}, "layers"),
        ([nn.Linear(90, 9), nn.ReLU(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 8)], {}, "layers"),
        (nn.Sequential(nn.Linear(90, 9), nn.Softmax(-1), nn.Linear(9, 8)), {}, "layers"),
        ([(w.T, b) for w, b in pairs()], {"activation": "relu"}, "layers"),
        (pairs(), {}, "activation"),
        (pairs(), {"activation": "gelu"}, "activation"),
        (nn.Sequential(nn.Linear(90, 9), nn.ReLU(), nn.Linear(9, 8)), {"activation": "tanh"},
         "activation"),
        ([], {}, "layers"),
        (5, {}, "layers"),
        ([(np.zeros((8, 90)), "bias")], {}, "layers"),
        ([(np.zeros((8, 90)), np.zeros(7))], {}, "layers"),
        ([(np.full((8, 90), np.nan), None)], {}, "policy.0.weight"),
        (nn.Linear(112, 12), {}, "layers"),
        (nn.Linear(90, 8), {"greedy": 1}, "greedy"),
        (nn.Linear(90, 8), {"observation": None}, "observation"),
        (nn.Linear(90, 8), {"training": {"x": np.nan}}, "training"),
        (nn.Linear(90, 8), {"training": 5}, "training"),
    ],
)  # fmt: skip
def test_layers_that_cannot_be_saved_are_refused(tmp_path, layers, options, argument):
    with raises_hearts_error(HeartsError, argument):
        save_policy(layers, tmp_path / "p.safetensors", "micro", **{"greedy": True, **options})
    assert not list(tmp_path.iterdir())


def test_header_of_any_length_is_no_pickle(tmp_path):
    """The first byte is the lowest of the header's length. That of a pickle is 0x80."""
    first, path = set(), tmp_path / "player.safetensors"
    for length in range(0, 256, 8):
        save_policy(
            pairs(), path, "micro", greedy=True, activation="relu", training={"x": "x" * length}
        )
        first.add(path.read_bytes()[0])
        make_agent(path)
    assert 0x80 in first
