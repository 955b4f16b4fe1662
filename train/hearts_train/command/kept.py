"""What ``hearts play`` keeps without being asked: every deal, and the table that is not finished.

In the user's data folder ``games/`` has a file of hand histories for each sitting, and ``tables/``
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
from hearts_env.files import held, read_limited, write_whole
from hearts_train.console import Mistake, note

FOLDER_VARIABLE = "HEARTS_DATA_DIR"
_VERSION = 1
_MOST = 16 * 2**20  # bytes of a table's state: thousands of deals


def data_folder() -> Path:
    """Where deals are kept: ``HEARTS_DATA_DIR``, or what the system has for users' data."""
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
    """All that is needed to sit down again at a table.

    Attributes:
        rules: Their text.
        seed: What all deals and the agents' chance follow from.
        number: How many deals or matches this sitting has finished.
        seat: The person's.
        against: The agents, as named.
        is_match: Whether a match is played.
        date: When the sitting began, ``2026-11-21``.
        record: A file that the deals go to as well.
        finished: The hand histories of finished deals and matches of this sitting.
        deals: Those of the deal or match being played; the last one is not finished.
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
        """As a file."""
        return json.dumps({"version": _VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> TableState:
        """From the content of a file.

        Raises:
            CheckpointError: it is not such a file, or of another version.
        """
        try:
            found = json.loads(data)
            if found.pop("version") != _VERSION:
                raise CheckpointError(f"table: {str(path)!r} is of another version of hearts-env")
            state = cls(**found)
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
                f"table: {str(path)!r} is damaged, it cannot be gone on with; remove it"
            ) from None


class Keeper:
    """Writes one sitting's files; what cannot be written is told once and stops nothing."""

    def __init__(self, folder: Path, name: str, record: Path | None = None) -> None:
        """The files of the sitting `name` in a data folder, and perhaps a `record` elsewhere."""
        self.table = folder / "tables" / f"{name}.json"
        self.games = folder / "games" / f"{name}.txt"
        self.record = record
        self._warned: set[Path] = set()

    @classmethod
    def begin(cls, record: Path | None = None) -> Keeper:
        """For a sitting that begins now.

        Raises:
            Mistake: the record is there already, or its folder is not.
        """
        if record is not None:
            if record.exists():
                raise Mistake(f"--record: {record} is there already; name a new file")
            if not record.parent.is_dir():
                raise Mistake(f"--record: there is no folder {record.parent}; make it first")
            record = record.absolute()
        name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return cls(data_folder(), name, record)

    @property
    def is_kept(self) -> bool:
        """Whether the table's state could be written so far."""
        return self.table not in self._warned

    def keep_table(self, state: TableState | None) -> None:
        """Write the state of the table; None: nothing is left to go on with."""
        if state is None:
            with contextlib.suppress(OSError):
                self.table.unlink()
        else:
            self._write(self.table, state.to_bytes(), "you cannot go on with this table later")

    def keep_games(self, text: str) -> None:
        """Write the finished deals of the sitting."""
        self._write(self.games, text.encode(), "the deals of this sitting are not kept")

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
        """Hold the table, so that no other terminal goes on with it meanwhile.

        Raises:
            CheckpointError: another process holds it.
        """
        lock = self.table.with_suffix(".lock")
        with contextlib.ExitStack() as stack:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(lock, f"table: {str(self.table)!r}"))
            except HeartsError:
                raise
            except (OSError, ValueError):
                pass  # where there can be no lock, the first card tells that nothing is kept
            try:
                yield
            finally:
                with contextlib.suppress(OSError, ValueError):
                    if not self.table.exists():
                        lock.unlink()


@contextlib.contextmanager
def latest_table() -> Iterator[tuple[Keeper, TableState]]:
    """The table left last that is not played at somewhere else, held in this block.

    Raises:
        HeartsError: there is none, or its file is damaged.
    """
    folder = data_folder()
    found: list[tuple[int, Path]] = []
    with contextlib.suppress(OSError, ValueError):
        for path in (folder / "tables").glob("*.json"):
            with contextlib.suppress(OSError):
                found.append((path.stat().st_mtime_ns, path))
    in_use: HeartsError | None = None
    for _, path in sorted(found, reverse=True):
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
    raise Mistake("--resume: no unfinished deal or match is kept; start one with 'hearts play'")
