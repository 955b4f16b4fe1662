"""Helpers of ``hearts benchmark``. The work is in ``hearts_train.measure.benchmark``."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import AgentSpec, quoted_path
from hearts_env import Rules
from hearts_env.support.errors import quoted
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.reports import Work, command_line, show_counted_faults
from hearts_train.console import Mistake
from hearts_train.measure.benchmark import (
    TRACKS,
    BenchmarkResult,
    encoded,
    read_benchmark,
    repeats_play,
    verify,
)
from hearts_train.measure.display import short_names
from hearts_train.measure.duel import Example
from hearts_train.measure.participants import trained_rules

DECLARED = ("decisions", "authors", "code", "compute", "repeats")
"""Names that ``--declare`` takes. ``decisions`` is a part of the result, the rest its entry."""
_BETWEEN_PATHS = re.compile(r"[\s:?&=]+")
"""Separators of the paths in an agent's name."""


def track_of(agent: str, *, isolate: bool) -> str:
    """Return the track of the rules that an agent was trained for, or ``two_player``."""
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
                f"--declare: {quoted(given)} is unknown, empty or repeated; give each of "
                f"{', '.join(DECLARED)} once and on one line, as in authors='A. Author'"
            )
        if name == "code" and not text.startswith("https://"):
            raise Mistake(f"--declare: code={quoted(text)} is no link; give one as https://...")
        if name == "repeats" and text != "no":
            raise Mistake(
                f"--declare: repeats={quoted(text)} is unknown; write repeats=no if the agent "
                "plays differently each time, else omit it"
            )
        if name == "decisions" and not text.isdecimal():
            raise Mistake(
                f"--declare: decisions={quoted(text)} is not a whole number; give one of 0 or more"
            )
        entry[name] = text.strip()
    return entry


def paths_in(spec: str) -> list[str]:
    """Return the parts of an agent's name that can be paths: the whole name, or a word in it."""
    return [spec, *_BETWEEN_PATHS.split(spec)]


def check(
    work: Work, path: Path, agent: str | None, **settings: Any
) -> tuple[BenchmarkResult, list[str]]:
    """Play the result of a file again, and return the new record and the differences.

    Files in the agent's name are looked up here first, then in the folder of the result.
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
    with work.stoppable(), contextlib.chdir(folder):
        return verify(record, agent, show=console.progress, **settings)


def write(record: dict[str, Any], target: str) -> None:
    """Write a record to a file, one line per field, or to standard output."""
    record = record | {"run": record["run"] | {"command": command_line()}}
    if target == console.STDOUT:
        console.print_json(record, target)
        return
    write_whole(Path(target), encoded(record))
    file = quoted_path(target)
    console.note(f"written: {file}; see the agent's worst deals with: hearts replay {file}")


def report_verdict(path: Path, record: dict[str, Any], differing: list[str]) -> None:
    """Print whether a result was reproduced, and exit with status 1 if not."""
    if not differing:
        is_same = repeats_play(record)
        how = "it is the same to the last digit" if is_same else "it differs no more than by chance"
        console.note(f"{path}: holds; played again, {how}")
        return
    console.note(f"{path}: does not hold; played again, it differs in:")
    for place in differing:
        console.note(f"  {place}")
    raise typer.Exit(1)


def show(record: BenchmarkResult) -> None:
    """Print a record as a table, and explain its figures."""
    result, run = record["result"], record["run"]
    console.print_table(*record.table())
    agent = result["agent"]["name"]
    console.note(f"{short_names([agent])[agent]} {verdict(result)}")
    show_counted_faults(_faults(result), [Example(**one) for one in run["examples"]])
    if exact := exact_line(result):
        console.note(exact)


def verdict(result: dict[str, Any]) -> str:
    """Return a sentence with the opponents that the agent beats, and its place in the field.

    An agent beats an opponent if the whole 95 % interval of its margin is above zero. An agent of
    the field is not its own opponent.
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
    """Return how many deals each player of a result has forfeited."""
    figures = result["opponents"]
    counts = {result["agent"]["name"]: sum(f["faults"] for f in figures)}
    return counts | {f["opponent"]: f["opponent_faults"] for f in figures}


def exact_line(result: dict[str, Any]) -> str:
    """Return a line on the exploitability, or "" if it was not computed."""
    exact = result["exploitability"]
    if exact is None:
        return ""
    if exact["exploitability"] is None:
        return f"exploitability: not computed: {exact['why']}"
    sampled = ", for one random choice in each information set" if exact["one_draw"] else ""
    return f"exploitability: {exact['exploitability']:.4f} points per deal, exact{sampled}"
