"""What ``hearts tournament --folder`` plays and prints.

The work is in ``hearts_train.measure.folder`` and ``tournament``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_env import Rules
from hearts_env.render.scene import count_text
from hearts_train import console
from hearts_train.cli.reports import command_line, stoppable
from hearts_train.console import Mistake
from hearts_train.measure.contest import num_deals
from hearts_train.measure.display import (
    ResultTable,
    both_ways,
    cross_table,
    format_interval,
    format_margin,
    format_ms,
    short_names,
)
from hearts_train.measure.folder import enter, every_game, is_league, read_folder
from hearts_train.measure.standings import tables
from hearts_train.measure.tournament import Goal, play_folder, verify_folder


def add(path: Path, agents: Sequence[str], rules: Rules | None, *, every: bool, **how: Any) -> None:
    """Enter agents in games, and print who has entered; `how` are arguments of ``enter``."""
    games = every_game() if every else None if rules is None else [rules]
    found = enter(path, agents, games, is_lenient=every, **how)
    for entered in found:
        if entered.refused:
            console.note(f"{entered.game}: without {entered.agent}: {entered.refused}")
    there = read_folder(path).games if is_league(path) else {}
    for name in dict.fromkeys(entered.game for entered in found):
        if name in there:
            console.note(f"{name}: {', '.join(there[name].agents)}")


def play(path: Path, rules: Rules | None, goal: Goal, **settings: Any) -> None:
    """Play the missing deals of some games; `settings` are those of ``Contest``."""
    try:
        late = play_folder(path, goal, rules, show=console.progress, **settings)
    except KeyboardInterrupt:
        console.note("stopped")
        console.note(f"saved; continue with: {command_line()}")
        raise console.stopped() from None
    for name in late:
        console.note(f"{name}: time is up; continue with the same command")


def check(
    path: Path,
    rules: Rules | None,
    deals: int | None,
    seed: int,
    *,
    as_json: str | None,
    **settings: Any,
) -> None:
    """Play blocks again; exit status 1 if a line is not reproduced."""
    with stoppable():
        blocks, wrong = verify_folder(path, rules, deals, seed, show=console.progress, **settings)
    if not blocks:
        raise Mistake(
            f"{path}: nothing was played yet; play with: hearts tournament --folder {path}"
        )
    for one in wrong:
        console.note(
            f"{one['file']}, line {one['line']}: {' and '.join(one['agents'])}, deals from "
            f"{one['first']:,} on: does not hold; played again it differs in "
            f"{', '.join(one['fields'])}"
        )
    if not wrong:
        played = f"{count_text(len(blocks), 'block')} of {count_text(num_deals(blocks), 'deal')}"
        console.note(f"{path}: {played} played again: the same to the last digit")
    if as_json:
        console.print_json({"holds": not wrong, "blocks": len(blocks), "differing": wrong}, as_json)
    if wrong:
        raise typer.Exit(1)


def show(path: Path, rules: Rules | None, *, as_json: str | None) -> None:
    """Print the tables of some games."""
    folder = read_folder(path)
    found = tables(folder, folder.chosen(rules))
    show_tables(found)
    if as_json:
        console.print_json(found, as_json)


# ---- tables --------------------------------------------------------------------------------------
def show_tables(found: Sequence[dict[str, Any]]) -> None:
    """Print standings, cross table and cycles of each game."""
    for record in found:
        for table in tables_of(record):
            console.print_table(*table)
        for line in remarks(record["result"]):
            console.say(line)


def tables_of(record: dict[str, Any]) -> list[ResultTable]:
    """The standings of a game, and the margin of each agent over each other that it has played."""
    result = record["result"]
    found = [ResultTable(title(result), *standings(record))]
    if result["pairings"]:
        margins = {tuple(row["agents"]): (row["margin"], row["ci95"]) for row in result["pairings"]}
        found.append(cross_table(_agents(result), both_ways(margins)))
    return found


def title(result: dict[str, Any]) -> str:
    """A line that says what a table shows."""
    return (
        f"{result['game']}: mean margin over all others in points a deal, 95 % interval over "
        f"duplicate deals ({format_pairs(result)})"
    )


def format_pairs(result: dict[str, Any]) -> str:
    """How many deals the pairings have played."""
    counts = [row["deals"] for row in result["pairings"]]
    if not counts:
        return "nothing played yet"
    few, many = min(counts), max(counts)
    return f"{few:,} of each pairing" if few == many else f"{few:,} to {many:,} of each pairing"


def standings(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the standings, best first."""
    result = record["result"]
    found = result["standings"]
    short = short_names([row["agent"] for row in found])
    has_faults = any(row["faults"] for row in found)
    has_exact = any(row["exact"] for row in found)
    columns = ["agent", "margin", "rating", "deals won", "Nash", "over Nash"]
    columns += [*(["exploitability"] if has_exact else []), "moons", "ms"]
    columns += ["faults"] if has_faults else []
    rows = [
        [
            f"{row['place']}. {short[row['agent']]}",
            format_margin(row["margin"], row["ci95"]),
            format_interval(row["rating"], row["rating_ci95"], "+.1f"),
            f"{row['won']:.1%}",
            f"{row['nash']:.0%}" if row["nash"] else "",
            f"{row['over_nash']:+z.2f}",
            *([format_exploitability(row["exact"])] if has_exact else []),
            f"{row['moons']:.1f}",
            "-" if (ms := record["run"]["ms_per_card"][row["agent"]]) is None else format_ms(ms),
            *([f"{row['faults']:,}"] if has_faults else []),
        ]
        for row in found
    ]
    return columns, rows


def format_exploitability(exact: dict[str, Any] | None) -> str:
    """An exploitability in a cell; a star if one sample of the agent's policy was measured."""
    if exact is None or exact["exploitability"] is None:
        return "-"
    return f"{max(0.0, exact['exploitability']):.4f}" + ("*" if exact["one_draw"] else "")


def _agents(result: dict[str, Any]) -> list[str]:
    names = [row["agent"] for row in result["standings"]]
    return names + [agent["name"] for agent in result["agents"] if agent["name"] not in names]


def remarks(result: dict[str, Any]) -> list[str]:
    """Cycles and missing pairings, in sentences."""
    notes = []
    if len(result["agents"]) < 2:
        notes.append("there is nobody to play against: add another agent")
    for ring in result["cycles"]:
        notes.append(f"a cycle: {' beats '.join([*ring, ring[0]])}")
    for one in result["incomplete"]:
        notes.append(
            f"not in the standings: {one['agent']} has not played {', '.join(one['missing'])}"
        )
    if any(row["exact"] and row["exact"].get("one_draw") for row in result["standings"]):
        notes.append("*: of one sample of its policy")
    return notes
