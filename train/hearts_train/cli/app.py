"""The command `hearts`. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from typing import Annotated

import typer

# `main` runs the command line. Each of the others adds its commands to `app`.
from hearts_train.cli import dataset, main, measure, play, runs, solve  # noqa: F401
from hearts_train.cli.options import app

__all__ = ["app", "main"]


@app.callback()
def _commands(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from hearts_env import __version__

        print(f"hearts-env {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
