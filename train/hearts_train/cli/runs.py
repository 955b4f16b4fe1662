"""Commands for training: train, and runs, which lists and compares what was trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import AllowCode, Json, Plot, RunFolder, app
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_train.learn.runs import RunFolder as Run

_PLACE = Path("runs")

Runs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FOLDER]...", help="Runs, or folders of runs; default: runs/."),
]


@app.command(epilog="Example: hearts train demo --set seed=2")
def train(
    config: Annotated[
        str | None,
        typer.Argument(
            help="A config: its path, or a shipped one: demo (where none is named; 3.5 minutes), "
            "smoke (seconds), mini, mini_selfplay, classic, maskable, champion, champion_small, "
            "champion_taught, champion_mini, champion_classic."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Continue a run's folder.")
    ] = None,
    run: RunFolder = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Train a policy, then evaluate it against the baselines."""
    if resume is not None and run is not None:
        raise Mistake("--run: a resumed run stays in its folder; omit it")
    if config == "":
        raise Mistake("config: the name is empty; give a config, or omit it for demo")
    from hearts_train.cli.training import train_and_evaluate

    train_and_evaluate(config, settings or [], resume, run, as_json=as_json)


def _find(places: list[Path] | None) -> list[Run]:
    from hearts_train.learn.runs import find_runs

    if not places and not _PLACE.is_dir():
        raise Mistake(
            "run: there is no folder runs/ here; train one with `hearts train`, or name a folder"
        )
    found, faults = find_runs(places or [_PLACE])
    for fault in faults:
        console.note(f"left out: {fault}")
    return found


@app.command(
    epilog="Example: hearts runs runs/ --settings; hearts runs runs/demo-* --plot curves.pdf "
    "--y pro"
)
def runs(
    folders: Runs = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="Show the settings in which the runs differ.")
    ] = False,
    plot: Plot = None,
    y: Annotated[
        list[str] | None,
        typer.Option(
            "--y",
            metavar="NAME",
            help="What to plot, one panel each: an opponent, exploitability, or a metric of the "
            "updates like entropy; default: the margins over all opponents, and "
            "exploitability.",
        ),
    ] = None,
    x: Annotated[
        str, typer.Option("--x", metavar="decisions|minutes", help="The x axis.")
    ] = "decisions",
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="SETTING",
            help="Average runs with the same value of this setting: name, ppo.ent_coef; default: "
            "runs that differ only in seed and machine.",
        ),
    ] = None,
    as_json: Json = None,
) -> None:
    """List training runs with progress, results and differing settings; plot learning curves.

    A curve is the mean over seeds, with a band of one standard deviation; for a single run the band
    is the 95 % interval of its evaluations.
    """
    from hearts_train.learn.report import TIMES, differing, table

    if x not in TIMES:
        raise Mistake(f"--x: {x!r} is unknown; choose {' or '.join(TIMES)}")
    if plot is None and (y or by):
        raise Mistake("--plot: --y and --by are for curves; add --plot FILE, or omit them")
    found = _find(folders)
    if plot is not None:
        _draw(found, x, y or [], by or [], plot)
    names = differing(found) if settings else []
    columns, rows = table(found, names)
    title = "training runs; margins in points a deal with the 95 % interval of the evaluation"
    console.print_table(title, columns, rows)
    if settings and not names:
        console.say("They differ in no setting but name, seed and machine.")
    if plot is None:
        console.say("See their curves: hearts runs RUN... --plot curves.pdf")
    if as_json:
        console.print_json([_json(run) for run in found], as_json)


def _json(run: Run) -> dict[str, Any]:
    return (
        {"run": str(run.path)}
        | run.summary()
        | {
            "evaluations": list(run.latest.values()),
            "exploitability": [run.latest_exploitability] if run.latest_exploitability else [],
            "settings": dict(run.settings),
        }
    )


def _draw(found: list[Run], x: str, y: list[str], by: list[str], path: Path) -> None:
    """Plot the learning curves of runs; the band of a single run is that of its evaluations."""
    from hearts_train.learn.report import chosen, draw, grouped, repeated

    groups = grouped(found, by)
    draw(groups, chosen(found, y), [x], path)
    for label, group in groups.items():
        number = f"{len(group)} run{'s' * (len(group) > 1)}"
        console.note(f"{label}: {number} ({', '.join(run.path.name for run in group)})")
        for earlier, run in repeated(group):
            console.note(
                f"{run.path} has the config and the seed of {earlier.path} ({run.seed}): they show "
                "one sample, not two; train with another --set seed="
            )
    console.note(f"drawn: {path}")
