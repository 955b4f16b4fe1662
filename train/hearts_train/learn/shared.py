"""A network that several threads compute together.

Two threads learn 1.6 times as fast as one with the champion's network and minibatches, and 1.1
times as fast with the demo's. torch's own threads gain as much only if they spin while they wait.
Spinning makes training ten times slower on cores that other processes use, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hearts_env.support.workers import Threads


class SharedNetwork:
    """A network that threads compute together, each for some of the rows.

    All weights are views of one vector, so a step, an average or a norm is a single operation. A
    copy of the network with rounded weights computes the outputs.

    Attributes:
        network: The network, in float32.
        weights: The vector of all weights, float32. It receives the gradient.
        rounded: The copy with rounded weights. If the dtype is float32, the network itself.
    """

    def __init__(self, network: nn.Module, dtype: torch.dtype, threads: Threads) -> None:
        self.threads = threads
        self.weights = self._views = _one_vector(network)
        self.network = self.rounded = network
        if dtype is not torch.float32:
            self.rounded = copy.deepcopy(network).to(dtype)
            self._views = _one_vector(self.rounded)
        self.parameters = list(self.rounded.parameters())
        self.learning: Callable[..., Any] = self.rounded
        """Computes outputs that need gradients: `rounded`, or its compiled form."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return both outputs of the network for inputs ``(n, ...)``."""
        apply: Any = _Shared.apply
        logits, values = apply(self.weights, self, torch.is_grad_enabled(), *inputs)
        return logits, values

    def compile(self) -> None:
        """Compile `learning` if there is one thread. Several would wait for each other."""
        if self.threads.num_threads == 1:
            self.learning = torch.compile(self.rounded, dynamic=True)

    def round(self) -> None:
        """Copy changed weights to the rounded network."""
        if self._views is not self.weights:
            self._views.data.copy_(self.weights.data)


class _Shared(torch.autograd.Function):
    """The outputs as a function of the vector. Each thread has a graph of its own rows."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, network: SharedNetwork, learns: bool, *inputs: Tensor) -> Any:  # noqa: FBT001
        compute_rows = network.learning if learns else network.rounded
        parts: list[Any] = [None] * network.threads.num_threads

        def compute(rows: slice, thread: int) -> None:
            with torch.set_grad_enabled(learns):
                parts[thread] = rows, compute_rows(*(one[rows] for one in inputs))

        network.threads.share(compute, len(inputs[0]))
        ctx.network, ctx.parts = network, [part for part in parts if part is not None]
        outputs = zip(*(found for _, found in ctx.parts), strict=True)
        return tuple(torch.cat([one.detach() for one in output]) for output in outputs)

    @staticmethod
    def backward(ctx: Any, *by_outputs: Tensor) -> Any:
        gradients: list[Any] = [None] * len(ctx.parts)

        def compute(thread: int) -> None:
            if thread < len(ctx.parts):  # few rows go to one thread
                rows, outputs = ctx.parts[thread]
                given = [one[rows] for one in by_outputs]
                parameters = ctx.network.parameters
                found = torch.autograd.grad(outputs, parameters, given, materialize_grads=True)
                gradients[thread] = torch.cat([one.flatten() for one in found]).float()

        ctx.network.threads.each(compute)
        total = sum(gradients[1:], gradients[0])  # always in this order, for the same bits
        return total, *[None] * (len(ctx.needs_input_grad) - 1)


def _one_vector(network: nn.Module) -> nn.Parameter:
    """Make the weights of a network views of one vector, and return the vector."""
    weights = list(network.parameters())
    vector = nn.Parameter(nn.utils.parameters_to_vector(weights).detach().clone())
    nn.utils.vector_to_parameters(vector.data, weights)
    return vector
