"""Faults of a disk, one call at a time, as SQLite's tests do it.

The calls that write a file are counted: open, write, flush, fsync, replace. Then the first of them
fails, then the second, and so on, until one run goes through.
"""

from __future__ import annotations

import builtins
import io
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CALLS = ("open", "fsync", "replace", "rename", "truncate", "ftruncate", "link")
"""Functions of ``os`` that may fail; writing goes through a file's ``write`` and ``flush``."""


class _Counter:
    """Counts calls, and lets one of them fail."""

    def __init__(self, fail_at: int, number: int) -> None:
        self.fail_at, self.number, self.calls = fail_at, number, 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.fail_at:
            raise OSError(self.number, os.strerror(self.number))


class _File:
    """A file opened for writing whose calls are counted."""

    def __init__(self, file: Any, count: _Counter) -> None:
        self._file, self._count = file, count

    def write(self, data: Any) -> Any:
        self._count()
        return self._file.write(data)

    def flush(self) -> None:
        self._count()
        self._file.flush()

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def every_fault(
    work: Callable[[], object],
    number: int,
    before: Callable[[], object] = lambda: None,
    limit: int = 1000,
) -> Iterator[BaseException]:
    """Run `work` with its first, second, ... call failing; gives what it raised each time.

    Args:
        work: what writes.
        number: the ``errno`` of the failing call.
        before: called before each run, with nothing failing.
        limit: at most this many runs.
    """
    for fail_at in range(1, limit):
        before()
        count = _Counter(fail_at, number)
        with pytest.MonkeyPatch.context() as patch:
            _patch(patch, count)
            try:
                work()
                fault = None
            except OSError as error:
                fault = error
        if count.calls < fail_at:
            return
        if fault is not None:
            yield fault
    raise AssertionError(f"still calling after {limit} faults")


def _patch(patch: pytest.MonkeyPatch, count: _Counter) -> None:
    for name in CALLS:
        if hasattr(os, name):
            patch.setattr(os, name, _counted(getattr(os, name), count))
    plain = builtins.open

    def opened(path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if mode.startswith("r") and "+" not in mode:
            return plain(path, mode, *args, **options)
        count()
        return _File(plain(path, mode, *args, **options), count)

    patch.setattr(builtins, "open", opened)
    patch.setattr(io, "open", opened)
    patch.setattr(pathlib.Path, "open", lambda path, *a, **o: opened(str(path), *a, **o))


def _counted(function: Callable[..., Any], count: _Counter) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        count()
        return function(*args, **options)

    return call
