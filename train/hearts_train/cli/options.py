"""The application, and the options and checks that commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hearts_train import console
from hearts_train.console import Commands, Mistake

if TYPE_CHECKING:
    from hearts_env import Rules

app = typer.Typer(
    name="hearts",
    cls=Commands,
    help="Hearts for reinforcement learning: train, evaluate and play.",
    epilog="'hearts COMMAND --help' explains a command and its options.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AGENT_HELP = (
    "A built-in agent (listed by 'hearts agents'), a run's folder, a checkpoint, FILE.py:CLASS or "
    "exec:PROGRAM."
)
AgentName = Annotated[str | None, typer.Argument(metavar="AGENT", help=AGENT_HELP)]
RulesName = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="NAME",
        help="A game listed by 'hearts rules', and changes to it: 'party players=5'. Default: the "
        "rules that a checkpoint was trained for, else two_player.",
    ),
]


def named(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a file of the command line. Raise if another option of the command names it, too.

    One option would overwrite the file of the other. Every option and argument that names a file
    has this callback, or one that calls it.
    """
    if path is not None:
        mine = _name_of(option), path
        other = context.meta.setdefault(__name__, {}).setdefault(os.path.realpath(path), mine)
        # --save with --resume is refused for any files.
        if other[0] not in (mine[0], {"--save": "--resume", "--resume": "--save"}.get(mine[0])):
            # Blame an option rather than an argument, which is a file to read.
            (wrong, file), (kept, _) = sorted(
                (mine, other), key=lambda one: not one[0].startswith("--")
            )
            raise Mistake(f"{wrong}: {file} is also the file of {kept}; give another name")
    return path


def output(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return a file to write. Raise if it cannot be written, before anything runs."""
    if named(context, option, path) is not None:
        check_output(path, _name_of(option))
    return path


def new_output(
    context: typer.Context, option: typer.CallbackParam, path: Path | None
) -> Path | None:
    """Return a file to write. Raise if it exists."""
    if output(context, option, path) is not None:
        check_new(path, _name_of(option))
    return path


def _name_of(option: typer.CallbackParam) -> str:
    """Return the text of an option, such as ``--save``, or of an argument, such as ``FILE``."""
    return option.opts[0] if option.param_type_name == "option" else str(option.metavar)


def _json_target(
    context: typer.Context, option: typer.CallbackParam, path: str | None
) -> str | None:
    """Return the file of ``--json``. Raise if it exists."""
    Commands.has_result_on_stdout = path == console.STDOUT
    if path not in (None, console.STDOUT):
        new_output(context, option, Path(str(path)))
    return path


Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="[FILE]",
        callback=_json_target,
        help="Write the result as JSON to FILE, or to standard output if FILE is missing or -.",
    ),
]


def read_seed(text: str | int) -> int:
    """Return the number of ``--seed``, given directly or in a file as ``@FILE``.

    A secret seed must not be on the command line, which every process can read.
    """
    if isinstance(text, int):  # the default
        return text
    written = text
    if text.startswith("@"):
        with open(text[1:], "rb") as file:  # also a pipe, which can be read only once
            written = file.read(_MOST_SEED).decode("ascii", errors="replace").strip()
        if not written.isdecimal():  # not quoted: it may be part of a secret
            raise Mistake(f"--seed: {text[1:]} holds no whole number; write one into it")
    try:
        return int(written)
    except ValueError:
        from hearts_env.support.errors import quoted

        raise Mistake(
            f"--seed: {quoted(text)} is not a whole number; give one, or @FILE to read it from a "
            "file"
        ) from None


_MOST_SEED = 1000  # bytes
SEED_FORM = "N|@FILE"
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        parser=read_seed,
        metavar=SEED_FORM,
        help="Seed of the deals and agents: a number, or @FILE to read it from a file.",
    ),
]
Isolate = Annotated[
    bool,
    typer.Option(
        "--isolate",
        help="Run each agent in its own process, which receives only what the agent may see.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="Seconds that an agent may take for one answer, to at most 32 decisions. A late "
        "answer forfeits the deals of these decisions. Needs --isolate. Default: no limit.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Processes that play. The results are the same for any number. Default: 1, or with "
        "Ray one per core.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="local|ray",
        help="Run the workers on this machine or on a Ray cluster.",
    ),
]


def _trust(given: bool) -> bool:
    if given:
        from hearts_agents.user_code import allow_code

        allow_code()
    return given


AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        callback=_trust,
        help="Trust files that can run code: .zip and .pt models, and configs or saved files that "
        "name code or a program.",
    ),
]
"""Takes effect when it is parsed, for this process and those that it starts."""


Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        callback=output,
        help="Save progress to FILE, from which --resume continues. --json writes the result.",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="FILE",
        callback=named,
        help="Continue the work that --save wrote to FILE.",
    ),
]


def _page_target(
    context: typer.Context, option: typer.CallbackParam, path: Path | None
) -> Path | None:
    """Return the file of ``--html``. Raise if it is no page or cannot be written."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise Mistake(f"--html: {path} does not end in .html; give a name that does")
    return output(context, option, path)


Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", callback=_page_target, help="Write an HTML page for offline use."
    ),
]


def _plot_target(
    context: typer.Context, option: typer.CallbackParam, path: Path | None
) -> Path | None:
    """Return the file of ``--plot``. Raise if it cannot be drawn, before anything runs."""
    if named(context, option, path) is not None:
        from hearts_train.measure.display import check_picture

        check_picture(path)
    return path


Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", callback=_plot_target, help="Plot the result: .png, .svg or .pdf."
    ),
]


def rules_of(name: str | None) -> Rules | None:
    """Return the rules of --rules. Without it return None, so a checkpoint can decide."""
    from hearts_env import Rules

    return None if name is None else Rules.make(name)


def check_output(path: Path | None, option: str) -> None:
    """Raise if the file cannot be written, before anything is computed."""
    if path is not None:
        from hearts_env.support import files

        files.check_output(path, option)


def check_new(path: Path | None, option: str) -> None:
    """Raise if the file exists or cannot be written, before anything is computed."""
    check_output(path, option)
    if path is not None and path.exists():
        raise Mistake(f"{option}: {path} already exists; give another name")


def names_in(text: str, option: str) -> list[str]:
    """Return the names in a comma-separated list. A path that exists is one name."""
    from hearts_agents.registry import looks_like_path
    from hearts_env.support.files import kind_of

    if looks_like_path(text) and kind_of(text):
        return [text]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Mistake(f"{option}: {text!r} has no name; give one, or several with commas")
    return names


def given_agent(context: typer.Context, agent: str | None) -> str:
    """Return the agent of a command, or raise if none was named."""
    if agent is None:
        raise Mistake(f"agent: none given; name one; see 'hearts {context.info_name} --help'")
    return agent


def is_given(context: typer.Context, name: str) -> bool:
    """Return True if an argument or option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _written(context: typer.Context, name: str) -> str:
    """Return an argument or option as the user wrote it on the command line."""
    return next(known.opts[0] for known in context.command.params if known.name == name)


def refuse_other(context: typer.Context, names: Sequence[str], why: str) -> None:
    """Raise if one of the options is on the command line. `why` ends the message."""
    for name in names:
        if is_given(context, name):
            raise Mistake(f"{_written(context, name)}: {why}")


def refuse_given(context: typer.Context, names: Sequence[str], option: str, file: Path) -> None:
    """Raise if an option is on the command line although the file of `option` fixes it."""
    for name in names:
        if is_given(context, name):
            raise Mistake(f"{_written(context, name)}: {option} reads it from {file}; omit it")
