"""The command ``hearts serve``: the table in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train.command.options import AllowCode, app


@app.command(
    epilog="Example: hearts serve --open; hearts serve --agent runs/demo; "
    "hearts serve --host 0.0.0.0 --allow-host hearts.example.org",
)
def serve(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on. The default serves this machine alone; 0.0.0.0 serves "
            "everybody who can reach it.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", help="Port to listen on; 0: any that is free, printed.")
    ] = 8650,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="A further agent to play against: a run's folder, a checkpoint, FILE.py:CLASS; "
            "may be given several times.",
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            help="Show the training runs in this folder, live, and let people play them; default: "
            "runs/ where there is one. May be given several times.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Where tables are kept; default: the user's data folder."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name by which browsers reach this server, beside localhost and addresses.",
        ),
    ] = None,
    allow_code: AllowCode = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a page on which people play against agents and each other, until Ctrl-C.

    Two-player Hearts against the champion is one click away; every game of 'hearts rules' can be
    chosen, against the package's agents and those of --agent, or with friends by a link. Every card
    is kept on disk, so that a server that was stopped resumes every table.
    """
    from hearts_train.command.serve_command import Options, serve_tables

    here = Path("runs")
    serve_tables(
        Options(
            host=host,
            port=port,
            agents=tuple(agent or ()),
            data=data,
            runs=tuple(runs or ([here] if here.is_dir() else [])),
            names=tuple(allow_host or ()),
            opens=open_page,
        )
    )
