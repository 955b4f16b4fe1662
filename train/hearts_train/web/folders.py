"""The files of a server's tables; ``server/`` in the user's data folder unless another is named.

The operating system has each line of a table's file before anyone sees its effect, so that it
outlives this process, however it ends. A loss of power may take the last seconds. Tokens are not
written, only their digests.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from hearts_env.support.files import held, write_whole
from hearts_train.web.table import TABLE_ID

FOLDER_VARIABLE = "HEARTS_DATA_DIR"
_MOST_LISTED = 17 * 4096
"""Bytes at the end of a person's list of tables that are read; older tables are forgotten."""


def data_folder() -> Path:
    """Return the folder of data: ``HEARTS_DATA_DIR``, or the system's folder for users' data."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "hearts-env"


def digest_of(token: str) -> str:
    """Return a token as it is saved; the token does not follow from it."""
    return blake2b(token.encode(), digest_size=16, person=b"hearts seat").hexdigest()


class ServerFolder:
    """The folder of a server: ``tables/ID.jsonl``, and ``people/DIGEST`` with their tables."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, if it is not there."""
        self.folder = folder
        self._tables, self._people = folder / "tables", folder / "people"
        for path in (self._tables, self._people):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.num_tables = sum(1 for _ in os.scandir(self._tables))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder, so that no other server writes to it.

        Raises:
            CheckpointError: if another process has the lock.
        """
        with held(self.folder / ".lock", f"data: {str(self.folder)!r}"):
            yield

    def path_of(self, table: str) -> Path:
        """Return the file of a table, which need not exist."""
        return self._tables / f"{table}.jsonl"

    def tables_of(self, owner: str) -> list[str]:
        """Return the tables of a person, given the digest of the token, oldest seat first."""
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
            self._list(owner, [*self.tables_of(owner), table])

    def remove_table(self, owner: str, table: str) -> None:
        """Take a table off a person's list; the table stays."""
        self._list(owner, [name for name in self.tables_of(owner) if name != table])

    def _list(self, owner: str, tables: list[str]) -> None:
        write_whole(self._people / owner, "".join(f"{name}\n" for name in tables).encode())
