"""The page of a league: for each game standings, margins of all pairings, and cycles.

On a narrow screen each row becomes a card; the margins of all pairings then stand one under
another, each with the name of the opponent.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from hearts_train.cli.league_tables import (
    cells_of,
    format_exploitability,
    format_pairs,
    format_rating,
    format_times,
    remarks,
)
from hearts_train.cli.page import bar, page
from hearts_train.measure.pictures import short_names
from hearts_train.measure.result_table import format_margin

_STYLE = """<style>
main { max-width: 78rem; } td:first-child { font-weight: 600; }
@media (min-width: 701px) { .cards { width: 100%; } .cards td { white-space: nowrap; }
  .half { display: block; font-size: .85em; } }
.ahead { background: var(--best); } .behind { background: var(--blunder); }
nav a { display: inline-block; margin: .15rem .6rem .15rem 0; }
.wide-table { overflow-x: auto; }
a { color: inherit; } .sha { overflow-wrap: anywhere; }
</style>"""


def league_page(name: str, found: Sequence[dict[str, Any]]) -> bytes:
    """The tables of some games (``league_table.tables``) as a page."""
    games = [record["result"]["game"] for record in found]
    links = "".join(f"<a href='#{_id(game)}'>{html.escape(game)}</a>" for game in games)
    parts = [
        _STYLE,
        "<p>Each agent's <b>margin</b> is the others' mean score less its own, in points a deal, "
        "mean over all its opponents: above zero is good. Every pairing plays the same duplicate "
        "deals, each from every seat; the intervals are 95 % over these deals. The <b>rating</b> "
        "is on Elo's scale, from deals won. <b>Nash</b> is the weight of an agent in the mixture "
        "that nobody beats, <b>over Nash</b> its margin against that mixture.</p>",
        f"<nav aria-label='Games'>{links}</nav>" if len(games) > 1 else "",
    ]
    for record in found:
        parts += _game(record)
    return page(f"{name}: league", parts)


def _id(game: str) -> str:
    return html.escape(game, quote=True)


def _game(record: dict[str, Any]) -> list[str]:
    result = record["result"]
    parts = [
        f"<section id='{_id(result['game'])}'><h2>{html.escape(result['game'])}</h2>",
        f"<p>Rules: {html.escape(result['rules'])}. Duplicate deals: {format_pairs(result)}.</p>",
    ]
    if result["standings"]:
        parts += _standings(record)
    if result["pairings"]:
        parts += _cross(result)
    parts += [f"<p>{html.escape(line[:1].upper() + line[1:])}.</p>" for line in remarks(result)]
    return [*parts, *_facts(record), "</section>"]


def _standings(record: dict[str, Any]) -> list[str]:
    found = record["result"]["standings"]
    short = short_names([row["agent"] for row in found])
    ends = [bound for row in found for bound in row["ci95"]]
    low, high = min(0.0, *ends), max(0.0, *ends)
    has_exact = any(row["exact"] for row in found)
    has_faults = any(row["faults"] for row in found)
    heads = ["Agent", "Margin", "95 % interval", "Rating", "Deals won", "Nash", "Over Nash"]
    heads += [*(["Exploitability"] if has_exact else []), "Moons in 100 deals", "ms a card"]
    heads += ["Faults"] if has_faults else []
    rows = []
    for row in found:
        rows.append(
            [
                f"{row['place']}. {html.escape(short[row['agent']])}",
                format_margin(row["margin"], row["ci95"]),
                bar(row["margin"], row["ci95"], low, high),
                format_rating(row),
                f"{row['won']:.1%}",
                f"{row['nash']:.1%}",
                f"{row['over_nash']:+z.2f}",
                *([format_exploitability(row["exact"])] if has_exact else []),
                f"{row['moons']:.1f}",
                html.escape(format_times(record["run"]["ms_per_card"][row["agent"]])),
                *([f"{row['faults']:,}"] if has_faults else []),
            ]
        )
    caption = f"Standings; the bars are on a scale from {low:+.1f} to {high:+.1f}"
    return _table(caption, heads, rows, wide=2)


def _cross(result: dict[str, Any]) -> list[str]:
    """The margins of the rows' agents over the columns'; coloured where the interval is clear."""
    names = [row["agent"] for row in result["standings"]]
    names += [agent["name"] for agent in result["agents"] if agent["name"] not in names]
    short = short_names(names)
    cells = cells_of(result)
    heads = ["Margin of", *(f"over {html.escape(short[name])}" for name in names)]
    shown = [head.replace("_", "_<wbr/>") for head in heads]
    rows, kinds = [], []
    for one in names:
        row, kind = [html.escape(short[one])], [""]
        for other in names:
            margin, ci95 = cells.get((one, other), (None, None))
            number, _, half = format_margin(margin, ci95).partition(" ")
            row.append(
                "" if ci95 is None else f"<span>{number} <span class='half'>{half}</span></span>"
            )
            if ci95 is not None and ci95[0] <= 0 <= ci95[1]:
                ci95 = None  # zero is inside
            kind.append("" if ci95 is None else "ahead" if ci95[0] > 0 else "behind")
        rows.append(row)
        kinds.append(kind)
    caption = "Margins, points a deal; coloured where the interval is clear of zero"
    return _table(caption, heads, rows, kinds=kinds, shown=shown)


def _table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    wide: int | None = None,
    kinds: Sequence[Sequence[str]] | None = None,
    shown: Sequence[str] | None = None,
) -> list[str]:
    """A table whose cells are HTML already.

    `wide` is the column that takes the remaining width, `kinds` are classes of single cells, and
    `shown` the heads that are HTML.
    """
    head = "".join(f"<th scope='col'>{text}</th>" for text in shown or heads)
    parts = [
        f"<div class='wide-table'><table class='cards'><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>"
    ]
    for number, row in enumerate(rows):
        cells = []
        for place, text in enumerate(row):
            kind = "wide" if place == wide else "n" if place else ""
            more = kinds[number][place] if kinds is not None else ""
            label = f" data-label='{heads[place]}'" if text else ""
            cells.append(f"<td class='{kind} {more}'{label}>{text}</td>")
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return [*parts, "</tbody></table></div>"]


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
