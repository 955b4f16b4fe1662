"""One-line errors, exit statuses, tables and JSON of all commands. Quick to import."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import typer
import typer.core

from hearts_train.screen import format_seconds as format_seconds
from hearts_train.screen import note as note
from hearts_train.screen import printable as printable
from hearts_train.screen import progress as progress
from hearts_train.screen import screen as screen

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
STDOUT = "-"
"""The name that ``--json`` takes for standard output."""
MISTAKE = 2
"""Exit status after a user's mistake."""

# Typer's errors derive from a class of click or, in later versions, of typer itself.
_UsageError: type[Any] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


GROUPS = {
    "Play": ("play", "serve", "replay", "analyse", "rules", "agents"),
    "Train": ("train", "runs"),
    "Measure": ("evaluate", "compare", "tournament", "benchmark", "exploit"),
    "More": ("solve", "dataset", "warmup"),
}
"""The commands by group, in the order of the help and the reference."""


def group_of(command: str) -> str:
    """Return the group of a command."""
    return next((title for title, names in GROUPS.items() if command in names), "Commands")


class Mistake(Exception):
    """A user's mistake on the command line. The message is shown unchanged."""


class _Stopped(BaseException):
    """Carries the number of a signal past typer, which would lose it."""


class Commands(typer.core.TyperGroup):
    """A group of commands with fixed exit statuses and one-line errors.

    A user's mistake ends a command with status 2, Ctrl-C with 130, SIGTERM with 143 and SIGHUP
    with 129.
    """

    program = "hearts"
    """The program of this process, as a user types it."""
    has_result_on_stdout = False
    """True while a command runs with ``--json`` to standard output."""

    def main(  # type: ignore[override]  # typer passes everything else by keyword
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **settings: Any,
    ) -> Any:
        """Run a command line and exit with its status, or return it unless `standalone_mode`."""
        Commands.program = prog_name or self.name or "hearts"
        try:
            prepare_streams()
            warnings.showwarning = _note_warning
            code = super().main(
                args=_completed(sys.argv[1:] if args is None else args),
                prog_name=Commands.program,
                standalone_mode=False,
                **settings,
            )
            sys.stdout.flush()
        except (_Stopped, KeyboardInterrupt, typer.Abort) as error:
            if isinstance(error.__cause__, EOFError):  # typer mistakes it for Ctrl-D at a prompt
                raise error.__cause__ from None  # a bug: show its traceback
            note("stopped")
            sys.exit(128 + getattr(error.__cause__, "number", INTERRUPTED - 128))
        except BrokenPipeError:  # the reader is gone, as in `hearts rules | head`
            _silence(sys.stdout)
            sys.exit(1)
        except Exception as error:
            message = _explain(error)
            if message is None:
                raise  # a bug: show its traceback
            if isinstance(error, OSError) and error.filename is None:
                _silence(sys.stdout)  # else Python would try again at exit
            note("error: " + " ".join(message.split()))
            sys.exit(MISTAKE)
        finally:
            Commands.has_result_on_stdout = False
            try:
                sys.stderr.flush()
            except (OSError, ValueError):  # the terminal is gone; the exit status stays as it is
                _silence(sys.stderr)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. Its help has no Python types, which typer would show."""
        command: Any = super().get_command(ctx, cmd_name)
        for argument in command.params if command is not None else ():
            if argument.param_type_name == "argument":
                argument.display_type_rich = lambda ctx: None
        return command

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all commands, in the order of their groups."""
        order = [name for names in GROUPS.values() for name in names]
        there = super().list_commands(ctx)
        return sorted(there, key=lambda name: order.index(name) if name in order else len(order))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in groups."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            groups.setdefault(group_of(name), []).append((name, command.get_short_help_str(90)))
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. SIGTERM and SIGHUP stop it like Ctrl-C."""
        from hearts_env.support.interrupts import interruptible  # not needed for --help

        try:
            with interruptible():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Stopped from error


def _note_warning(
    message: Warning | str, category: type[Warning], *_where: Any, **_more: Any
) -> None:
    """Show a warning of the package as a note, and hide those of libraries."""
    if category is UserWarning:
        note(f"warning: {message}")


def _completed(words: Sequence[str]) -> list[str]:
    """Return a command line, with ``-`` after each ``--json`` without a file.

    Typer has no options with an optional value.
    """
    found: list[str] = []
    for number, word in enumerate(words, 1):
        found.append(word)
        after = words[number] if number < len(words) else ""
        if word == "--json" and (not after or (after.startswith("-") and after != STDOUT)):
            found.append(STDOUT)
    return found


def stopped() -> typer.Exit:
    """Return the exit of a command that a signal stopped and that has shown partial results."""
    from hearts_env.support.interrupts import exit_status  # not needed for --help

    return typer.Exit(exit_status())


def _explain(error: Exception) -> str | None:
    """Return the message of a user's mistake, or None for any other error."""
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "hearts"
        message = error.format_message().rstrip(".")
        see = " See" if message.endswith("?") else "; see"
        return f"{message}{see} '{command} --help'"
    if isinstance(error, Mistake):
        return str(error)
    if isinstance(error, ValueError):
        from hearts_env import HeartsError

        return str(error) if isinstance(error, HeartsError) else None
    if isinstance(error, ImportError):
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra:
            from hearts_env.support.errors import needs

            return f"this command {needs(extra)}"
        return None
    if isinstance(error, OSError):
        if error.filename is None:
            return f"the output cannot be written: {error.strerror or error}; write it elsewhere"
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        fix = "make room there" if is_full else "give another file"
        return f"{error.filename}: {error.strerror or error}; {fix}"
    return None


_EXTRAS = {
    "torch": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "tensorboard": "train",
    "pydantic": "train",
    "pydantic_core": "train",
    "yaml": "train",
    "matplotlib": "train",
    "pyarrow": "dataset",
    "minari": "dataset",
    "h5py": "dataset",
    "PIL": "render",
    "pygame": "render",
    "starlette": "serve",
    "uvicorn": "serve",
    "websockets": "serve",
}


def prepare_streams() -> None:
    """Make the standard streams usable, for any encoding and even if one is closed.

    Replace characters that an output cannot encode by plain ones, and invalid bytes of the input by
    a replacement character. A closed input is empty.

    Raises:
        Mistake: if standard output is closed.
    """
    with contextlib.suppress(OSError):  # else files opened later would get their descriptors
        while (number := os.open(os.devnull, os.O_RDWR)) < 3:
            pass
        os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 for good
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        raise Mistake("output: standard output is closed; connect it to a file or a terminal")
    codecs.register_error("hearts_plain", _plainly)
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "hearts_plain"),
        (sys.stderr, "hearts_plain"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


_PLAIN = {"±": "+-", "♣": "C", "♦": "D", "♠": "S", "♥": "H", "–": "-", "—": "-", "−": "-"}
_PLAIN |= {"…": "...", "×": "x", "’": "'", "─": "-", "━": "-", "✓": "*"}


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an output cannot encode by plain ones."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


def _silence(stream: IO[str]) -> None:
    """Discard a stream's buffer and all later output, also at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# ---- output ------------------------------------------------------------------------------------
def print_json(value: Any, target: str) -> None:
    """Write a result to a file, or as the only line to standard output."""
    if target == STDOUT:
        print(json.dumps(value, allow_nan=False), flush=True)
        return
    from hearts_env.support.files import write_json  # not needed for --help

    write_json(Path(target), value)
    note(f"written: {target}")


def _shown() -> IO[str]:
    """Return the stream for people: standard output, unless ``--json`` writes there."""
    return screen() if Commands.has_result_on_stdout else sys.stdout


def say(text: str) -> None:
    """Print a line of the results for people."""
    print(printable(text), file=_shown(), flush=True)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of results (``format_table``)."""
    from hearts_env.support.tables import format_table  # not needed for --help

    encoding = getattr(_shown(), "encoding", None) or "utf-8"
    # Replace before measuring: replacements may be longer than the characters.
    heads, *cells = [
        [
            printable(cell).replace("\n", r"\n").encode(encoding, "hearts_plain").decode(encoding)
            for cell in row
        ]
        for row in (columns, *rows)
    ]
    say(format_table(title, heads, cells))
