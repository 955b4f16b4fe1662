"""The commands evaluate, compare, tournament, benchmark and warmup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AGENT_HELP,
    AgentName,
    AllowCode,
    Backend,
    Isolate,
    Json,
    Players,
    Plot,
    Resume,
    RulesName,
    Save,
    Seed,
    TimeLimit,
    Workers,
    app,
    check_apart,
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
            help="Duplicate deals against each opponent, or with --unit match pairs of matches. "
            "Default: 2000 deals or 200 pairs.",
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
    players: Players = None,
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

    Each deal is played once with the agent in every seat, which cancels the luck of the cards.
    Matches are played in pairs, with the seats swapped.
    """
    from hearts_train.cli import reports
    from hearts_train.measure.evaluation import evaluate as measure
    from hearts_train.measure.evaluation import plot as draw

    check_apart(save=save or resume, plot=plot, json=as_json)
    entrants: Any
    settings: dict[str, Any]
    if resume is not None:
        entrants, settings = reports.resumed(context, resume, "evaluate")
    else:
        entrants = [_given(agent, "evaluate"), *names_in(opponents, "--opponents")]
        usual = 200 if unit == "match" else 2000
        settings = {"rules": rules_of(rules, players), "deals": usual if deals is None else deals}
        settings |= {"seed": seed, "unit": unit, "isolate": isolate, "time_limit": time_limit}
    if settings.get("unit") == "match":
        refuse_other(context, ("plot",), "does not apply to matches; omit it")
    settings |= reports.run_settings(save, resume, workers, backend)
    with reports.stoppable("evaluate", save or resume):
        results = measure(entrants[0], entrants[1:], **settings)
    reports.show_evaluations(results)
    if as_json:
        console.print_json([result.to_json() for result in results], as_json)
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    is_stopped = len(results) < len(entrants) - 1 or results[-1].interrupted
    reports.finish("evaluate", save, resume, interrupted=is_stopped)


@app.command(epilog="Example: hearts compare runs/demo-2 runs/demo-1 --margins 0,0.2 --workers 2")
def compare(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", help="The two agents. The test asks if A is the better one."),
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

    entrants: Any
    settings: dict[str, Any]
    if resume is not None:
        entrants, settings = reports.resumed(context, resume, "compare")
        settings |= {"question": Question(**settings["question"])}
        del settings["test"]
    else:
        entrants = list(agents or [])
        if len(entrants) != 2:
            count = f"{len(entrants)} given" if entrants else "none given"
            raise Mistake(f"agents: {count}; give two, as in 'hearts compare runs/new runs/old'")
        low, high = reports.parse_pair(margins, "--margins", "0,0.1")
        alpha, beta = reports.parse_pair(errors, "--errors", "0.05,0.05")
        settings = {"rules": rules_of(rules), "question": Question(low, high, alpha, beta)}
        settings |= {"deals": deals, "seed": seed, "isolate": isolate, "time_limit": time_limit}
    settings |= reports.run_settings(save, resume, workers, backend)
    with reports.stoppable("compare", save or resume):
        result = measure(*entrants, **settings)
    reports.show_comparison(result)
    if as_json:
        console.print_json(result.to_json(), as_json)
    reports.finish("compare", save, resume, interrupted=result.interrupted)


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


@app.command(epilog="Example: hearts benchmark my_agent.py:MyAgent --split test --json mine.json")
def benchmark(
    context: typer.Context,
    agent: AgentName = None,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="NAME",
            help="The game: two_player, mini, micro, classic or party-5. Default: the one that a "
            "checkpoint was trained for, else two_player.",
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
            help="State a fact about the agent. budget=1ms, 50ms or free: its time limit per "
            "decision (default: free). decisions=N: its decisions in training. repeats=no: it "
            "plays differently each time, as with a clock. For the leaderboard authors=NAMES, "
            "code=https://..., and compute=TEXT (used in training). Repeat the option for more.",
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

    check_apart(save=save or resume, verify=verify, json=as_json)
    entry = benching.declared(declare or [])
    classes = {name: entry.pop(name) for name in benching.CLASSES if name in entry}
    differing: list[str] = []
    if verify is not None:
        if resume is not None:
            raise Mistake("--verify: needs a finished result; omit --resume")
        settled = ("track", "split", "deals", "declare", "save")
        refuse_given(context, settled, "--verify", verify)
        how = {"workers": workers, "backend": backend, "isolate": isolate}
        record, differing = benching.check(verify, agent, **how)
    else:
        played: Any
        if resume is not None:
            (played, *_), arguments = reports.resumed(context, resume, "benchmark")
            if classes:
                raise Mistake(f"--declare: {min(classes)} is already fixed in {resume}; omit it")
            names = ("track", "split", "deals", "budget", "decisions", "isolate")
            settings = {name: arguments[name] for name in names}
        else:
            played = _given(agent, "benchmark")
            settings = {"track": track or benching.track_of(played, isolate=isolate)}
            settings |= {"split": split, "deals": deals, "budget": classes.get("budget", "free")}
            seen = int(classes["decisions"]) if "decisions" in classes else None
            settings |= {"decisions": seen, "isolate": isolate}
        settings |= reports.run_settings(save, resume, workers, backend)
        with reports.stoppable("benchmark", save or resume):
            record = measure(played, **settings)
    record |= {"entry": entry} if entry else {}
    benching.show(record)
    reports.say_written(save)
    if as_json:
        benching.write(record if verify is None else {"holds": not differing} | record, as_json)
    if verify is not None:
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
    print(f"compiled {compiled} functions in {seconds}")


def _given(agent: str | None, command: str) -> str:
    """Return the agent, or raise if none was named."""
    if agent is None:
        raise Mistake(f"agent: none given; name one; see 'hearts {command} --help'")
    return agent
