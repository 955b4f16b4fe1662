"""A network that several threads compute together.

Two threads learn 1.6 times as fast as one in networks and minibatches of the champion's size, and
1.1 times in the demo's. torch's own threads gain as much only while they wait by spinning, which
makes training ten times slower on cores that other processes use as well.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hearts_env.support.workers import Threads


class SharedNetwork:
    """A network whose rows are shared by threads, and whose weights are one vector.

    The weights of its layers are views of the vector: a step, an average and a norm are one
    operation each. A copy of the network computes in the dtype of products.

    Attributes:
        network: The network as it was given, in float32.
        weights: All weights, float32. The gradient of a loss of the outputs arrives there.
        rounded: The copy, with rounded weights. In float32 it is the network itself.
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
        """What computes the outputs that are learnt from."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the network's two outputs, of its inputs ``(n, ...)``."""
        apply: Any = _Shared.apply
        logits, values = apply(self.weights, self, torch.is_grad_enabled(), *inputs)
        return logits, values

    def compile(self) -> None:
        """Compile what is learnt from, unless threads share it: they would wait for each other."""
        if self.threads.num_threads == 1:
            self.learning = torch.compile(self.rounded, dynamic=True)

    def round(self) -> None:
        """Round the weights again after a change."""
        if self._views is not self.weights:
            self._views.data.copy_(self.weights.data)


class _Shared(torch.autograd.Function):
    """The outputs as a function of the vector; each thread has a graph of its own rows."""

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
            if thread < len(ctx.parts):  # a few rows are not shared
                rows, outputs = ctx.parts[thread]
                given = [one[rows] for one in by_outputs]
                parameters = ctx.network.parameters
                found = torch.autograd.grad(outputs, parameters, given, materialize_grads=True)
                gradients[thread] = torch.cat([one.flatten() for one in found]).float()

        ctx.network.threads.each(compute)
        total = sum(gradients[1:], gradients[0])  # in the same order each time
        return total, *[None] * (len(ctx.needs_input_grad) - 1)


def _one_vector(network: nn.Module) -> nn.Parameter:
    """Make the weights of a network views of one vector; return it."""
    weights = list(network.parameters())
    vector = nn.Parameter(nn.utils.parameters_to_vector(weights).detach().clone())
    nn.utils.vector_to_parameters(vector.data, weights)
    return vector
