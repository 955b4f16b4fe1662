"""The command tournament."""

from __future__ import annotations

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
    rules_of,
)


@app.command(epilog="Example: hearts tournament easy standard pro runs/demo-1 --workers 2")
def tournament(
    context: typer.Context,
    agents: Annotated[list[str] | None, typer.Argument(metavar="AGENT", help=AGENT_HELP)] = None,
    deals: Annotated[
        int,
        typer.Option(
            "--deals", metavar="N", help="Duplicate deals that each pair of agents plays."
        ),
    ] = 1000,
    rules: RulesName = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Let every agent play every other on the same deals, and rank them."""
    from hearts_train.cli import reports
    from hearts_train.measure.tournament import tournament as measure

    check_apart(save=save or resume, json=as_json)
    settings: dict[str, Any] = {"rules": rules_of(rules), "deals": deals, "seed": seed}
    settings |= {"isolate": isolate, "time_limit": time_limit}
    entrants: Any = agents or []
    if resume is not None:
        entrants, settings = reports.resumed(context, resume, "tournament")
    settings |= reports.run_settings(save, resume, workers, backend)
    with reports.stoppable("tournament", save or resume):
        result = measure(entrants, **settings)
    for table in result.tables():
        console.print_table(*table)
    reports.show_faults(list(result.evaluations.values()))
    if as_json:
        console.print_json(result.to_json(), as_json)
    reports.finish("tournament", save, resume, interrupted=result.interrupted)
