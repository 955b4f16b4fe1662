"""Programs that this process starts, and that end with it.

A child has a session of its own, so that Ctrl-C at the terminal does not reach it, and is ended
with its whole group: with all that it has started. If this process comes to a sudden end (SIGKILL,
out of memory), a guard ends the groups that are left: a shell that reads from a pipe which group
began and which was ended, and acts when the pipe is closed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO

_GUARD = r"""
trap '' HUP INT TERM
groups=' '
while read -r word group; do
    case $word in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -9 "-$group"; done
"""
_GUARD_SECONDS = 2.0  # to end when this process ends


def start_child(
    command: Sequence[str],
    *,
    stderr: int | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    bufsize: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a program whose standard input and output are pipes; ``kill_child`` ends it.

    Raises:
        OSError, ValueError: if it cannot be started.
    """
    process = subprocess.Popen(
        command,
        bufsize=bufsize,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
        start_new_session=True,
    )
    _guard.note("+", process.pid)
    return process


def python_environment() -> dict[str, str]:
    """The environment for a Python that finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """End a child now, with all that it has started, and wait for it; not twice at once."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    _guard.note("-", process.pid)
    process.wait()


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes to a child that was ended, when nobody reads or writes any more."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was written last cannot be sent
                pipe.close()


class _Guard:
    """The shell that ends what is left when this process is gone."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a child may be found unused, and ended, within `note`
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[int] = set()

    def note(self, word: str, group: int) -> None:
        """Tell it that a group began (``+``) or was ended (``-``); once for each."""
        if sys.platform == "win32":
            return
        with self._lock:
            if self._owner != os.getpid():  # none yet, or that of the process this is a fork of
                self._owner, self._known = os.getpid(), set()
                self._start()
            if (word == "+") == (group in self._known):
                return
            self._known ^= {group}
            if self._process is not None and self._process.stdin is not None:
                # At exit the pipe may be closed before the last finalizer ends its child.
                with contextlib.suppress(OSError, ValueError):
                    os.write(self._process.stdin.fileno(), f"{word} {group}\n".encode())

    def _start(self) -> None:
        self._process = None
        with contextlib.suppress(OSError):  # without it all else works
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            atexit.register(self._close, self._process, self._owner)

    @staticmethod
    def _close(process: subprocess.Popen[bytes], owner: int) -> None:
        if owner != os.getpid() or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(_GUARD_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_guard = _Guard()
