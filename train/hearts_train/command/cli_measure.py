"""Commands that measure: evaluate, benchmark, warmup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train import console
from hearts_train.command.options import (
    AgentName,
    AllowCode,
    Backend,
    Html,
    Isolate,
    Json,
    Players,
    Plot,
    Resume,
    RulesName,
    Save,
    Seed,
    TimeLimit,
    Totals,
    Unit,
    Workers,
    app,
    check_apart,
    check_output,
    check_plot,
    names_in,
    refuse_other,
    refuse_said,
    rules_of,
)
from hearts_train.console import Mistake

_OF_DEALS = ("players", "isolate", "time_limit", "save", "resume", "plot")


@app.command(
    epilog="Example: hearts evaluate runs/demo-1 --opponents standard,pro --plot margins.pdf",
)
def evaluate(
    context: typer.Context,
    agent: AgentName = None,
    opponents: Annotated[
        str,
        typer.Option("--opponents", metavar="AGENT,...", help="Agents to play against."),
    ] = "easy,standard,standard_trump,pro",
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            help="Duplicate deals (default 2000), or matches (200).",
        ),
    ] = None,
    unit: Unit = "deal",
    totals: Totals = None,
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

    With --unit match the players know the score: each match is played twice with the seats swapped.
    """
    from hearts_train.command import match_command as matching
    from hearts_train.command.reports import (
        command_line,
        evaluate_against,
        resumed,
        say_how_to_go_on,
        say_written,
        show_evaluations,
    )
    from hearts_train.measure.evaluation import plot as draw

    if matching.is_match(unit):
        refuse_other(context, _OF_DEALS, "is not for matches; omit it, or --unit match")
        matching.evaluate_matches(
            _given(agent, "evaluate"),
            names_in(opponents, "--opponents"),
            rules_of(rules, None),
            200 if deals is None else deals,
            seed,
            totals,
            crew=(workers, backend),
            as_json=as_json,
        )
        return
    refuse_other(context, ("totals",), "is for matches; add --unit match, or omit it")
    check_plot(plot)
    check_output(save, "--save")
    check_apart(save=save or resume, plot=plot, json=as_json)
    played, deals = rules_of(rules, players), 2000 if deals is None else deals
    if resume is not None:
        (agent, *names), played, deals, seed, isolate, time_limit = resumed(
            context, resume, is_tournament=False, is_given=agent is not None
        )
    else:
        names = names_in(opponents, "--opponents")
    results = evaluate_against(
        _given(agent, "evaluate"),
        names,
        played,
        deals,
        seed,
        isolate=isolate,
        time_limit=time_limit,
        out=save,
        resume=resume,
        workers=workers,
        backend=backend,
        command=command_line(),
    )
    show_evaluations(results, to_stderr=console.is_stdout(as_json))
    if as_json:
        console.print_json([result.to_json() for result in results], as_json)
    if plot is not None and results:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if len(results) < len(names) or results[-1].interrupted:
        say_how_to_go_on("evaluate", save or resume)
        raise console.stopped()
    say_written(save)


@app.command(
    epilog="Example: hearts benchmark my_agent.py:MyAgent --split test --save mine.json",
)
def benchmark(
    context: typer.Context,
    agent: AgentName = None,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="NAME",
            help="two_player, mini, micro, classic, party-5; none: what a checkpoint was trained "
            "for, else two_player.",
        ),
    ] = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Which deals: dev, to look at, or test.")
    ] = "dev",
    deals: Annotated[
        int | None, typer.Option("--deals", help="Fewer deals than the protocol says.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget", metavar="TIME", help="Declared time per decision: 1ms, 50ms, free."
        ),
    ] = "free",
    decisions: Annotated[
        int | None,
        typer.Option(
            "--decisions", help="Declared decisions seen in training; checkpoints say it."
        ),
    ] = None,
    protocol: Annotated[
        int | None,
        typer.Option("--protocol", metavar="N", help="An older version of HeartsBench: 1."),
    ] = None,
    isolate: Isolate = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    page: Html = None,
    resume: Resume = None,
    verify: Annotated[
        Path | None,
        typer.Option("--verify", metavar="FILE", help="Play a result again and compare."),
    ] = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Measure an agent as HeartsBench says: fixed deals, fixed opponents."""
    from hearts_train.command import benchmark_command as benching
    from hearts_train.command.reports import say_written
    from hearts_train.measure.crew import check_crew

    crew = check_crew(workers, backend)
    check_output(page, "--html")
    check_apart(save=save, resume=resume, verify=verify, html=page, json=as_json)
    if verify is not None and resume is not None:
        raise Mistake("--verify: plays a finished result again; omit --resume")
    kept = verify or resume
    if kept is not None:
        option = "--verify" if verify is not None else "--resume"
        settled = ("track", "split", "deals", "budget", "decisions", "protocol", "save")
        refuse_said(context, settled, option, kept)
    if verify is not None:
        record, differing = benching.check(verify, agent, crew, isolate=isolate)
    else:
        if resume is not None:
            refuse_said(context, ("agent", "isolate"), "--resume", resume)
            begun = benching.read_begun(resume)
        else:
            agent = _given(agent, "benchmark")
            check_output(save, "--save")
            track = track or benching.track_of(agent, isolate=isolate)
            begun = benching.Begun(agent, track, split, deals, budget, decisions, isolate, protocol)
        record = benching.play(begun, crew, save or resume, resume=resume is not None)
        differing = []
    benching.show(record, to_stderr=console.is_stdout(as_json))
    written = None if verify is not None else save or resume
    say_written(written)
    if page is not None:
        benching.write_page(record, page, verify or written)
        say_written(page)
    if as_json:
        console.print_json(record if verify is None else {"holds": not differing} | record, as_json)
    if verify is not None:
        benching.tell_verdict(verify, differing)


@app.command(epilog="Example: hearts warmup")
def warmup(
    workers: Workers = None,
) -> None:
    """Compile everything once, so that no later command has to."""
    from hearts_train.measure.warmup import warm_up

    with console.progress("compiling") as tell:
        done = warm_up(tell, workers=workers)
    seconds = console.format_seconds(done.seconds)
    if done.num_compiled == 0:
        print(f"everything was compiled before; nothing was done again ({seconds})")
        return
    if before := [name for name, count in done.compiled.items() if count == 0]:
        console.note(f"compiled before: {', '.join(before)}")
    processes = "1 process" if done.workers == 1 else f"{done.workers} processes"
    print(f"everything is compiled: {done.num_compiled} functions in {seconds}, {processes}")


def _given(agent: str | None, command: str) -> str:
    """The agent, which must have been named."""
    if agent is None:
        raise Mistake(f"agent: none given; name one; see 'hearts {command} --help'")
    return agent
