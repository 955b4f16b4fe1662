"""The train command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train.cli.options import AllowCode, Json, RunFolder, app
from hearts_train.console import Mistake


@app.command(epilog="Example: hearts train demo --set seed=2")
def train(
    config: Annotated[
        str | None,
        typer.Argument(
            help="A config: its path, or a shipped one: demo (where none is named; three minutes), "
            "smoke (seconds), mini, classic, maskable, dqn, nfsp, champion, champion_small, "
            "champion_taught, champion_mini, champion_classic."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Continue a run's folder.")
    ] = None,
    run: RunFolder = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Train a policy, then evaluate it against the baselines."""
    if resume is not None and run is not None:
        raise Mistake("--run: a resumed run stays in its folder; omit it")
    if config == "":
        raise Mistake("config: the name is empty; give a config, or omit it for demo")
    from hearts_train.cli.training import train_and_evaluate

    train_and_evaluate(config, settings or [], resume, run, as_json=as_json)
