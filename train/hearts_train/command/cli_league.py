"""The commands of ``hearts league DIR``: add, run, table, verify, page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hearts_train.command.cli_options import (
    SEED_FORM,
    AllowCode,
    Backend,
    Isolate,
    Json,
    Players,
    RulesName,
    Workers,
    app,
    check_output,
    names_in,
    read_seed,
    rules_of,
)
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env import Rules

EVERY = "every"
"""What ``--rules`` says for all presets with every number of players."""

league_app = typer.Typer(
    help="Let agents play each other in a folder that keeps all results and grows.",
    epilog="Example: hearts league my_league add standard pro my_agent.py:MyAgent; then "
    "hearts league my_league run --allow-code",
    rich_markup_mode=None,
)
app.add_typer(league_app, name="league", rich_help_panel="Measure")

GameName = Annotated[
    str | None,
    typer.Option("--rules", metavar="NAME", help="This game only; without it all of the league."),
]


@league_app.callback()
def league(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the league.")],
) -> None:
    """Let agents play each other in a folder that keeps all results and grows."""
    context.obj = folder


@league_app.command(epilog="Example: hearts league my_league add pro runs/demo-1 --rules mini")
def add(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT]...",
            help="Players' names, checkpoints, runs' folders, FILE.py:CLASS or exec:PROGRAM.",
        ),
    ] = None,
    rules: RulesName = None,
    players: Players = None,
    built_in: Annotated[
        bool,
        typer.Option("--built-in", help="All players of the package, where they can play."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=read_seed,
            metavar=SEED_FORM,
            help="What the deals of a new league follow from: a number, or a file that has it.",
        ),
    ] = None,
    isolate: Isolate = False,
    allow_code: AllowCode = False,
) -> None:
    """Enter agents, and begin the league if there is none; nothing is played yet.

    Without --rules they enter every game of the league (two_player in a new one); with
    '--rules every' all presets with every number of players.
    """
    from hearts_train.command.league_command import enter

    if not agents and not built_in:
        raise Mistake("agents: none given; name some, or say --built-in")
    is_every = rules == EVERY
    if is_every and players is not None:
        raise Mistake("--players: with --rules every all numbers of players are meant; omit it")
    played = None if is_every else rules_of(rules, players)
    enter(
        context.obj,
        agents or [],
        played,
        every=is_every,
        built_in=built_in,
        seed=seed,
        isolate=isolate,
    )


@league_app.command(epilog="Example: hearts league my_league run --until 0.03 --workers 4")
def run(
    context: typer.Context,
    rules: GameName = None,
    players: Players = None,
    deals: Annotated[
        int | None,
        typer.Option("--deals", help="Deals of each pairing; with --until at most."),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option("--until", metavar="POINTS", help="Until all intervals are +- this at most."),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="AGENT,...", help="Only pairings among these."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Stop each game after this many.")
    ] = None,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    isolate: Isolate = False,
    as_json: Json = False,
) -> None:
    """Play what is missing; stopped or killed at any moment it goes on where it stood.

    Without --deals and --until each pairing plays 1,000 deals, rounded up to the end of a block.
    Fast players play first.
    """
    from hearts_train.command.league_command import play
    from hearts_train.measure.league import Goal

    play(
        context.obj,
        _played(rules, players),
        Goal.of(deals, until, minutes, None if agents is None else names_in(agents, "--agents")),
        crew=(workers, backend),
        isolate=isolate,
        as_json=as_json,
    )


@league_app.command(epilog="Example: hearts league my_league table --rules mini")
def table(
    context: typer.Context,
    rules: GameName = None,
    players: Players = None,
    as_json: Json = False,
) -> None:
    """Show the standings, the margins of all pairings, and who beats whom in a ring."""
    from hearts_train.command.league_command import show

    show(context.obj, _played(rules, players), as_json=as_json)


@league_app.command(epilog="Example: hearts league my_league verify --sample 20")
def verify(
    context: typer.Context,
    rules: GameName = None,
    players: Players = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="K", help="So many blocks by lot; without it all."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What the lot follows from.")] = 0,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    isolate: Isolate = False,
    as_json: Json = False,
) -> None:
    """Play blocks of deals again, and say whether the lines hold; exit status 1 if not."""
    from hearts_train.command.league_command import check

    if sample is not None and sample < 1:
        raise Mistake(f"--sample: {sample} is out of range; give 1 or more")
    check(
        context.obj,
        _played(rules, players),
        sample,
        seed,
        crew=(workers, backend),
        isolate=isolate,
        as_json=as_json,
    )


@league_app.command(epilog="Example: hearts league my_league page league.html")
def page(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT.html", help="The page to write.")],
    rules: GameName = None,
    players: Players = None,
) -> None:
    """Write all tables as one page that needs no network."""
    from hearts_train.command.league_command import draw

    check_output(out, "OUT.html")
    draw(context.obj, _played(rules, players), out)


def _played(rules: str | None, players: int | None) -> Rules | None:
    """The game that is meant, None for all."""
    if rules is None and players is not None:
        raise Mistake("--players: the game is not given; add --rules")
    return rules_of(rules, players)
