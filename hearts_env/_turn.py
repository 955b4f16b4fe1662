"""One compiled call a turn, for a game that is played from Python step by step.

There the calls cost more than the play. So each of these does all that a step needs, and keeps
the interpreter's lock: to let go of it and to take it back costs a fifth of such a call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.support.jit import called, inlined

LEGAL = (1 << k.MAX_ACTIONS) - 1
"""The bits of a ``status`` that are legal actions."""


@called
def step(r: k.Vector, s: k.Vector, action: int) -> int:
    """``kernel.step``: returns the ``status``, or -1: illegal, nothing has changed."""
    return k.step(r, s, action)


@called
def step_masked(r: k.Vector, s: k.Vector, action: int, mask: NDArray[np.int8]) -> int:
    """``step``, and what the next player may do over `mask`, in place."""
    status = k.step(r, s, action)
    if status >= 0:
        spread_mask(status & LEGAL, mask)
    return status


@called
def write_mask(legal: int, mask: NDArray[np.int8]) -> None:
    """Write the bits of `legal` over `mask`, a zero or one each, in place."""
    spread_mask(legal, mask)


@called
def write_view(r: k.Vector, s: k.Vector, player: int, out: k.Vector) -> None:
    """``kernel.write_view``: make `out` what `player` may know of `s`, in place."""
    k.write_view(r, s, player, out)


@called
def write_scores(r: k.Vector, s: k.Vector, out: k.Vector) -> None:
    """Write ``kernel.score`` of every seat over `out`, in place."""
    for p in range(len(out)):
        out[p] = k.score(r, s, p)


@inlined
def spread_mask(legal: int, mask: NDArray[np.int8]) -> None:
    """``write_mask`` for compiled code."""
    for action in range(len(mask)):
        mask[action] = legal >> action & 1
