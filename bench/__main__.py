"""Measurements of the package itself: ``python -m bench speed | complexity | calibrate | floors``.

They measure the machine, the games and the models, not players; `make bench` runs the first. The
other scripts of this folder have their own ``--help``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hearts_env.support.arguments import check_choice
from hearts_train import console
from hearts_train.cli.options import (
    AllowCode,
    Backend,
    Json,
    Players,
    Plot,
    RulesName,
    Seed,
    Workers,
    names_in,
    rules_of,
)
from hearts_train.cli.reports import with_origin
from hearts_train.console import Commands

app = typer.Typer(
    name="python -m bench",
    cls=Commands,
    help="Measurements of the package itself.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(epilog="Example: python -m bench speed --quick")
def speed(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter, rougher.")] = False,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Measure other libraries too.")
    ] = True,
    group: Annotated[
        str | None, typer.Option("--group", metavar="NAME", help="Measure one group of the tables.")
    ] = None,
    plot: Plot = None,
    as_json: Json = None,
) -> None:
    """Measure speed on this machine, beside the peers that are installed (extra `bench`)."""
    from bench.speed import GROUPS, draw, left_out, run_bench, tables, to_json

    if group is not None:
        check_choice("--group", group, tuple(GROUPS))
    with console.progress("bench") as report:
        results = run_bench(quick=quick, with_peers=peers, group=group, progress=report)
    for title, columns, rows in tables(results):
        console.print_table(title, columns, rows)
    if missing := left_out(results):
        console.note("left out: " + "; ".join(missing))
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json(to_json(results), as_json)


@app.command(epilog="Example: python -m bench complexity mini classic --lines 100000")
def complexity(
    rules: Annotated[
        list[str] | None, typer.Argument(help="Presets; none: all, with every number of players.")
    ] = None,
    players: Players = None,
    lines: Annotated[
        int, typer.Option("--lines", help="Random lines from which large trees are estimated.")
    ] = 100_000,
    positions: Annotated[
        int, typer.Option("--positions", help="Positions whose hidden worlds are counted for that.")
    ] = 1000,
    pro_deals: Annotated[int, typer.Option("--pro-deals", help="Deals that `pro` plays.")] = 10,
    seed: Seed = 0,
    workers: Workers = None,
    backend: Backend = "local",
    as_json: Json = None,
) -> None:
    """Say how large games are: deals, choices, hidden worlds, information sets, game tree.

    Trees that fit into memory are counted, others estimated, with 95 % intervals.
    """
    from bench.complexity import COLUMNS, Measurement, all_rules, complexities, rows

    names = list(rules or [])
    if players is not None and not names:
        names = ["two_player" if players == 2 else "party"]
    texts = [str(rules_of(name, players)) for name in names] or all_rules()
    work = Measurement(lines=lines, positions=positions, pro_deals=pro_deals, seed=seed)
    with console.progress("complexity") as report:
        found = complexities(texts, report, measurement=work, workers=workers, backend=backend)
    title = "how large the games are; choices, branching, forced: random play / pro"
    console.print_table(title, COLUMNS, rows(found))
    records = with_origin([one.to_json() for one in found], seed)
    if as_json:
        console.print_json(records, as_json)
    if len(found) < len(texts):
        raise console.stopped()


@app.command(epilog="Example: python -m bench calibrate pro --deals 200 --plot loss.svg")
def calibrate(
    agent: Annotated[str, typer.Argument(help="Who plays both hands.")],
    model: Annotated[
        str, typer.Option("--model", metavar="AGENT,...", help="Opponent models.")
    ] = "standard,pro",
    deals: Annotated[int, typer.Option("--deals", help="Deals to play.")] = 100,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Probability that the model plays a random card.")
    ] = 0.1,
    rules: RulesName = None,
    seed: Seed = 0,
    plot: Plot = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Measure how much models of a player reveal of its hidden hand."""
    from bench.calibration import COLUMNS, draw, rows
    from bench.calibration import calibrate as measure

    models = names_in(model, "--model")
    with console.progress(f"{agent} against itself") as report:
        results = measure(
            agent,
            models,
            rules_of(rules, None) or "two_player",
            deals=deals,
            epsilon=epsilon,
            seed=seed,
            progress=report,
        )
    stopped = " (stopped early)" * results[0].interrupted
    title = (
        f"what the play of {agent} reveals about its hand, {results[0].deals} deals{stopped}, "
        "95 % intervals"
    )
    console.print_table(title, COLUMNS, rows(results))
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json(with_origin([result.to_json() for result in results], seed), as_json)
    if results[0].interrupted:
        raise console.stopped()


@app.command(epilog="Example: python -m bench floors mini --encoders ranked,recall")
def floors(
    rules: Annotated[list[str], typer.Argument(help="Small decks: micro, mini, mini_6.")],
    encoders: Annotated[
        str | None, typer.Option("--encoders", metavar="NAME,...", help="Default: all.")
    ] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", min=1, help="Of regret minimisation.")
    ] = 200,
    as_json: Json = None,
) -> None:
    """Measure what encoders forget: the least exploitability of policies that see them alone."""
    from bench.floors import COLUMNS, rows_told
    from bench.floors import floors as measure
    from hearts_env.encoders import ENCODERS

    names = [] if encoders is None else names_in(encoders, "--encoders")
    found = measure(rules, names, iterations, show=console.progress)
    title = "policies of observations: points a deal that a best response wins at least"
    console.print_table(title, COLUMNS, rows_told(found))
    if as_json:
        console.print_json(with_origin([one.to_json() for one in found]), as_json)
    if len(found) < len(rules) * len(names or ENCODERS) or found[-1].interrupted:
        raise console.stopped()


if __name__ == "__main__":
    app()
