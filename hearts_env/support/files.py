"""Files: written whole or not at all, read up to a limit, and locked by one process at a time."""

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
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from hearts_env.support.errors import CheckpointError, HeartsError, quoted

if sys.platform != "win32":
    import fcntl

_MOST_OF_NAME = 50
"""The most characters of a file's name in the name of its unfinished file."""
_LONGEST_NAME = 240
"""The most bytes of a file's name, leaving room for its lock's name ``.NAME.lock``."""
_LEFTOVER = re.compile(r"\.(.+)\.\d+-[0-9a-f]{8}\.tmp")


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file: a crash leaves either the old content or the new.

    A link stays a link, and its target is written. A device or a pipe is written to directly. For a
    file in a folder that may come from someone else, first call ``own_files``. After an
    ``OSError``, which has `path` as its ``filename``, the file has its old content. The only
    exception is a disk failure after the replacement (EIO from the fsync of the folder).
    """
    with writing_whole(path) as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write `value` with ``write_whole`` as indented JSON."""
    write_whole(path, (json.dumps(value, indent=1) + "\n").encode())


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object in untrusted text, or None if it is damaged or not an object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@contextlib.contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` when the block ends, as ``write_whole`` does."""
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
    except OSError as error:  # the error of a full disk has no file name
        if error.errno is not None:
            error.filename, error.filename2 = str(given), None
        raise


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file beside `path`, then replace `path` by it."""
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if os.name == "posix":  # let the new name survive a loss of power
        _sync_folder(path.parent)


def _temporary(path: Path) -> Path:
    """Return a new name for an unfinished file beside `path`."""
    short = path.name[:_MOST_OF_NAME]  # the longest allowed name must not grow
    return path.with_name(f".{short}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _sync_folder(folder: Path) -> None:
    """Write a folder's names to the disk, if the file system and the permissions allow it.

    The file is already whole and in place, so a file system without this guarantee is not an error.
    A disk that cannot write (EIO, ENOSPC) is an error: the file may vanish after a loss of power.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder may be writable but not readable
        return
    try:
        os.fsync(handle)
    except OSError as error:  # many file systems do not support it
        if error.errno in (errno.EIO, errno.ENOSPC):
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def removed_if_unused(folder: Path) -> Iterator[None]:
    """Remove a folder made for this block if the block fails and leaves it empty."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, ValueError):  # ValueError: a name with a null byte
            folder.rmdir()
        raise


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove unfinished files that a killed process left of the file `name`, or of all files.

    The caller holds the lock of the file or folder, so no process is writing there.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            found = _LEFTOVER.fullmatch(path.name)
            if found and (not name or found[1] == name[:_MOST_OF_NAME]):
                path.unlink()


def own_files(
    folder: Path, what: str, *, written: Sequence[str] = (), needed: Sequence[str] = ()
) -> None:
    """Make sure that writing and removing files in a folder changes nothing outside it.

    A folder from someone else may have links, pipes or devices in the place of files. Patterns,
    such as ``checkpoints/*.safetensors``, name the files and folders. Other names are left alone.

    Args:
        folder: the folder. It may be missing.
        what: the beginning of messages, such as "run".
        written: the names that are only written. If one is neither an ordinary file nor a folder,
            it is removed.
        needed: the names of folders, and of files that are read. If one is neither an ordinary file
            nor a folder, it is refused.

    Raises:
        CheckpointError: if something is refused, or cannot be removed.
    """
    for path in _foreign(folder, needed):
        raise CheckpointError(
            f"{what}: {str(path)!r} is a link or a device, and everything in this folder must be "
            "its own; put a copy in its place"
        )
    for path in _foreign(folder, written):
        try:
            path.unlink()
        except OSError as error:
            raise CheckpointError(
                f"{what}: {str(path)!r} is a link or a device and cannot be removed "
                f"({error.strerror}); remove it"
            ) from None


def _foreign(folder: Path, names: Sequence[str]) -> list[Path]:
    """Return the paths that match the patterns and are neither ordinary files nor folders."""
    found = []
    for place, name in (os.path.split(name) for name in names):
        is_there = kind_of(folder / place) == "folder"  # also if the name is impossible
        for path in sorted((folder / place).iterdir()) if is_there else ():
            # Some file systems do not distinguish upper and lower case.
            if fnmatchcase(path.name.lower(), name.lower()) and not _is_plain(path):
                found.append(path)
    return found


def _is_plain(path: Path) -> bool:
    """Return True if there is an ordinary file, a folder or nothing. A link is none of these."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of a path: ``file``, ``folder`` or ``other``, or "" if there is nothing.

    The kind is also "" if the name is too long for the system or has a null character.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def read_limited(path: Path, limit: int, what: str) -> bytes:
    """Return the content of an ordinary file of at most `limit` bytes. Reject devices and pipes.

    Messages call the file `what`, such as "a hand history".
    """
    if not stat.S_ISREG(path.stat().st_mode):  # check before opening: a pipe would block
        raise HeartsError(f"file: {str(path)!r} is not an ordinary file; give {what}")
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise HeartsError(
            f"file: {str(path)!r} is too large for {what}; give one of at most {limit:,} bytes"
        )
    return data


def check_output(path: Path, name: str) -> None:
    """Raise if a file could not be written. Call it before computing the content.

    It refuses the path of a folder, an empty or too long name, and a name in a missing folder. It
    tries to create a file where ``writing_whole`` does. Messages begin with `name`, the option or
    argument.
    """
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise HeartsError(f"{name}: {quoted(path.name)} is too long for a file; give another name")
    if kind_of(path) == "folder" or path.name in ("", ".."):
        raise HeartsError(f"{name}: {str(path)!r} is a folder; give the name of a file")
    folder = path.parent
    if not folder.is_dir():
        other = next((above for above in (folder, *folder.parents) if kind_of(above)), folder)
        if kind_of(other) in ("file", "other"):
            raise HeartsError(f"{name}: {str(other)!r} is not a folder; give another name")
        raise HeartsError(f"{name}: there is no folder {folder}; make it first")
    try:
        if kind_of(path) == "other":
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        target = _temporary(Path(os.path.realpath(path)))
        try:
            target.touch(exist_ok=False)
        finally:
            target.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        why = getattr(error, "strerror", None) or error
        raise HeartsError(
            f"{name}: {quoted(str(path))} cannot be written ({why}); give another name"
        ) from None


def lock_beside(path: Path) -> Path:
    """Return the lock file of a file: beside it, or beside the target of a link.

    So a file and a link to it share one lock.
    """
    path = Path(os.path.realpath(path))
    return path.with_name(f".{path.name}.lock")


@contextlib.contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` during this block, so only one process does the work.

    It has no effect on Windows and on file systems without locks. The lock file is created here
    and removed at the end. The lock belongs to the process, so a killed process releases it. If
    another process holds it, a `CheckpointError` begins with `what`, such as "run: 'runs/demo'".
    A link or a pipe in its place is replaced.
    """
    if sys.platform == "win32":
        yield
        return
    handle = _locked(path, what)
    try:
        yield
    finally:
        # Remove it while holding it, so a process that has opened it sees that it is gone.
        with contextlib.suppress(OSError):
            if _is_at(handle, path):
                path.unlink()
        os.close(handle)


def _locked(path: Path, what: str) -> int:
    """Return a handle of the lock file, which is locked if the file system has locks."""
    while True:
        if not _is_plain(path):
            path.unlink(missing_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = owner_in(os.pread(handle, 200, 0)) or "unknown"
            os.close(handle)
            raise CheckpointError(
                f"{what} is in use by process {owner}; wait for it, or stop it"
            ) from None
        except OSError:  # a file system without locks
            return handle
        if _is_at(handle, path):
            # On a full disk the owner stays unknown; later writes report the full disk.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
                owner = f"{os.getpid()} on {platform.node()}\n"
                os.pwrite(handle, owner.encode(), 0)
            return handle
        os.close(handle)  # its holder removed it in the meantime


def owner_in(lock: bytes) -> str:
    """Return the owner that a lock file names, as printable text. It may be empty."""
    text = lock[:200].decode(errors="replace").strip()
    return "".join(letter for letter in text if letter.isprintable())


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is the one now at `path`."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def is_held(path: Path) -> bool:
    """Return True if a process holds the lock file `path`, without waiting or writing.

    Return False on Windows and on file systems without locks.
    """
    if sys.platform == "win32" or not path.is_file():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
    return False
