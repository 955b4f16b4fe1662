"""Files of ``hearts solve``: NumPy archives (.npz) of which nothing is read unchecked.

A file is a zip of ``header.npy``, JSON text, and of arrays. Which members there are, their sizes
and the forms of their numbers are compared with what the game tree needs before any of them is
unpacked, so that a small file cannot fill the memory. Nothing in a file can run code.

The header's ``digest`` is a BLAKE2b of all else in the file; files of before have none.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import kind_of, writing_whole

FORMAT, VERSION = "hearts-env equilibrium", 1

MOST_HEADER = 16 * 2**20
"""Bytes of ``header.npy`` at most; a state whose curve has 20,000 points takes half of it."""

_MOST_DIRECTORY = 100_000  # bytes; ours has some 500, and zipfile may look for a comment of 65,535
_CHUNK = 2**20
_PREAMBLE = 10  # bytes of an .npy file before its form: magic, version, length
_FORM = re.compile(
    r"\{'descr': '([<>|][fu]\d|<U\d{1,9})', 'fortran_order': False, "
    r"'shape': \((\d{0,15}),?\), \} *\n"
)


def write_archive(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, Array], *, compress: bool
) -> None:
    """Write a file whole or not at all, in pieces: some 16 MB of memory beside the arrays.

    Raises:
        HeartsError: its folder is not there.
        OSError: it cannot be written; what was there stands.
    """
    check_folder(path)
    stated = {**header, "digest": _digest(header, arrays)}
    write = np.savez_compressed if compress else np.savez
    text = np.array(json.dumps(stated, allow_nan=False))
    with writing_whole(path) as file:
        write(file, header=text, **arrays)  # type: ignore[arg-type]


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there.

    Raises:
        HeartsError: it is not.
    """
    if not path.parent.is_dir():
        raise HeartsError(f"save_to: there is no folder {str(path.parent)!r}; make it first")


@contextmanager
def opened(path: str | Path, most_bytes: float) -> Iterator[Archive]:
    """A file to read from in this block, its header read.

    Args:
        path: the file.
        most_bytes: what it may have at most.

    Raises:
        CheckpointError: if it is not a file of `hearts solve`, or is larger.
    """
    where = str(path) if str(path).isprintable() else quoted(str(path))
    if kind_of(path) != "file":
        raise CheckpointError(f"{where[:300]}: there is no such file; check the path")
    if Path(path).stat().st_size > most_bytes + MOST_HEADER:
        raise CheckpointError(
            f"{where}: is larger than {most_bytes / 1e9:g} GB; allow more (max_memory), or give "
            "another file"
        )
    with Path(path).open("rb") as file:
        yield Archive(where, file)


class Archive:
    """A file of ``hearts solve`` from which arrays can be read.

    Attributes:
        where: Its path, for messages.
        header: What stands in its header.
    """

    def __init__(self, where: str, file: IO[bytes]) -> None:
        """Look at the directory of the file and read the header; the arrays come later."""
        self.where = where
        try:
            self._zip = zipfile.ZipFile(_Careful(file))
            self._members = {info.filename: info for info in self._zip.infolist()}
            if len(self._members) != len(self._zip.infolist()):
                raise ValueError("two members of one name")
            if self._members["header.npy"].file_size > MOST_HEADER:
                raise ValueError("a header that is too large")
            raw = self._read("header", "U").tobytes().decode("utf-32-le")
            self.header = json.loads(raw)
        except Exception:  # zipfile raises some ten kinds for what may be in a file
            raise self._damaged() from None
        if not isinstance(self.header, dict) or self.header.get("format") != FORMAT:
            raise CheckpointError(f"{where}: is not a file of `hearts solve`; give one that is")
        if self.header.get("version") != VERSION:
            raise CheckpointError(
                f"{where}: is of version {quoted(self.header.get('version'))}, this package reads "
                f"{VERSION}; install the version that wrote it"
            )

    @property
    def most_numbers(self) -> int:
        """How many numbers the arrays can have, by the sizes that the file states."""
        return sum(info.file_size for info in self._members.values()) // 2

    def arrays(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """The arrays, each of as many numbers as `sizes` says; there must be these and no others.

        Raises:
            CheckpointError: they are others, are damaged, or have values that are not finite.
        """
        if set(self._members) != {f"{name}.npy" for name in ("header", *sizes)}:
            told = ", ".join(sorted(sizes))
            raise CheckpointError(
                f"{self.where}: other arrays than {told} are in it; solve it again"
            )
        found = {}
        for name, size in sizes.items():
            try:
                array = self._read(name, "fu", size)
            except _OtherSizeError:
                raise CheckpointError(
                    f"{self.where}: {name} is of another size than its rules need; solve it again"
                ) from None
            except Exception:
                raise self._damaged() from None
            if not np.isfinite(array).all():
                raise CheckpointError(
                    f"{self.where}: {name} has values that are not finite; solve it again"
                )
            found[name] = array
        stated = {name: value for name, value in self.header.items() if name != "digest"}
        if "digest" in self.header and self.header["digest"] != _digest(stated, found):
            raise CheckpointError(
                f"{self.where}: its content is not what was written (digest); the file is damaged: "
                "take another copy, or solve it again"
            )
        return found

    def _read(self, name: str, kinds: str, size: int | None = None) -> Array:
        """A member's numbers, once its stated sizes agree with each other and with `size`."""
        info = self._members[f"{name}.npy"]
        if info.flag_bits & ~0x808 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise ValueError("encrypted, or packed in a way that NumPy does not use")
        with self._zip.open(info) as file:
            start = file.read(_PREAMBLE)
            length = int.from_bytes(start[8:10], "little")
            if start[:8] != b"\x93NUMPY\x01\x00" or length > 1000:
                raise ValueError("not an array")
            form = _FORM.fullmatch(file.read(length).decode("ascii"))
            if form is None or form[1].lstrip("<>|")[0] not in kinds:
                raise ValueError("an array of another form")
            dtype = np.dtype(form[1])
            number = int(form[2]) if form[2] else 1
            if size is not None and number != size:
                raise _OtherSizeError
            whole = number * dtype.itemsize
            if info.file_size != _PREAMBLE + length + whole:
                raise ValueError("a size that does not agree with the form")
            data = np.empty(whole, np.uint8)
            done = 0
            while done < whole:  # in pieces, so that nothing is there twice
                piece = file.read(min(_CHUNK, whole - done))
                if not piece:
                    raise EOFError
                data[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
                done += len(piece)
            if file.read(1):  # at the end zipfile compares the checksum
                raise ValueError("more than stated")
        return data if kinds == "U" else data.view(dtype)

    def _damaged(self) -> CheckpointError:
        return CheckpointError(
            f"{self.where}: is not a whole file of `hearts solve`; it was cut short, or is "
            "something else"
        )


class _OtherSizeError(Exception):
    """An array has not the size that is needed."""


class _Careful:
    """A file of which zipfile may not read a directory of any size at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self.close = file.close

    def read(self, size: int = -1) -> bytes:
        if size > max(_MOST_DIRECTORY, _CHUNK):
            raise zipfile.BadZipFile("a directory of this size is not ours")
        return self.file.read(_CHUNK if size < 0 else size)


def _digest(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """A BLAKE2b of the header's other entries and of all arrays, in hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(dict(header), sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"\n{name} {array.dtype.str} {array.size}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()
