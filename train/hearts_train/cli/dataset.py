"""The command that records play: dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train.cli.options import (
    AllowCode,
    Backend,
    Json,
    RulesName,
    Seed,
    Workers,
    app,
    names_in,
    refuse_said,
    rules_of,
)
from hearts_train.console import Mistake

_SETTLED = ("agent", "games", "rules", "seed", "format", "settings")


@app.command(
    epilog="Example: hearts dataset --agent pro --games 10000 pro-games",
)
def dataset(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the dataset.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", metavar="AGENT", help="Who plays: once for all seats, or for each."
        ),
    ] = None,
    games: Annotated[int, typer.Option("--games", help="Deals to play.")] = 10_000,
    rules: RulesName = None,
    seed: Seed = 0,
    format: Annotated[
        str,
        typer.Option("--format", metavar="NAME,...", help="parquet, minari: tables, episodes."),
    ] = "parquet,minari",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="What is recorded: observation, dtype, action_mask, reward (as in the "
            "environments); view=text,json (form of the decisions); exact=true|false (each card's "
            "value); random=0.1 (share of actions drawn at random); "
            "seat=0,1 (only these seats); id (Minari's name).",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the unfinished dataset in the folder.")
    ] = False,
    workers: Workers = None,
    backend: Backend = "local",
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Play games and record them: Parquet tables and Minari episodes."""
    from hearts_env import Rules
    from hearts_train.cli.recording import make, recorded
    from hearts_train.data.folder import unfinished_options
    from hearts_train.data.options import DatasetOptions, check_libraries
    from hearts_train.measure.participants import trained_rules

    if resume:
        refuse_said(context, _SETTLED, "--resume", folder)
        options = unfinished_options(folder)
    elif not agent:
        raise Mistake("--agent: none given; name one; see 'hearts dataset --help'")
    else:
        options = DatasetOptions(
            agent,
            Rules.make(rules_of(rules) or trained_rules(agent) or "two_player"),
            games,
            seed=seed,
            formats=names_in(format, "--format"),
            **recorded(settings or []),
        )
        check_libraries(options.formats)
    make(folder, options, (workers, backend), resume=resume, as_json=as_json)
