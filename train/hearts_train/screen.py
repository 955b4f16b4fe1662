"""Show notes and progress of long work on standard error.

Training from Python uses this, too, so nothing here depends on the command line.
"""

from __future__ import annotations

import contextlib
import sys
import unicodedata
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hearts_env.support.progress import Progress

PLAIN_EVERY = 10.0  # seconds between lines of progress without a terminal


class _Screen:
    """A stream on which writing never fails.

    The terminal may be closed while the work continues, and results must not be lost.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def screen() -> IO[str]:
    """Return standard error for bars, tables and notes. Writing to it never raises OSError."""
    return cast("IO[str]", _Screen(sys.stderr))


def printable(text: str) -> str:
    r"""Return text as everything prints it, with invisible characters written like ``\x1b``.

    A name in a file of someone else may hold codes that control a terminal, or marks that turn the
    direction of the text around. Spaces and ends of lines are kept.
    """
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs"
        else c.encode("unicode_escape").decode()
        for c in text
    )


def note(text: str) -> None:
    """Print a line on standard error."""
    print(printable(text), file=screen(), flush=True)


@contextlib.contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show progress on standard error. Yield the function that reports it.

    A terminal shows a bar with the time left. Otherwise a line is printed every few seconds.
    """
    label = printable(label)
    if not sys.stderr.isatty():
        yield _plain_progress(label)
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("elapsed"),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.fields[message]}", markup=False),
    )
    with bars.Progress(*columns, console=Console(file=screen()), transient=True) as bar:
        task = bar.add_task(label, total=None, message="")

        def report(done: float, total: float, message: str = "") -> None:
            bar.update(task, completed=done, total=total, message=printable(message))

        yield report


def _plain_progress(label: str) -> Progress:
    from hearts_env.support import clock  # not needed for --help

    last, origin = clock.now(), (0.0, 0.0)

    def report(done: float, total: float, message: str = "") -> None:
        nonlocal last, origin
        now = clock.now()
        if done > 0 and not origin[0]:  # the time before was spent on compilation
            origin = now, done
        if now - last < PLAIN_EVERY or done <= origin[1]:
            return
        last = now
        left = (now - origin[0]) * (total - done) / (done - origin[1])
        more = f"; {message}" if message else ""
        note(f"{label}: {done / total:.0%}, about {format_seconds(left)} left{more}")

    return report


def format_seconds(seconds: float) -> str:
    """Format a duration like ``45 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
