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
from safetensors.numpy import save

from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import write_whole

Tensors = dict[str, NDArray[Any]]

DIGEST = "digest"


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], header: dict[str, str]) -> None:
    """Write a file of tensors, whole or not at all; equal ones give equal bytes.

    Raises:
        OSError: if it cannot be written.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    data = save(arrays, header | {DIGEST: digest_of(arrays, header)})
    write_whole(path, _sorted_header(data))


def _sorted_header(data: bytes) -> bytes:
    """The same file with the keys of its header in order: safetensors hashes some of them.

    The header is JSON after its length in 8 bytes, and is padded with spaces to a multiple of 8.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    keys = json.loads(data[8:end])
    text = json.dumps(keys, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[end:]


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


def digest_of(tensors: Mapping[str, NDArray[Any]], header: Mapping[str, str]) -> str:
    """The digest of a file's content, without its own header key."""
    stated = {name: value for name, value in header.items() if name != DIGEST}
    shapes = {name: [a.dtype.str, list(a.shape)] for name, a in tensors.items()}
    digest = hashlib.blake2b(json.dumps([stated, shapes], sort_keys=True).encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()
