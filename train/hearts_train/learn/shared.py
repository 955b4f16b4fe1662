"""A network that several threads compute together, each for a share of the rows.

torch's own threads share each single operation. They are as fast only if they spin while they wait,
and spinning halves the speed on cores that other processes use, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from hearts_env.support.errors import HeartsError
from hearts_env.support.workers import Threads

Batch = TypeVar("Batch", bound=NamedTuple)
Figures = dict[str, Tensor]
"""Figures of a loss to log, by name: scalars."""


class SharedNetwork:
    """A network whose outputs and gradients threads compute together.

    All weights that learn are views of one vector, so a step, an average or a norm is a single
    operation. A copy of the network with rounded weights computes outputs and gradients.

    Attributes:
        module: the network itself, in float32.
        weights: the vector of the weights that learn, float32. ``backward`` writes its gradient.
        rounded: the copy with rounded weights, or the module itself if the dtype is float32.
    """

    def __init__(self, module: nn.Module, dtype: torch.dtype, threads: Threads) -> None:
        self.dtype, self.threads = dtype, threads
        self.weights = self._views = _one_vector(module)
        self.module = self.rounded = module
        if dtype is not torch.float32:
            self.rounded = copy.deepcopy(module).to(dtype)
            self._views = _one_vector(self.rounded)
        self._parameters = _learning(self.rounded)

    def outputs(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return both outputs of the network for inputs ``(n, ...)``, in this thread."""
        # Copies, because a user's own network may write to its inputs.
        device, dtype = self.weights.device, self.dtype
        found: tuple[Tensor, Tensor] = self.rounded(
            *(one.to(device, dtype, copy=True) for one in inputs)
        )
        return found

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the ``outputs`` for inputs ``(n, ...)``, in all threads, without gradients."""

        def compute(rows: slice, _: int) -> tuple[Tensor, Tensor]:
            with torch.no_grad():  # not in inference mode: a module may keep tensors for learning
                return self.outputs(*(one[rows] for one in inputs))

        first, second = zip(*self.threads.share(compute, len(inputs[0])), strict=True)
        return torch.cat(first), torch.cat(second)

    def backward(self, loss: Callable[[Batch], tuple[Tensor, Figures]], batch: Batch) -> Figures:
        """Write the gradient of a minibatch's loss. Return the means of its figures.

        Args:
            loss: a function that returns the mean loss of some rows, and the means of their
                figures.
            batch: tensors ``(n, ...)``.

        Raises:
            HeartsError: if a figure is not a single number.
        """
        size = len(batch[0])

        def compute(rows: slice, _: int) -> tuple[Tensor, Figures]:
            share = (rows.stop - rows.start) / size
            mean, figures = loss(batch._make(column[rows] for column in batch))
            found = torch.autograd.grad(share * mean, self._parameters, materialize_grads=True)
            gradient = torch.cat([one.flatten() for one in found]).float()
            return gradient, {name: share * _scalar(name, one) for name, one in figures.items()}

        gradients, figures = zip(*self.threads.share(compute, size), strict=True)
        self.weights.grad = sum(gradients[1:], gradients[0])  # in this order, for the same bits
        return {name: sum(one[name] for one in figures) for name in figures[0]}

    def round(self) -> None:
        """Copy changed weights to the rounded network."""
        if self._views is not self.weights:
            self._views.data.copy_(self.weights.data)


def _scalar(name: str, figure: Tensor | float) -> Tensor:
    """Return a figure of a loss without its gradient. Raise HeartsError if it is not a number."""
    try:
        found = torch.as_tensor(figure).detach()
    except (TypeError, ValueError, RuntimeError):
        raise HeartsError(f"loss: the figure {name!r} is no number; log a number") from None
    if found.numel() != 1:
        raise HeartsError(f"loss: the figure {name!r} is an array; log its mean")
    return found


def _one_vector(module: nn.Module) -> nn.Parameter:
    """Make the weights of a network that learn views of one vector, and return the vector."""
    weights = _learning(module)
    vector = nn.Parameter(nn.utils.parameters_to_vector(weights).detach().clone())
    nn.utils.vector_to_parameters(vector.data, weights)
    return vector


def _learning(module: nn.Module) -> list[nn.Parameter]:
    """Return the weights that learn. A user's own network may also have frozen weights."""
    return [weights for weights in module.parameters() if weights.requires_grad]
