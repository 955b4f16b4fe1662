"""File calls that fail: the n-th of a block's open, write, fsync and replace, as SQLite's tests do.

Only files and folders opened from Python code in the block count, and among those only the ones
opened for writing.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import pathlib
from typing import Any

KINDS = {"full disk": errno.ENOSPC, "broken disk": errno.EIO, "interrupted": errno.EINTR, "exit": 0}
"""The ways to fail, with the number of the error. An exit is a kill, without any clean-up."""


class Died(BaseException):
    """Stands for a kill. Code that catches it and writes again meets it again."""


class Faults:
    """Let the `number`-th file call within this context fail in one way. If 0, only count them."""

    def __init__(self, number: int = 0, kind: str = "full disk") -> None:
        self.number = number
        self.error = KINDS[kind]
        self.count = 0
        self.is_dead = False
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Faults:
        open_file = io.open
        self._replace(io, "open", lambda *a, **k: self._open(open_file, *a, **k))
        self._replace(builtins, "open", io.open)
        self._replace(pathlib.Path, "open", lambda path, *a, **k: open(path, *a, **k))  # noqa: SIM115
        for name in ("open", "fsync", "replace"):
            self._replace(os, name, self._counted(getattr(os, name)))
        self._replace(os, "write", self._written(os.write))
        for name in ("unlink", "remove"):
            self._replace(os, name, self._unless_dead(getattr(os, name)))
        unlink = pathlib.Path.unlink
        self._replace(pathlib.Path, "unlink", self._unless_dead(unlink))
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _call(self) -> None:
        self._die()
        self.count += 1
        if self.count == self.number:
            if not self.error:
                self.is_dead = True
                raise Died
            raise OSError(self.error, os.strerror(self.error))

    def _die(self) -> None:
        if self.is_dead:
            raise Died

    def _counted(self, function: Any) -> Any:
        def counted(*args: Any, **options: Any) -> Any:
            self._call()
            return function(*args, **options)

        return counted

    def _written(self, write: Any) -> Any:
        def written(handle: int, data: Any) -> int:
            try:
                self._call()
            except BaseException:
                write(handle, data[: len(data) // 2])
                raise
            return int(write(handle, data))

        return written

    def _unless_dead(self, function: Any) -> Any:
        def guarded(*args: Any, **options: Any) -> Any:
            self._die()
            return function(*args, **options)

        return guarded

    def _open(self, open_file: Any, path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+"):
            return open_file(path, mode, *args, **options)
        self._call()
        return _File(self, open_file(path, mode, *args, **options))


class _File:
    """A file that counts its writes. If one fails, half of its data arrives."""

    def __init__(self, faults: Faults, file: Any) -> None:
        self._faults, self._file = faults, file

    def write(self, data: Any) -> Any:
        try:
            self._faults._call()
        except BaseException:
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            raise
        return self._file.write(data)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
