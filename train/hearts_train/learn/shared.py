"""A network that several threads compute together, each for a share of the rows.

torch's own threads share every operation instead. They gain as much only if they spin while they
wait, which halves the speed on cores that other processes use, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hearts_env.support.workers import Threads


class SharedNetwork:
    """A network whose outputs and gradients threads compute together.

    All weights are views of one vector, so a step, an average or a norm is a single operation. A
    copy of the network with rounded weights computes outputs and gradients.

    Attributes:
        network: The network, in float32.
        weights: The vector of all weights, float32. ``learn`` writes its gradient.
        rounded: The copy with rounded weights. If the dtype is float32, the network itself.
    """

    def __init__(self, network: nn.Module, dtype: torch.dtype, threads: Threads) -> None:
        self.threads = threads
        self.weights = self._views = _one_vector(network)
        self.network = self.rounded = network
        if dtype is not torch.float32:
            self.rounded = copy.deepcopy(network).to(dtype)
            self._views = _one_vector(self.rounded)
        self._parameters = list(self.rounded.parameters())

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return both outputs of the network for inputs ``(n, ...)``, without gradients."""
        parts: dict[int, tuple[Tensor, Tensor]] = {}

        def compute(rows: slice, thread: int) -> None:
            with torch.inference_mode():
                parts[thread] = self.rounded(*(one[rows] for one in inputs))

        self.threads.share(compute, len(inputs[0]))
        first, second = zip(*(parts[thread] for thread in sorted(parts)), strict=True)
        return torch.cat(first), torch.cat(second)

    def learn(self, loss: Callable[[slice], tuple[Tensor, Tensor]], size: int) -> Tensor:
        """Write the gradient of the mean loss of `size` rows. Return the mean of their figures.

        Args:
            loss: returns the mean loss of some rows, and their figures.
            size: the number of rows.
        """
        parts: dict[int, tuple[Tensor, Tensor]] = {}

        def compute(rows: slice, thread: int) -> None:
            share = (rows.stop - rows.start) / size
            mean, figures = loss(rows)
            found = torch.autograd.grad(share * mean, self._parameters, materialize_grads=True)
            gradient = torch.cat([one.flatten() for one in found]).float()
            parts[thread] = gradient, share * figures.detach()

        self.threads.share(compute, size)
        gradients, figures = zip(*(parts[thread] for thread in sorted(parts)), strict=True)
        self.weights.grad = sum(gradients[1:], gradients[0])  # in this order, for the same bits
        return sum(figures[1:], figures[0])

    def round(self) -> None:
        """Copy changed weights to the rounded network."""
        if self._views is not self.weights:
            self._views.data.copy_(self.weights.data)


def _one_vector(network: nn.Module) -> nn.Parameter:
    """Make the weights of a network views of one vector, and return the vector."""
    weights = list(network.parameters())
    vector = nn.Parameter(nn.utils.parameters_to_vector(weights).detach().clone())
    nn.utils.vector_to_parameters(vector.data, weights)
    return vector
