"""The kernels of ``batch_cuda``: one thread a game, which hands its own row to a compiled loop.

What CUDA compiles is the source of ``batch_kernel`` and of all that it calls: no rule and no
observation stands here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba.cuda

from hearts_env import batch_kernel as loops
from hearts_env import kernel as k
from hearts_env.encoders.flat import write_row
from hearts_env.rules import Rules

cuda: Any = numba.cuda  # its names are made at run time
_kernel: Callable[[Callable[..., None]], Any] = cuda.jit

DeviceArray = Any
"""An array of ``numba.cuda`` on the device; it has ``__cuda_array_interface__``."""


@_kernel
def read_players(states: DeviceArray, out: DeviceArray) -> None:
    """Write who is to act in each game, -1 where it is over."""
    g = cuda.grid(1)
    if g < len(out):
        out[g] = states[g, k.PLAYER]


@_kernel
def write_masks(legal: DeviceArray, rows: DeviceArray, masks: DeviceArray) -> None:
    """Write the mask of each game."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.write_masks(legal, rows[g : g + 1], masks[g])


@_kernel
def choose(
    legal: DeviceArray, rows: DeviceArray, random: DeviceArray, actions: DeviceArray
) -> None:
    """Write a random legal action of each game that is not over."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.choose(legal, rows[g : g + 1], random, actions[g : g + 1])


@_kernel
def check(
    legal: DeviceArray,
    rows: DeviceArray,
    given: DeviceArray,
    actions: DeviceArray,
    bad: DeviceArray,
    num_bad: DeviceArray,
) -> None:
    """Copy the `given` whole numbers to `actions`; mark and count those that are illegal."""
    g = cuda.grid(1)
    if g < len(rows):
        actions[g] = given[g]
        own = slice(g, g + 1)
        if loops.find_illegal(legal, rows[own], actions[own], bad[own]):
            cuda.atomic.add(num_bad, 0, 1)


@_kernel
def next_seeds(rows: DeviceArray, seeds: DeviceArray, deals: DeviceArray, seed: int) -> None:
    """Write the seed of the next deal of each game."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.next_seeds(rows[g : g + 1], seeds, deals, seed)


@functools.lru_cache(maxsize=64)
def frozen_kernels(rules: Rules) -> tuple[Any, Any, Any]:
    """Kernels that step, observe and deal, compiled for these rules alone on first use."""
    r = rules.vector

    @_kernel
    def step(
        tables: loops.Tables,
        rows: DeviceArray,
        actions: DeviceArray,
        seed: int,
        autodeal: bool,  # noqa: FBT001
        observations: DeviceArray,
        masks: DeviceArray,
    ) -> None:
        g = cuda.grid(1)
        if g < len(rows):
            own = slice(g, g + 1)
            loops.step(
                r, tables, rows[own], actions[own], seed, autodeal, observations[own], masks[g]
            )

    @_kernel
    def observe(states: DeviceArray, out: DeviceArray) -> None:
        g = cuda.grid(1)
        if g < len(out):
            write_row(r, states[g], loops.shown_seat(states[g]), out[g])

    @_kernel
    def deal(
        states: DeviceArray, rows: DeviceArray, seeds: DeviceArray, legal: DeviceArray
    ) -> None:
        g = cuda.grid(1)
        if g < len(rows):
            loops.deal(r, states, rows[g : g + 1], seeds, legal)

    return step, observe, deal
