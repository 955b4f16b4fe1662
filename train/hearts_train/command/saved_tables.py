"""What ``hearts play`` saves without being asked: every deal, and the unfinished table.

In the user's data folder, ``games/`` has a file of hand histories for each session, and ``tables/``
the state of each table that was left before its end, written after every card.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import secrets
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hearts_env import CheckpointError, HeartsError
from hearts_env.support.files import held, read_limited, write_whole
from hearts_train.console import Mistake, note

FOLDER_VARIABLE = "HEARTS_DATA_DIR"
_VERSION = 1
_MOST = 16 * 2**20  # bytes of a table's state: thousands of deals


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


@dataclass(frozen=True)
class TableState:
    """All that is needed to resume play at a table.

    Attributes:
        rules: The text of the rules.
        seed: The seed of all deals and of the agents' random numbers.
        number: How many deals or matches this session has finished.
        seat: The person's seat.
        against: The agents, as named.
        is_match: Whether a match is played.
        date: When the session began, ``2026-11-21``.
        record: A file to which the deals are written as well.
        finished: The hand histories of finished deals and matches of this session.
        deals: Those of the deal or match being played; the last one is unfinished.
    """

    rules: str
    seed: int
    number: int
    seat: int
    against: list[str]
    is_match: bool
    date: str
    record: str | None
    finished: list[str]
    deals: list[str]

    def to_bytes(self) -> bytes:
        """The content of a file."""
        return json.dumps({"version": _VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> TableState:
        """The state in a file's content.

        Raises:
            CheckpointError: if the file is damaged, or of another version.
        """
        try:
            fields = json.loads(data)
            if fields.pop("version") != _VERSION:
                raise CheckpointError(
                    f"table: {str(path)!r} is from another version of hearts-env; remove it"
                )
            state = cls(**fields)
            kinds = {"rules": str, "seed": int, "number": int, "seat": int, "is_match": bool}
            fits = all(type(getattr(state, name)) is kind for name, kind in kinds.items())
            lists = (state.against, state.finished, state.deals)
            words = [state.date, state.record or "", *(word for part in lists for word in part)]
            if not fits or not state.deals or not all(isinstance(w, str) for w in words):
                raise ValueError
            return state
        except CheckpointError:
            raise
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise CheckpointError(
                f"table: {str(path)!r} is damaged and cannot be resumed; remove it"
            ) from None


class Keeper:
    """Writes the files of one session; each that cannot be written is warned of once."""

    def __init__(self, folder: Path, name: str, record: Path | None = None) -> None:
        """The files of the session `name` in a data folder, and perhaps a `record` elsewhere."""
        self.table = folder / "tables" / f"{name}.json"
        self.games = folder / "games" / f"{name}.txt"
        self.record = record
        self._warned: set[Path] = set()

    @classmethod
    def begin(cls, record: Path | None = None) -> Keeper:
        """The files of a session that begins now.

        Raises:
            Mistake: if the record already exists, or its folder does not.
        """
        if record is not None:
            if record.exists():
                raise Mistake(f"--record: {record} already exists; name a new file")
            if not record.parent.is_dir():
                raise Mistake(f"--record: there is no folder {record.parent}; make it first")
            record = record.absolute()
        name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls(data_folder(), name, record)

    @property
    def is_kept(self) -> bool:
        """Whether the table's state has been written so far."""
        return self.table not in self._warned

    def keep_table(self, state: TableState | None) -> None:
        """Write the state of the table; None: it is finished, so remove the state."""
        if state is None:
            with contextlib.suppress(OSError):
                self.table.unlink()
        else:
            self._write(self.table, state.to_bytes(), "this table cannot be resumed later")

    def keep_games(self, text: str) -> None:
        """Write the finished deals of the session."""
        self._write(self.games, text.encode(), "the deals of this session are not saved")

    def write_record(self, text: str) -> None:
        """Write the record that was asked for, if one was."""
        if self.record is not None:
            self._write(self.record, text.encode(), "save the deals with 'save FILE'")

    def _write(self, path: Path, data: bytes, consequence: str) -> None:
        try:
            if path != self.record:
                path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the folder's name
            if path not in self._warned:
                self._warned.add(path)
                why = getattr(error, "strerror", None) or error
                note(f"warning: {path} cannot be written ({why}); {consequence}")

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the table, so that no other terminal resumes it in the meantime.

        Raises:
            CheckpointError: if another process holds it.
        """
        lock = self.table.with_suffix(".lock")
        with contextlib.ExitStack() as stack:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(lock, f"table: {str(self.table)!r}"))
            except HeartsError:
                raise
            except (OSError, ValueError):
                pass  # where no lock can be taken, the first card warns that nothing is saved
            yield


@contextlib.contextmanager
def latest_table() -> Iterator[tuple[Keeper, TableState]]:
    """The table left last that no other process plays at, held in this block.

    Raises:
        HeartsError: if there is no such table, or its file is damaged.
    """
    folder = data_folder()
    paths: list[tuple[int, Path]] = []
    with contextlib.suppress(OSError, ValueError):
        for path in (folder / "tables").glob("*.json"):
            with contextlib.suppress(OSError):
                paths.append((path.stat().st_mtime_ns, path))
    in_use: HeartsError | None = None
    for _, path in sorted(paths, reverse=True):
        keeper = Keeper(folder, path.stem)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(keeper.holding())
                data = read_limited(path, _MOST, "a table")
            except CheckpointError as error:
                in_use = error
                continue
            except FileNotFoundError:  # played to its end since it was listed
                continue
            state = TableState.from_bytes(data, path)
            keeper.record = Path(state.record) if state.record else None
            yield keeper, state
            return
    if in_use is not None:
        raise in_use
    raise Mistake("--resume: there is no unfinished deal or match; start one with 'hearts play'")
