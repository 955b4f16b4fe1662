"""The commands `train` and `runs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    SEED_FORM,
    AllowCode,
    Json,
    app,
    named,
    read_seed,
    refuse_other,
)
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_train.learn.runs import RunFolder as Run

_PLACE = Path("runs")

Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RUN", help="Folders of runs, or folders that contain runs. Default: runs/."
    ),
]


@app.command(epilog="Example: hearts train demo --seed 2")
def train(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            help="A config file, or the name of a shipped one: demo (the default, two minutes), "
            "smoke (seconds), mini, mini_selfplay, classic, maskable, champion, champion_small, "
            "champion_taught, champion_classic.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting of the config, as in ppo.ent_coef=0.02. Repeat the option for "
            "more.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=read_seed,
            metavar=SEED_FORM,
            help="Seed of the run: a number, or @FILE to read it from a file. Default: the seed "
            "in the config, usually 0.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="SEEDS",
            help="Train one run per seed, as in 0-4 or 0,2,7. After an interruption the same "
            "command continues them.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="With --seeds, the number of runs at a time. Default: enough to keep every core "
            "busy.",
        ),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            metavar="local|ray",
            help="With --seeds, train on this machine or on a Ray cluster.",
        ),
    ] = "local",
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUN", help="Continue the run in the folder RUN."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="DIR",
            callback=named,
            help="Folder of the new run or, with --seeds, of all runs. Default: a new one in "
            "runs/.",
        ),
    ] = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Train a policy, then evaluate it against the baselines."""
    if resume is not None and run is not None:
        raise Mistake("--run: a resumed run stays in its folder; omit it")
    if config == "":
        raise Mistake("config: the name is empty; give a config, or omit it to train demo")
    if seed is not None and resume is not None:
        raise Mistake("--seed: a resumed run keeps its seed; omit it")
    if seeds is None:
        refuse_other(context, ("workers", "backend"), "has no effect on one run; add --seeds")
    elif resume is not None:
        raise Mistake(
            "--resume: with --seeds the same command continues all runs; omit one of them"
        )
    from hearts_train.cli.training import train_and_evaluate, train_seeds, with_seed

    changes = with_seed(settings or [], seed, seeds)
    if seeds is not None:
        train_seeds(
            config,
            changes,
            seeds,
            run,
            workers=workers,
            backend=backend,
            as_json=as_json,
        )
        return
    train_and_evaluate(config, changes, resume, run, as_json=as_json)


def _find(places: list[Path] | None) -> list[Run]:
    from hearts_train.learn.runs import find_runs

    if not places and not _PLACE.is_dir():
        raise Mistake(
            "run: there is no folder runs/ here; name a folder, or train a run with 'hearts train'"
        )
    found, faults = find_runs(places or [_PLACE])
    for fault in faults:
        console.note(f"skipped: {fault}")
    return found


@app.command(epilog="Example: hearts runs runs/demo-1 runs/demo-2")
def runs(folders: Runs = None, as_json: Json = None) -> None:
    """List training runs with progress, time left and latest evaluations."""
    from hearts_train.learn.report import table

    found = _find(folders)
    columns, rows = table(found)
    title = "training runs; latest margins in points per deal, with their 95 % intervals"
    console.print_table(title, columns, rows)
    if as_json:
        console.print_json([_json(run) for run in found], as_json)


def _json(run: Run) -> dict[str, Any]:
    return run.summary() | {
        "evaluations": list(run.latest.values()),
        "exploitability": [run.latest_exploitability] if run.latest_exploitability else [],
        "settings": run.config.model_dump(mode="json"),
    }
