"""The tournament command: a round robin, once or in a folder that grows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from hearts_env import Rules
    from hearts_train.measure.standings import Ranking

_OF_FOLDERS = ("until", "only", "verify")
_OF_ONE = ("time_limit", "save", "resume")
_OF_PLAY = ("until", "only")
_NOT_VERIFIED = ("agents", *_OF_PLAY)


@app.command(
    epilog="Example: hearts tournament easy standard pro runs/demo-1; "
    "hearts tournament pro my_agent.py:MyAgent --folder mine --until 0.03 --allow-code"
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
        str | None, typer.Option("--only", metavar="AGENT,...", help="Only pairings among these.")
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
    from hearts_train.cli import reports
    from hearts_train.measure import folder as folders
    from hearts_train.measure import standings
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
        _show_ranking(result.rules + stopped, result.ranking)
        reports.show_faults(list(result.evaluations.values()))
        if as_json:
            console.print_json(result.to_json(), as_json)
        reports.finish("tournament", save, resume, interrupted=result.interrupted)
        return
    refuse_other(context, _OF_ONE, "is not for --folder, which keeps all; omit it")
    game = rules_of(rules)
    if verify:
        refuse_other(context, _NOT_VERIFIED, "is not for --verify, which plays again; omit it")
        _verify(folder, game, deals, seed, as_json, how)
        return
    if deals == 0:
        refuse_other(context, _OF_PLAY, "is for play, and --deals 0 plays nothing; omit it")
    among = None if only is None else names_in(only, "--only")
    goal = None if deals == 0 else measure.Goal(deals, until, among)
    if agents:
        given = seed if is_said(context, "seed") else None
        folders.enter(folder, agents, [game] if game else None, seed=given, isolate=isolate)
        for one in folders.read_folder(folder).chosen(game):
            console.note(f"{one.name}: {', '.join(one.agents)}")
    else:
        refuse_other(context, ("seed",), "is for a new folder, or --verify; omit it")
    if goal is not None:
        try:
            measure.play_folder(folder, goal, game, show=console.progress, **how)
        except KeyboardInterrupt:
            console.note("stopped")
            console.note(f"saved; continue with: {reports.command_line()}")
            raise console.stopped() from None
    shown = folders.read_folder(folder)
    games = shown.chosen(game)
    for one in games:
        _show_ranking(one.name, standings.Ranking.of(one))
    if as_json:
        console.print_json(standings.tables(shown, games), as_json)


def _show_ranking(game: str, ranking: Ranking) -> None:
    """Print standings, cross table and cycles."""
    for table in ranking.tables(game):
        console.print_table(*table)
    for line in ranking.remarks():
        console.say(line)


def _verify(
    folder: Path,
    game: Rules | None,
    deals: int | None,
    seed: int,
    as_json: str | None,
    how: dict[str, Any],
) -> None:
    """Play blocks again; exit status 1 if a line is not reproduced."""
    from hearts_env.render.scene import count_text
    from hearts_train.cli.reports import stoppable
    from hearts_train.measure.contest import num_deals
    from hearts_train.measure.tournament import verify_folder

    with stoppable():
        blocks, wrong = verify_folder(folder, game, deals, seed, show=console.progress, **how)
    if not blocks:
        raise console.Mistake(
            f"{folder}: nothing was played yet; play with: hearts tournament --folder {folder}"
        )
    for one in wrong:
        console.note(
            f"{one['file']}, line {one['line']}: {' and '.join(one['agents'])}, deals from "
            f"{one['first']:,} on: does not hold; played again it differs in "
            f"{', '.join(one['fields'])}"
        )
    if not wrong:
        played = f"{count_text(len(blocks), 'block')} of {count_text(num_deals(blocks), 'deal')}"
        console.note(f"{folder}: {played} played again: the same to the last digit")
    if as_json:
        console.print_json({"holds": not wrong, "blocks": len(blocks), "differing": wrong}, as_json)
    if wrong:
        raise typer.Exit(1)
