"""Start programs, ask them for lines within limits, and end them with all their children.

A child has its own session, so Ctrl-C in the terminal does not reach it. Ending a child ends its
whole process group. If this process dies suddenly (SIGKILL, out of memory), a guard ends the
remaining groups. The guard is a shell that reads started and ended groups from a pipe and acts when
the pipe closes. This module does not know the content of the lines.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import IO, Any

from hearts_agents.user_code import CRASHED, ILLEGAL, LATE
from hearts_env import HeartsError
from hearts_env.support import clock
from hearts_env.support.errors import quoted
from hearts_env.support.files import json_object

if sys.platform != "win32":
    import fcntl

_CHUNK = 1 << 16
_PIPE = 1 << 20  # bytes sent and not yet read, the most that Linux allows
_LOOK_MILLISECONDS = 50  # between checks that it still runs
_LAST_SECONDS = 1.0  # to end by itself after `bye`, and to report its exit status
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
_GUARD_SECONDS = 2.0  # for the guard to end when this process ends


def start_child(
    command: Sequence[str],
    *,
    stderr: int | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    bufsize: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a program with pipes for standard input and output. ``kill_child`` ends it.

    Raises:
        OSError, ValueError: if the program cannot be started.
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
    """Return an environment in which a Python process finds the same modules as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def kill_child(process: subprocess.Popen[bytes]) -> None:
    """End a child now with all its children, wait for it, and close its pipes.

    Do not call it twice at once, nor while a thread reads or writes the pipes.
    """
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    _guard.note("-", process.pid)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # unsent data is lost
                pipe.close()


class _Guard:
    """A shell that ends the remaining process groups when this process is gone."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finalizer may end a child within `note`
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[int] = set()

    def note(self, word: str, group: int) -> None:
        """Note that a group has started (``+``) or ended (``-``). Repeats are ignored."""
        if sys.platform == "win32":
            return
        with self._lock:
            if self._owner != os.getpid():  # none yet, or the parent's before a fork
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
        with contextlib.suppress(OSError):  # everything else works without it
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


class ProgramError(HeartsError):
    """A program crashed, was late, or answered with nonsense.

    Attributes:
        kind: `CRASHED`, `LATE` or `ILLEGAL`.
    """

    def __init__(self, message: str, kind: str = CRASHED) -> None:
        super().__init__(message)
        self.kind = kind


def dump(value: Any) -> str:
    """Return a value as JSON in one line, without spaces."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def line(kind: str, /, **fields: Any) -> bytes:
    """Return a message: one line with a JSON object that has a ``type``."""
    return (dump({"type": kind, **fields}) + "\n").encode()


class LineProcess:
    """A running program that answers lines of JSON with lines of JSON."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        """Start the program without waiting for it. It shares this process's standard error.

        Args:
            command: the program and its arguments.
            environment: its environment. If None, this process's environment.

        Raises:
            ProgramError: if it cannot be started.
        """
        if sys.platform == "win32":
            raise ProgramError("programs need pipes that Windows does not have; use Linux")
        try:
            process = start_child(command, environment=environment, bufsize=0)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ProgramError(
                f"it cannot be started ({reason}); make it executable, or name its interpreter "
                "too, as in exec:python3 bot.py"
            ) from None
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._back = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._back, False)
        self._poll = select.poll()
        self._poll.register(self._back, select.POLLIN)
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # so that whole messages can be sent ahead
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._to, fcntl.F_SETPIPE_SZ, _PIPE)
        self._unsent = bytearray()
        self._due = 0
        """The number of answers still to come."""
        self._read = bytearray()
        self._end = weakref.finalize(self, _kill, process, os.getpid())

    # -- asking -----------------------------------------------------------------------------------
    def send(self, lines: bytes, answers: int = 1) -> None:
        """Send lines and expect `answers` lines back. If the pipe is full, send the rest later.

        Raises:
            ProgramError: if the program has written a line that answers nothing. It is then ended.
        """
        try:
            if not self._due:
                self._receive()
                if self._read:
                    raise self.failed("wrote an unexpected line")
            self._due += answers
            self._unsent += lines
            self._push()
        except ProgramError:
            raise
        except BaseException:  # Ctrl-C: half a message may have been sent
            self.kill()
            raise

    def answer(self, seconds: float, most: int) -> dict[str, Any]:
        """Return the answer to the oldest unanswered line.

        Args:
            seconds: the time limit, from now.
            most: the largest size of the line in bytes.

        Raises:
            ProgramError: if the program ends, is late, or writes a longer line or no JSON. It is
                then ended.
        """
        try:
            text = self._line(clock.now() + seconds, seconds, most)
        except ProgramError:
            raise
        except BaseException:
            self.kill()
            raise
        self._due -= 1
        message = json_object(text)
        if message is None:
            shown = quoted(text[:200].decode(errors="replace"))
            raise self.failed(f"wrote {shown}, which is not a JSON object")
        return message

    def _line(self, deadline: float, seconds: float, most: int) -> bytes:
        while (end := self._read.find(b"\n")) < 0:
            if len(self._read) > most:
                raise self.failed(f"wrote a line of more than {most:,} bytes")
            left = deadline - clock.now()
            ready = self._poll.poll(max(0, min(1 + left * 1000, _LOOK_MILLISECONDS)))
            # An answer that can be read now was not late, even if this check is.
            if left <= 0 and self._back not in [pipe for pipe, _ in ready]:
                raise self.failed(f"gave no answer within {seconds:g} s", LATE)
            # A child of the program may hold its output open.
            is_open = bool(ready) or self._process.poll() is None
            for pipe, _ in ready:
                if pipe == self._to:
                    self._push()
                else:
                    is_open = self._receive()
            if not is_open and b"\n" not in self._read:
                raise self.failed("its process " + self._how_it_ended(), CRASHED)
        text = bytes(self._read[:end])
        del self._read[: end + 1]
        if len(text) > most:
            raise self.failed(f"wrote a line of more than {most:,} bytes")
        return text

    def _push(self) -> None:
        """Write as much as the pipe takes."""
        try:
            if self._unsent:
                del self._unsent[: os.write(self._to, self._unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # reading notices that it has ended
            self._unsent.clear()
        if self._unsent:
            self._poll.register(self._to, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._to)

    def _receive(self) -> bool:
        """Read all available output. Return True if the output is still open."""
        try:
            data = os.read(self._back, _CHUNK)
        except BlockingIOError:
            return True
        self._read += data
        return bool(data)

    # -- ending -----------------------------------------------------------------------------------
    def failed(self, what: str, kind: str = ILLEGAL) -> ProgramError:
        """End the program. Return the error to raise, by default for a nonsensical answer."""
        self.kill()
        return ProgramError(what, kind)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if status >= 0:
            return f"ended with status {status}"
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"

    def close(self, lines: bytes = b"") -> None:
        """Send last lines, wait up to two seconds for the program to end, and then end it."""
        if not self._end.alive:
            return
        self._unsent += lines
        until = clock.now() + _LAST_SECONDS
        try:
            with contextlib.suppress(OSError):
                self._push()
                while self._unsent and clock.now() < until:  # it may be slow to read
                    time.sleep(0.001)
                    self._push()
            assert self._process.stdin is not None
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the program now with all its children."""
        self._end()


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # not in a forked copy of this process
        kill_child(process)
