"""The command that records play: dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train.cli.options import (
    AllowCode,
    Backend,
    Json,
    Players,
    RulesName,
    Seed,
    Workers,
    app,
    names_in,
    refuse_said,
    rules_of,
)
from hearts_train.console import Mistake

_SETTLED = ["agent", "games", "rules", "players", "seed", "format", "observation", "dtype"]
_SETTLED += ["action_mask", "reward", "exact", "view", "random", "seat", "id"]


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
    players: Players = None,
    seed: Seed = 0,
    format: Annotated[
        str,
        typer.Option("--format", metavar="NAME,...", help="parquet, minari: tables, episodes."),
    ] = "parquet,minari",
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--no-exact", help="Record each card's exact value (default: in games of two)."
        ),
    ] = None,
    view: Annotated[
        str, typer.Option("--view", metavar="NAME,...", help="Form of the decisions: text, json.")
    ] = "text",
    observation: Annotated[
        str, typer.Option("--observation", metavar="ENCODER", help="Encoder of the episodes.")
    ] = "flat",
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype", metavar="NAME", help="Of the observations: int8, float32, float16."
        ),
    ] = None,
    action_mask: Annotated[
        str,
        typer.Option(
            "--action-mask", metavar="info|observation|both", help="Where the action masks are."
        ),
    ] = "info",
    reward: Annotated[
        str, typer.Option("--reward", metavar="NAME", help="margin, points, trick, win, chips.")
    ] = "margin",
    random: Annotated[
        float, typer.Option("--random", metavar="SHARE", help="Share of actions drawn at random.")
    ] = 0.0,
    seat: Annotated[
        list[int] | None,
        typer.Option("--seat", help="Record this seat only; more than once: these."),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Minari's name: hearts/pro-v0.")
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
    from hearts_train.cli.recording import make, rules_of_agents
    from hearts_train.data.folder import unfinished_options
    from hearts_train.data.options import DatasetOptions, check_libraries

    if resume:
        refuse_said(context, _SETTLED, "--resume", folder)
        options = unfinished_options(folder)
    elif not agent:
        raise Mistake("--agent: none given; name one; see 'hearts dataset --help'")
    else:
        options = DatasetOptions.of(
            agent,
            rules_of(rules, players) or rules_of_agents(agent),
            games,
            seed=seed,
            formats=names_in(format, "--format"),
            exact=exact,
            views=names_in(view, "--view"),
            observation=observation,
            dtype=dtype,
            action_mask=action_mask,
            reward=reward,
            random=random,
            seats=seat,
            dataset_id=id,
        )
        check_libraries(options.formats)
    make(folder, options, (workers, backend), resume=resume, as_json=as_json)
