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
    epilog="Example: hearts compare runs/demo-2 runs/demo-1 --margins 0,0.2 --workers 2",
)
def compare(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(help="Two agents: is A better than B? Or groups of runs: A A A vs B B B."),
    ] = None,
    margins: Annotated[
        str,
        typer.Option(
            "--margins",
            metavar="LOW,HIGH",
            help="Test A's margin over B, in points a deal: at most LOW, or at least HIGH.",
        ),
    ] = "0,0.1",
    errors: Annotated[
        str,
        typer.Option(
            "--errors",
            metavar="ALPHA,BETA",
            help="Error rates: of accepting HIGH where LOW is true, and LOW where HIGH is true.",
        ),
    ] = "0.05,0.05",
    opponents: Annotated[
        str | None,
        typer.Option(
            "--opponents", metavar="AGENT,...", help="Agents that both play, instead of each other."
        ),
    ] = None,
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            help="Stop after this many deals (default 1,000,000); with 'vs': deals of each run "
            "against each opponent (1000).",
        ),
    ] = None,
    rules: RulesName = None,
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
    """Decide which of two agents is better, with as few deals as possible."""
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
        arguments |= {"rules": rules_of(rules), "opponents": others}
        if deals is not None:
            arguments["deals"] = deals
        if not is_group:
            low, high = comparing.two_of(margins, "--margins", "0,0.1")
            arguments["question"] = Question(
                low, high, *comparing.two_of(errors, "--errors", "0.05,0.05")
            )
    result = comparing.play(**arguments, save=save, resume=resume, workers=workers, backend=backend)
    comparing.show(result, verbose=verbose, to_stderr=console.is_stdout(as_json))
    if as_json:
        console.print_json(result.to_json(), as_json)
    if isinstance(result, Comparison) and result.interrupted:
        reports.say_how_to_continue("compare", save or resume)
        raise console.stopped()
    reports.say_written(save)
