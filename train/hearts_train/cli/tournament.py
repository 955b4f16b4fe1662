"""The tournament command: a round robin, once or in a folder that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AGENT_HELP,
    AllowCode,
    Backend,
    Isolate,
    Json,
    Resume,
    RulesName,
    Save,
    Seed,
    TimeLimit,
    Workers,
    app,
    check_apart,
    is_said,
    names_in,
    refuse_other,
    rules_of,
)

_OF_FOLDERS = ("until", "only", "verify")
_OF_ONE = ("time_limit", "save", "resume")
_OF_PLAY = ("until", "only")
_NOT_VERIFIED = ("agents", *_OF_PLAY)


@app.command(
    epilog="Example: hearts tournament easy standard pro runs/demo-1; "
    "hearts tournament pro my_agent.py:MyAgent --folder mine --until 0.03 --allow-code",
)
def tournament(
    context: typer.Context,
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="[AGENT]...", help=AGENT_HELP)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Save all results here; play only what is missing."
        ),
    ] = None,
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            help="Deals of each pairing (default 1000), at most with --until; 0: only show the "
            "folder. With --verify so many, drawn at random.",
        ),
    ] = None,
    rules: RulesName = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    until: Annotated[
        float | None,
        typer.Option(
            "--until", metavar="POINTS", help="Play until every 95 % interval is at most +- this."
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="AGENT,...", help="Only pairings among these."),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Play the folder's results again; exit status 1 if they differ."
        ),
    ] = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Play a round robin of agents and rank them.

    With --folder the results are saved in a folder, which grows: agents that enter later play the
    deals that the others have played. The agents enter every game of the folder (two_player in a
    new one), or that of --rules. A command that was stopped or killed continues where it was.
    """
    from hearts_train.cli import league, reports
    from hearts_train.measure import tournament as measure

    how: dict[str, Any] = {"isolate": isolate, "workers": workers, "backend": backend}
    if folder is None:
        refuse_other(context, _OF_FOLDERS, "is for a folder; add --folder DIR, or omit it")
        check_apart(save=save or resume, json=as_json)
        everybody: Any = agents or []
        settings: dict[str, Any] = {"rules": rules_of(rules), "seed": seed, **how}
        settings |= {"deals": 1000 if deals is None else deals, "time_limit": time_limit}
        if resume is not None:
            everybody, saved = reports.resumed(context, resume, "tournament")
            settings |= saved
        settings |= {"command": reports.command_line(), "show": console.progress}
        with reports.stoppable("tournament", save or resume):
            result = measure.tournament(everybody, **settings, save=save, resume=resume)
        stopped = " (stopped early)" * result.interrupted
        league.show_ranking(result.rules + stopped, result.ranking)
        reports.show_faults(list(result.evaluations.values()))
        if as_json:
            console.print_json(result.to_json(), as_json)
        reports.finish("tournament", save, resume, interrupted=result.interrupted)
        return
    refuse_other(context, _OF_ONE, "is not for --folder, which keeps all; omit it")
    played = rules_of(rules)
    if verify:
        refuse_other(context, _NOT_VERIFIED, "is not for --verify, which plays again; omit it")
        league.check(folder, played, deals, seed, as_json=as_json, **how)
        return
    if deals == 0:
        refuse_other(context, _OF_PLAY, "is for play, and --deals 0 plays nothing; omit it")
    among = None if only is None else names_in(only, "--only")
    goal = None if deals == 0 else measure.Goal(deals, until, among)
    if agents:
        league.add(
            folder,
            agents,
            played,
            seed=seed if is_said(context, "seed") else None,
            isolate=isolate,
        )
    else:
        refuse_other(context, ("seed",), "is for a new folder, or --verify; omit it")
    if goal is not None:
        league.play(folder, played, goal, **how)
    league.show(folder, played, as_json=as_json)
