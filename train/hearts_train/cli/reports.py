"""How the commands run and show evaluations and tournaments."""

from __future__ import annotations

import os
import pathlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from typer import Context

from hearts_env import __version__
from hearts_train import console
from hearts_train.cli.options import refuse_said
from hearts_train.measure.contest import Saved, read_saved
from hearts_train.measure.duel import Example
from hearts_train.measure.pictures import short_names
from hearts_train.measure.result_table import format_interval
from hearts_train.measure.summary import (
    Evaluation,
    MatchResults,
    evaluations_table,
    platform_versions,
)
from hearts_train.measure.tournament import Tournament, tournament_tables

Path = str | os.PathLike[str]


FREE = ("workers", "backend", "resume", "allow_code", "as_json", "plot", "page", "verbose")
"""The options allowed with ``--resume``: none that changes a result."""


def resumed(context: Context, path: pathlib.Path, work: str) -> Saved:
    """The settings of a results file.

    Raises:
        Mistake: the command line has an option whose value the file fixes.
        HeartsError: it is not a results file of this command.
    """
    refuse_said(context, sorted(context.params.keys() - set(FREE)), "--resume", path)
    return read_saved(path, work)


def say_how_to_continue(command: str, path: Path | None) -> None:
    """Print the command that continues what was saved.

    Args:
        command: its first words, without ``hearts``.
        path: the file of results; None: nothing was saved.
    """
    if path is not None:
        is_code = any(agent.runs_code for agent in read_saved(path).agents)
        allow = " --allow-code" if is_code else ""
        console.note(f"saved; continue with: hearts {command} --resume {path}{allow}")


def say_written(out: Path | None) -> None:
    """Print the file that a command has written, if any."""
    if out is not None:
        console.note(f"written: {out}")


def command_line() -> str:
    """The command line of this process, as it would be typed."""
    return shlex.join(["hearts", *sys.argv[1:]])


def with_origin(records: Iterable[dict[str, Any]], seed: int | None = None) -> list[dict[str, Any]]:
    """Records as ``--json`` prints them, each with how it was measured.

    Args:
        records: the figures; their own keys take precedence.
        seed: that of all draws; None: nothing is drawn.
    """
    origin: dict[str, Any] = {"version": __version__, "platform": platform_versions()}
    origin["command"] = command_line()
    if seed is not None:
        origin["seed"] = seed
    return [record | {k: v for k, v in origin.items() if k not in record} for record in records]


def show_evaluations(results: Sequence[Any], *, to_stderr: bool) -> None:
    """Print a table of the evaluations of one agent, over deals or matches."""
    if isinstance(results[0], MatchResults):
        _show_matches(results, to_stderr=to_stderr)
        return
    table = evaluations_table(results)
    console.print_table(table.title, table.columns, table.rows, to_stderr=to_stderr)
    show_faults(results)


def _show_matches(results: Sequence[MatchResults], *, to_stderr: bool) -> None:
    first = results[0]
    start = "" if not any(first.totals) else f" from {first.totals[0]}:{first.totals[1]}"
    short = short_names([first.agent, *(result.opponent for result in results)])
    title = (
        f"{short[first.agent]}, {first.rules}{start}: {first.pairs:,} pairs of matches, the seats "
        "swapped; 95 % interval over pairs"
    )
    columns = ["against", "matches won", "both of a pair", "deals", "ahead at the end"]
    rows = [
        [
            short[result.opponent] + f" (stopped: {result.pairs:,} pairs)" * result.interrupted,
            format_interval(result.won, result.ci95, ".2%"),
            f"{result.swept:.1%}",
            f"{result.deals:.1f}",
            f"{result.ahead:+.2f}",
        ]
        for result in results
    ]
    console.print_table(title, columns, rows, to_stderr=to_stderr)
    for result in results:
        if result.faults or result.opponent_faults:
            console.note(
                f"faults against {result.opponent}: {result.faults} of {result.agent}, "
                f"{result.opponent_faults} of the other"
            )


def show_faults(results: Sequence[Evaluation]) -> None:
    """Report the agents' faults on standard error, each with a view that reproduces it."""
    counts: dict[str, int] = {}
    for result in results:
        for name, faults in (
            (result.agent, result.faults),
            (result.opponent, result.opponent_faults),
        ):
            counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, [example for result in results for example in result.examples])


def show_counted_faults(counts: Mapping[str, int], found: Sequence[Example]) -> None:
    """Print how many deals each agent forfeited, and one of its faults of each kind."""
    examples: dict[tuple[str, str], Example] = {}
    for example in found:
        examples.setdefault((example.agent, example.kind), example)
    for name, count in counts.items():
        if count:
            console.note(f"{name}: {count:,} deals forfeited (faults), for example:")
        for (agent, kind), example in examples.items():
            if agent == name:
                console.note(
                    f"  {kind}, deal seed {example.seed}, seat {example.seat}: {example.text}"
                )
                console.note("    " + example.view.strip().replace("\n", "\n    "))


def show_tournament(result: Tournament, *, to_stderr: bool) -> None:
    """Print the ranking, and below it the margin of each agent over each other."""
    for table in tournament_tables(result):
        console.print_table(table.title, table.columns, table.rows, to_stderr=to_stderr)
    show_faults(list(result.evaluations.values()))
