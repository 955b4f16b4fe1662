"""What the tables leave on disk: for each a journal, written before anything is told.

A journal is a text file of JSON lines, each with a digest of itself: first what the table is, then
what was done at it, in order. Playing the lines again gives the table as it was. The operating
system has each line before anybody hears of it, so that it outlives the end of this process,
whatever ends it; a loss of power may take the last seconds. Tokens are not written, only their
digests.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hearts_env import CheckpointError
from hearts_env.support.files import held, read_limited, write_whole
from hearts_train.store import sealed as sealed_line
from hearts_train.store import unsealed as entry_of
from hearts_train.web.messages import TABLE_ID

_MOST_BYTES = 8 * 2**20
"""Of a journal; some 100,000 cards."""
_BINARY = getattr(os, "O_BINARY", 0)  # of Windows, which else would write other ends of lines
_MOST_LISTED = 17 * 4096
"""Bytes at the end of the list of somebody's tables that are read; older ones are forgotten."""


def digest_of(token: str) -> str:
    """What stands for a token on disk and in memory; the token does not follow from it."""
    return blake2b(token.encode(), digest_size=16, person=b"hearts seat").hexdigest()


class Journal:
    """One table's file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, head: Mapping[str, Any]) -> None:
        """Begin the journal of a new table.

        Raises:
            OSError: if it is there already, or cannot be written; then there is none.
        """
        try:
            _append(self.path, sealed_line(dict(head)), os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            raise
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the file, where that can be done."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def resume(self) -> list[dict[str, Any]]:
        """The lines of an existing table, which can then be continued.

        A last line that was cut short when the process ended was never told, and is removed.

        Raises:
            HeartsError: if the file is damaged.
            OSError: if it cannot be read, or not be written.
        """
        data = read_limited(self.path, _MOST_BYTES, "a table")
        whole = data[: data.rfind(b"\n") + 1]
        lines = [entry for line in whole.split(b"\n")[:-1] if (entry := entry_of(line))]
        if not lines or len(lines) < whole.count(b"\n"):
            raise CheckpointError(f"table: {str(self.path)!r} is damaged; remove it")
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        return lines

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line; the operating system has it when this returns.

        Raises:
            OSError: if it cannot be written; then the journal is as it was.
        """
        _append(self.path, sealed_line(dict(line)))

    @property
    def is_full(self) -> bool:
        """Whether it is too long to be continued."""
        return self.path.stat().st_size > _MOST_BYTES // 2


def _append(path: Path, data: bytes, flags: int = 0) -> None:
    """Append all of `data` to a file, or nothing.

    Raises:
        OSError: if it cannot be written; then the file is as it was.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY | flags, 0o600)
    try:
        before = os.fstat(handle).st_size
        left = memoryview(data)
        try:
            while left:  # a disk that becomes full takes a part, and refuses the next
                left = left[os.write(handle, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, before)
            raise
    finally:
        os.close(handle)


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
            with (self._people / owner).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_LISTED))
                names = file.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        return list(dict.fromkeys(name for name in names if TABLE_ID.fullmatch(name)))

    def add_table(self, owner: str, table: str) -> None:
        """Note that a person has a seat at a table; a table that is listed stays where it is.

        Raises:
            OSError: if it cannot be written; then the list is as it was.
        """
        if table not in self.tables_of(owner):
            _append(self._people / owner, f"{table}\n".encode(), os.O_CREAT)

    def remove_table(self, owner: str, table: str) -> None:
        """Take a table off a person's list; the table stays."""
        left = [name for name in self.tables_of(owner) if name != table]
        write_whole(self._people / owner, "".join(f"{name}\n" for name in left).encode())
