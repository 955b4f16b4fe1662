"""Below NumPy: bit scans, one machine instruction each; bits as bytes; memory on the stack."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np import arrayobj
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


def put_bits(out: NDArray[np.uint8], at: int, word: np.uint64) -> None:
    """Write the 64 bits of `word` over ``out[at : at + 8]``, in place.

    In each byte the first bit is the highest, as ``np.unpackbits`` reads them.
    """
    for j in range(8):
        out[at + j] = int(f"{int(word) >> 8 * j & 255:08b}"[::-1], 2)


def is_uint8(array: NDArray[Any]) -> bool:
    """Whether the elements are of uint8; CUDA cannot compare dtypes."""
    return array.dtype == np.uint8


STACK_WORDS = 64
"""As many words as ``stack_words`` gives."""


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


@intrinsic
def _store_bits(typing_context: Any, out: Any, at: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        bytes_ = builder.bswap(builder.bitreverse(args[2]))
        place = builder.gep(array.data, [args[1]])
        builder.store(bytes_, builder.bitcast(place, bytes_.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64), codegen


@intrinsic
def _words_on_stack(typing_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.return_type)(context, builder)
        memory = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), STACK_WORDS))
        size = context.get_constant(types.intp, STACK_WORDS)
        step = context.get_constant(types.intp, 8)
        arrayobj.populate_array(
            array,
            data=builder.bitcast(memory, array.data.type),
            shape=cgutils.pack_array(builder, [size]),
            strides=cgutils.pack_array(builder, [step]),
            itemsize=step,
            meminfo=None,
        )
        return array._getvalue()

    return types.Array(types.uint64, 1, "C")(), codegen


def _put_one_by_one(out, at, word):  # type: ignore[no-untyped-def]
    for j in range(64):
        out[at + j] = word >> np.uint64(j) & np.uint64(1)


@overload(put_word)
def _put_word(out, at, word):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    if out.layout != "C" or out.dtype.bitwidth != 8:  # a user's array, of another kind
        return _put_one_by_one
    return lambda out, at, word: _store_word(out, at, word)  # type: ignore[call-arg]


def _put_bits_one_by_one(out, at, word):  # type: ignore[no-untyped-def]
    for j in range(8):
        byte = np.uint64(0)
        for i in range(8):
            byte |= (word >> np.uint64(8 * j + i) & np.uint64(1)) << np.uint64(7 - i)
        out[at + j] = byte


@overload(put_bits)
def _put_bits(out, at, word):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    if out.layout != "C":
        return _put_bits_one_by_one
    return lambda out, at, word: _store_bits(out, at, word)  # type: ignore[call-arg]


@overload(is_uint8)
def _is_uint8(array):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    found = array.dtype == types.uint8
    return lambda array: found


def _new_words() -> NDArray[np.uint64]:
    return np.empty(STACK_WORDS, np.uint64)


_config: Any = numba.config  # its fields are made at run time
stack_words: Any = _new_words if _config.DISABLE_JIT else _words_on_stack
"""Memory of `STACK_WORDS` words for the caller, and for what it calls, until it returns."""
