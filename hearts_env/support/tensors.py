"""Safetensors files with a digest: any damage is noticed when the file is read.

The header key ``digest`` has the BLAKE2b digest of everything else: the other header values, and
the name, type, shape and bytes of each tensor.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import writing_whole

Tensors = dict[str, NDArray[Any]]

DIGEST = "digest"
_TYPES = {"b1": "BOOL", "f2": "F16", "f4": "F32", "f8": "F64"} | {
    f"{kind}{size}": f"{kind.upper()}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)
}
"""NumPy's names of types, and the format's."""


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], header: dict[str, str]) -> None:
    """Write a file of tensors, whole or not at all; equal ones give equal bytes.

    Nothing is in memory twice.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    keys: dict[str, Any] = {"__metadata__": header | {DIGEST: digest_of(arrays, header)}}
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # so all are aligned
    end = 0
    for name in order:
        array, begin = arrays[name], end
        end += array.nbytes
        kind = _TYPES[array.dtype.str.lstrip("<|")]
        keys[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(keys, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with writing_whole(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(_bytes_of(arrays[name]))


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors and the header of a file. Never runs code from it, and trusts nothing in it.

    Raises:
        CheckpointError: if it is not a whole safetensors file; what follows the colon of the
            message is safetensors' own reason.
    """
    try:
        with safe_open(str(path), framework="numpy") as opened:
            header = dict(opened.metadata() or {})
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except Exception as error:  # the type differs by version and damage
        raise CheckpointError(" ".join(str(error).split())[:200] or type(error).__name__) from None
    return tensors, header


def format_of(path: str | Path) -> str | None:
    """What the header of a file says under ``format``; None if there is no such file or header."""
    try:
        with safe_open(str(path), framework="numpy") as opened:
            return dict(opened.metadata() or {}).get("format")
    except Exception:  # as above
        return None


def digest_of(tensors: Mapping[str, NDArray[Any]], header: Mapping[str, str]) -> str:
    """The digest of a file's content, without its own header key."""
    stated = {name: value for name, value in header.items() if name != DIGEST}
    shapes = {name: [a.dtype.str, list(a.shape)] for name, a in tensors.items()}
    digest = hashlib.blake2b(json.dumps([stated, shapes], sort_keys=True).encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(_bytes_of(tensors[name]))
    return digest.hexdigest()


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of an array; no copy of one that is whole in memory."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
