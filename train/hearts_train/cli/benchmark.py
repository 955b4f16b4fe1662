"""What ``hearts benchmark`` plays, prints and writes as a page, with the worst deals card by card.

The work is in ``hearts_train.measure.benchmark``.
"""

from __future__ import annotations

import contextlib
import html
import re
import shlex
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import AgentSpec, Kind
from hearts_env import Game, Rules
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.support.errors import quoted
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.page import bars, cards_html, page, table
from hearts_train.cli.reports import command_line, show_counted_faults, stoppable
from hearts_train.console import Mistake
from hearts_train.measure.analysis import analyse
from hearts_train.measure.benchmark import (
    TRACKS,
    benchmark,
    encoded,
    read_benchmark,
    verify,
)
from hearts_train.measure.display import (
    OF_BOTH,
    format_interval,
    format_margin,
    format_ms,
    short_names,
)
from hearts_train.measure.duel import Example
from hearts_train.measure.participants import AgentLike, trained_rules

DECLARED = ("authors", "code", "compute")
"""What an author may say of an entry to the leaderboard."""
_BETWEEN_PATHS = re.compile(r"[\s:?&=]+")
"""What divides the paths in an agent's name."""
_SHOWN = 3
"""The worst deals shown for each opponent."""
_STYLE = """<style>
.facts th { vertical-align: top; } .facts td { overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0;
  padding: .4rem .8rem; }
summary { cursor: pointer; }
@media (max-width: 700px) { .facts, .facts tbody, .facts tr, .facts th, .facts td {
  display: block; border-bottom: 0; } .facts tr { border-bottom: 1px solid var(--line); } }
</style>"""


def track_of(agent: str, *, isolate: bool) -> str:
    """The track whose rules an agent was trained for; else ``two_player``."""
    rules = trained_rules([agent], isolate=isolate)
    if rules is not None:
        for name, track in TRACKS.items():
            if Rules.from_text(track.rules).is_same_deal(rules):
                return name
    return "two_player"


def play(
    agent: AgentLike, save: Path | None, resume: Path | None = None, **arguments: Any
) -> dict[str, Any]:
    """Play a benchmark; after a signal say how to continue."""
    with stoppable("benchmark", save or resume):
        return benchmark(
            agent,
            **arguments,
            command=command_line(),
            save=save,
            resume=resume,
            show=console.progress,
        )


def declared(texts: list[str]) -> dict[str, str]:
    """What ``--declare`` says, by name."""
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
        entry[name] = text.strip()
    return entry


def check(path: Path, agent: str | None, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The record of a file played again, and where it differs from the file.

    What an agent's name says of files is looked for here, then in the file's own folder.
    """
    record = read_benchmark(path)
    spec = record["result"]["agent"]["spec"]
    folder = Path()
    if agent is None and isinstance(spec, str):
        words = _BETWEEN_PATHS.split(spec)
        if any((path.parent / word).exists() and not Path(word).exists() for word in words):
            folder = path.parent
        with contextlib.chdir(folder):
            AgentSpec.from_json(spec).check_allowed(f"verify: {str(path)!r}")
    with stoppable(), contextlib.chdir(folder):
        return verify(record, agent, show=console.progress, **settings)


def write(record: dict[str, Any], target: str) -> None:
    """Write a record to a file, a line for each field, or to standard output."""
    if console.is_stdout(target):
        console.print_json(record, target)
        return
    write_whole(Path(target), encoded(record))
    console.note(f"written: {target}")


def report_verdict(path: Path, record: dict[str, Any], differing: list[str]) -> None:
    """Print whether a result is reproduced; exit status 1 if not."""
    blocks = [f"{first} to {last}" for first, last in record["run"].get("played_again", [])]
    part = f", its deals {', '.join(blocks)}" if blocks else ""
    if not differing:
        console.note(f"{path}: holds; played again{part}, it is the same to the last digit")
        return
    console.note(f"{path}: does not hold; played again{part}, it differs:")
    for place in differing:
        console.note(f"  {place}")
    raise typer.Exit(1)


def show(record: dict[str, Any], *, to_stderr: bool) -> None:
    """Print a record as a table."""
    result, run = record["result"], record["run"]
    columns, rows = figures_of(record)
    console.print_table(title(result), columns, rows, to_stderr=to_stderr)
    agent = result["agent"]["name"]
    console.note(f"{short_names([agent])[agent]} {verdict(result)}")
    show_counted_faults(_faults(result), [Example(**one) for one in run["examples"]])
    if exact := exact_line(result):
        console.note(exact)
    if not run["within_budget"]:
        console.note(f"over its budget of {result['budget']} a card")


def verdict(result: dict[str, Any]) -> str:
    """Whom of the field the agent of a record's result beats, and its place in the field, in words.

    It beats a player where the whole 95 % interval of its margin is above zero.
    """
    figures = result["opponents"]
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
        f"{result['split']}: points a deal, 95 % interval over {result['deals']:,} duplicate "
        f"deals{part}"
    )


def figures_of(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
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


# ---- the page ------------------------------------------------------------------------------------
def write_page(record: dict[str, Any], path: Path, file: Path | None = None) -> None:
    """Write a record of ``hearts benchmark`` as a self-contained page."""
    result = record["result"]
    agent = result["agent"]["name"]
    name = short_names([agent])[agent]
    title = f"{name}: {result['protocol']}, {result['track']} {result['split']}"
    parts = [_STYLE, *_summary(result), *_table(record)]
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
    columns, rows = figures_of(record)
    scale, pictures = bars([*record["result"]["opponents"], record["result"]])
    columns = [*columns[:2], "95 % interval", *columns[2:]]
    shown = [[*row[:2], bar, *row[2:]] for row, bar in zip(rows, pictures, strict=True)]
    return table(f"Points a deal; {scale}, the thin line is 0", columns, shown, wide=2)


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
        **{name.capitalize(): text for name, text in record.get("entry", {}).items()},
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
