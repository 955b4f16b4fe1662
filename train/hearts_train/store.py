"""Files that survive a kill: a header line, then one sealed line per record, only appended.

Each line is JSON with a digest of its content. The header names the kind of file, the version of
the package that wrote it, and the settings that determine the records.
An incomplete last line is dropped. Any other line with a wrong digest was edited or damaged. It is
left out of the records, and its number is listed. The digest detects accidents, not forgery.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hearts_env import CheckpointError, HeartsError, __version__
from hearts_env.support.arguments import check_path
from hearts_env.support.errors import quoted
from hearts_env.support.files import check_output, held, lock_beside, read_limited, write_whole

MOST_BYTES = 2**31
_BINARY = getattr(os, "O_BINARY", 0)  # on Windows, against a conversion of line ends


class FileKind(NamedTuple):
    """The kind of a file."""

    name: str
    """The name in the header, like ``hearts-env results``."""
    argument: str
    """The argument that names such a file, which starts messages, like ``resume``."""
    article: str
    """The kind in messages, like ``a file of results``."""
    advice: str
    """The advice for a file of another kind, like ``give one that --save has written``."""


class Store:
    """A file of records.

    To append, hold the lock of the file (``saving``) or of its folder.

    Attributes:
        path: the file.
        settings: the settings that determine the records.
        records: the records in the file when it was opened, in order, without those appended since.
        damaged: the numbers of damaged lines, from 1.
    """

    def __init__(self, path: Path, settings: dict[str, Any], *, is_synced: bool) -> None:
        self.path = path
        self.settings = settings
        self.records: list[dict[str, Any]] = []
        self.damaged: list[int] = []
        self._is_synced = is_synced
        self._end = 0

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        kind: FileKind,
        settings: Mapping[str, Any],
        *,
        is_synced: bool = True,
    ) -> Store:
        """Create a file with its header, whole or not at all. Never overwrite.

        Args:
            path: the file.
            kind: its kind.
            settings: a mapping of JSON types.
            is_synced: if True, every line survives a loss of power. If False, it survives the end
                of this process.

        Raises:
            FileExistsError: if the file exists.
            OSError: if it cannot be written. Then there is no file.
        """
        store = cls(Path(path), _plain(settings), is_synced=is_synced)
        header = {"format": kind.name, "package": __version__, "settings": settings}
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        data = sealed(header)
        write_whole(store.path, data)
        store._end = len(data)
        return store

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        kind: FileKind,
        *,
        is_synced: bool = True,
        limit: int = MOST_BYTES,
    ) -> Store:
        """Read a file that this version of the package wrote. New lines follow its last whole one.

        Args:
            path: the file.
            kind: its kind.
            is_synced: if True, every new line survives a loss of power. If False, it survives the
                end of this process.
            limit: its maximum size in bytes.

        Raises:
            HeartsError: if it is too large, of another kind, written by another version of the
                package, or its header is damaged.
            OSError: if it cannot be read.
        """
        path = Path(path)
        name, where = repr(str(path)), kind.argument
        data = read_limited(path, limit, kind.article)
        end = data.rfind(b"\n") + 1
        lines = data[:end].split(b"\n")[:-1]
        header = unsealed(lines[0]) if lines else None
        if header is None or header.get("format") != kind.name:
            raise HeartsError(f"{where}: {name} is not {kind.article}; {kind.advice}")
        package, settings = header.get("package"), header.get("settings")
        if package != __version__ or not isinstance(settings, dict):
            raise CheckpointError(
                f"{where}: {name} was written by version {quoted(package)} of hearts-env, this is "
                f"{quoted(__version__)}, which may play differently; use the version that wrote "
                "it, or start another file"
            )
        store = cls(path, settings, is_synced=is_synced)
        store._end = end
        for number, line in enumerate(lines[1:], 2):
            entry = unsealed(line)
            if entry is None:
                store.damaged.append(number)
            else:
                store.records.append(entry)
        return store

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write a record. It then survives the end of this process.

        Raises:
            OSError: if it cannot be written. Then the file is unchanged.
        """
        data = sealed(entry)
        try:
            handle = os.open(self.path, os.O_WRONLY | _BINARY)
            try:
                self._write(handle, data)
            finally:
                os.close(handle)
        except OSError as error:
            error.filename = str(self.path)
            raise
        self._end += len(data)

    def _write(self, handle: int, data: bytes) -> None:
        """Write data after the last whole line, all of it or nothing."""
        os.ftruncate(handle, self._end)  # drop an incomplete line
        os.lseek(handle, self._end, os.SEEK_SET)
        left = memoryview(data)
        try:
            while left:  # a disk that fills up takes only a part
                left = left[os.write(handle, left) :]
            if self._is_synced:
                os.fsync(handle)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self._end)
            raise

    @property
    def size(self) -> int:
        """The number of bytes up to the end of the last whole line."""
        return self._end


@contextmanager
def saving(
    save: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    kind: FileKind,
    settings: Mapping[str, Any],
) -> Iterator[Store | None]:
    """Open the file that results are saved to, locked against other processes.

    Yield None if neither `save` nor `resume` is given.

    Args:
        save: a new file. If None, no file is begun.
        resume: a file to continue, written by this version of the package. If None, no file is
            continued.
        kind: its kind.
        settings: the settings that determine the results. A file to continue must have the same.

    Raises:
        HeartsError: if both are given, the new file exists or has no folder, the file to continue
            is of another kind or has other settings, or another process holds it.
        OSError: if it cannot be read or written.
    """
    path = check_place(save, resume)  # before the lock file is made, which would stay after errors
    if path is None:
        yield None
        return
    with held(lock_beside(path), f"results: {str(path)!r}"):
        if resume is not None:
            store = Store.open(path, kind)
            _check_settings(str(path), store.settings, _plain(settings))
        else:
            check_place(save, resume)
            store = Store.create(path, kind, settings)
        yield store


def check_place(
    save: str | os.PathLike[str] | None, resume: str | os.PathLike[str] | None
) -> Path | None:
    """Return the file that ``saving`` creates or continues, or None if neither is given.

    Raises:
        HeartsError: if both are given, or the new file exists or cannot be written.
        OSError: if the file to continue does not exist or cannot be written.
    """
    if save is not None and resume is not None:
        raise HeartsError("save: resumed work stays in its file; omit save")
    if resume is not None:
        path = check_path("resume", resume)
        path.stat()
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return path
    if save is None:
        return None
    path = check_path("save", save)
    check_output(path, "save")
    if os.path.lexists(path):
        raise HeartsError(
            f"save: {str(path)!r} already exists; continue it with resume (--resume), or name "
            "another file"
        )
    return path


def sealed(entry: Mapping[str, Any]) -> bytes:
    """Return a record as a line of a file, with its digest."""
    text = json.dumps(dict(entry), allow_nan=False, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f'{{"digest":"{digest}","entry":{text}}}\n'.encode()


def unsealed(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line (given without its end), or None if it is damaged."""
    try:
        entry = json.loads(line)["entry"]
        return entry if isinstance(entry, dict) and sealed(entry) == line + b"\n" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def misfit(value: Any, shape: Any, place: str = "") -> str:
    """Return the first difference of JSON from its expected shape, like ``deals is 'x'``, or "".

    A shape is one of:

    - a type, where an ``int`` has 64 bits, and a ``float`` is any number within a quadrillion
    - None, for null
    - a list with one shape, for a list of any length
    - a dict from each required field to its shape (other fields are allowed)
    - a tuple of shapes, of which one must fit

    Args:
        value: the JSON.
        shape: the expected shape.
        place: the name of the value, for the description.
    """
    if isinstance(shape, dict) and isinstance(value, dict):
        for name, inner in shape.items():
            at = f"{place}.{name}" if place else name
            wrong = misfit(value[name], inner, at) if name in value else f"{at} is missing"
            if wrong:
                return wrong
        return ""
    if isinstance(shape, list) and isinstance(value, list):
        wrongs = (misfit(one, shape[0], f"{place}[{number}]") for number, one in enumerate(value))
        return next(filter(None, wrongs), "")
    if isinstance(shape, tuple):
        return min((misfit(value, one, place) for one in shape), key=bool)
    if shape is float:
        fits = type(value) in (int, float) and -_MOST <= value <= _MOST
    elif shape is int:
        fits = type(value) is int and -(2**63) <= value < 2**63
    else:
        fits = value is None if shape is None else type(value) is shape
    return "" if fits else f"{place} is {quoted(value)}"


_MOST = 1e15
"""The largest number in a file of results."""


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as JSON will return it, with lists for tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return plain


def _check_settings(path: str, there: dict[str, Any], here: dict[str, Any], of: str = "") -> None:
    """Raise if a file has other settings. The message names the difference."""
    for field, value in here.items():
        old, name = there.get(field), of + field
        if isinstance(old, dict) and isinstance(value, dict) and old.keys() == value.keys():
            _check_settings(path, old, value, f"{name}, ")
        elif field == "agents" and isinstance(old, list) and len(old) == len(value):
            for number, (one, other) in enumerate(zip(old, value, strict=True)):
                _check_settings(path, {"": one}, {"": other}, f"agents[{number}]")
        elif old != value:
            raise HeartsError(
                f"resume: {name} of {path!r} is {quoted(old)}, here it is {quoted(value)}; give "
                "the same, or start another file"
            )
