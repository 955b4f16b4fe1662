"""Helpers of ``hearts benchmark``; the work is in ``hearts_train.measure.benchmark``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import AgentSpec
from hearts_env import Rules
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.benchmark_page import write_page
from hearts_train.cli.reports import command_line, say_how_to_continue, show_counted_faults
from hearts_train.measure.benchmark import benchmark, verdict, verify
from hearts_train.measure.benchmark_file import encoded, read_benchmark
from hearts_train.measure.contest import Saved
from hearts_train.measure.duel import Example
from hearts_train.measure.participants import AgentLike, Participant
from hearts_train.measure.pictures import short_names
from hearts_train.measure.protocol import TRACKS, protocol_number
from hearts_train.measure.result_table import OF_BOTH, format_interval, format_margin, format_ms

__all__ = [
    "arguments_of",
    "check",
    "play",
    "report_verdict",
    "show",
    "track_of",
    "write",
    "write_page",
]


def track_of(agent: str, *, isolate: bool) -> str:
    """The track whose rules an agent was trained for; else ``two_player``.

    Raises:
        HeartsError: if the agent is unknown.
    """
    with contextlib.closing(Participant(agent, 0, isolate=isolate)) as participant:
        rules = participant.rules
    if rules is not None:
        for name, track in TRACKS.items():
            if Rules.from_text(track.rules).is_same_deal(rules):
                return name
    return "two_player"


def play(
    agent: AgentLike, save: Path | None, resume: Path | None = None, **arguments: Any
) -> dict[str, Any]:
    """Play a benchmark; after a signal say how to continue."""
    try:
        return benchmark(
            agent,
            **arguments,
            command=command_line(),
            save=save,
            resume=resume,
            show=console.progress,
        )
    except KeyboardInterrupt:
        console.note("stopped")
        say_how_to_continue("benchmark", save or resume)
        raise console.stopped() from None


def arguments_of(saved: Saved) -> dict[str, Any]:
    """The arguments of the benchmark in a file of results.

    Raises:
        HeartsError: this package does not have its version of the protocol.
    """
    names = ("track", "split", "deals", "budget", "decisions")
    arguments = {name: saved.about[name] for name in names}
    protocol = protocol_number(saved.about["protocol"], "resume")
    return arguments | {"protocol": protocol, "isolate": saved.isolate}


def check(path: Path, agent: str | None, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The record of a file played again, and where it differs from the file."""
    record = read_benchmark(path)
    spec = record["result"]["agent"]["spec"]
    if agent is None and isinstance(spec, str):
        AgentSpec.from_json(spec).check_allowed(f"verify: {str(path)!r}")
    try:
        return verify(record, agent, show=console.progress, **settings)
    except KeyboardInterrupt:
        console.note("stopped")
        raise console.stopped() from None


def write(record: dict[str, Any], target: str) -> None:
    """Write a record to a file, a line for each field, or to standard output."""
    if console.is_stdout(target):
        console.print_json(record, target)
        return
    write_whole(Path(target), encoded(record))
    console.note(f"written: {target}")


def report_verdict(path: Path, differing: list[str]) -> None:
    """Print whether a result is reproduced; exit status 1 if not."""
    if not differing:
        console.note(f"{path}: holds; played again it is the same to the last digit")
        return
    console.note(f"{path}: does not hold; played again it differs:")
    for place in differing:
        console.note(f"  {place}")
    raise typer.Exit(1)


def show(record: dict[str, Any], *, to_stderr: bool) -> None:
    """Print a record as a table."""
    result, run = record["result"], record["run"]
    columns, rows = table(record)
    console.print_table(title(result), columns, rows, to_stderr=to_stderr)
    agent = result["agent"]["name"]
    console.note(f"{short_names([agent])[agent]} {verdict(result)}")
    show_counted_faults(_faults(result), [Example(**one) for one in run["examples"]])
    if exact := exact_line(result):
        console.note(exact)
    if not run["within_budget"]:
        console.note(f"over its budget of {result['budget']} a card")


def _faults(result: dict[str, Any]) -> dict[str, int]:
    """The deals that each player of a result has forfeited."""
    figures = result["opponents"]
    counts = {result["agent"]["name"]: sum(f["faults"] for f in figures)}
    return counts | {f["opponent"]: f["opponent_faults"] for f in figures}


def title(result: dict[str, Any]) -> str:
    """A line that says what was played."""
    agent = result["agent"]["name"]
    part = "" if result["is_full"] else ", not all of the protocol's"
    return (
        f"{short_names([agent])[agent]}, {result['protocol']}, {result['track']} "
        f"{result['split']}: points a deal, 95 % interval over {result['deals']:,} duplicate "
        f"deals{part}"
    )


def table(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: one row for each opponent, and one for their mean."""
    result, run = record["result"], record["run"]
    figures = result["opponents"]
    is_ranked = result["rules_in_full"]["players"] > 2
    has_faults = any(f["faults"] or f["opponent_faults"] for f in figures)
    rows = [
        [
            f["opponent"],
            format_margin(f["margin"], f["ci95"]),
            f"{f['won']:.1%}",
            *([format_interval(f["rank"], f["rank_ci95"])] if is_ranked else []),
            f"{f['moons']}:{f['opponent_moons']}",
            " ".join(format_ms(ms) for ms in run["ms_per_card"][f["opponent"]]),
            *([f"{f['faults']} {f['opponent_faults']}"] if has_faults else []),
        ]
        for f in figures
    ]
    columns = ["against", "margin", "deals won", *(["rank"] if is_ranked else [])]
    columns += ["moons", OF_BOTH.format("ms"), *([OF_BOTH.format("faults")] if has_faults else [])]
    mean = ["mean of all", format_margin(result["margin"], result["ci95"])]
    return columns, [*rows, mean + [""] * (len(columns) - len(mean))]


def exact_line(result: dict[str, Any]) -> str:
    """A line on the exploitability; "" if it was not computed."""
    exact = result["exploitability"]
    if exact is None:
        return ""
    if exact["exploitability"] is None:
        return f"exploitability: not computed: {exact['why']}"
    drawn = ", of one draw of its play" if exact["one_draw"] else ""
    return f"exploitability: {exact['exploitability']:.4f} points a deal, exact{drawn}"
