"""The actor-critic network, in plain torch: a trunk, a policy head and a value head."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from hearts_agents.models.network import Network
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_array
from hearts_env.support.errors import HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import ConfigError, NetworkConfig

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


def use_one_thread() -> None:
    """Turn off torch's own threads in this process (``shared.py`` explains why)."""
    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):  # possible only once, before the first use
        torch.set_num_interop_threads(1)


def find_device(wanted: str) -> torch.device:
    """Return the device of the setting `device`. Raise ConfigError if it does not exist."""
    is_there = torch.cuda.is_available()
    if wanted == "cuda" and not is_there:
        raise ConfigError(
            "device: torch finds no CUDA device here; give cpu, or install a torch for your GPU"
        )
    return torch.device("cuda" if is_there and wanted != "cpu" else "cpu")


def find_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products. Sums and weights are always float32.

    ``auto`` is bfloat16 if the processor or GPU has instructions for it. ``bfloat16`` warns on
    processors without them, where it is slower.
    """
    if device.type == "cuda":
        is_quick = torch.cuda.is_bf16_supported(including_emulation=False)
    else:  # unknown in torch before 2.10
        known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
        is_quick = bool(known.get("avx512_bf16") or known.get("amx_bf16"))
        if wanted == "bfloat16" and known and not is_quick:
            warnings.warn(
                "precision: bfloat16 is many times slower on this processor, which has no "
                "instructions for it; give float32 or auto",
                stacklevel=2,
            )
    is_wanted = is_quick if wanted == "auto" else wanted == "bfloat16"
    return torch.bfloat16 if is_wanted else torch.float32


class ActorCritic(nn.Module):
    """Maps observations to logits of the actions and a value."""

    def __init__(
        self, inputs: int, actions: int, config: NetworkConfig, hidden: int = 0, values: int = 1
    ) -> None:
        """Make the layers, with orthogonal weights.

        Args:
            inputs: the size of a flat observation.
            actions: the number of actions.
            config: the layer sizes and activation.
            hidden: the number of further inputs of the value head, besides the trunk's features.
            values: the number of outputs of the value head.
        """
        super().__init__()
        features = config.trunk[-1] if config.trunk else inputs
        self.trunk = perceptron([inputs, *config.trunk], config.activation, ends_linear=False)
        self.policy = perceptron([features, *config.policy, actions], config.activation)
        self.value = perceptron([features + hidden, *config.value, values], config.activation)
        for part, gain in ((self.policy, 0.01), (self.value, 1.0)):
            layer = part[-1]
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, gain)  # a small gain: nearly uniform at first

    def forward(
        self, observations: torch.Tensor, hidden: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return float32 logits ``(n, actions)`` and values for observations ``(n, *shape)``.

        The values are ``(n,)``, or ``(n, values)`` if there are several. `hidden` is
        ``(n, hidden)``.
        """
        features = self.trunk(observations.flatten(1))
        known = features if hidden is None else torch.cat([features, hidden], 1)
        values = self.value(known).float()
        return self.policy(features).float(), values[:, 0] if values.shape[1] == 1 else values


class Saved(Protocol):
    """A part of a learner that a run saves."""

    def state(self) -> Tensors:
        """Return the state of this part as new arrays, by name."""

    def restore(self, state: Tensors, name: str) -> None:
        """Restore a state, which messages call `name`.

        Raises:
            HeartsError: if an array is missing or does not fit.
        """


class Weights:
    """Saves and restores the weights of a module."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def state(self) -> Tensors:
        """Return the weights as new arrays, by their names in the module."""
        found = self.module.state_dict().items()
        return {name: tensor.cpu().numpy().copy() for name, tensor in found}

    def restore(self, state: Tensors, name: str) -> None:
        """Restore a result of ``state``. Raise HeartsError if it does not fit."""
        given = {
            key: check_array(f"{name}/{key}", state.get(key), like, has_infinite=True)
            for key, like in self.state().items()
        }
        self.module.load_state_dict({key: torch.from_numpy(a.copy()) for key, a in given.items()})


class Moments:
    """Saves and restores the moments of an Adam optimiser, by the index of the parameter.

    There are none before the first step.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer

    def state(self) -> Tensors:
        """Return the moments as new arrays."""
        return {
            f"{number}/{name}": torch.as_tensor(tensor).cpu().numpy().copy()
            for number, moments in self.optimizer.state_dict()["state"].items()
            for name, tensor in moments.items()
        }

    def restore(self, state: Tensors, name: str) -> None:
        """Restore a result of ``state``. Raise HeartsError if it does not fit."""
        moments: dict[int, dict[str, torch.Tensor]] = {}
        learnt = {key.partition("/")[0] for key in state}
        every = (weights for group in self.optimizer.param_groups for weights in group["params"])
        for number, weights in enumerate(every):
            like = weights.detach().cpu().numpy()
            shapes = {"step": np.zeros((), np.float32), "exp_avg": like, "exp_avg_sq": like}
            if str(number) in learnt:  # otherwise no loss has depended on these weights
                moments[number] = {
                    key: torch.from_numpy(
                        check_array(f"{name}/{number}/{key}", state.get(f"{number}/{key}"), shape)
                    ).clone()
                    for key, shape in shapes.items()
                }
                if not moments[number]["step"] >= 0:
                    raise HeartsError(
                        f"{name}/{number}/step: not a number of steps; take another checkpoint"
                    )
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})


def perceptron(sizes: Sequence[int], activation: str, *, ends_linear: bool = True) -> nn.Sequential:
    """Make linear layers with activations between them and, unless `ends_linear`, at the end."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        linear = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(linear.weight, math.sqrt(2))
        nn.init.zeros_(linear.bias)
        layers += [linear, ACTIVATIONS[activation]()]
    return nn.Sequential(*(layers[:-1] if ends_linear else layers))


def linear_layers(network: ActorCritic) -> list[nn.Linear]:
    """Return the layers of the policy, in order."""
    return [m for m in (*network.trunk, *network.policy) if isinstance(m, nn.Linear)]


def policy_tensors(layers: Sequence[nn.Linear]) -> Tensors:
    """Return copies of the weights of linear layers, named as in a player's file."""
    return {
        f"policy.{i}.{name}": array.detach().cpu().numpy().copy()
        for i, layer in enumerate(layers)
        for name, array in layer.named_parameters()
    }


def places_of_totals(encoder: Encoder, rules: Rules) -> list[int]:
    """Return the positions of a match's totals in a block encoder's observations."""
    blocks = getattr(encoder, "blocks", None)
    places: list[int] = []
    start = 0
    if blocks is not None and len(encoder.space(rules).shape) == 1:
        for block in blocks(rules):
            if block.name.startswith("total_"):
                places += range(start, start + block.size)
            start += block.size
    return places


def copy_layers(player: Network, layers: Sequence[nn.Linear]) -> None:
    """Copy a player's weights into linear layers of the same sizes."""
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, player.layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))


def policy_module(player: Network) -> nn.Module:
    """Return a player's network as a torch module, from observations ``(n, *shape)`` to logits."""
    layers = perceptron(player.sizes, player.activation)
    copy_layers(player, [layer for layer in layers if isinstance(layer, nn.Linear)])
    return nn.Sequential(nn.Flatten(), layers)


class TorchNetwork(Network):
    """A policy network that computes with torch, which is up to twice as fast from 256 rows on."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], activation: str = "relu") -> None:
        super().__init__(tensors, activation)
        # Copied to torch's memory, which is always aligned alike. The last bits depend on it.
        self._torch = [
            (torch.from_numpy(np.ascontiguousarray(weight.T)).clone(), torch.tensor(bias))
            for weight, bias in self.layers
        ]
        self._activate = torch.relu if activation == "relu" else torch.tanh

    def logits(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return logits ``(n, actions)`` float32 of observations ``(n, *shape)``."""
        with torch.inference_mode():
            x = torch.from_numpy(observations).reshape(len(observations), -1).float()
            last = len(self._torch) - 1
            for i, (weight, bias) in enumerate(self._torch):
                x = torch.nn.functional.linear(x, weight, bias)
                if i < last:
                    x = self._activate(x)
            logits: NDArray[Any] = x.numpy()
        return logits
