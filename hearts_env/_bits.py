"""Bit scans on non-negative int64 sets, one machine instruction each when compiled."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload


def popcount(mask: int) -> int:
    """How many bits are set."""
    return int(mask).bit_count()


def lowest(mask: int) -> int:
    """The place of the lowest set bit; 64 for the empty set."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1 if mask else 64


def highest(mask: int) -> int:
    """The place of the highest set bit; -1 for the empty set."""
    return int(mask).bit_length() - 1


@intrinsic
def _ctpop(typing_context: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def _cttz(typing_context: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), codegen


@intrinsic
def _ctlz(typing_context: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), codegen


@overload(popcount)
def _popcount(mask):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda mask: _ctpop(mask)  # type: ignore[call-arg]


@overload(lowest)
def _lowest(mask):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda mask: _cttz(mask)  # type: ignore[call-arg]


@overload(highest)
def _highest(mask):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda mask: 63 - _ctlz(mask)  # type: ignore[call-arg]
