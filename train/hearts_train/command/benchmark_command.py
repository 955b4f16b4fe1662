"""What ``hearts benchmark`` does around ``hearts_train.measure.benchmark``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

import typer

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules
from hearts_train import console
from hearts_train.command.benchmark_page import write_page
from hearts_train.command.reports import (
    command_line,
    prepare,
    say_how_to_go_on,
    show_counted_faults,
)
from hearts_train.measure.benchmark import (
    Benchmark,
    check_out,
    unfinished,
    verdict,
    verify,
)
from hearts_train.measure.benchmark_file import read_benchmark
from hearts_train.measure.contenders import Contender
from hearts_train.measure.crew import Crew
from hearts_train.measure.duel import Example
from hearts_train.measure.pictures import short_names
from hearts_train.measure.protocol import TRACKS, protocol_number
from hearts_train.measure.records import named_agents, read_settings
from hearts_train.measure.shown import OF_BOTH, format_interval, format_margin, format_ms

__all__ = ["Begun", "check", "play", "read_begun", "show", "tell_verdict", "write_page"]


class Begun(NamedTuple):
    """What a benchmark was begun with."""

    agent: str
    track: str
    split: str
    deals: int | None
    budget: str
    decisions: int | None
    isolate: bool
    protocol: int | None


def track_of(agent: str, *, isolate: bool) -> str:
    """The track whose rules an agent was trained for; ``two_player`` if it does not say, or none.

    Raises:
        HeartsError: if the agent is unknown.
    """
    with contextlib.closing(Contender(agent, 0, isolate=isolate)) as contender:
        rules = contender.rules
    if rules is not None:
        for name, track in TRACKS.items():
            if Rules.from_text(track.rules).is_same_deal(rules):
                return name
    return "two_player"


def play(begun: Begun, crew: Crew, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Play a benchmark; after a signal say how to go on."""
    bench = Benchmark(
        begun.agent,
        begun.track,
        begun.split,
        begun.deals,
        begun.budget,
        protocol=begun.protocol,
        decisions=begun.decisions,
        isolate=begun.isolate,
        workers=crew[0],
        backend=crew[1],
        command=command_line(),
    )
    prepare(bench.contest)
    try:
        return bench.run(out, resume=resume, show=console.progress)
    except KeyboardInterrupt:
        console.note("stopped")
        if out is not None and unfinished(out).exists():
            say_how_to_go_on("benchmark", out, unfinished(out))
        raise console.stopped() from None


def read_begun(out: Path) -> Begun:
    """What the benchmark whose result will be `out` was begun with.

    Raises:
        HeartsError: if it was not begun, is done, was begun by a program, or is of a version of the
            protocol that this package does not have.
    """
    check_out(out, resume=True)
    parts = unfinished(out)
    settings = read_settings(parts)
    about: Any = settings.get("about")
    try:
        begun = Begun(
            protocol=protocol_number(about["protocol"], "resume"),
            agent=named_agents(parts, settings)[0],
            isolate=settings["isolate"],
            **{name: about[name] for name in ("track", "split", "deals", "budget", "decisions")},
        )
    except (KeyError, TypeError, IndexError):
        raise HeartsError(
            f"resume: {str(parts)!r} is not of this command; use hearts evaluate --resume",
            value=parts,
        ) from None
    return begun


def check(
    path: Path, agent: str | None, crew: Crew, *, isolate: bool
) -> tuple[dict[str, Any], list[str]]:
    """The record of a file played again, and where it differs from the file."""
    record = read_benchmark(path)
    spec = record["result"]["agent"]["spec"]
    if agent is None and isinstance(spec, str):
        AgentSpec.from_json(spec).check_allowed(f"verify: {str(path)!r}")
    try:
        again, differing = verify(record, agent, isolate=isolate, crew=crew, show=console.progress)
    except KeyboardInterrupt:
        console.note("stopped")
        raise console.stopped() from None
    return again, differing


def tell_verdict(path: Path, differing: list[str]) -> None:
    """Say whether a result holds; exit status 1 if it does not."""
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
    if told := exact_line(result):
        console.note(told)
    if not run["within_budget"]:
        console.note(f"over its budget of {result['budget']} a card")


def _faults(result: dict[str, Any]) -> dict[str, int]:
    """The deals that are charged to each player of a result."""
    figures = result["opponents"]
    counts = {result["agent"]["name"]: sum(f["faults"] for f in figures)}
    return counts | {f["opponent"]: f["opponent_faults"] for f in figures}


def title(result: dict[str, Any]) -> str:
    """What was played, in a line."""
    agent = result["agent"]["name"]
    part = "" if result["is_full"] else ", not all of the protocol's"
    return (
        f"{short_names([agent])[agent]}, {result['protocol']}, {result['track']} "
        f"{result['split']}: points a deal, 95 % interval over {result['deals']:,} duplicate "
        f"deals{part}"
    )


def table(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: a row for each opponent, and one for the mean over them."""
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
    """What is known about the exploitability, in a line; "" where it is not asked for."""
    exact = result["exploitability"]
    if exact is None:
        return ""
    if exact["exploitability"] is None:
        return f"exploitability: not computed: {exact['why']}"
    drawn = ", of one draw of its play" if exact["one_draw"] else ""
    return f"exploitability: {exact['exploitability']:.4f} points a deal, exact{drawn}"
