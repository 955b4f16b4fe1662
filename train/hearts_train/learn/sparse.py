"""A linear layer of mostly zero inputs: the first one of a network that sees int8 observations.

Of the 200 numbers of ``flat`` about 36 are not 0. The output is the sum of the weights of those
inputs, each times its number; a weight's gradient is the sum of the output's gradients over the
observations in which its input is not 0. In float32 this takes half the time of a dense product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from hearts_env.support.arrays import Bytes, Floats32, Ints32
from hearts_env.support.jit import jit

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
