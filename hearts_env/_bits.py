"""Bit tricks: scans of non-negative int64 sets, one machine instruction each, and bits as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray


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


def put_bits(out: NDArray[np.int8], at: int, bits: np.uint64) -> None:
    """Write the eight lowest of `bits` over ``out[at : at + 8]``, a zero or one each, in place."""
    for j in range(8):
        out[at + j] = bits >> np.uint64(j) & np.uint64(1)


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


@intrinsic
def _store_eight(typing_context: Any, out: Any, at: Any, bytes_: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.bitcast(builder.gep(array.data, [args[1]]), ir.IntType(64).as_pointer())
        builder.store(args[2], place, align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64), codegen


@overload(put_bits)
def _put_bits(out, at, bits):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    def in_one_store(out, at, bits):  # type: ignore[no-untyped-def]
        # Moves bit j to the lowest bit of byte j, by halves; all machines of numba's have the
        # lowest byte first.
        b = bits & np.uint64(0xFF)
        b = (b | b << np.uint64(28)) & np.uint64(0x0000000F0000000F)
        b = (b | b << np.uint64(14)) & np.uint64(0x0003000300030003)
        b = (b | b << np.uint64(7)) & np.uint64(0x0101010101010101)
        _store_eight(out, at, b)  # type: ignore[call-arg]

    return in_one_store
