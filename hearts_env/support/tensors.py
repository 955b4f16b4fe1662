"""Safetensors files with a digest: any damage is detected when the file is read.

The header key ``digest`` holds the BLAKE2b digest of the other header values and of the name, type,
shape and bytes of each tensor.
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
from hearts_env.support.files import kind_of, writing_whole

Tensors = dict[str, NDArray[Any]]

DIGEST = "digest"
_TYPES = {"b1": "BOOL", "f2": "F16", "f4": "F32", "f8": "F64"} | {
    f"{kind}{size}": f"{kind.upper()}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)
}
"""NumPy's type names to the format's."""


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], header: dict[str, str]) -> None:
    """Write a file of tensors, whole or not at all. Equal tensors give equal bytes.

    The tensors are not copied in memory.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    keys: dict[str, Any] = {"__metadata__": header | {DIGEST: digest_of(arrays, header)}}
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # aligns every tensor
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
    """Return the tensors and the header of an untrusted file, without running code from it.

    Raises:
        CheckpointError: if it is not a whole safetensors file. The message is the reason that
            safetensors gives.
    """
    try:
        with safe_open(str(path), framework="numpy") as opened:
            header = dict(opened.metadata() or {})
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except Exception as error:  # the type differs by version and damage
        raise CheckpointError(" ".join(str(error).split())[:200] or type(error).__name__) from None
    return tensors, header


def header_of(path: str | Path) -> dict[str, str]:
    """Return the header of an untrusted file, unchecked, or {} if there is no file or header."""
    if kind_of(path) != "file":  # a pipe would block
        return {}
    try:
        with safe_open(str(path), framework="numpy") as opened:
            return dict(opened.metadata() or {})
    except Exception:  # as above
        return {}


def format_of(path: str | Path) -> str | None:
    """Return the ``format`` in a file's header, or None if there is no such file or header."""
    return header_of(path).get("format")


def digest_of(tensors: Mapping[str, NDArray[Any]], header: Mapping[str, str]) -> str:
    """Return the digest of a file's content, except the header key ``digest`` itself."""
    stated = {name: value for name, value in header.items() if name != DIGEST}
    shapes = {name: [a.dtype.str, list(a.shape)] for name, a in tensors.items()}
    digest = hashlib.blake2b(json.dumps([stated, shapes], sort_keys=True).encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(_bytes_of(tensors[name]))
    return digest.hexdigest()


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
