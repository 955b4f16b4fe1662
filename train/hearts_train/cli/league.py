"""What ``hearts tournament --folder`` plays, prints and writes as a page.

The work is in ``hearts_train.measure.folder`` and ``tournament``. On a narrow screen each row of
the page becomes a card; the margins of all pairings then stand one under another, each with the
name of the opponent.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_env import Rules
from hearts_env.render.scene import count_text
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.page import Html, bars, page, table
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
from hearts_train.measure.statistics import Interval
from hearts_train.measure.tournament import Goal, play_folder, verify_folder

_STYLE = """<style>
main { max-width: 78rem; } td.name { font-weight: 600; }
@media (min-width: 701px) { .half { display: block; font-size: .85em; } }
.ahead { background: var(--best); } .behind { background: var(--blunder); }
nav a { display: inline-block; margin: .15rem .6rem .15rem 0; }
a { color: inherit; } .sha { overflow-wrap: anywhere; }
</style>"""


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
    sample: int | None,
    seed: int,
    *,
    as_json: str | None,
    **settings: Any,
) -> None:
    """Play blocks again; exit status 1 if a line is not reproduced."""
    with stoppable():
        blocks, wrong = verify_folder(path, rules, sample, seed, show=console.progress, **settings)
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


def show(path: Path, rules: Rules | None, page: Path | None, *, as_json: str | None) -> None:
    """Print the tables of some games, and write them as a page."""
    folder = read_folder(path)
    found = tables(folder, folder.chosen(rules))
    show_tables(found, to_stderr=console.is_stdout(as_json))
    if page is not None:
        write_whole(page, league_page(path.name or "League", found))
        console.note(f"written: {page}")
    if as_json:
        console.print_json(found, as_json)


# ---- tables --------------------------------------------------------------------------------------
def show_tables(found: Sequence[dict[str, Any]], *, to_stderr: bool) -> None:
    """Print standings, cross table and cycles of each game."""
    for record in found:
        result = record["result"]
        columns, rows = standings(record)
        console.print_table(title(result), columns, rows, to_stderr=to_stderr)
        if result["pairings"]:
            cross = margins_of(result)
            console.print_table("", cross.columns, cross.rows, to_stderr=to_stderr)
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


def margins_of(result: dict[str, Any]) -> ResultTable:
    """The margin of each row's agent over each column's; incomplete rows come last."""
    return cross_table(_agents(result), _cells(result))


def _agents(result: dict[str, Any]) -> list[str]:
    names = [row["agent"] for row in result["standings"]]
    return names + [agent["name"] for agent in result["agents"] if agent["name"] not in names]


def _cells(result: dict[str, Any]) -> dict[tuple[str, str], tuple[float, Interval]]:
    """Margin and interval of each agent over each other that it has played."""
    return both_ways(
        {tuple(row["agents"]): (row["margin"], row["ci95"]) for row in result["pairings"]}
    )


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


# ---- the page ------------------------------------------------------------------------------------
def league_page(name: str, found: Sequence[dict[str, Any]]) -> bytes:
    """The tables of some games (``standings.tables``) as a page."""
    games = [record["result"]["game"] for record in found]
    links = "".join(f"<a href='#{_id(game)}'>{html.escape(game)}</a>" for game in games)
    parts = [
        _STYLE,
        "<p>Each agent's <b>margin</b> is the others' mean score less its own, in points a deal, "
        "mean over all its opponents: above zero is good. Every pairing plays the same duplicate "
        "deals, each from every seat; the intervals are 95 % over these deals. The <b>rating</b> "
        "is on Elo's scale, from deals won. <b>Nash</b> is the weight of an agent in the mixture "
        "that nobody beats, <b>over Nash</b> its margin against that mixture. <b>Moons</b> are "
        "those in 100 deals, <b>ms</b> milliseconds a card.</p>",
        f"<nav aria-label='Games'>{links}</nav>" if len(games) > 1 else "",
    ]
    for record in found:
        parts += _game_html(record)
    return page(f"{name}: league", parts)


def _id(game: str) -> str:
    return html.escape(game, quote=True)


def _game_html(record: dict[str, Any]) -> list[str]:
    result = record["result"]
    parts = [
        f"<section id='{_id(result['game'])}'><h2>{html.escape(result['game'])}</h2>",
        f"<p>Rules: {html.escape(result['rules'])}. Duplicate deals: {format_pairs(result)}.</p>",
    ]
    if result["standings"]:
        parts += _standings_html(record)
    if result["pairings"]:
        parts += _cross_html(result)
    parts += [f"<p>{html.escape(line[:1].upper() + line[1:])}.</p>" for line in remarks(result)]
    return [*parts, *_facts(record), "</section>"]


def _standings_html(record: dict[str, Any]) -> list[str]:
    columns, rows = standings(record)
    scale, pictures = bars(record["result"]["standings"])
    columns = [*columns[:2], "95 % interval", *columns[2:]]
    shown = [[*row[:2], bar, *row[2:]] for row, bar in zip(rows, pictures, strict=True)]
    return table(f"Standings; {scale}", columns, shown, wide=2)


def _cross_html(result: dict[str, Any]) -> list[str]:
    """The margins of the rows' agents over the columns'; coloured where the interval is clear."""
    names, cells, cross = _agents(result), _cells(result), margins_of(result)

    def kind(one: str, other: str) -> str:
        low, high = cells[one, other][1] if (one, other) in cells else (0.0, 0.0)
        return "ahead" if low > 0 else "behind" if high < 0 else ""

    rows = [[name, *map(_split, margins)] for name, *margins in cross.rows]
    kinds = [["", *(kind(one, other) for other in names)] for one in names]
    caption = "Margins, points a deal; coloured where the interval is clear of zero"
    return table(caption, cross.columns, rows, kinds=kinds)


def _split(cell: str) -> Html:
    """A margin with its interval below it."""
    number, _, half = cell.partition(" ")
    return Html(f"<span>{number} <span class='half'>{half}</span></span>" if half else number)


def _facts(record: dict[str, Any]) -> list[str]:
    """What a reader needs to reproduce it."""
    result = record["result"]
    agents = "".join(
        f"<li>{html.escape(agent['name'])} ({html.escape(agent['kind'])})"
        + (f", SHA-256 {agent['digest']}" if agent["digest"] else "")
        + "</li>"
        for agent in result["agents"]
    )
    return [
        "<details><summary>What was measured</summary>",
        f"<p>hearts-env {html.escape(result['package'])}, league protocol {result['protocol']}, "
        f"seed {result['seed']}, {record['run']['hours']:.2f} hours of one processor. SHA-256 of "
        f"the first deals: <span class='sha'>{html.escape(result['deals_sha256'])}</span>, of "
        f"these figures: <span class='sha'>{record['sha256']}</span>.</p>",
        f"<ul class='sha'>{agents}</ul></details>",
    ]
