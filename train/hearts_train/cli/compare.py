"""The command that compares two agents, or two groups of training runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AllowCode,
    Backend,
    Isolate,
    Json,
    Players,
    Resume,
    RulesName,
    Save,
    Seed,
    TimeLimit,
    Workers,
    app,
    names_in,
    rules_of,
)


@app.command(
    epilog="Example: hearts compare runs/demo-2 runs/demo-1 --low 0 --high 0.2 --workers 2",
)
def compare(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(help="Two agents: is A better than B? Or groups of runs: A A A vs B B B."),
    ] = None,
    low: Annotated[
        float,
        typer.Option("--low", metavar="POINTS", help="A's margin over B is this or less, ..."),
    ] = 0.0,
    high: Annotated[
        float, typer.Option("--high", metavar="POINTS", help="... or this or more, points a deal.")
    ] = 0.1,
    alpha: Annotated[
        float, typer.Option("--alpha", help="How often 'high' may be wrong where 'low' is true.")
    ] = 0.05,
    beta: Annotated[
        float, typer.Option("--beta", help="How often 'low' may be wrong where 'high' is true.")
    ] = 0.05,
    opponents: Annotated[
        str | None,
        typer.Option(
            "--opponents", metavar="AGENT,...", help="Both play these, instead of each other."
        ),
    ] = None,
    max_deals: Annotated[
        int, typer.Option("--max-deals", help="Give up after this many deals.")
    ] = 1_000_000,
    deals: Annotated[
        int, typer.Option("--deals", help="With 'vs': deals of each run against each opponent.")
    ] = 1000,
    rules: RulesName = None,
    players: Players = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the sequential test.")] = False,
    as_json: Json = None,
) -> None:
    """Decide which of two agents is better, in as few deals as that takes."""
    from hearts_train.cli import comparing, reports
    from hearts_train.measure.comparison import Comparison
    from hearts_train.measure.sequential import Question

    others = None if opponents is None else names_in(opponents, "--opponents")
    arguments: dict[str, Any]
    if resume is not None:
        arguments = comparing.arguments_of(reports.resumed(context, resume, "compare"))
    else:
        is_group = "vs" in (agents or [])
        arguments = {"seed": seed, "isolate": isolate, "time_limit": time_limit}
        arguments["groups"] = comparing.groups_of(agents or [])
        comparing.refuse_other_kind(context, is_group=is_group)
        arguments |= {"rules": rules_of(rules, players), "opponents": others}
        if is_group:
            arguments["deals"] = deals
        else:
            arguments |= {"question": Question(low, high, alpha, beta), "max_deals": max_deals}
    result = comparing.play(**arguments, save=save, resume=resume, workers=workers, backend=backend)
    comparing.show(result, verbose=verbose, to_stderr=console.is_stdout(as_json))
    if as_json:
        console.print_json(result.to_json(), as_json)
    if isinstance(result, Comparison) and result.interrupted:
        reports.say_how_to_continue("compare", save or resume)
        raise console.stopped()
    reports.say_written(save)
