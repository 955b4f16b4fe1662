"""The command that attacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train import console
from hearts_train.command.cli_options import (
    AgentName,
    AllowCode,
    Backend,
    Json,
    Out,
    Resume,
    RulesName,
    Seed,
    Workers,
    app,
    check_output,
    refuse_said,
    rules_of,
)
from hearts_train.console import Mistake

_SETTINGS = ("agent", "attackers", "rules", "tricks", "deals", "seed", "seconds", "run", "out")


@app.command(
    rich_help_panel="Measure",
    epilog="Example: hearts attack runs/demo-1 --attackers all --deals 1000 --workers 2",
)
def attack(
    context: typer.Context,
    agent: AgentName = None,
    attackers: Annotated[
        str,
        typer.Option(
            "--attackers",
            metavar="NAME,...",
            help="belief, lbr, endings, lbr_endings, trained; all; also any other player.",
        ),
    ] = "belief,lbr,endings,lbr_endings",
    rules: RulesName = None,
    deals: Annotated[
        int, typer.Option("--deals", help="Deals, each played in both seats; small decks: all.")
    ] = 600,
    tricks: Annotated[
        int | None,
        typer.Option("--tricks", help="Last tricks that 'endings' answers exactly; usually half."),
    ] = None,
    seed: Seed = 0,
    seconds: Annotated[
        float, typer.Option("--seconds", help="How long 'trained' learns against the agent.")
    ] = 300.0,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Folder of what 'trained' learns.")
    ] = None,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    out: Out = None,
    resume: Resume = None,
    as_json: Json = False,
) -> None:
    """Find out what players who know an agent win from it, a lower bound on its exploitability.

    Each attacker sees its own cards alone, but may ask the frozen agent what it would do in any
    view. On micro and mini the best response is computed beside it, and both are exact.
    """
    from hearts_train.command import attack_command as attacking
    from hearts_train.command.reports import say_how_to_go_on, say_written

    check_output(out, "--out")
    if resume is not None:
        refuse_said(context, _SETTINGS, "--resume", resume)
        begun = attacking.read_begun(resume)
    elif agent is None:
        raise Mistake("agent: none given; name one; see 'hearts attack --help'")
    else:
        begun = attacking.Begun(agent, attacking.attackers_in(attackers), tricks, deals, seed)
        begun = attacking.prepared(begun, rules_of(rules, None), seconds, run, is_kept=bool(out))
    result = attacking.measure(begun, out, resume, workers=workers, backend=backend)
    attacking.show(result, to_stderr=as_json)
    if as_json:
        console.print_json(result.to_json())
    if result.interrupted:
        say_how_to_go_on("attack", out or resume)
        raise console.stopped()
    say_written(out)
