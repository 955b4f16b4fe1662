"""The network that PPO trains: a trunk, a policy head and a value head, in plain torch."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from hearts_agents.models.network import Network
from hearts_env.support.arguments import check_array
from hearts_env.support.arrays import Bytes, Floats32, Ints32
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import ConfigError, NetworkConfig

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
_LINE = 16
"""Floats in a cache line: where each layer's weights begin."""


def set_threads(threads: int) -> None:
    """Make torch use this many threads, in this process."""
    torch.set_num_threads(threads)
    with contextlib.suppress(RuntimeError):  # it can be set only once, before the first use
        torch.set_num_interop_threads(1)


def find_device(wanted: str) -> torch.device:
    """The device that ``device`` in a config means; ConfigError if it is not there."""
    is_there = torch.cuda.is_available()
    if wanted == "cuda" and not is_there:
        raise ConfigError(
            "device: torch finds no CUDA device here; give cpu, or install a torch for your GPU"
        )
    return torch.device("cuda" if is_there and wanted != "cpu" else "cpu")


def find_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The dtype of matrix products; sums and weights stay float32.

    ``auto`` is bfloat16 where the processor or GPU has it in hardware: elsewhere it is slower, and
    a warning says so.
    """
    if device.type == "cuda":
        is_quick = torch.cuda.is_bf16_supported(including_emulation=False)
    else:  # torch before 2.10 cannot say
        known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
        is_quick = bool(known.get("avx512_bf16") or known.get("amx_bf16"))
        if wanted == "bfloat16" and known and not is_quick:
            warnings.warn(
                "precision: this processor has no instructions for bfloat16, which is many times "
                "slower without; give float32 or auto",
                RuntimeWarning,
                stacklevel=2,
            )
    is_wanted = is_quick if wanted == "auto" else wanted == "bfloat16"
    return torch.bfloat16 if is_wanted else torch.float32


class ActorCritic(nn.Module):
    """Logits of the actions and the value of a position, from its observation."""

    def __init__(
        self, inputs: int, actions: int, config: NetworkConfig, hidden: int = 0, values: int = 1
    ) -> None:
        """Layers of the sizes in `config`, with orthogonal weights.

        The value head has `values` outputs, and takes `hidden` numbers besides the observation.
        """
        super().__init__()
        features = config.trunk[-1] if config.trunk else inputs
        self.trunk = perceptron([inputs, *config.trunk], config.activation, ends_linear=False)
        self.policy = perceptron([features, *config.policy, actions], config.activation)
        self.value = perceptron([features + hidden, *config.value, values], config.activation)
        for part, gain in ((self.policy, 0.01), (self.value, 1.0)):
            layer = part[-1]
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, gain)  # at first nearly uniform over the actions

    def forward(
        self, observations: torch.Tensor, hidden: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits ``(n, actions)`` and values, float32, of ``(n, inputs)`` observations.

        Values are ``(n,)``, or ``(n, values)`` where there are several; `hidden` is ``(n,
        hidden)``.
        """
        features = self.trunk(observations)
        known = features if hidden is None else torch.cat([features, hidden], 1)
        values = self.value(known).float()
        return self.policy(features).float(), values[:, 0] if values.shape[1] == 1 else values


class Weights:
    """All weights of a module, as a run saves them."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def state(self) -> Tensors:
        """New arrays, by their names in the module."""
        found = self.module.state_dict().items()
        return {name: tensor.cpu().numpy().copy() for name, tensor in found}

    def restore(self, state: Tensors, name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        given = {
            key: torch.from_numpy(check_array(f"{name}/{key}", state.get(key), like).copy())
            for key, like in self.state().items()
        }
        self.module.load_state_dict(given)


def perceptron(sizes: Sequence[int], activation: str, *, ends_linear: bool = True) -> nn.Sequential:
    """Linear layers from size to size, an activation after each; after the last if wanted."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        linear = SparseLinear(inputs, outputs)
        nn.init.orthogonal_(linear.weight, math.sqrt(2))
        nn.init.zeros_(linear.bias)
        layers += [linear, ACTIVATIONS[activation]()]
    return nn.Sequential(*(layers[:-1] if ends_linear else layers))


def linear_layers(network: ActorCritic) -> list[nn.Linear]:
    """The layers that choose actions, in order."""
    return [m for m in (*network.trunk, *network.policy) if isinstance(m, nn.Linear)]


def policy_tensors(network: ActorCritic) -> dict[str, NDArray[np.float32]]:
    """Copies of the weights that choose actions, named as in a player's file."""
    return {
        f"policy.{i}.{name}": array.detach().cpu().numpy().copy()
        for i, layer in enumerate(linear_layers(network))
        for name, array in layer.named_parameters()
    }


class Replicas:
    """A network, and copies of it with the same weights in the same memory.

    All weights are one vector, and so are the gradients of each replica: replicas compute gradients
    in parallel, and summing, clipping and stepping are one operation each.
    """

    def __init__(self, network: ActorCritic, number: int) -> None:
        """`number` replicas; the first is `network` itself."""
        self.networks = [network, *(copy.deepcopy(network) for _ in range(number - 1))]
        starts = [0]
        for weights in network.parameters():
            starts.append(starts[-1] + math.ceil(weights.numel() / _LINE) * _LINE)
        like = next(network.parameters())
        self.weights = torch.zeros(starts[-1], device=like.device)
        self.gradients = [torch.zeros_like(self.weights) for _ in self.networks]
        for replica, gradient in zip(self.networks, self.gradients, strict=True):
            for weights, start in zip(replica.parameters(), starts[:-1], strict=True):
                own = slice(start, start + weights.numel())
                self.weights[own] = weights.data.flatten()
                weights.data = self.weights[own].view_as(weights)
                weights.grad = gradient[own].view_as(weights)

    def state(self) -> Tensors:
        """The weights, a new array by name."""
        return {"weights": self.weights.cpu().numpy().copy()}

    def restore(self, state: Mapping[str, NDArray[Any]], name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        array = check_array(f"{name}/weights", state.get("weights"), self.weights.cpu().numpy())
        self.weights.copy_(torch.from_numpy(array.copy()))

    def add_gradients(self) -> None:
        """Add the gradients of all replicas to the first's, in order."""
        for gradient in self.gradients[1:]:
            self.gradients[0] += gradient


class Adam:
    """The Adam optimizer (Kingma and Ba 2015, algorithm 1).

    For one vector of weights. torch's own imports its compiler first, which takes a second.
    """

    DECAYS = (0.9, 0.999)
    EPSILON = 1e-5

    def __init__(self, weights: torch.Tensor) -> None:
        """Before the first step; `weights` are changed in place."""
        self.weights = weights
        self.count = 0
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)

    def reset(self) -> None:
        """Forget all steps."""
        self.count = 0
        self.mean.zero_()
        self.square.zero_()

    def state(self) -> Tensors:
        """The optimizer's state, new arrays by name."""
        moments = {"mean": self.mean, "square": self.square}
        arrays = {name: moment.cpu().numpy().copy() for name, moment in moments.items()}
        return arrays | {"count": np.array(self.count)}

    def restore(self, state: Mapping[str, NDArray[Any]], name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        count = check_array(f"{name}/count", state.get("count"), np.array(0))
        if count < 0:
            raise HeartsError(
                f"{name}/count: it is not a whole number from 0; take another checkpoint"
            )
        self.count = int(count)
        for key, own in (("mean", self.mean), ("square", self.square)):
            array = check_array(f"{name}/{key}", state.get(key), own.cpu().numpy())
            own.copy_(torch.from_numpy(array.copy()))

    @torch.no_grad()
    def step(self, gradient: torch.Tensor, learning_rate: float, most: float = math.inf) -> None:
        """One step against `gradient`, which is first cut to a norm of at most `most`, in place."""
        self.count += 1
        torch._fused_adam_(  # torch's own calls it too: one pass over all weights
            [self.weights],
            [gradient],
            [self.mean],
            [self.square],
            max_exp_avg_sqs=[],
            state_steps=[torch.tensor(float(self.count), device=gradient.device)],
            lr=learning_rate,
            beta1=self.DECAYS[0],
            beta2=self.DECAYS[1],
            weight_decay=0.0,
            eps=self.EPSILON,
            amsgrad=False,
            maximize=False,
            grad_scale=(gradient.norm() / most).clamp(min=1.0),  # by which it divides
        )


class TorchNetwork(Network):
    """A policy network whose forward pass uses torch, so that no second thread pool runs.

    NumPy's matrix library has its own threads, which would compete with torch's for cores during
    training.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], activation: str = "relu") -> None:
        super().__init__(tensors, activation)
        # In torch's own memory: its alignment is constant, and so are the last bits.
        self._torch = [
            (torch.from_numpy(np.ascontiguousarray(weight.T)).clone(), torch.tensor(bias))
            for weight, bias in self.layers
        ]
        self._activate = torch.relu if activation == "relu" else torch.tanh

    def logits(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Logits of the actions, ``(n, size) -> (n, actions) float32``."""
        with torch.inference_mode():
            x = torch.from_numpy(observations).reshape(len(observations), -1).float()
            last = len(self._torch) - 1
            for i, (weight, bias) in enumerate(self._torch):
                x = torch.nn.functional.linear(x, weight, bias)
                if i < last:
                    x = self._activate(x)
            logits: NDArray[Any] = x.numpy()
        return logits


# ---- the first layer -----------------------------------------------------------------------------
# Of the 200 numbers of ``flat`` about 36 are not 0. The output is the sum of the weights of those
# inputs, each times its number; a weight's gradient is the sum of the output's gradients over the
# observations in which its input is not 0. In float32 this takes half the time of a dense product.
_ROWS = 128
"""Gradients added at once, few enough for the second cache of a processor."""


class SparseLinear(nn.Linear):
    """A linear layer that takes int8 observations, on the processor, as well as floats."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """``(n, inputs) int8`` or floats to ``(n, outputs)`` floats."""
        if inputs.dtype is torch.int8:
            apply: Any = _SparseProduct.apply
            return torch.as_tensor(apply(inputs, self.weight, self.bias))
        return super().forward(inputs)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(inputs)
        outputs = bias.detach().repeat(len(inputs), 1)
        _add(inputs, weight.detach().t().contiguous(), outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor, torch.Tensor]:
        (inputs,) = ctx.saved_tensors
        by_input = torch.zeros(inputs.shape[1], gradients[0].shape[1])
        for first in range(0, len(inputs), _ROWS):
            some = slice(first, first + _ROWS)
            _add(inputs[some].t().contiguous(), gradients[0][some].contiguous(), by_input)
        return None, by_input.t(), gradients[0].sum(0)


def _add(numbers: torch.Tensor, rows: torch.Tensor, totals: torch.Tensor) -> None:
    found = np.empty((len(rows), 2), np.int32)
    add_products(numbers.numpy(), rows.numpy(), totals.numpy(), found)


@jit
def add_products(numbers: Bytes, rows: Floats32, totals: Floats32, found: Ints32) -> None:
    """Add the product of two matrices to a third.

    Args:
        numbers: ``(n, m)``, most of them 0.
        rows: ``(m, size)``.
        totals: ``(n, size)``, added to.
        found: ``(m, 2)``, for use here: where a row of `numbers` is not 0, and what is there.
    """
    for n in range(len(numbers)):
        num, total = 0, totals[n]
        for i in range(len(rows)):
            found[num, 0], found[num, 1] = i, numbers[n, i]
            num += numbers[n, i] != 0
        done = 0
        while done + 4 <= num:  # storing a total takes longer than adding to it
            one, two = rows[found[done, 0]], rows[found[done + 1, 0]]
            three, four = rows[found[done + 2, 0]], rows[found[done + 3, 0]]
            a, b = np.float32(found[done, 1]), np.float32(found[done + 1, 1])
            c, d = np.float32(found[done + 2, 1]), np.float32(found[done + 3, 1])
            for j in range(len(total)):
                total[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
            done += 4
        while done < num:
            one, a = rows[found[done, 0]], np.float32(found[done, 1])
            for j in range(len(total)):
                total[j] += a * one[j]
            done += 1
