"""Writes the parts of the documentation that follow from the code.

A generated part stands between two comments and is never edited by hand::

    <!-- generated: NAME -->
    <!-- end -->

NAME is one of `PARTS` with its arguments. ``output`` is special: the part is what the Python
blocks of the page before it print, back to the last such part. So a page cannot show an answer
that the code no longer gives. ``shown EXPRESSION`` is what a notebook would show of a value: its
``_repr_html_``, or with ``as NAME.svg: what it shows`` after it its ``_repr_svg_``, kept as
``docs/images/NAME.svg``. ``drawn FILE as NAME.png: what it shows`` is a picture that the blocks
have written; another version of Matplotlib draws other bytes, so it is copied only where
``docs/images`` has none yet.

    python docs/tables.py            write every part anew
    python docs/tables.py --check    write nothing; exit status 1 when a part is stale
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib.util
import inspect
import io
import json
import os
import re
import statistics
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bench.complexity import COLUMNS as SIZE_COLUMNS
from bench.complexity import Complexity
from bench.complexity import rows as size_rows
from hearts_agents.attackers import METHODS
from hearts_env import Rules, hearts_v0, kernel
from hearts_env.cards import DIRECTIONS, MAX_ROTATION, CardPoints
from hearts_env.encoders import (
    ENCODERS,
    BeliefEncoder,
    FlatEncoder,
    HistoryEncoder,
    PlanesEncoder,
)
from hearts_env.rules import rules as rules_module
from hearts_env.rules.explain import match_rules, meaning_of
from hearts_env.rules.presets import PRESETS
from hearts_env.rules.rules import FIELDS
from hearts_env.rules.values import MAX_POINTS
from hearts_env.solve.deal_results import shipped_results
from hearts_train.command import league_tables
from hearts_train.measure.attack import TRAINED
from hearts_train.measure.equity import MatchEquity
from hearts_train.measure.field import read_field
from hearts_train.measure.league_file import read_folder
from hearts_train.measure.league_table import tables as tables_of
from hearts_train.measure.protocol import SPLITS, TRACKS
from hearts_train.measure.shown import format_interval, format_margin

DOCS = Path(__file__).resolve().parent
_MEASURED = DOCS / "measured.py"

_TOKEN = re.compile(
    r"^```python(?P<flags>[^\n]*)\n(?P<code>.*?)^```[ ]*$"
    r"|<!-- generated: (?P<name>.+?) -->\n(?P<body>.*?)<!-- end -->",
    re.DOTALL | re.MULTILINE,
)
_RUN = r"(output|shown|drawn)\b"
"""Parts that are made from what the page's blocks do."""
_BAR = re.compile(r"(?<!\\)\|")


# ---- tables ------------------------------------------------------------------------------------
def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [list(head), ["---"] * len(head), *(list(map(str, row)) for row in rows)]
    return "".join("| " + " | ".join(_BAR.sub(r"\\|", c) for c in line) + " |\n" for line in lines)


def show(value: object) -> str:
    """A field's value in the fewest words that `Rules` would read back."""
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, CardPoints):
        return show_points(dict(value))
    return str(value)


def show_points(points: dict[str, int]) -> str:
    """Points by card; thirteen equal hearts in a word."""
    hearts = {points.pop(card) for card in [c for c in points if c[1] == "H"]}
    words = [f"every heart {worth}" for worth in hearts]
    return ", ".join(words + [f"{card} {worth}" for card, worth in points.items()])


def ranks_of(rules: Rules) -> str:
    """The ranks of the deck if they are the same in each suit, else nothing."""
    ranks = {" ".join(c[0] for c in rules.deck if c[1] == suit) for suit in "CDSH"}
    return ranks.pop() if len(ranks) == 1 else ""


def show_deck(rules: Rules) -> str:
    """The deck of a rule set, in words."""
    size, ranks = len(rules.deck), ranks_of(rules)
    if not rules.removed:
        return str(size)
    return f"{size}: {ranks} of each suit" if ranks else f"{size}: without {show(rules.removed)}"


def show_removed(rules: Rules) -> str:
    """The cards that are left out, in words."""
    ranks = ranks_of(rules)
    return f"all but {ranks}" if rules.removed and ranks else show(rules.removed)


def show_exchange(rules: Rules) -> str:
    """The exchange of a rule set, in words."""
    return f"{rules.pass_count}: {show(rules.pass_rotation)}" if rules.pass_count else "none"


def show_match(rules: Rules) -> str:
    """How a match ends, in words."""
    if rules.settlement == "points":
        return f"{rules.end_score} {rules.end_when}"
    return f"chips, `{rules.settlement}`, stake {rules.stake}"


def show_numbers(numbers: range) -> str:
    """The numbers of players that a preset has."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def fields() -> str:
    """Every field of ``Rules``: values, default, meaning."""
    rows = []
    for field in dataclasses.fields(Rules):
        name = field.name
        default = getattr(Rules(), name)
        rows.append([f"`{name}`", field_values(name), show(default), meaning_of(name)])
    return table(["field", "values", "default", "meaning"], rows)


def field_values(name: str) -> str:
    """What a field may be."""
    if name in rules_module._CHOICES:
        return ", ".join(show(value) for value in rules_module._CHOICES[name])
    if name in rules_module._RANGES or name in rules_module._OPTIONAL_RANGES:
        low, high = {**rules_module._RANGES, **rules_module._OPTIONAL_RANGES}[name]
        other = " or None" if name in rules_module._OPTIONAL_RANGES else ""
        return f"{low:,} to {high:,}{other}"
    if name == "card_points":
        most = MAX_POINTS
        return f"card → whole number, {-most:,} to {most:,}"
    if name == "removed":
        return "cards"
    if name == "pass_rotation":
        words = ", ".join(f"`{word}`" for word in DIRECTIONS)
        return f"1 to {MAX_ROTATION} of {words}"
    return "True, False"


def presets() -> str:
    """Every preset in one line, as it is for the number of players that it is made with."""
    rows = []
    for name, (numbers, _) in PRESETS.items():
        rules = Rules.preset(name)
        rows.append(
            [
                f"`{name}`",
                show_numbers(numbers),
                show_deck(rules),
                rules.hand_size,
                rules.kitty_size,
                show(rules.trump) if rules.trump else "none",
                show_points(dict(rules.card_points)),
                f"`{rules.moon}`" + (f" {rules.moon_points}" if rules.moon != "none" else ""),
                show_exchange(rules),
                show_match(rules),
            ]
        )
    head = ["preset", "players", "deck", "hand", "kitty", "trump", "points", "moon", "exchange"]
    return table([*head, "match"], rows)


def options(*names: str) -> str:
    """The fields in which some presets differ from a plain ``Rules()``, side by side."""
    all_rules = [Rules.preset(name) for name in names]
    rows = []
    for field in FIELDS:
        values = [show(getattr(rules, field)) for rules in all_rules]
        default = show(getattr(Rules(), field))
        if field == "removed":
            values = [show_removed(rules) for rules in all_rules]
        if set(values) != {default}:
            rows.append([f"`{field}`", *values, default, meaning_of(field)])
    return table(["field", *(f"`{name}`" for name in names), "default", "meaning"], rows)


def players(*names: str) -> str:
    """What depends on the number of players, for the presets of one family."""
    rows = []
    for name in names:
        for number in PRESETS[name][0]:
            r = Rules.preset(name, number)
            rows.append(
                [
                    f"`{name}`",
                    number,
                    show_deck(r),
                    r.hand_size,
                    r.kitty_size,
                    show_exchange(r),
                    f"{r.max_margin:g}",
                ]
            )
    head = ["preset", "players", "deck", "hand", "kitty", "exchange", "`max_margin`"]
    return table(head, rows)


def match(*names: str) -> str:
    """How a match of some presets ends, in one paragraph that holds for all of them."""
    texts = {
        " ".join(rule.sentence for rule in match_rules(Rules.preset(name, number)))
        for name in names
        for number in PRESETS[name][0]
    }
    if len(texts) > 1:
        raise SystemExit(f"match: {', '.join(names)} end in different ways; give each a part")
    return textwrap.fill("**The match.** " + texts.pop(), 100, break_on_hyphens=False) + "\n"


def margins() -> str:
    """``max_margin`` of every preset, by number of players."""
    rows = []
    for name, (numbers, _) in PRESETS.items():
        words = [f"{number}: {Rules.preset(name, number).max_margin:g}" for number in numbers]
        rows.append([f"`{name}`", ", ".join(words)])
    return table(["preset", "`max_margin` by number of players"], rows)


def state() -> str:
    """The layout of a state."""
    rows = [
        [
            f"`{f.name}`",
            f"{f.start} + {kernel.SEAT} p" if f.is_seats else f.start,
            f.meaning,
            "" if f.empty is None else f.empty,
            f.who,
        ]
        for f in kernel.STATE
    ]
    head = ["field", "place", "meaning", "empty", "who may know"]
    sizes = ", ".join(
        f"{8 * Rules.preset(name).state_size} bytes in `{name}`"
        for name in ("mini", "two_player", "classic")
    )
    return (
        f"Seat p's fields follow those of seat p - 1, {kernel.SEAT} numbers a seat. Then comes the "
        f"history, {kernel.PLAYS_A_WORD} plays a word, card + 64 x seat in {kernel.PLAY_BITS} bits "
        "each, the first play lowest; all may know it. A game's state takes "
        f"{sizes}.\n\n" + table(head, rows)
    )


def encoder(name: str, preset: str) -> str:
    """The places of an encoder's observation of a preset."""
    made, rules = ENCODERS[name], Rules.preset(preset)
    space = made.space(rules)
    text = f"`{preset}`: shape `{space.shape}`, `{space.dtype}`.\n\n"
    if isinstance(made, HistoryEncoder):
        return text + history(made, rules)
    assert isinstance(made, FlatEncoder | PlanesEncoder | BeliefEncoder)
    rows, start = [], 0
    for block in made.blocks(rules):
        rows.append([f"`{block.name}`", start, block.size, block.meaning])
        start += block.size
    assert start == space.shape[0], f"{name} of {preset} has no such table"
    return text + table(["name", "start", "size", "meaning"], rows)


def history(made: HistoryEncoder, rules: Rules) -> str:
    """The rows and the columns of ``history``."""
    rows: list[list[object]] = [
        [number, f"`{kind}`", meaning] for number, (kind, meaning) in enumerate(made.rows(rules))
    ]
    length = made.space(rules).shape[0]
    plays = "a card played, in order; zeros where none has been played yet"
    rows.append([f"{len(rows)} to {length - 1}", "`play`", plays])
    columns, start = [], 0
    for name, size, meaning in made.columns(rules):
        columns.append([f"`{name}`", start, size, meaning])
        start += size
    assert start == made.space(rules).shape[1], "history has no such columns"
    return (
        table(["row", "kind", "meaning"], rows)
        + "\n"
        + table(["columns", "start", "size", "meaning"], columns)
    )


def sizes() -> str:
    """The shape of every encoder's observation under some presets."""
    rows = []
    for preset in ("two_player", "mini", "micro", "classic", "kitty", "hoyle"):
        numbers, _ = PRESETS[preset]
        for number in dict.fromkeys((numbers[0], numbers[-1])):
            rules = Rules.preset(preset, number)
            shapes = ["x".join(map(str, e.space(rules).shape)) for e in ENCODERS.values()]
            rows.append([f"`{preset}`", number, *shapes])
    return table(["preset", "players", *(f"`{name}`" for name in ENCODERS)], rows)


# ---- figures -----------------------------------------------------------------------------------
def read_result(name: str) -> Any:
    """What ``docs/figures.py`` has measured under this name."""
    path = DOCS / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def is_measured(name: str) -> bool:
    """Whether there are results under this name."""
    return (DOCS / "results" / f"{name}.json").exists()


def unmeasured(name: str, command: str = "") -> str:
    """What stands in a page until a figure is measured, by ``docs/figures.py`` or `command`."""
    return f"Not measured yet: `python {command or f'docs/figures.py {name}'}`.\n"


def bench_command(name: str) -> str:
    """What writes the results of this name, of the script of ``bench`` that is called so."""
    return f"bench/{name}.py --out docs/results/{name}.json"


def interval(record: dict[str, Any]) -> str:
    """Like ``+2.13 ± 0.03``."""
    return format_margin(record["margin"], record["ci95"])


def strengths(*names: str) -> str:
    """Margins of one player over another, each from a file of results."""
    rows = []
    for name in names:
        if not is_measured(name):
            agent, opponent, *_ = name.split("-")
            rows.append([f"`{agent}`", f"`{opponent}`", "not measured yet", ""])
            continue
        record = read_result(name)
        pair = [f"`{record['agent']}`", f"`{record['opponent']}`"]
        rows.append([*pair, interval(record), f"{record['deals']:,}"])
    return table(["player", "against", "margin", "duplicate deals"], rows)


def beside(path: Path) -> ModuleType:
    """A script of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(name: str) -> str:
    """A table of ``docs/measured.py``."""
    file, rows_of = beside(_MEASURED).TABLES[name]
    if not (DOCS / "results" / f"{file}.json").exists():
        return f"Not measured yet: docs/results/{file}.json, by a script of bench/.\n"
    record = read_result(file)
    return table(*rows_of(record)) + f"\n`{record['command']}`\n"


def learned(recipe: str) -> str:
    """What the players of a recipe make, over the seeds that were trained."""
    files = sorted((DOCS / "results").glob(f"{recipe}-[0-9]*.json"))
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    if not runs:
        return unmeasured(recipe)
    first, trained = runs[0]["evaluations"][0], f"{runs[0]['decisions'] / 1e6:.1f} M decisions"
    deals = f"over {first['deals']:,} duplicate deals"
    if len(runs) == 1:
        rows = [[f"`{record['opponent']}`", interval(record)] for record in runs[0]["evaluations"]]
        told = f"One trained player (seed {runs[0]['seed']}; {trained}), {deals}, 95 % intervals."
        return table(["against", "margin"], rows) + f"\n{told}\n"
    rows = []
    for place, first in enumerate(runs[0]["evaluations"]):
        records = [run["evaluations"][place] for run in runs]
        margin = [record["margin"] for record in records]
        won = [100 * record["won"] for record in records]
        rows.append([f"`{first['opponent']}`", spread(margin, "+.2f"), spread(won, ".1f", " %")])
    seeds = ", ".join(str(run["seed"]) for run in runs)
    return (
        table(["against", "margin", "deals won"], rows)
        + f"\nMean ± standard deviation of {len(runs)} trained players (seeds {seeds}; {trained} "
        f"each),\neach {deals}.\n"
    )


def arms() -> str:
    """What ways of learning the five-card game come to with the same budget, over seeds."""
    rows, runs = [], []
    for arm, meaning in _ARMS.items():
        files = sorted((DOCS / "results").glob(f"arm_{arm}-[0-9]*.json"))
        found = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        if not found:
            rows.append([meaning, "not measured yet", "", "", "", "0"])
            continue
        last = [run["exploitability"][-1] for run in found]
        drawn = [row["drawn"] for row in last if "drawn" in row]
        rows.append(
            [
                meaning,
                spread(drawn, ".3f") if drawn else "",
                spread([row["preferred"] for row in last], ".3f"),
                spread([run["evaluations"][0]["margin"] for run in found], "+.2f"),
                spread([run["seconds"] / 60 for run in found], ".1f"),
                str(len(found)),
            ]
        )
        runs += found
    head = ["", "drawn", "preferred", "over `pimc`", "minutes", "seeds"]
    text = table(head, rows)
    if not runs:
        return text
    millions, example = runs[0]["decisions"] / 1e6, f"arm_{list(_ARMS)[-1]}"
    return text + (
        f"\nMean ± standard deviation over seeds, {millions:.0f} M decisions each; "
        f"margins over {runs[0]['evaluations'][0]['deals']:,}\nduplicate deals "
        f"(`python docs/figures.py {example} ...`). Minutes count the exact evaluations, on cores\n"
        "that had other work too.\n"
    )


_ARMS = {
    "plain": "PPO of both seats",
    "entropy": "the same with 17 times the entropy bonus",
    "average": "and the average of the weights",
    "magnet": "and a pull towards that average",
    "maskable": "MaskablePPO of one seat against its snapshots",
    "nfsp": "NFSP: the average of best responses",
    "monte_carlo": "Deep Monte Carlo",
    "dqn": "DQN, double",
}
"""Ways of learning ``mini``, as in docs/figures.py."""


def learning_rates() -> str:
    """How many decisions a second the trainer learns from, by what differs from its recipe."""
    if not is_measured("learning"):
        return unmeasured("learning", bench_command("learning"))
    rows = [
        [rate["name"], f"{rate['per_processor_second']:,.0f}", f"{rate['per_second']:,.0f}"]
        for rate in read_result("learning")["rates"]
    ]
    return table(["", "a second of processor", "a second of clock"], rows)


def external_speed() -> str:
    """How many decisions a second programs give, and what each costs."""
    if not is_measured("external"):
        return unmeasured("external", bench_command("external"))
    record = read_result("external")
    rows = [
        [
            rate["bot"],
            "one by one" if rate["batch"] == 1 else f"{rate['batch']} at once",
            f"{rate['per_second']:,.0f}",
            f"{rate['best_per_second']:,.0f}",
            f"{1e6 / (rate['own_us'] + rate['bot_us']):,.0f}",
            f"{rate['own_us']:.1f}",
            f"{rate['bot_us']:.1f}",
        ]
        for rate in record["rates"]
    ]
    clock, processor = "decisions a second of clock", "a second of processor, both sides"
    head = ["bot", "views", clock, "best", processor, "µs here", "µs in the bot"]
    repeats = record["rates"][0]["repeats"]
    return (
        table(head, rows)
        + f"\nOf {repeats} times {record['decisions']:,} decisions each, all bots "
        f"in turn, on {record['cores']} cores that did\nother work too: their load was "
        f"{record['load']:.1f} (`python {bench_command('external')}`).\n"
    )


def spread(values: Sequence[float], form: str, unit: str = "") -> str:
    """Mean and standard deviation; of a single value the value."""
    mean = f"{statistics.fmean(values):{form}}"
    if len(values) < 2:
        return mean + unit
    return f"{mean} ± {statistics.stdev(values):{form.lstrip('+')}}{unit}"


def resolved() -> str:
    """What a network of ``mini`` loses to a best response, by how its last tricks are solved."""
    if not is_measured("resolving"):
        return unmeasured("resolving", bench_command("resolving"))
    alone, *ways = read_result("resolving")["rows"]
    rows = [["the network alone", "", points(alone["exploitability"])]]
    for row in ways:
        share = f"the range weighs {row['guessed']:.0%}"
        words = {0.0: "safe", 1.0: "unsafe"}.get(row["guessed"], share)
        rows.append([words, f"{row['noise']:.0%}", points(row["exploitability"])])
    return table(["last tricks", "noise in the ranges", "exploitability"], rows)


def exploited(name: str = "exploit") -> str:
    """The exact exploitability of some players of the small decks."""
    if not is_measured(name):
        return unmeasured(name)
    results = read_result(name)["commands"][0]["results"]
    decks = list(dict.fromkeys(record["rules"] for record in results))
    found = {(record["agent"], record["rules"]): record["exploitability"] for record in results}
    rows = [
        [f"`{agent}`", *(points(found[agent, deck]) for deck in decks)]
        for agent in dict.fromkeys(record["agent"] for record in results)
    ]
    return table(["", *(f"`{deck}`" for deck in decks)], rows)


def points(value: float) -> str:
    """An exploitability, a small one to four places."""
    if value < 0.001:
        return f"{max(value, 0.0):.0e}"
    return f"{value:.{4 if value < 0.01 else 3}f}"


def calibrated() -> str:
    """How well models of ``pro`` tell its hand."""
    if not is_measured("calibrate"):
        return unmeasured("calibrate")
    rows = []
    for record in read_result("calibrate")["commands"][0]["results"]:
        loss = format_interval(record["log_loss"], record["ci95"], ".3f")
        rows.append([record["model"], loss, f"{2 ** record['log_loss']:.1f}"])
    return table(["model of `pro`", "log-loss in bits", "perplexity"], rows)


def benchmark_tracks() -> str:
    """The tracks of HeartsBench and their fields."""
    rows = [
        [
            f"`{track.name}`",
            f"`{track.rules}`",
            f"{track.deals:,}",
            ", ".join(f"`{name}`" for name in track.field),
            "exact" if track.is_exact else "",
        ]
        for track in TRACKS.values()
    ]
    return table(["track", "rules", "duplicate deals", "field", "exploitability"], rows)


def benchmark_deals() -> str:
    """The seeds of HeartsBench's deals, and their SHA-256."""
    rows = [
        [f"`{track.name}`", split, track.seed(split), f"`{track.digest(split)}`"]
        for track in TRACKS.values()
        for split in SPLITS
    ]
    return table(["track", "split", "seed", "SHA-256"], rows)


def benchmark_field(track: str, split: str) -> str:
    """The margins of a track's players over each other."""
    names = TRACKS[track].field
    played = {(p["agent"], p["opponent"]): p for p in read_field()[f"{track} {split}"]["pairings"]}
    rows = [
        [f"`{one}`", *("" if one == other else interval(played[one, other]) for other in names)]
        for one in names
    ]
    return table(["margin of", *(f"over `{name}`" for name in names)], rows)


def attackers() -> str:
    """The attackers and what they do."""
    rows = [[f"`{name}`", method.meaning] for name, method in METHODS.items()]
    rows.append([f"`{TRAINED}`", "a network, trained against the frozen agent and nobody else"])
    return table(["attacker", "plays"], rows)


def attacked(name: str) -> str:
    """What attackers win from the players in the files of results of this name, or beginning so."""
    files = sorted((DOCS / "results").glob(f"attack-{name}.json"))
    if not files:
        return unmeasured(f"attack-{name}")
    records = [
        command["results"]
        for path in files
        for command in json.loads(path.read_text(encoding="utf-8"))["commands"]
        if "gains" in command["results"]
    ]
    words = list(dict.fromkeys(gain["attacker"] for r in records for gain in r["gains"]))
    words = [word for word in (*METHODS, TRAINED) if word in words]
    is_exact = records[0]["exploitability"] is not None
    rows = []
    for record in records:
        gains = {gain["attacker"]: gain for gain in record["gains"]}
        cells = [gain_of(gains[word]) if word in gains else "" for word in words]
        last = points(record["exploitability"]) if is_exact else f"{record['gains'][0]['deals']:,}"
        rows.append([f"`{record['agent'].removeprefix('../')}`", *cells, last])
    last = "best response" if is_exact else "duplicate deals"
    return table(["attacked", *(f"`{word}`" for word in words), last], rows)


def gain_of(gain: dict[str, Any]) -> str:
    """What an attacker wins, with its interval or its share of what a best response wins."""
    if gain["ci95"] is not None:
        return interval(gain)
    share = f" ({gain['ratio']:.0%})" if gain["ratio"] is not None and gain["ratio"] > 0 else ""
    return f"{gain['margin']:+.3f}{share}"


def endgames_lost() -> str:
    """What a best response wins in the last tricks."""
    if not is_measured("endgame"):
        return unmeasured("endgame")
    results = read_result("endgame")["commands"][0]["results"]
    rows = []
    for agent in results[0]["agents"]:
        values = [record["agents"][agent] for record in results]
        half = 1.96 * statistics.stdev(values) / len(values) ** 0.5
        rows.append([f"`{agent}`", f"{statistics.fmean(values):.2f} ± {half:.2f}"])
    return table(["player", "exploitability in the last four tricks"], rows)


def match_chances(preset: str, step: str) -> str:
    """The chance to win a match between two ``pimc``, own total down, the other's across."""
    rules = Rules.preset(preset)
    totals = np.arange(0, rules.end_score, int(step))
    chances = MatchEquity(rules, shipped_results(rules)).grid(totals)
    rows = [
        [f"**{own}**", *(f"{chance:.3f}" for chance in row)]
        for own, row in zip(totals, chances, strict=True)
    ]
    return table(["own total", *map(str, totals)], rows)


def matches_won(name: str = "matches") -> str:
    """What playing for the match wins in duplicate matches."""
    if not is_measured(name):
        return unmeasured(name)
    rows = []
    for record in (found for entry in read_result(name)["commands"] for found in entry["results"]):
        won = format_interval(record["won"], record["ci95"], ".2%")
        start = ":".join(map(str, record["totals"]))
        pair = [f"`{record['agent']}`", f"`{record['opponent']}`"]
        figures = [won, f"{record['ahead']:+.2f}", f"{record['deals']:.1f}", f"{record['pairs']:,}"]
        rows.append([*pair, f"`{record['rules']}`", start, *figures])
    head = ["player", "against", "game", "start", "matches won", "ahead at the end"]
    return table([*head, "deals", "pairs of matches"], rows)


SIZED = ("two_player", "mini", "micro", "classic", "party players=3", "party players=7", "hoyle")
"""The games of the page on sizes; its command has all."""


def game_sizes() -> str:
    """How large some games are."""
    if not is_measured("complexity"):
        return unmeasured("complexity")
    (entry,) = read_result("complexity")["commands"]
    found = [Complexity.of(record) for record in entry["results"]]
    return table(
        SIZE_COLUMNS, [[f"`{row[0]}`", *row[1:]] for row in size_rows(found) if row[0] in SIZED]
    )


@functools.cache
def leagues(folder: Path) -> dict[str, dict[str, Any]]:
    """The tables of the league that ``docs/leagues.py`` has played, by game; empty without one."""
    if not (folder / "league.json").exists():
        return {}
    return {record["result"]["game"]: record for record in tables_of(read_folder(folder))}


def league(game: str) -> str:
    """Standings and remarks of a game of the league."""
    record = leagues(DOCS / "results" / "league").get(game)
    if record is None or not record["result"]["standings"]:
        return "Not measured yet: `python docs/leagues.py`.\n"
    result = record["result"]
    remarks = "".join(f"- {line}\n" for line in league_tables.remarks(result))
    return "\n".join(
        [
            f"Duplicate deals: {league_tables.pairs_told(result)}.\n",
            table(*league_tables.standings(record)),
            *([remarks] if remarks else []),
        ]
    )


def game_page(*heading: str) -> str:
    """A section of the environment's page, the docstring of ``hearts_v0``, by its heading."""
    page = f"\n{inspect.getdoc(hearts_v0)}\n"
    start = f"# {' '.join(heading)}\n"
    _, _, section = page.partition(f"\n#{start}" if heading != ("Hearts",) else f"\n{start}")
    if not section:
        raise SystemExit(f"hearts_v0: its page has no section {' '.join(heading)!r}")
    return section.partition("\n## ")[0].strip() + "\n"


PARTS: dict[str, Callable[..., str]] = {
    part.__name__: part
    for part in (
        fields,
        presets,
        options,
        players,
        match,
        margins,
        state,
        encoder,
        sizes,
        strengths,
        measured,
        learned,
        arms,
        learning_rates,
        external_speed,
        resolved,
        exploited,
        attackers,
        attacked,
        benchmark_tracks,
        benchmark_deals,
        benchmark_field,
        calibrated,
        endgames_lost,
        match_chances,
        matches_won,
        game_sizes,
        league,
        game_page,
    )
}
"""Generated parts by name; the words after the name are their arguments."""


# ---- pages -------------------------------------------------------------------------------------
def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted(DOCS.rglob("*.md"))


def run_block(code: str, name: str, line: int, names: dict[str, Any]) -> str:
    """What a Python block of a page prints; `names` are the page's variables, in place."""
    printed = io.StringIO()
    # Blank lines before it, so that a traceback names the page's own line.
    compiled = compile("\n" * line + code, name, "exec")
    with contextlib.redirect_stdout(printed):
        exec(compiled, names)
    return printed.getvalue()


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Work in an empty folder, and come back from it; encoders registered there are forgotten."""
    before, known = Path.cwd(), dict(ENCODERS)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            ENCODERS.clear()
            ENCODERS.update(known)


def shown(name: str, words: str, page: Path, names: dict[str, Any], *, write: bool) -> str:
    """The body of a ``shown`` or ``drawn`` part.

    Raises:
        SystemExit: if the picture in ``docs/images`` is another, and it is not to be written.
    """
    expression, _, rest = words.partition(" as ")
    if not rest:
        return str(eval(expression, names)._repr_html_())
    file, _, told = rest.partition(": ")
    path = DOCS / "images" / file
    if name == "shown":
        data = eval(expression, names)._repr_svg_().encode()
        is_stale = not path.exists() or path.read_bytes() != data
    else:
        data = Path(expression).read_bytes()  # in the page's empty folder
        is_stale = not path.exists()
    if is_stale and not write:
        raise SystemExit(f"{page}: docs/images/{file} is stale; run make docs-tables")
    if is_stale:
        path.write_bytes(data)
    return f"![{told}]({os.path.relpath(path, page.parent)})\n"


def render(text: str, name: str = "page", *, run: bool | None = None, write: bool = False) -> str:
    """A page with its generated parts written anew.

    Args:
        text: of the page.
        name: the page's path, for messages.
        run: whether to run its Python blocks, in order, in one namespace and in an empty folder,
            except those marked ``no-run``. False: parts made from what they show stay as they are.
            None: only if there are such parts.
        write: draw stale pictures anew.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    if run is None:
        run = re.search(rf"<!-- generated: {_RUN}", text) is not None
    printed: list[str] = []

    def write(found: re.Match[str]) -> str:
        if found["name"] is None:
            if run and "no-run" not in found["flags"]:
                line = text.count("\n", 0, found.start("code"))
                printed.append(run_block(found["code"], name, line, names))
            return found[0]
        if not run and re.match(_RUN, found["name"]):
            return found[0]
        if found["name"] == "output":
            body = "```text\n" + "".join(printed).rstrip("\n") + "\n```\n"
            printed.clear()
        elif found["name"].startswith(("shown ", "drawn ")):
            word, _, words = found["name"].partition(" ")
            body = shown(word, words, Path(name), names, write=write)
        else:
            word, *arguments = found["name"].split()
            if word not in PARTS:
                raise SystemExit(f"{name}: no generated part {word!r}; known: {', '.join(PARTS)}")
            body = PARTS[word](*arguments)
        return f"<!-- generated: {found['name']} -->\n{body}<!-- end -->"

    with empty_folder():
        return _TOKEN.sub(write, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check every page; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the docs anew.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one is stale")
    check: bool = parser.parse_args(arguments).check
    stale = []
    for page in [*pages(), *DOCS.parent.glob("README.md")]:
        old = page.read_text(encoding="utf-8")
        new = render(old, str(page), write=not check)
        if new != old:
            stale.append(str(page.relative_to(DOCS.parent)))
            if not check:
                page.write_text(new, encoding="utf-8")
    if check and stale:
        print(f"stale: {', '.join(stale)}; run make docs-tables", file=sys.stderr)
        return 1
    print(f"rewritten: {', '.join(stale)}" if stale else "all pages are fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
