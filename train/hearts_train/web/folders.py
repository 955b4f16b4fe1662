"""The files of a server's tables, in ``server/`` of the user's data folder by default.

The operating system has each line of a table's file before anyone sees its effect, so no line is
lost however the process ends. A loss of power may take the last seconds. Of tokens only digests are
written.
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
"""Bytes read from the end of a person's list of tables. Older tables are forgotten."""


def data_folder() -> Path:
    """Return ``HEARTS_DATA_DIR``, or else the system's folder for user data."""
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
    """Return the digest that is saved in place of a token."""
    return blake2b(token.encode(), digest_size=16, person=b"hearts seat").hexdigest()


class ServerFolder:
    """The folder of a server: ``tables/ID.jsonl``, and ``people/DIGEST`` with their tables."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it does not exist."""
        self.folder = folder
        self._tables, self._people = folder / "tables", folder / "people"
        for path in (self._tables, self._people):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.num_tables = sum(1 for _ in os.scandir(self._tables))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other servers.

        Raises:
            CheckpointError: if another process has the lock.
        """
        with held(self.folder / ".lock", f"data: {str(self.folder)!r}"):
            yield

    def path_of(self, table: str) -> Path:
        """Return the path of a table's file. It need not exist."""
        return self._tables / f"{table}.jsonl"

    def tables_of(self, owner: str) -> list[str]:
        """Return a person's tables, oldest seat first; `owner` is the digest of the token."""
        try:
            with (self._people / owner).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_LISTED))
                names = file.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        return list(dict.fromkeys(name for name in names if TABLE_ID.fullmatch(name)))

    def add_table(self, owner: str, table: str) -> None:
        """List a table for a person, unless it is listed already.

        Raises:
            OSError: if it cannot be written. The list is then unchanged.
        """
        if table not in self.tables_of(owner):
            self._list(owner, [*self.tables_of(owner), table])

    def remove_table(self, owner: str, table: str) -> None:
        """Take a table off a person's list. The table stays."""
        self._list(owner, [name for name in self.tables_of(owner) if name != table])

    def _list(self, owner: str, tables: list[str]) -> None:
        write_whole(self._people / owner, "".join(f"{name}\n" for name in tables).encode())
