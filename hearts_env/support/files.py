"""Files: written whole or not at all, read up to a limit, and held by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from hearts_env.support.errors import CheckpointError, HeartsError, quoted

if sys.platform != "win32":
    import fcntl

_NOT_SUPPORTED = (
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EBADF,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
)
"""What fsync answers for a folder on file systems that cannot do it."""

_MOST_OF_NAME = 50
"""Characters of a file's name that the name of its unfinished file begins with."""
_LONGEST_NAME = 240
"""Bytes of a file's name, so that its lock, ``.NAME.lock``, can be named too."""
_LEFTOVER = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.tmp")


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file: after a crash there is the old content or the new one.

    A link stays and keeps its target. A device or a pipe is written to, and stays one. After an
    ``OSError``, whose ``filename`` is `path`, the old content stands, unless the disk failed after
    the new content was in place (EIO from the fsync of the folder).
    """
    with writing_whole(path) as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """``write_whole`` of `value` in JSON for people to read."""
    write_whole(path, (json.dumps(value, indent=1) + "\n").encode())


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The object that JSON text from outside is; None if it is damaged, or another value."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@contextlib.contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """``write_whole`` of what is written in this block; it need not be in memory at once."""
    given = path
    try:
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        if kind_of(path) == "other":
            with path.open("wb") as file:
                yield file
            return
        with _replacing(path) as file:
            yield file
    except OSError as error:  # a full disk does not say by itself which file it was
        if error.errno is not None:
            error.filename, error.filename2 = str(given), None
        raise


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file beside an ordinary one, or beside nothing, and put it in its place."""
    short = path.name[:_MOST_OF_NAME]  # a name as long as a file system allows gets no longer
    temporary = path.with_name(f".{short}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with _opened_locked(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if os.name == "posix":  # the new name, too, outlives a loss of power
        _sync_folder(path.parent)


def _opened_locked(path: Path) -> IO[bytes]:
    """A new file to write to, and its lock, where there are locks: see ``remove_leftovers``."""
    while True:
        file = path.open("wb")
        if sys.platform == "win32":
            return file
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file.fileno(), path):
            return file
        file.close()  # removed before it was locked


def _sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk, where the file system and the permissions allow it.

    The file is whole and in place by now, so the lack of a guarantee is not a failure. A disk that
    cannot write (EIO, ENOSPC) is one: what seems to be there may be gone after a loss of power.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to, but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def removed_if_unused(folder: Path) -> Iterator[None]:
    """Remove a folder that was made for this block if the block fails and leaves nothing in it."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files of ``writing_whole`` that no process writes any more.

    Whoever writes one holds its lock. Their numbers of processes are for people: another process
    may have such a number by now, in containers each time.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if _LEFTOVER.fullmatch(path.name) and not is_held(path, unknown=True):
                with contextlib.suppress(OSError):
                    path.unlink()


def kind_of(path: str | os.PathLike[str]) -> str:
    """What is at a path: ``file``, ``folder``, ``other``; "" where nothing is, or can be.

    A name that is too long for the system, or has a null character, is one where nothing can be.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def read_limited(path: Path, limit: int, what: str) -> bytes:
    """The content of an ordinary file of at most `limit` bytes; a device or a pipe is refused.

    Messages call it `what`, such as "a hand history".
    """
    if not stat.S_ISREG(path.stat().st_mode):  # asked before opening: a pipe would wait for ever
        raise HeartsError(f"file: {str(path)!r} is not an ordinary file; give {what}")
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise HeartsError(
            f"file: {str(path)!r} is too large for {what}; give one of at most {limit:,} bytes"
        )
    return data


def check_output(path: Path, name: str) -> None:
    """Refuse a file that could not be written, before what goes into it is computed.

    It is a folder, nothing, or too long a name, or its folder is missing. Messages begin with
    `name`, the option or argument.
    """
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise HeartsError(
            f"{name}: {quoted(path.name)} is too long for a file; give another name",
            value=path.name,
        )
    if kind_of(path) == "folder" or path.name in ("", ".."):
        raise HeartsError(f"{name}: {str(path)!r} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise HeartsError(f"{name}: there is no folder {path.parent}; make it first")


def lock_beside(path: Path) -> Path:
    """The lock file of a file: beside it, or, for a link, beside what the link leads to.

    So those who name the file and those who name a link to it hold the same lock.
    """
    path = Path(os.path.realpath(path))
    return path.with_name(f".{path.name}.lock")


@contextlib.contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` in this block, so that only one process works on something.

    The lock file is made here, and removed at the end. The lock belongs to the process, not to the
    file: after a kill it is free again. Where another process holds it, a `CheckpointError` begins
    with `what`: "run: 'runs/demo'".
    """
    if sys.platform == "win32":
        yield
        return
    handle = _locked(path, what)
    try:
        yield
    finally:
        # Removed while it is held: whoever has opened it meanwhile finds that it is gone.
        with contextlib.suppress(OSError):
            if _is_at(handle, path):
                path.unlink()
        os.close(handle)


def _locked(path: Path, what: str) -> int:
    """A handle of the lock file, locked where the file system has locks."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 200, 0).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            raise CheckpointError(
                f"{what} is in use by process {owner}; wait for it, or stop it"
            ) from None
        except OSError:  # a file system without locks
            return handle
        if _is_at(handle, path):
            # On a full disk the owner stays unknown; what is written next names its own file.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
                owner = f"{os.getpid()} on {platform.node()}\n"
                os.pwrite(handle, owner.encode(), 0)
            return handle
        os.close(handle)  # its holder removed it in the meantime


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file is the one at `path`, and not one that was there before."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def is_held(path: Path, *, unknown: bool = False) -> bool:
    """Whether some process holds the lock file `path` now (``held``); never waits, writes nothing.

    `unknown` where nobody can know: on Windows, or a file system without locks.
    """
    if sys.platform == "win32":
        return unknown
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return unknown
    finally:
        os.close(handle)
    return False
