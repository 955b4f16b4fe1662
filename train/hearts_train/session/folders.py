"""The files of tables, and of the deals of a session at the terminal.

The operating system has each line of a table's file before anybody sees its effect, so that it
outlives this process, whatever ends it. Of a server's tables a loss of power may take the last
seconds. Tokens are not written, only their digests.

In the user's data folder, ``games/`` has a file of hand histories for each session at a terminal
that named no other, and ``tables/`` the tables that were left before their end; ``server/`` is the
folder of a server.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hearts_env import CheckpointError, HeartsError
from hearts_env.support.files import held, write_whole
from hearts_train.screen import note
from hearts_train.session.table import KIND, TABLE_ID, Line, Table
from hearts_train.store import Store

FOLDER_VARIABLE = "HEARTS_DATA_DIR"
_MOST_LISTED = 17 * 4096
"""Bytes at the end of the list of somebody's tables that are read; older ones are forgotten."""


def data_folder() -> Path:
    """Where deals are saved: ``HEARTS_DATA_DIR``, or the system's folder for users' data."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "hearts-env"


# ---- at a terminal -------------------------------------------------------------------------------
class SessionFiles:
    """Writes the files of one session; each that cannot be written is warned of once.

    It is the journal of the session's table: lines that could not be written wait for the next.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """The files of the session `name` in a data folder."""
        self.table = folder / "tables" / f"{name}.jsonl"
        self.games = folder / "games" / f"{name}.txt"
        self._store: Store | None = None
        self._head: Mapping[str, Any] = {}
        self._waiting: list[Line] = []
        self._warned: set[Path] = set()

    @classmethod
    def begin(cls, games: Path | None = None) -> SessionFiles:
        """The files of a session that begins now; `games`: its file of hand histories.

        Raises:
            HeartsError: if that file already exists, or its folder does not.
        """
        name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        files = cls(data_folder(), name)
        if games is not None:
            if games.exists():
                raise HeartsError(f"--save: {games} already exists; name a new file")
            if not games.parent.is_dir():
                raise HeartsError(f"--save: there is no folder {games.parent}; make it first")
            files.games = games.absolute()
        return files

    def save_table(self, table: Table) -> None:
        """Save a table from now on: a new one, or one that was read from its file."""
        if isinstance(table.journal, Store):
            self._store = table.journal
        self._head = table.head()
        table.journal = self
        self._write_lines()

    @property
    def is_saved(self) -> bool:
        """Whether all lines of the table have been written."""
        return self._store is not None and not self._waiting

    @property
    def size(self) -> int:
        """Bytes of the table's file."""
        return 0 if self._store is None else self._store.size

    def append(self, entry: Line) -> None:
        """Write a line of the table's file."""
        self._waiting.append(entry)
        self._write_lines()

    def _write_lines(self) -> None:
        with self._warning(self.table, "this table cannot be resumed later"):
            if self._store is None:
                self.table.parent.mkdir(parents=True, exist_ok=True)
                self._store = Store.create(self.table, KIND, self._head)
            while self._waiting:
                self._store.append(self._waiting[0])
                del self._waiting[0]

    def remove_table(self) -> None:
        """Remove the file of a table that is played to its end."""
        with contextlib.suppress(OSError, ValueError):
            self.table.unlink()

    def save_games(self, text: str) -> None:
        """Write the deals of the session."""
        with self._warning(self.games, "the deals are not saved; use 'save FILE'"):
            self.games.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.games, text.encode())

    @contextlib.contextmanager
    def _warning(self, path: Path, consequence: str) -> Iterator[None]:
        """Warn once of a file that cannot be written, and go on."""
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: a NUL in the folder's name
            if path not in self._warned:
                self._warned.add(path)
                why = getattr(error, "strerror", None) or error
                note(f"warning: {path} cannot be written ({why}); {consequence}")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the table, so that no other terminal resumes it in the meantime.

        Raises:
            CheckpointError: if another process has the lock.
        """
        lock = self.table.with_suffix(".lock")
        with contextlib.ExitStack() as stack:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(lock, f"table: {str(self.table)!r}"))
            except HeartsError:
                raise
            except (OSError, ValueError):
                pass  # the first card warns that nothing is saved
            yield


@contextlib.contextmanager
def latest_table(
    before: Callable[[Table, Line], None] = lambda _table, _line: None,
) -> Iterator[tuple[SessionFiles, Table]]:
    """The last table that no other process plays at, locked in this block.

    Args:
        before: called before each line of the table is followed.

    Raises:
        HeartsError: if there is no such table, or its file is damaged.
    """
    folder = data_folder()
    paths: list[tuple[int, Path]] = []
    with contextlib.suppress(OSError, ValueError):
        for path in (folder / "tables").glob("*.jsonl"):
            with contextlib.suppress(OSError):
                paths.append((path.stat().st_mtime_ns, path))
    none = "--resume: there is no unfinished deal or match; start one with 'hearts play'"
    error = HeartsError(none)
    for _, path in sorted(paths, reverse=True):
        files = SessionFiles(folder, path.stem)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(files.locked())
            except CheckpointError as in_use:
                error = in_use
                continue
            if path.exists():  # else it was played to its end since it was listed
                table = Table.resume(path, before, is_synced=True)
                files.save_table(table)
                yield files, table
                return
    raise error


# ---- at a server ---------------------------------------------------------------------------------
def digest_of(token: str) -> str:
    """A token as it is saved: the token does not follow from it."""
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
        """The file of a table, which need not exist."""
        return self._tables / f"{table}.jsonl"

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
            self._list(owner, [*self.tables_of(owner), table])

    def remove_table(self, owner: str, table: str) -> None:
        """Take a table off a person's list; the table stays."""
        self._list(owner, [name for name in self.tables_of(owner) if name != table])

    def _list(self, owner: str, tables: list[str]) -> None:
        write_whole(self._people / owner, "".join(f"{name}\n" for name in tables).encode())
