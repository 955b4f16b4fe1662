"""Measure the package: its speed beside its peers (`make bench`), and its attackers.

The other scripts of this folder have their own ``--help``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hearts_env.support.arguments import check_choice
from hearts_train import console
from hearts_train.cli.options import Json, Plot
from hearts_train.console import Commands

app = typer.Typer(
    name="python -m bench",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def main() -> None:
    """Measurements of the package itself."""


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


@app.command(epilog="Example: python -m bench attackers pro --rules mini")
def attackers(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The attacked agent.")],
    rules: Annotated[str, typer.Option("--rules", metavar="NAME", help="A small deck.")] = "mini",
    as_json: Json = None,
) -> None:
    """Measure what share of a best response's margin each attacker finds, over all deals."""
    from bench.attackers import calibrate

    found = calibrate(agent, rules, console.progress)
    rows = [
        [gain["attacker"], f"{gain['margin']:+.4f}", f"{gain['ratio'] or 0:.1%}"]
        for gain in found["gains"]
    ]
    rows.append(["best response", f"{found['exploitability']:+.4f}", ""])
    title = f"attackers of {agent}, {found['rules']}: exact margin in points per deal"
    console.print_table(title, ["attacker", "margin", "share"], rows)
    if as_json:
        console.print_json(found, as_json)


if __name__ == "__main__":
    app()
