"""The plays, tables and files of ``hearts benchmark``.

The work is in ``hearts_train.measure.benchmark``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import AgentSpec
from hearts_env import Rules
from hearts_env.support.errors import quoted
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.reports import show_counted_faults, stoppable
from hearts_train.console import Mistake
from hearts_train.measure.benchmark import TRACKS, encoded, read_benchmark, verify
from hearts_train.measure.display import format_margin, short_names
from hearts_train.measure.duel import Example
from hearts_train.measure.evaluation import opponents_table
from hearts_train.measure.participants import trained_rules

CLASSES = ("budget", "decisions")
DECLARED = (*CLASSES, "authors", "code", "compute", "repeats")
"""What an author may say: the classes that the agent enters, and of an entry to the leaderboard."""
_BETWEEN_PATHS = re.compile(r"[\s:?&=]+")
"""What divides the paths in an agent's name."""


def track_of(agent: str, *, isolate: bool) -> str:
    """The track whose rules an agent was trained for; else ``two_player``."""
    rules = trained_rules([agent], isolate=isolate)
    if rules is not None:
        for name, track in TRACKS.items():
            if Rules.from_text(track.rules).is_same_deal(rules):
                return name
    return "two_player"


def declared(texts: list[str]) -> dict[str, str]:
    """Return the declarations of ``--declare`` by name."""
    entry: dict[str, str] = {}
    for given in texts:
        name, text = given.partition("=")[::2]
        if name not in DECLARED or name in entry or not (text.strip() and text.isprintable()):
            raise Mistake(
                f"--declare: {quoted(given)} is not one of {', '.join(DECLARED)}, each once and on "
                "one line; write it as in authors='A. Author'"
            )
        if name == "code" and not text.startswith("https://"):
            raise Mistake(f"--declare: {quoted(text)} is not where code lies; give https://...")
        if name == "repeats" and text != "no":
            raise Mistake(
                f"--declare: repeats is {quoted(text)}; write repeats=no for an agent that plays "
                "otherwise each time, or omit it"
            )
        if name == "decisions" and not text.isdecimal():
            raise Mistake(
                f"--declare: decisions={quoted(text)} is not a whole number from 0; give one"
            )
        entry[name] = text.strip()
    return entry


def paths_in(spec: str) -> list[str]:
    """The words of an agent's name that can be paths."""
    return _BETWEEN_PATHS.split(spec)


def check(path: Path, agent: str | None, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The record of a file played again, and where it differs from the file.

    What an agent's name says of files is looked for here, then in the file's own folder.
    """
    record = read_benchmark(path)
    spec = record["result"]["agent"]["spec"]
    folder = Path()
    if agent is None and isinstance(spec, str):
        words = paths_in(spec)
        if any((path.parent / word).exists() and not Path(word).exists() for word in words):
            folder = path.parent
        with contextlib.chdir(folder):
            AgentSpec.from_json(spec).check_allowed(f"verify: {str(path)!r}")
    with stoppable(), contextlib.chdir(folder):
        return verify(record, agent, show=console.progress, **settings)


def write(record: dict[str, Any], target: str) -> None:
    """Write a record to a file, a line for each field, or to standard output."""
    if target == console.STDOUT:
        console.print_json(record, target)
        return
    write_whole(Path(target), encoded(record))
    console.note(f"written: {target}; see its worst deals with: hearts replay {target}")


def report_verdict(path: Path, record: dict[str, Any], differing: list[str]) -> None:
    """Print whether a result is reproduced; exit status 1 if not."""
    if not differing:
        by_chance = record.get("entry", {}).get("repeats") == "no"
        how = (
            "it differs by no more than chance" if by_chance else "it is the same to the last digit"
        )
        console.note(f"{path}: holds; played again, {how}")
        return
    console.note(f"{path}: does not hold; played again, it differs:")
    for place in differing:
        console.note(f"  {place}")
    raise typer.Exit(1)


def show(record: dict[str, Any]) -> None:
    """Print a record as a table."""
    result, run = record["result"], record["run"]
    columns, rows = figures_of(record)
    console.print_table(title(result), columns, rows)
    agent = result["agent"]["name"]
    console.note(f"{short_names([agent])[agent]} {verdict(result)}")
    show_counted_faults(_faults(result), [Example(**one) for one in run["examples"]])
    if exact := exact_line(result):
        console.note(exact)
    if not run["within_budget"]:
        console.note(f"over its budget of {result['budget']} a card")


def verdict(result: dict[str, Any]) -> str:
    """Say whom of the field the agent of a result beats, and its place in the field.

    It beats a player where the whole 95 % interval of its margin is above zero. If it is of the
    field itself, it is not its own opponent.
    """
    figures = [f for f in result["opponents"] if f["opponent"] != result["agent"]["name"]]
    won = [f["opponent"] for f in figures if f["ci95"][0] > 0]
    lost = [f["opponent"] for f in figures if f["ci95"][1] < 0]
    open_ = [f["opponent"] for f in figures if f["opponent"] not in (*won, *lost)]
    groups = (("beats", won), ("loses to", lost), ("is level with", open_))
    parts = [f"{verb} {', '.join(names)}" for verb, names in groups if names]
    best, worst = 1 + len(lost), 1 + len(lost) + len(open_)
    place = f"{best}" if best == worst else f"{best} to {worst}"
    return f"{'; '.join(parts)}: place {place} of {len(figures) + 1}"


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
        f"{result['split']}: points per deal, 95 % interval over {result['deals']:,} duplicate "
        f"deals{part}"
    )


def figures_of(record: dict[str, Any]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Columns and rows: one row for each opponent, and one for their mean."""
    result, names = record["result"], ("ms_per_decision", "opponent_ms_per_decision")
    times = record["run"]["ms_per_card"]
    figures = [
        one | dict(zip(names, times[one["opponent"]], strict=True)) for one in result["opponents"]
    ]
    table = opponents_table("", figures, result["rules_in_full"]["players"])
    mean = ["mean of all", format_margin(result["margin"], result["ci95"])]
    return table.columns, [*table.rows, mean + [""] * (len(table.columns) - len(mean))]


def exact_line(result: dict[str, Any]) -> str:
    """A line on the exploitability; "" if it was not computed."""
    exact = result["exploitability"]
    if exact is None:
        return ""
    if exact["exploitability"] is None:
        return f"exploitability: not computed: {exact['why']}"
    drawn = ", of one draw of its play" if exact["one_draw"] else ""
    return f"exploitability: {exact['exploitability']:.4f} points per deal, exact{drawn}"
