"""Files: written whole or not at all, read up to a limit, and held by one process at a time."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from hearts_env.errors import CheckpointError, HeartsError

if sys.platform != "win32":
    import fcntl

_LEFTOVER = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}\.tmp")


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file: after a crash there is the old content or the new one.

    A link goes on leading to where it led. A device or a pipe is written to, and stays one.

    Raises:
        OSError: the file cannot be written (its ``filename`` is `path`); the old content stands.
    """
    given = path
    try:
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        if kind_of(path) == "other":
            with path.open("wb") as file:
                file.write(data)
            return
        _replace(path, data)
    except OSError as error:  # a full disk does not say by itself which file it was
        if error.errno is not None:
            error.filename, error.filename2 = str(given), None
        raise


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside an ordinary one, or beside nothing, and put it in its place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if os.name == "posix":  # the new name, too, outlives a loss of power
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files of ``write_whole`` whose process is gone."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if (found := _LEFTOVER.fullmatch(path.name)) and not _is_alive(int(found[1])):
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
    """The content of an ordinary file of at most `limit` bytes.

    Args:
        path: the file.
        limit: in bytes; what is larger cannot be meant.
        what: what it should be, to name in the message: "a hand history".

    Raises:
        HeartsError: it is a device or a pipe, or too large.
        OSError: it is not there or cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # asked before opening: a pipe would wait for ever
        raise HeartsError(f"file: {str(path)!r} is not an ordinary file; give {what}")
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise HeartsError(
            f"file: {str(path)!r} is larger than {limit:,} bytes, too large for {what}"
        )
    return data


@contextlib.contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` in this block, so that only one process works on something.

    The lock belongs to the process, not to the file: after a kill it is free again.

    Args:
        path: the lock file; made, and left there.
        what: what is held, to name in the message: "run: 'runs/demo'".

    Raises:
        CheckpointError: another process holds it.
    """
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
            raise CheckpointError(
                f"{what} is in use by process {owner}; wait for it, or stop it"
            ) from None
        except OSError:  # a file system without locks
            pass
        else:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # there a signal 0 is Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # gone, or no number of a process
        return False
    except OSError:  # somebody else's, or a system that does not tell
        return True
    return True
