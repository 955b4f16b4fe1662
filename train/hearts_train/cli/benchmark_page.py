"""The page of a result of HeartsBench: figures, intervals, the worst deals card by card."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

from hearts_agents.spec import AgentSpec, Kind
from hearts_env import Game
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.support.files import write_whole
from hearts_train.cli.page import bar, cards_html, page
from hearts_train.measure.analysis import analyse
from hearts_train.measure.benchmark import verdict
from hearts_train.measure.field import read_field
from hearts_train.measure.pictures import short_names
from hearts_train.measure.result_table import OF_BOTH, format_interval, format_margin, format_ms

_SHOWN = 3
"""The worst deals shown for each opponent."""

_HEADS = (
    "Against",
    "Margin",
    "95 % interval",
    "Deals won",
    "Rank",
    OF_BOTH.format("Moons"),
    OF_BOTH.format("ms per card"),
    OF_BOTH.format("Faults"),
)
_STYLE = """<style>
@media (min-width: 701px) { .cards { width: 100%; } .cards td { white-space: nowrap; }
  .cards td.wide { width: 100%; } }
.scroll { overflow-x: auto; }
.facts th { vertical-align: top; } .facts td { overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0;
  padding: .4rem .8rem; }
summary { cursor: pointer; }
@media (max-width: 700px) { .facts, .facts tbody, .facts tr, .facts th, .facts td {
  display: block; border-bottom: 0; } .facts tr { border-bottom: 1px solid var(--line); } }
</style>"""
_SCROLLED = "<div class='scroll' tabindex='0' role='region' aria-label='{}'>"
"""Wraps a table that may be wider than the screen, so that it scrolls on its own."""


def write_page(record: dict[str, Any], path: Path, file: Path | None = None) -> None:
    """Write a record of ``hearts benchmark`` as a self-contained page.

    Args:
        record: the record.
        path: the page.
        file: where the record was written, for the command that verifies it.

    Raises:
        OSError: if it cannot be written.
    """
    result = record["result"]
    agent = result["agent"]["name"]
    name = short_names([agent])[agent]
    title = f"{name}: {result['protocol']}, {result['track']} {result['split']}"
    parts = [_STYLE, *_summary(result), *_table(record), *_cross_table(result)]
    worst = [
        (deal, figures["opponent"])
        for figures in result["opponents"]
        for deal in [one for one in figures["worst"] if one["margin"] < 0][:_SHOWN]
    ]
    parts += ["<h2>What was measured</h2>", *_facts(record)]
    parts += ["<h2>Verify and cite</h2>", *_references(record, file)]
    parts.append(f"<details><summary>The deals that went worst: {len(worst)}</summary>")
    parts.append(
        "<p>Each deal was played once with the agent in each seat. In games of two players "
        "<span class='chip slip'>?</span> marks a card that loses a point or more if both then "
        "play as well as possible, all cards seen, <span class='chip blunder'>??</span> one that "
        "loses five or more: a player who does not see all cards may have been right.</p>"
    )
    for deal, opponent in worst:
        parts += _deal(deal, name, opponent)
    parts.append("</details>")
    write_whole(path, page(title, parts))


def _summary(result: dict[str, Any]) -> list[str]:
    margin = format_margin(result["margin"], result["ci95"])
    count = f"{result['deals']:,} duplicate deals"
    agent = result["agent"]["name"]
    parts = [
        f"<p><b>{html.escape(short_names([agent])[agent])}</b> {html.escape(verdict(result))}.</p>",
        f"<p>Mean margin over the field: <b>{margin}</b> points a deal, 95 % interval over "
        f"{count}. The margin is the others' mean score less the agent's own: above zero is "
        "good.</p>",
    ]
    if not result["is_full"]:
        parts.append("<p><b>These are not all of the protocol's deals.</b></p>")
    exact = result["exploitability"]
    if exact is not None and exact["exploitability"] is not None:
        drawn = " of one draw of its play" if exact["one_draw"] else ""
        parts.append(
            f"<p>Exploitability{drawn}, exact: <b>{exact['exploitability']:.4f}</b> points a deal "
            "is what a best response wins from the agent.</p>"
        )
    elif exact is not None:
        parts.append(f"<p>Exploitability: not computed: {html.escape(str(exact['why']))}</p>")
    return parts


def _table(record: dict[str, Any]) -> list[str]:
    """A row for each opponent and one for their mean, all on one scale."""
    result, run = record["result"], record["run"]
    figures = result["opponents"]
    is_ranked = result["rules_in_full"]["players"] > 2
    has_faults = any(f["faults"] or f["opponent_faults"] for f in figures)
    ends = [bound for f in [*figures, result] for bound in f["ci95"]]
    low, high = min(0.0, *ends), max(0.0, *ends)
    rows = [
        [
            html.escape(f["opponent"]),
            format_margin(f["margin"], f["ci95"]),
            bar(f["margin"], f["ci95"], low, high),
            f"{f['won']:.1%}",
            format_interval(f["rank"], f["rank_ci95"]) if is_ranked else "",
            f"{f['moons']}, {f['opponent_moons']}",
            html.escape(", ".join(format_ms(ms) for ms in run["ms_per_card"][f["opponent"]])),
            f"{f['faults']}, {f['opponent_faults']}" if has_faults else "",
        ]
        for f in figures
    ]
    mean = [format_margin(result["margin"], result["ci95"])]
    mean.append(bar(result["margin"], result["ci95"], low, high))
    rows.append(["<b>mean of all</b>", *mean, "", "", "", "", ""])
    shown = [place for place in range(len(_HEADS)) if any(row[place] for row in rows)]
    heads = "".join(f"<th scope='col'>{_HEADS[place]}</th>" for place in shown)
    parts = [
        _SCROLLED.format("Margins over the field"),
        "<table class='cards'><caption>Points a deal; the bars are 95 % intervals on a scale from "
        f"{low:+.1f} to {high:+.1f}, the thin line is 0</caption><thead><tr>{heads}</tr></thead>",
        "<tbody>",
    ]
    kinds = {0: "", 2: " class='wide'"}
    for row in rows:
        cells = [
            f"<td{kinds.get(place, ' class=n')} data-label='{_HEADS[place]}'>{row[place]}</td>"
            if row[place]
            else "<td></td>"
            for place in shown
        ]
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return [*parts, "</tbody></table></div>"]


def _cross_table(result: dict[str, Any]) -> list[str]:
    """The field against itself on the same deals, from the package; for full results only."""
    table = read_field().get(f"{result['track']} {result['split']}")
    if table is None or not result["is_full"] or table["seed"] != result["dealt"]["seed"]:
        return []
    name = short_names([result["agent"]["name"]])[result["agent"]["name"]]
    mine = [{**f, "agent": name} for f in result["opponents"]]
    cells = {(p["agent"], p["opponent"]): p for p in [*table["pairings"], *mine]}
    columns = [f["opponent"] for f in result["opponents"]]
    heads = "".join(f"<th scope='col'>over {html.escape(column)}</th>" for column in columns)
    parts = [
        _SCROLLED.format("The field among itself"),
        "<table class='cards'><caption>Each player's margin over each other, with 95 % intervals; "
        f"the field among itself on the first {table['deals']:,} of these deals</caption>",
        "<thead><tr><th scope='col'>Margin of</th>",
        f"{heads}</tr></thead><tbody>",
    ]
    for row in [name, *(column for column in columns if column != name)]:
        shown = [
            format_margin(cell["margin"], cell["ci95"]) if (cell := cells.get((row, c))) else ""
            for c in columns
        ]
        labels = [f"over {html.escape(column)}" for column in columns]
        parts.append(
            f"<tr><td data-label='Margin of'><b>{html.escape(row)}</b></td>"
            + "".join(
                f"<td class=n data-label='{label}'>{text}</td>" if text else "<td></td>"
                for label, text in zip(labels, shown, strict=True)
            )
            + "</tr>"
        )
    return [*parts, "</tbody></table></div>"]


def _deal(deal: dict[str, Any], agent: str, opponent: str) -> list[str]:
    """A deal in a collapsible block: every play, trick by trick."""
    parts = [
        f"<details><summary>Against {html.escape(opponent)}: deal {deal['number']}, margin "
        f"{deal['margin']:+.2f}</summary>"
    ]
    for seat, text in enumerate(deal["games"]):
        game = Game.from_text(text)
        n = game.rules.players
        others = [opponent if n == 2 else f"{opponent} {p}" for p in range(n)]
        names = [agent if p == seat else other for p, other in enumerate(others)]
        parts += _game(game, [html.escape(name) for name in names], seat)
    return [*parts, "</details>"]


def _game(game: Game, names: list[str], seat: int) -> list[str]:
    start = game.start()
    scores = ", ".join(map(str, game.scores()))
    parts = [f"<h3>{names[seat]} in seat {seat}: scores {scores}</h3><table class='facts'>"]
    for p, name in enumerate(names):
        passed = f" passed {cards_html(game.passed(p))}" if game.passed(p) else ""
        parts.append(
            f"<tr><th scope='row'>Seat {p}, {name}</th><td>{cards_html(start.hand(p))}{passed}"
            "</td></tr>"
        )
    if game.kitty:
        parts.append(f"<tr><th scope='row'>Dead</th><td>{cards_html(game.kitty)}</td></tr>")
    for number, plays in enumerate(_tricks(game), 1):
        cards = " ".join(
            f"<span class='chip{' slip' * (mark == '?')}{' blunder' * (mark == '??')}'>"
            f"{names[player]} {cards_html([card])} {mark}</span>"
            for player, card, mark in plays
        )
        parts.append(f"<tr><th scope='row'>Trick {number}</th><td>{cards}</td></tr>")
    if game.revoker is not None:
        parts.append(f"<tr><th scope='row'>Fault</th><td>{names[game.revoker]}</td></tr>")
    return [*parts, "</table>"]


def _tricks(game: Game) -> list[list[tuple[int, str, str]]]:
    """Each trick's cards in order of play: player, card, mark."""
    n = game.rules.players
    marks = [""] * len(game.history)
    if has_exact_worlds(game.rules):
        marks = [moment.mark for moment in analyse(game, worlds=False).moments]
    plays = [(*play, mark) for play, mark in zip(game.history, marks, strict=True)]
    return [plays[first : first + n] for first in range(0, len(plays), n)]


def _facts(record: dict[str, Any]) -> list[str]:
    """What a reader needs to reproduce the result."""
    result, run = record["result"], record["run"]
    agent = result["agent"]
    machine = run["platform"]
    facts = {
        "Protocol": f"{result['protocol']}, field {result['field_version']}, hearts-env "
        f"{result['package']}",
        "Agent": f"{agent['spec'] or agent['name']} ({agent['kind']})",
        "Its options": ", ".join(f"{k}={v}" for k, v in agent["options"].items()) or "none",
        "Its SHA-256": agent["digest"] or "none",
        "Its SHA-256 covers": covered(agent),
        "Budget a card": result["budget"] + ("" if run["within_budget"] else ", exceeded"),
        "Decisions in training": "not stated"
        if result["decisions"] is None
        else f"{result['decisions']:,}",
        "Deals": f"{result['split']}, seed {result['dealt']['seed']}, {result['deals']:,} of them",
        "Their SHA-256": result["dealt"]["sha256"],
        "Result's SHA-256": record["sha256"],
        "Command": run["command"] or "none",
        "Processes": "one for each player" if run["isolated"] else "one",
        "Machine": ", ".join(f"{k} {v}" for k, v in machine.items()),
    }
    rules = {k: v for k, v in result["rules_in_full"].items() if k != "removed"}
    parts = [*_rows(facts), f"<details><summary>Rules: {html.escape(result['rules'])}</summary>"]
    return [*parts, *_rows(rules), "</details>"]


def covered(agent: dict[str, Any]) -> str:
    """In words, what the digest of an agent in a record covers."""
    kind = AgentSpec.from_json(agent["spec"]).kind
    files = agent.get("files", [])
    declared = [f"the files that it declares ({', '.join(files)})"] * bool(files)
    if agent["digest"] is None:
        return "nothing: the version of hearts-env says what the agent is"
    if kind is Kind.PROGRAM:
        return "the program and the files that its command names; no others that it loads"
    if kind is Kind.CODE or declared:
        parts = ["the code's file"] * (kind is Kind.CODE) + declared
        parts += ["the files that its options name"] * bool(agent["options"])
        return f"{', '.join(parts)}; not covered: other files that it loads"
    return "the agent's weights or chances"


def _references(record: dict[str, Any], file: Path | None) -> list[str]:
    """The command that plays the record again, and how to cite it."""
    result, agent = record["result"], record["result"]["agent"]
    spec = agent["spec"]
    words = ["hearts", "benchmark", "--verify", "RESULT.json" if file is None else str(file)]
    words += [spec] if AgentSpec.from_json(spec).runs_code else []
    about = f"{result['protocol']}, {result['track']} {result['split']}, {result['budget']}"
    digests = [f"result SHA-256 {record['sha256']}"]
    digests += [f"agent SHA-256 {agent['digest']}"] if agent["digest"] else []
    entry = [
        "@software{hearts_env,",
        "  author  = {{hearts-env contributors}},",
        "  title   = {hearts-env: Hearts for reinforcement learning},",
        f"  version = {{{result['package']}}},",
        f"  note    = {{{'; '.join([about, *digests])}}}",
        "}",
    ]
    command = shlex.join(words) if spec is not None else "an agent made by a program: from Python"
    return [
        f"<p>Verify with: <code>{html.escape(command)}</code></p>",
        f"<pre>{html.escape(chr(10).join(entry))}</pre>",
    ]


def _rows(facts: dict[str, Any]) -> list[str]:
    rows = [
        f"<tr><th scope='row'>{html.escape(str(k))}</th><td>{html.escape(str(v))}</td></tr>"
        for k, v in facts.items()
    ]
    return ["<table class='facts'>", *rows, "</table>"]
