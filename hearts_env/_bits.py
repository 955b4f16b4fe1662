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


def put_word(out: NDArray[np.int8], at: int, word: np.uint64) -> None:
    """Write the 64 bits of `word` over ``out[at : at + 64]``, a zero or one each, in place."""
    for j in range(64):
        out[at + j] = word >> np.uint64(j) & np.uint64(1)


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
def _store_word(typing_context: Any, out: Any, at: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        bytes_ = builder.zext(bits, ir.VectorType(ir.IntType(8), 64))
        place = builder.gep(array.data, [args[1]])
        builder.store(bytes_, builder.bitcast(place, bytes_.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64), codegen


@overload(put_word)
def _put_word(out, at, word):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda out, at, word: _store_word(out, at, word)  # type: ignore[call-arg]
