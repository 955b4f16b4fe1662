"""A network that several threads compute together, each for a share of the rows.

torch's own threads share every operation instead. They gain as much only if they spin while they
wait, which halves the speed on cores that other processes use, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from hearts_env.support.workers import Threads

Batch = TypeVar("Batch", bound=NamedTuple)
Pair = tuple[Tensor, Tensor]


class SharedNetwork:
    """A network whose outputs and gradients threads compute together.

    All weights that learn are views of one vector, so a step, an average or a norm is a single
    operation. A copy of the network with rounded weights computes outputs and gradients.

    Attributes:
        network: The network, in float32.
        weights: The vector of the weights that learn, float32. ``learn`` writes its gradient.
        rounded: The copy with rounded weights. If the dtype is float32, the network itself.
    """

    def __init__(self, network: nn.Module, dtype: torch.dtype, threads: Threads) -> None:
        self.dtype, self.threads = dtype, threads
        self.weights = self._views = _one_vector(network)
        self.network = self.rounded = network
        if dtype is not torch.float32:
            self.rounded = copy.deepcopy(network).to(dtype)
            self._views = _one_vector(self.rounded)
        self._parameters = _learning(self.rounded)

    def outputs(self, *inputs: Tensor) -> Pair:
        """Return both outputs of the network for inputs ``(n, ...)``, in this thread."""
        # Copies, because a user's own network may write to its inputs.
        device, dtype = self.weights.device, self.dtype
        found: Pair = self.rounded(*(one.to(device, dtype, copy=True) for one in inputs))
        return found

    def __call__(self, *inputs: Tensor) -> Pair:
        """Return the ``outputs`` for inputs ``(n, ...)``, in all threads, without gradients."""

        def compute(rows: slice) -> Pair:
            with torch.no_grad():  # not in inference mode: a module may keep tensors for learning
                return self.outputs(*(one[rows] for one in inputs))

        first, second = self._share(compute, len(inputs[0]))
        return torch.cat(first), torch.cat(second)

    def learn(self, loss: Callable[[Batch], Pair], batch: Batch) -> Tensor:
        """Write the gradient of a minibatch's loss. Return the mean of its figures.

        Args:
            loss: returns the mean loss of some rows, and the means of their figures.
            batch: tensors ``(n, ...)``.
        """
        size = len(batch[0])

        def compute(rows: slice) -> Pair:
            share = (rows.stop - rows.start) / size
            mean, figures = loss(batch._make(column[rows] for column in batch))
            found = torch.autograd.grad(share * mean, self._parameters, materialize_grads=True)
            return torch.cat([one.flatten() for one in found]).float(), share * figures.detach()

        gradients, figures = self._share(compute, size)
        self.weights.grad = sum(gradients[1:], gradients[0])  # in this order, for the same bits
        return sum(figures[1:], figures[0])

    def _share(self, compute: Callable[[slice], Pair], size: int) -> Iterable[tuple[Tensor, ...]]:
        """Compute `size` rows. Return both results of all threads, in the order of the rows."""
        parts: dict[int, Pair] = {}

        def one(rows: slice, thread: int) -> None:
            parts[thread] = compute(rows)

        self.threads.share(one, size)
        return zip(*(parts[thread] for thread in sorted(parts)), strict=True)

    def round(self) -> None:
        """Copy changed weights to the rounded network."""
        if self._views is not self.weights:
            self._views.data.copy_(self.weights.data)


def _one_vector(network: nn.Module) -> nn.Parameter:
    """Make the weights of a network that learn views of one vector, and return the vector."""
    weights = _learning(network)
    vector = nn.Parameter(nn.utils.parameters_to_vector(weights).detach().clone())
    nn.utils.vector_to_parameters(vector.data, weights)
    return vector


def _learning(network: nn.Module) -> list[nn.Parameter]:
    """Return the weights that learn: a user's own network may have frozen ones."""
    return [weights for weights in network.parameters() if weights.requires_grad]
