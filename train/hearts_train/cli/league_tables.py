"""The tables of a league as text: standings, margins of all pairings, cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearts_train import console
from hearts_train.measure.pictures import short_names
from hearts_train.measure.result_table import format_interval, format_margin, format_ms


def show_tables(found: Sequence[dict[str, Any]], *, to_stderr: bool) -> None:
    """Print standings, cross table and cycles of each game."""
    for record in found:
        result = record["result"]
        columns, rows = standings(record)
        console.print_table(title(result), columns, rows, to_stderr=to_stderr)
        if result["pairings"]:
            console.print_table("", *cross_table(result), to_stderr=to_stderr)
        for line in remarks(result):
            console.note(line) if to_stderr else print(line)


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
            format_rating(row),
            f"{row['won']:.1%}",
            f"{row['nash']:.0%}" if row["nash"] else "",
            f"{row['over_nash']:+z.2f}",
            *([format_exploitability(row["exact"])] if has_exact else []),
            f"{row['moons']:.1f}",
            format_times(record["run"]["ms_per_card"][row["agent"]]),
            *([f"{row['faults']:,}"] if has_faults else []),
        ]
        for row in found
    ]
    return columns, rows


def format_rating(row: dict[str, Any]) -> str:
    """Like ``+120.4 ± 3.1``."""
    return format_interval(row["rating"], row["rating_ci95"], "+.1f")


def format_exploitability(exact: dict[str, Any] | None) -> str:
    """An exploitability in a cell; a star if one sample of the agent's policy was measured."""
    if exact is None or exact["exploitability"] is None:
        return "-"
    return f"{max(0.0, exact['exploitability']):.4f}" + ("*" if exact["one_draw"] else "")


def format_times(milliseconds: float | None) -> str:
    """Milliseconds a card in a cell."""
    return "-" if milliseconds is None else format_ms(milliseconds)


def cross_table(result: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The margin of each row's agent over each column's; incomplete rows come last."""
    names = [row["agent"] for row in result["standings"]]
    names += [agent["name"] for agent in result["agents"] if agent["name"] not in names]
    short = short_names(names)
    cells = cells_of(result)
    rows = [
        [short[one], *(format_margin(*cells.get((one, other), (None, None))) for other in names)]
        for one in names
    ]
    for i, row in enumerate(rows):
        row[i + 1] = ""
    return ["margin of", *(f"over {short[name]}" for name in names)], rows


def cells_of(result: dict[str, Any]) -> dict[tuple[str, str], tuple[float, Any]]:
    """Margin and interval of each agent over each other that it has played."""
    cells: dict[tuple[str, str], tuple[float, Any]] = {}
    for row in result["pairings"]:
        one, other = row["agents"]
        low, high = row["ci95"]
        cells[one, other] = row["margin"], (low, high)
        cells[other, one] = 0.0 - row["margin"], (-high, -low)
    return cells


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
