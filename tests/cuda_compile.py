"""Compiles every CUDA kernel to PTX and, where ``ptxas`` is found, to machine code, without a GPU.

``python -m tests.cuda_compile [--arch 90]`` needs ``pip install "numba-cuda[cu12]"``, or numba
alone and a CUDA toolkit.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba.cuda.dispatcher
from numba import cuda, types

from hearts_env import Rules
from hearts_env.batch import cuda as kernels
from hearts_env.batch.kernel import Tables

I64, BOOL = types.int64, types.boolean
ROW, TABLE = I64[::1], I64[:, ::1]
TABLES = types.NamedTuple((TABLE, ROW, BOOL[::1], TABLE, ROW, ROW), Tables)
MASKS = types.int8[:, ::1]


def cases() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Every kernel: its name, itself and the types of its arguments, as ``CudaBatch`` has them."""
    yield "read_players", kernels.read_players, (TABLE, ROW)
    yield "write_masks", kernels.write_masks, (ROW, ROW, MASKS)
    yield "choose", kernels.choose, (ROW, ROW, types.uint64[::1], ROW)
    yield "check", kernels.check, (ROW, ROW, ROW, ROW, BOOL[::1], ROW)
    yield "check int32", kernels.check, (ROW, ROW, types.int32[::1], ROW, BOOL[::1], ROW)
    yield "next_seeds", kernels.next_seeds, (ROW, ROW, ROW, I64)
    for name in ("two_player", "classic"):
        step, observe, deal = kernels.frozen_kernels(Rules.make(name))
        yield f"deal {name}", deal, (TABLE, ROW, ROW, ROW)
        for kind, rows in (("flat", types.int8[:, ::1]), ("bits", types.uint8[:, ::1])):
            yield f"observe {name} {kind}", observe, (TABLE, rows)
            yield f"step {name} {kind}", step, (TABLES, ROW, ROW, I64, BOOL, rows, MASKS)


def assembled(ptx: str, arch: int) -> str:
    """What ``ptxas`` says of registers and memory; it raises where it refuses."""
    if (ptxas := shutil.which("ptxas")) is None:
        return "no ptxas"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        command = [ptxas, "-v", f"-arch=sm_{arch}", str(path), "-o", str(path.with_suffix(".o"))]
        output = subprocess.run(command, check=True, text=True, capture_output=True).stderr
    lines = [line.strip() for line in output.splitlines() if "Used" in line or "spill" in line]
    return "; ".join(line.removeprefix("ptxas info    : ") for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", type=int, default=90, help="compute capability, 90 for 9.0")
    arch = parser.parse_args().arch
    capability = divmod(arch, 10)
    # Functions that a kernel calls are compiled for the current device, and there may be none.
    device = SimpleNamespace(compute_capability=capability)
    numba.cuda.dispatcher.get_current_device = lambda: device
    for name, kernel, signature in cases():
        ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability)
        print(f"{name:26}{len(ptx):8} bytes of PTX; {assembled(ptx, arch)}", flush=True)


if __name__ == "__main__":
    main()
