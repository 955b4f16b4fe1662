"""The command complexity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train import console
from hearts_train.command.cli_options import (
    Backend,
    Json,
    Players,
    Seed,
    Workers,
    app,
    check_new,
    rules_of,
)


@app.command(
    rich_help_panel="Measure", epilog="Example: hearts complexity mini classic --lines 100000"
)
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
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the result here: JSON.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how large games are: deals, choices, hidden worlds, information sets, game tree.

    Trees that fit into memory are counted, others estimated, with 95 % intervals.
    """
    from hearts_env.files import write_json
    from hearts_train.command.reports import command_line, with_origin
    from hearts_train.measure.complexity import COLUMNS, Measurement, all_rules, complexities, rows

    check_new(out, "--out")
    names = list(rules or [])
    if players is not None and not names:
        names = ["two_player" if players == 2 else "party"]
    texts = [str(rules_of(name, players)) for name in names] or all_rules()
    work = Measurement(lines=lines, positions=positions, pro_deals=pro_deals, seed=seed)
    with console.progress("complexity") as tell:
        found = complexities(texts, tell, measurement=work, workers=workers, backend=backend)
    title = "how large the games are; choices, branching, forced: random play / pro"
    console.print_table(title, COLUMNS, rows(found), to_stderr=as_json)
    records = with_origin([one.to_json() for one in found], seed)
    if out is not None:
        record = {"command": command_line(), "results": records}
        write_json(out, record)
        console.note(f"written: {out}")
    if as_json:
        console.print_json(records)
    if len(found) < len(texts) or found[-1].interrupted:
        raise console.stopped()
