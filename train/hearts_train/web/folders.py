"""The files of a server's tables, in ``server/`` of the user's data folder by default.

The operating system has each line of a table's file before anyone sees its effect, so no line is
lost however the process ends. A loss of power may take the last seconds. Only digests of tokens are
written.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from hearts_env.support.files import held


def data_folder() -> Path:
    """Return this package's folder in the system's folder for user data."""
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
    """The folder of a server, with the tables in ``tables/ID.jsonl``."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it does not exist."""
        self.folder = folder
        self._tables = folder / "tables"
        self._tables.mkdir(parents=True, exist_ok=True, mode=0o700)
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
