"""The commands evaluate, compare, tournament, benchmark and warmup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AGENT_HELP,
    AgentName,
    AllowCode,
    Backend,
    Isolate,
    Json,
    Plot,
    Resume,
    RulesName,
    Save,
    Seed,
    TimeLimit,
    Workers,
    app,
    given_agent,
    named,
    names_in,
    refuse_given,
    refuse_other,
    rules_of,
)
from hearts_train.console import Mistake


@app.command(
    epilog="Example: hearts evaluate runs/demo-1 --opponents standard,pro --plot margins.pdf"
)
def evaluate(
    context: typer.Context,
    agent: AgentName = None,
    opponents: Annotated[
        str,
        typer.Option(
            "--opponents", metavar="AGENT,...", help="Agents to play against, one after another."
        ),
    ] = "easy,standard,standard_trump,pro",
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            metavar="N",
            help="Duplicate deals against each opponent. Default: 2000. With --unit match: pairs "
            "of matches. Default: 200.",
        ),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="deal|match",
            help="Play single deals, or whole matches (two players only).",
        ),
    ] = "deal",
    rules: RulesName = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    plot: Plot = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Measure an agent on duplicate deals against others.

    Each deal is played once with the agent in every seat, so good cards help both sides equally.
    Matches are played in pairs, with the seats swapped.
    """
    from hearts_train.cli import reports
    from hearts_train.measure.evaluation import evaluate as measure
    from hearts_train.measure.evaluation import plot as draw

    work = reports.Work(context, measure)
    if resume is None:
        usual = 200 if unit == "match" else 2000
        work.begin(
            [given_agent(context, agent), *names_in(opponents, "--opponents")],
            rules=rules_of(rules),
            deals=usual if deals is None else deals,
            seed=seed,
            unit=unit,
            isolate=isolate,
            time_limit=time_limit,
        )
    if work.settings.get("unit") == "match":
        refuse_other(context, ("plot",), "does not apply to matches; omit it")
    measured, *others = work.agents
    with work.stoppable():
        results = measure(measured, others, **work.settings)
    reports.show_evaluations(results)
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    is_stopped = len(results) < len(others) or results[-1].interrupted
    work.finish([result.to_json() for result in results], interrupted=is_stopped)


@app.command(epilog="Example: hearts compare runs/demo-2 runs/demo-1 --margins 0,0.2 --workers 2")
def compare(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", help="The two agents. The test asks if A is better than B."),
    ] = None,
    margins: Annotated[
        str,
        typer.Option(
            "--margins",
            metavar="LOW,HIGH",
            help="Decide between two claims about A's margin over B in points per deal: it is LOW "
            "or less, or HIGH or more.",
        ),
    ] = "0,0.1",
    errors: Annotated[
        str,
        typer.Option(
            "--errors",
            metavar="ALPHA,BETA",
            help="Error rates of the decision: ALPHA for HIGH or more when LOW is true, BETA for "
            "LOW or less when HIGH is true.",
        ),
    ] = "0.05,0.05",
    deals: Annotated[
        int,
        typer.Option(
            "--deals", metavar="N", help="Stop without a decision after N duplicate deals."
        ),
    ] = 1_000_000,
    rules: RulesName = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    as_json: Json = None,
) -> None:
    """Decide which of two agents is better, with as few deals as possible.

    A sequential test looks at the results again and again, and stops when the margin is clear.
    """
    from hearts_train.cli import reports
    from hearts_train.measure.comparison import compare as measure
    from hearts_train.measure.statistics import Question

    work = reports.Work(context, measure)
    if resume is None:
        if agents is None or len(agents) != 2:
            count = f"{len(agents)} given" if agents else "none given"
            raise Mistake(f"agents: {count}; give two, as in 'hearts compare runs/new runs/old'")
        low, high = reports.parse_pair(margins, "--margins", "0,0.1")
        alpha, beta = reports.parse_pair(errors, "--errors", "0.05,0.05")
        work.begin(
            agents,
            rules=rules_of(rules),
            question=Question(low, high, alpha, beta),
            deals=deals,
            seed=seed,
            isolate=isolate,
            time_limit=time_limit,
        )
    else:
        asked = work.settings["question"]
        work.settings["question"] = Question(*map(asked.get, ("low", "high", "alpha", "beta")))
    measured, other = work.agents
    with work.stoppable():
        result = measure(measured, other, **work.settings)
    reports.show_comparison(result)
    work.finish(result.to_json(), interrupted=result.interrupted)


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

    work = reports.Work(context, measure)
    if resume is None:
        work.begin(
            agents or [],
            rules=rules_of(rules),
            deals=deals,
            seed=seed,
            isolate=isolate,
            time_limit=time_limit,
        )
    with work.stoppable():
        result = measure(work.agents, **work.settings)
    for table in result.tables():
        console.print_table(*table)
    reports.show_faults(list(result.evaluations.values()))
    work.finish(result.to_json(), interrupted=result.interrupted)


@app.command(epilog="Example: hearts benchmark my_agent.py:MyAgent --split test --json mine.json")
def benchmark(
    context: typer.Context,
    agent: AgentName = None,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="NAME",
            help="The game: two_player, mini, micro, classic or party-5. Default: the game "
            "that a checkpoint was trained for, else two_player.",
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="NAME",
            help="The deals: dev to develop an agent, test for its final result.",
        ),
    ] = "dev",
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            metavar="N",
            help="Play only the first N duplicate deals. Default: all of the track.",
        ),
    ] = None,
    declare: Annotated[
        list[str] | None,
        typer.Option(
            "--declare",
            metavar="NAME=TEXT",
            help="State a fact about the agent. decisions=N: its decisions in training. "
            "repeats=no: it plays differently each time, as with a clock. For the leaderboard "
            "authors=NAMES, code=https://..., and compute=TEXT (used in training). Repeat the "
            "option for more.",
        ),
    ] = None,
    isolate: Isolate = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            "--verify",
            metavar="FILE",
            callback=named,
            help="Play the result in FILE again and list the differences (exit status 1 if any).",
        ),
    ] = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Run HeartsBench: fixed deals against fixed opponents, so results can be compared."""
    from hearts_train.cli import benchmark as benching
    from hearts_train.cli import reports
    from hearts_train.measure.benchmark import benchmark as measure

    entry = benching.declared(declare or [])
    learned = entry.pop("decisions", None)
    if verify is not None:
        if resume is not None:
            raise Mistake("--verify: needs a finished result; omit --resume")
        settled = ("track", "split", "deals", "declare", "save")
        refuse_given(context, settled, "--verify", verify)
    work = reports.Work(context, measure)
    if verify is not None:
        how = {"workers": workers, "backend": backend, "isolate": isolate}
        record, differing = benching.check(work, verify, agent, **how)
    elif resume is not None:
        if learned is not None:
            raise Mistake(f"--declare: decisions is already fixed in {resume}; omit it")
    else:
        played = given_agent(context, agent)
        work.begin(
            [played],
            track=track or benching.track_of(played, isolate=isolate),
            split=split,
            deals=deals,
            decisions=None if learned is None else int(learned),
            isolate=isolate,
        )
    if verify is None:
        with work.stoppable():
            record = measure(work.agents[0], **work.settings)
    record |= {"entry": entry} if entry else {}
    benching.show(record)
    if verify is None:
        work.finish(record, write=benching.write)
    else:
        work.finish({"holds": not differing} | record, write=benching.write)
        benching.report_verdict(verify, record, differing)


@app.command(epilog="Example: hearts warmup")
def warmup(
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Processes that compile. Default: one per core, at most 4.",
        ),
    ] = None,
) -> None:
    """Compile everything now, so later commands start at once."""
    from hearts_env.support import clock
    from hearts_train.warmup import warm_up

    begin = clock.now()
    with console.progress("compiling") as report:
        compiled = warm_up(report, workers=workers)
    seconds = console.format_seconds(clock.now() - begin)
    console.say(f"compiled {compiled} functions in {seconds}")
