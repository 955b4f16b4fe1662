"""Tools below NumPy: bit scans, bits as bytes, stack memory, and arrays at an address.

Arrays at an address are for compiled code only.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _numba_intrinsic
from numba.extending import overload
from numba.np import arrayobj
from numpy.typing import NDArray


def intrinsic(codegen: Any) -> Any:
    """Apply numba's decorator, hiding an extra argument from type checkers."""
    return _numba_intrinsic(codegen)


def popcount(mask: int) -> int:
    """Return the number of set bits."""
    return int(mask).bit_count()


def lowest(mask: int) -> int:
    """Return the place of the lowest set bit, or 64 for the empty set."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1 if mask else 64


def highest(mask: int) -> int:
    """Return the place of the highest set bit, or -1 for the empty set."""
    return int(mask).bit_length() - 1


def put_word(out: NDArray[np.int8], at: int, word: np.uint64) -> None:
    """Write the 64 bits of `word` over ``out[at : at + 64]`` as zeros and ones, in place."""
    for j in range(64):
        out[at + j] = word >> np.uint64(j) & np.uint64(1)


STACK_WORDS = 64
"""The number of words of ``stack_words``."""


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
    return lambda mask: _ctpop(mask)


@overload(lowest)
def _lowest(mask):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda mask: _cttz(mask)


@overload(highest)
def _highest(mask):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    return lambda mask: 63 - _ctlz(mask)


@intrinsic
def _store_word(typing_context: Any, out: Any, at: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bytes_ = _spread(builder, args[2])
        place = _place(context, builder, signature, args)
        builder.store(bytes_, builder.bitcast(place, bytes_.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64), codegen


def _spread(builder: Any, word: Any) -> Any:
    """Return the 64 bits of `word` as a vector of bytes."""
    if _HAS_BIT_MASKS:
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
        return builder.zext(bits, ir.VectorType(ir.IntType(8), 64))
    # Copy each byte of the word eight times, and keep a different bit of each copy.
    eight = builder.bitcast(word, ir.VectorType(ir.IntType(8), 8))
    index = ir.Constant(ir.VectorType(ir.IntType(32), 64), [j // 8 for j in range(64)])
    copies = builder.shuffle_vector(eight, eight, index)
    own = ir.Constant(copies.type, [1 << j % 8 for j in range(64)])
    return builder.zext(builder.icmp_unsigned("==", builder.and_(copies, own), own), copies.type)


_HAS_BIT_MASKS = binding.get_host_cpu_features().get("avx512bw", False)
"""If True, one instruction turns bits into bytes. Other processors need many."""


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return a pointer to element ``args[1]`` of the array ``args[0]``."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


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
    if out.layout != "C" or out.dtype.bitwidth != 8:  # a user's array of another kind
        return _put_one_by_one
    return lambda out, at, word: _store_word(out, at, word)


def _new_words() -> NDArray[np.uint64]:
    return np.empty(STACK_WORDS, np.uint64)


_config: Any = numba.config  # its fields are made at run time
stack_words: Any = _new_words if _config.DISABLE_JIT else _words_on_stack
"""`STACK_WORDS` words of memory for the caller and the functions it calls, until it returns."""


# ---- arrays at an address ------------------------------------------------------------------------
def _array_at(dtype: Any, *, readonly: bool = False) -> Any:
    @intrinsic
    def array(typing_context: Any, address: Any, shape: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = context.make_array(signature.return_type)(context, builder)
            data = builder.inttoptr(args[0], made.data.type)
            size = context.get_constant(types.intp, dtype.bitwidth // 8)
            sizes = cgutils.unpack_tuple(builder, args[1])
            strides = [size]
            for length in reversed(sizes[1:]):
                strides.insert(0, builder.mul(strides[0], length))
            arrayobj.populate_array(made, data, sizes, strides, size, None)
            return made._getvalue()

        return types.Array(dtype, len(shape), "C", readonly)(types.int64, shape), codegen

    return array


int64_at = _array_at(types.int64)
"""The array of this shape at this address. The next names are alike for other dtypes."""
constants_at = _array_at(types.int64, readonly=True)
int8_at = _array_at(types.int8)
uint8_at = _array_at(types.uint8)
