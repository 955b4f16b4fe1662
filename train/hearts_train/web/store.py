"""What the tables leave on disk: for each a journal, written before anything is told.

A journal is a text file of JSON lines: first what the table is, then what was done at it, in order.
Whoever plays the lines again has the table as it was. Each line is with the operating system before
anybody is told of it, so that it outlives the end of this process, whatever ends it; a loss of
power may take the last seconds. Tokens are not written, only their digests.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hearts_env import CheckpointError
from hearts_env.files import held, read_limited, write_whole

_MOST_BYTES = 8 * 2**20
"""Of a journal; some 100,000 cards."""
_BINARY = getattr(os, "O_BINARY", 0)  # of Windows, which else would write other ends of lines
_MOST_PEOPLE = 2**20
"""Bytes of the list of somebody's tables."""


def digest_of(token: str) -> str:
    """What stands for a token on disk and in memory; the token does not follow from it."""
    return blake2b(token.encode(), digest_size=16, person=b"hearts seat").hexdigest()


class Journal:
    """One table's file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._length = 0

    def create(self, head: Mapping[str, Any]) -> None:
        """Begin the journal of a new table.

        Raises:
            OSError: if it is there already, or cannot be written.
        """
        self._append(head, os.O_CREAT | os.O_EXCL)

    def resume(self) -> list[dict[str, Any]]:
        """The lines of a table that is there, to go on with it.

        A line that was not finished when the process ended was never told, and is cut off.

        Raises:
            HeartsError: if the file is damaged.
            OSError: if it cannot be read, or not be written.
        """
        data = read_limited(self.path, _MOST_BYTES, "a table")
        whole = data[: data.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except (ValueError, RecursionError):
            lines = []
        if not lines or not all(type(line) is dict for line in lines):
            raise CheckpointError(f"table: {str(self.path)!r} is damaged; remove it")
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        self._length = len(whole)
        return lines

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line; it is with the operating system when this returns.

        Raises:
            OSError: if it cannot be written; then the journal is as it was.
        """
        self._append(line, 0)

    def _append(self, line: Mapping[str, Any], flags: int) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | _BINARY | flags, 0o600)
        try:
            left = memoryview(data)
            while left:  # a disk that becomes full takes a part, and refuses the next
                left = left[os.write(handle, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self._length)
            raise
        finally:
            os.close(handle)
        self._length += len(data)

    @property
    def is_full(self) -> bool:
        """Whether it is too long to go on with."""
        return self._length > _MOST_BYTES // 2


class Store:
    """The folder of a server: ``tables/ID.jsonl``, and ``people/DIGEST`` with their tables."""

    def __init__(self, folder: Path) -> None:
        """The store in `folder`, which is made.

        Raises:
            OSError: if it cannot be made.
        """
        self.folder = folder
        self._tables, self._people = folder / "tables", folder / "people"
        for path in (self._tables, self._people):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.num_tables = sum(1 for _ in os.scandir(self._tables))

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the folder, so that no other server writes to it.

        Raises:
            CheckpointError: if another process holds it.
        """
        with held(self.folder / ".lock", f"data: {str(self.folder)!r}"):
            yield

    def journal(self, table: str) -> Journal:
        """The journal of a table, there or not."""
        return Journal(self._tables / f"{table}.jsonl")

    def has(self, table: str) -> bool:
        """Whether there is such a table."""
        return (self._tables / f"{table}.jsonl").is_file()

    def tables_of(self, owner: str) -> list[str]:
        """The tables of a person, by the digest of the token, in the order of sitting down."""
        try:
            data = read_limited(self._people / owner, _MOST_PEOPLE, "a list of tables")
        except FileNotFoundError:
            return []
        names = data.decode(errors="replace").split()
        return list(dict.fromkeys(names))

    def add_table(self, owner: str, table: str) -> None:
        """Note that a person has a seat at a table.

        Raises:
            OSError: if it cannot be written.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY
        handle = os.open(self._people / owner, flags, 0o600)
        try:
            os.write(handle, f"{table}\n".encode())
        finally:
            os.close(handle)

    def remove_table(self, owner: str, table: str) -> None:
        """Take a table off a person's list; the table stays."""
        left = [name for name in self.tables_of(owner) if name != table]
        write_whole(self._people / owner, "".join(f"{name}\n" for name in left).encode())
