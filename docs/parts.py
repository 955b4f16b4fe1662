"""The generated parts of the documentation, by name.

Each function marked with `part` returns the text of one part. The words after its name in a page
are its arguments. Most read files in ``docs/results``. ``docs/tables.py`` writes the pages.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import citation
import numpy as np

from bench.speed import Result
from bench.speed import tables as speed_tables
from hearts_agents import template as agent_template
from hearts_agents.attackers import METHODS
from hearts_agents.registry import CHECKPOINT_SUFFIX
from hearts_agents.spec import AgentSpec, Kind
from hearts_env import Rules, kernel
from hearts_env.cards import DIRECTIONS, MAX_ROTATION, RANKS
from hearts_env.encoders import ENCODERS, HistoryEncoder
from hearts_env.rules.explain import explain, meaning_of
from hearts_env.rules.presets import PRESETS
from hearts_env.rules.rules import CHOICES, FIELDS, RANGES
from hearts_env.rules.values import MAX_POINTS
from hearts_train.cli.benchmark import declared
from hearts_train.console import Mistake
from hearts_train.measure.benchmark import (
    FORMAT,
    PROTOCOL,
    TRACKS,
    read_benchmark,
)
from hearts_train.measure.display import (
    format_interval,  # noqa: F401  templates in the pages use it
    format_margin,
    format_ms,
)
from hearts_train.measure.exploit import format_tricks  # noqa: F401  templates in the pages use it
from hearts_train.measure.statistics import mean_and_interval

DOCS = Path(__file__).resolve().parent

PARTS: dict[str, Callable[..., str]] = {}
"""The functions marked with `part`, by name."""

_BAR = re.compile(r"(?<!\\)\|")
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
"""A Python block of a page: the flags after the word `python`, and the code."""


def pages() -> list[Path]:
    """Return every page, except those that the site generates."""
    built = (DOCS / "_site", DOCS / "reference")
    return sorted(p for p in DOCS.rglob("*.md") if not any(p.is_relative_to(b) for b in built))


def part(function: Callable[..., str]) -> Callable[..., str]:
    """Register a function as the part of its name."""
    PARTS[function.__name__] = function
    return function


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table. Bars in cells are escaped."""
    lines = [list(head), ["---"] * len(head), *(list(map(str, row)) for row in rows)]
    return "".join("| " + " | ".join(_BAR.sub(r"\\|", c) for c in line) + " |\n" for line in lines)


# ---- the project ---------------------------------------------------------------------------------
@part
def address() -> str:
    """Return a sentence with the project's address, or nothing before it has one."""
    found = citation.link(citation.project(), "Repository")
    return f"The repository is <{found}>.\n" * bool(found)


@part
def bibtex() -> str:
    """Return the BibTeX entry of the package."""
    cff = (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    return f"```bibtex\n{citation.bibtex(citation.project(), cff)}```\n"


# ---- rules ---------------------------------------------------------------------------------------
def show(value: object) -> str:
    """Return the value of a field in words."""
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        points = dict(value)  # thirteen equal hearts in a word
        hearts = {points.pop(card) for card in [c for c in points if c[1] == "H"]}
        words = [f"every heart {worth}" for worth in hearts]
        return ", ".join(words + [f"{card} {worth}" for card, worth in points.items()])
    return str(value)


def ranks_of(rules: Rules) -> str:
    """Return the ranks of a deck in every suit, and up to two more cards; else an empty string."""
    suits = [{c[0] for c in rules.deck if c[1] == suit} for suit in "CDSH"]
    common = set.intersection(*suits)
    more = [card for card in rules.deck if card[0] not in common]
    ranks = [rank for rank in RANKS if rank in common]
    return " ".join(ranks) + ", and " * bool(more) + " ".join(more) if len(more) < 3 else ""


def show_deck(rules: Rules) -> str:
    """Return the number of cards, and either their ranks or the removed cards."""
    if not rules.removed:
        return f"{len(rules.deck)}"
    kept, left_out = ranks_of(rules), show(rules.removed)
    words = kept if len(rules.removed) > len(rules.deck) // 2 else f"without {left_out}"
    return f"{len(rules.deck)}: {words}"


@part
def fields() -> str:
    """Return every field of ``Rules`` with its values, default and meaning."""
    rows = []
    for field in dataclasses.fields(Rules):
        name, default = field.name, getattr(Rules(), field.name)
        rows.append([f"`{name}`", field_values(name), show(default), meaning_of(name)])
    return table(["field", "values", "default", "meaning"], rows)


def field_values(name: str) -> str:
    """Return the possible values of a field."""
    if name in CHOICES:
        return ", ".join(show(value) for value in CHOICES[name])
    if name in RANGES:
        low, high = RANGES[name]
        return f"{low:,} to {high:,}" + " or None" * (getattr(Rules(), name) is None)
    others = {
        "card_points": f"card → whole number, {-MAX_POINTS:,} to {MAX_POINTS:,}",
        "removed": "cards",
        "pass_rotation": f"1 to {MAX_ROTATION} of " + ", ".join(f"`{word}`" for word in DIRECTIONS),
    }
    return others.get(name, "True, False")


@part
def options(*names: str) -> str:
    """Return the fields in which presets differ from a plain ``Rules()``, except their decks."""
    rows = []
    for name in names:
        rules, plain = Rules.preset(name), Rules()
        fields = [f for f in FIELDS if f not in ("players", "removed", "hand_size")]
        changed = [f for f in fields if getattr(rules, f) != getattr(plain, f)]
        rows.append([f"`{name}`", ", ".join(f"`{f}` {show(getattr(rules, f))}" for f in changed)])
    return table(["preset", "fields"], rows)


@part
def decks(*names: str) -> str:
    """Return the deck, hand and kitty of presets for each number of players."""
    rows = []
    for name in names:
        for number in PRESETS[name].players:
            r = Rules.preset(name, number)
            sizes = [show_deck(r), r.hand_size, r.kitty_size, f"{r.max_margin:g}"]
            rows.append([f"`{name}`", number, *sizes])
    return table(["preset", "players", "deck", "hand", "kitty", "`max_margin`"], rows)


@part
def template() -> str:
    """Return the code that ``hearts agents --new my_agent`` writes."""
    code = Path(agent_template.__file__).read_text(encoding="utf-8")
    return f"```python no-run\n{code.replace('template.', 'my_agent.')}```\n"


@part
def explained(name: str) -> str:
    """Return the sentences that ``hearts rules`` prints for a preset."""
    return "".join(f"- {sentence}\n" for sentence in explain(Rules.preset(name)))


# ---- arrays --------------------------------------------------------------------------------------
@part
def state() -> str:
    """Return the layout of a state."""
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
    sizes = ", ".join(
        f"{8 * Rules.preset(name).state_size} bytes in `{name}`"
        for name in ("mini", "two_player", "classic")
    )
    return (
        f"Seat p's fields follow those of seat p - 1, {kernel.SEAT} numbers a seat. Then comes the "
        f"history, {kernel.PLAYS_A_WORD} plays a word, card + 64 x seat in {kernel.PLAY_BITS} bits "
        "each, the first play lowest; all may know it. A game's state takes "
        f"{sizes}.\n\n" + table(["field", "place", "meaning", "empty", "who may know"], rows)
    )


@part
def encoder(name: str, preset: str) -> str:
    """Return the positions of an encoder's observation of a preset."""
    made, rules = ENCODERS[name], Rules.preset(preset)
    space = made.space(rules)
    text = f"`{preset}`: shape `{space.shape}`, `{space.dtype}`.\n\n"
    places: list[tuple[str, int, str]] = []
    if isinstance(made, HistoryEncoder):  # rows and columns
        places = list(made.columns(rules))
        kinds = [(str(i), f"`{kind}`", says) for i, (kind, says) in enumerate(made.rows(rules))]
        plays = "a card played, in order; zeros where none has been played yet"
        kinds.append((f"{len(kinds)} to {space.shape[0] - 1}", "`play`", plays))
        text += table(["row", "kind", "meaning"], kinds) + "\n"
    else:
        assert hasattr(made, "blocks"), f"{name} has no places"
        places = [(block.name, block.size, block.meaning) for block in made.blocks(rules)]
    starts = np.cumsum([0, *(size for _, size, _ in places)])
    assert starts[-1] == space.shape[-1], f"{name} of {preset} has no such table"
    head = [
        "columns" if isinstance(made, HistoryEncoder) else "block",
        "positions",
        "size",
        "meaning",
    ]
    ranges = [f"{a} to {b - 1}" if b - a > 1 else f"{a}" for a, b in itertools.pairwise(starts)]
    return text + table(
        head,
        ([f"`{n}`", at, size, says] for (n, size, says), at in zip(places, ranges, strict=True)),
    )


@part
def sizes() -> str:
    """Return the shape of every encoder's observation under some presets."""
    rows = []
    for preset in ("two_player", "mini", "classic", "kitty"):
        numbers = PRESETS[preset].players
        for number in dict.fromkeys((numbers[0], numbers[-1])):
            rules = Rules.preset(preset, number)
            shapes = ["x".join(map(str, e.space(rules).shape)) for e in ENCODERS.values()]
            rows.append([f"`{preset}`", number, *shapes])
    return table(["preset", "players", *(f"`{name}`" for name in ENCODERS)], rows)


# ---- files of results ----------------------------------------------------------------------------
def results(pattern: str) -> list[Any]:
    """Return the content of all files of results whose names match a pattern.

    Raises:
        SystemExit: if there are none.
    """
    found = sorted((DOCS / "results").glob(f"{pattern}.json"))
    if not found:
        raise SystemExit(
            f"results: no file {pattern}.json; measure it: python docs/figures.py NAME"
        )
    return [json.loads(path.read_text(encoding="utf-8")) for path in found]


def interval(record: dict[str, Any]) -> str:
    """Format a margin with its interval, like ``+2.13 ± 0.03``."""
    return format_margin(record["margin"], record["ci95"])


def percent(record: dict[str, Any]) -> str:
    """Format a share with its 95 % interval, like ``94.3% (92.7% to 95.6%)``."""
    low, high = record["ci95"]
    return f"{record['share']:.1%} ({low:.1%} to {high:.1%})"


def spread(values: Sequence[float], form: str, unit: str = "") -> str:
    """Format mean ± standard deviation, a single value alone, and no value as an empty text."""
    if not values:
        return ""
    mean = f"{statistics.fmean(values):{form}}"
    if len(values) < 2:
        return mean + unit
    return f"{mean} ± {statistics.stdev(values):{form.lstrip('+')}}{unit}"


def points(value: float) -> str:
    """Format an exploitability with three places, a small one with more."""
    if value < 0.001:
        return f"{value:.0e}" if value > 0 else "0"
    return f"{value:.{4 if value < 0.01 else 3}f}"


@part
def rows(source: str, *template: str) -> str:
    """Return a table of records in files of results, by its template in the page.

    The template is ``rows FILE[.key ...] [if CONDITION]``, the head of the table, and one or more
    rows. Braces hold Python, in which the fields of a record are variables and `row` is the whole
    record. FILE may be several names, separated by commas.
    """
    source, _, condition = source.partition(" if ")
    files, *keys = source.split(".")
    records = [record for file in files.split(",") for record in results(file)]
    for key in keys:
        records = [below for record in records for below in listed(record[key])]
    head, *forms = template
    cells = "|" + " --- |" * (head.count("|") - 1)
    lines = [head, cells]
    for record in records:
        names = {**record, "row": record}
        if not condition or eval(condition, globals(), names):
            lines += [str(eval(f'f"""{form}"""', globals(), names)) for form in forms]
    return "\n".join(lines) + "\n"


def listed(found: Any) -> list[Any]:
    """Return a list of records: a list itself, a dictionary's values with names, or one record."""
    if isinstance(found, list):
        return found
    if all(isinstance(value, dict) for value in found.values()):
        return [value | {"name": name} for name, value in found.items()]
    return [found]


@part
def strengths(*names: str) -> str:
    """Return margins of one agent over another, each from a file of results."""
    form = "| `{agent}` | `{opponent}` | {interval(row)} | {deals:,} |"
    source = f"{','.join(names)}.commands.results"
    return rows(source, "| agent | opponent | points per deal | duplicate deals |", form)


@part
def learned(config: str) -> str:
    """Return the results of a configuration's runs, over their seeds."""
    runs = [[done["results"] for done in run["commands"]] for run in results(f"{config}-[0-9]*")]
    deals = f"{runs[0][1][0]['deals']:,} duplicate deals"
    rows = []
    for records in zip(*(played for _, played in runs), strict=True):
        margin = spread([record["margin"] for record in records], "+.2f")
        won = spread([100 * record["won"] for record in records], ".1f", " %")
        rows.append([f"`{records[0]['opponent']}`", margin, won])
    seeds = ", ".join(trained["run"].rpartition("-")[2] for trained, _ in runs)
    decisions = f"{runs[0][0]['decisions'] / 1e6:.1f} M decisions"
    return (
        table(["opponent", "margin in points per deal", "deals won"], rows)
        + f"\nMean ± standard deviation of {len(runs)} runs of {decisions} each (seeds {seeds}).\n"
        f"Each run was evaluated on {deals}.\n"
    )


@part
def speeds(group: str, *words: str) -> str:
    """Return the speeds of a group of `bench speed`, or those whose name has one of the words."""
    measured = [record["commands"][0]["results"] for record in results("speed*")]
    all_rows = next(filter(None, ([r for r in all_ if r["group"] == group] for all_ in measured)))
    found = [Result(**r) for r in all_rows if not words or any(w in r["name"] for w in words)]
    ((_, columns, rows),) = speed_tables(found)
    return table(columns, rows)


def gain_of(gain: dict[str, Any]) -> str:
    """Format the margin of an attacker with its interval, or its share of the best response's."""
    if gain["ci95"] is not None:
        return interval(gain)
    share = f" ({gain['ratio']:.0%})" if (gain["ratio"] or 0.0) > 0 else ""
    return f"{gain['margin']:+.3f}{share}"


@part
def attackers() -> str:
    """Return the attackers and their methods."""
    rows = [[f"`{name}`", method.meaning] for name, method in METHODS.items()]
    return table(["attacker", "plays"], rows)


@part
def benchmark_tracks() -> str:
    """Return the tracks of HeartsBench and their fields."""
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


@part
def reference(decisions: str) -> str:
    """Return the reference results of a budget and the baselines, best first."""
    rows = []
    for example, runs in recipes(int(decisions)).items():
        two, mini = runs["two_player"], runs["mini"]
        some = (two or mini)[0]
        library = " ".join(next(iter(some["versions"].items())))
        reached = [[run["final"]["margin"] for run in own] for own in (two, mini)]
        exact = [run["final"]["exploitability"] for run in mini]
        minutes = [[run["cpu_seconds"] / 60 for run in own] for own in (two, mini)]
        cells = [f"[`{example}`](../examples/{example}.py)", library, some["opponents"]]
        cells += [*(spread(own, "+.2f") for own in reached), spread(exact, ".2f")]
        cells += [", ".join(dict.fromkeys(f"{run['weights']:,}" for run in (*two[:1], *mini[:1])))]
        cells += [", ".join(f"{statistics.fmean(own):.1f}" if own else "" for own in minutes)]
        cells += [", ".join(str(len(own)) for own in (two, mini)), str(some.get("tried", 1))]
        rows.append((statistics.fmean(reached[0]) if two else -math.inf, cells))
    [measured] = results("baselines")
    finals = {(row["agent"], row["rules"]): row["final"] for row in measured["baselines"]}
    for agent in {agent for agent, _ in finals}:
        found = [finals.get((agent, rules)) for rules in ("two_player", "mini")]
        margins = [f"{one['margin']:+.2f}" if one else "" for one in found]
        exact = points(finals[agent, "mini"]["exploitability"])
        best = found[0]["margin"] if found[0] else math.inf
        rows.append((best, [f"*`{agent}`*", "", "", *margins, exact, "", "", "", ""]))
    head = ["recipe", "library", "opponents in training", "margin, `two_player`", "margin, `mini`"]
    head += ["exploitability, `mini`", "weights", "processor minutes", "seeds", "settings tried"]
    return table(head, [cells for _, cells in sorted(rows, reverse=True)])


@part
def reference_summary() -> str:
    """Return margin and exploitability of every recipe after each budget, and of baselines."""
    budgets = sorted({run["budget"] for run in results("reference/*")})
    found = [recipes(budget) for budget in budgets]
    rows = []
    for example in dict.fromkeys(itertools.chain(*found)):
        library, cells, best = "", [], -math.inf
        for of in found:
            runs = of.get(example, {"two_player": [], "mini": []})
            margins = [run["final"]["margin"] for run in runs["two_player"]]
            exact = [run["final"]["exploitability"] for run in runs["mini"]]
            cells += [spread(margins, "+.2f"), spread(exact, ".2f")]
            best = max([best, *([statistics.fmean(margins)] if margins else [])])
            for run in (*runs["two_player"], *runs["mini"]):
                library = " ".join(next(iter(run["versions"].items())))
        rows.append((best, [f"`{example}`", library, *cells]))
    [measured] = results("baselines")
    finals = {(row["agent"], row["rules"]): row["final"] for row in measured["baselines"]}
    for agent in ("champion", "pro", "easy"):
        margin = finals[agent, "two_player"]["margin"]
        exact = points(finals[agent, "mini"]["exploitability"])
        cells = [f"{margin:+.2f}", exact] * len(budgets)
        rows.append((margin, [f"*`{agent}`*", "built in", *cells]))
    head = ["recipe", "library"]
    for budget in budgets:
        head += [f"margin, {power(budget)} decisions", f"exploitability, {power(budget)} decisions"]
    return table(head, [cells for _, cells in sorted(rows, reverse=True)])


@part
def reference_best() -> str:
    """Return the best reference results of each budget, with their recipes."""
    figures: list[tuple[str, str, Callable[[dict[str, Any]], float], int, str]] = [
        ("margin over the field", "two_player", lambda final: final["margin"], 1, "+.2f"),
        ("margin over `pro`", "two_player", lambda final: final["opponents"]["pro-v1"], 1, "+.2f"),
        ("exploitability", "mini", lambda final: final["exploitability"], -1, ".2f"),
    ]
    rows = []
    for budget in sorted({run["budget"] for run in results("reference/*")}):
        for name, game, value, sign, form in figures:
            reached = {
                example: [value(run["final"]) for run in runs[game]]
                for example, runs in recipes(budget).items()
                if runs[game]
            }
            if not reached:
                continue  # this budget has begun with the other game
            best = max(reached, key=lambda one: sign * statistics.fmean(reached[one]))
            cells = [f"{name}, `{game}`", spread(reached[best], form), f"`{best}`"]
            rows.append([power(budget), *cells, len(reached[best])])
    return table(["decisions", "figure", "best", "recipe", "seeds"], rows)


def power(budget: int) -> str:
    """Format a budget as a power of ten."""
    return f"10^{len(str(budget)) - 1}"


def recipes(budget: int) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the reference results of a budget, by example and rules.

    Raises:
        SystemExit: if runs of one recipe differ in what they were trained with.
    """
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for run in results("reference/*"):
        if run["budget"] == budget:
            own = found.setdefault(run["example"], {"two_player": [], "mini": []})
            own[run["rules"]].append(run)
    for own in found.values():
        require_same([*own["two_player"], *own["mini"]], "settings", "opponents", "tried", "greedy")
    return dict(sorted(found.items()))


def require_same(runs: Sequence[dict[str, Any]], *facts: str) -> None:
    """Require that reference results have the same of each fact. If not recorded, `tried` is 1.

    Raises:
        SystemExit: if they have not.
    """
    for fact, run in itertools.product(facts, runs):
        default = 1 if fact == "tried" else None
        if run.get(fact, default) != runs[0].get(fact, default):
            names = [
                f"{one['example']}-{one['rules']}-{one['budget']}-{one['seed']}.json"
                for one in (runs[0], run)
            ]
            raise SystemExit(
                f"reference: {' and '.join(names)} have different {fact}; delete the older ones "
                "and run docs/libraries.py again"
            )


@part
def leaderboard(track: str) -> str:
    """Return the entries of a track, best first, with the margin of the best attacker."""
    entries = [record for record in entered() if record["result"]["track"] == track]
    entries.sort(key=lambda record: -record["result"]["margin"])
    rows = []
    for record, place in zip(entries, places(entries), strict=True):
        result, entry = record["result"], record["entry"]
        by = f"[{entry['authors']}]({entry['code']})" if "code" in entry else entry["authors"]
        times = [ms for ms, _ in record["run"]["ms_per_card"].values()]
        repeats = "repeats" not in entry
        exact = result["exploitability"] or {"one_draw": False}
        taken = "" if exact["one_draw"] and not repeats else taken_from(result)
        margin = "≈ " * (not repeats) + interval(result)
        cells = [place, f"`{result['agent']['name']}`", margin, taken]
        cells += [format_ms(statistics.fmean(times)), trained_class(result["decisions"]), by]
        rows.append([*cells, entry.get("compute", "")])
    head = ["place", "agent", "margin over the field", "lost to the best attacker", "ms per card"]
    return table([*head, "training decisions", "authors", "compute"], rows)


def places(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Return the place of each entry of a track, or the range of its places.

    An entry is above another if the 95 % interval of their difference on the same deals is clear of
    zero.
    """
    means = [
        np.mean([one["margins"] for one in record["result"]["opponents"]], axis=0)
        for record in entries
    ]
    found = []
    for own in means:
        others = [mean_and_interval(other - own)[1] for other in means if other is not own]
        best = 1 + sum(low > 0 for low, _ in others)
        worst = len(means) - sum(high < 0 for _, high in others)
        found.append(f"{best}" if best == worst else f"{best} to {worst}")
    return found


def entered() -> list[dict[str, Any]]:
    """Return the entries of the leaderboard.

    Raises:
        SystemExit: if one is not whole, or does not say whose it is.
    """
    entries = []
    for path in sorted((DOCS / "results" / "leaderboard").rglob("*.json")):
        if f'"{FORMAT}"' not in path.read_text(encoding="utf-8"):
            continue  # attacks, or an agent's own
        record = read_benchmark(path)
        result, entry = record["result"], record.get("entry", {})
        try:
            declared([f"{name}={text}" for name, text in entry.items()])
        except Mistake as error:
            raise SystemExit(f"{path.name}: {error}") from None
        spec = AgentSpec.from_json(result["agent"]["spec"])
        is_ours = spec.kind is Kind.OWN or spec.name.endswith(CHECKPOINT_SUFFIX)
        wrong = [
            f"protocol is {result['protocol']}" * (result["protocol"] != PROTOCOL),
            "split is not test: play with --split test" * (result["split"] != "test"),
            "not all deals were played: omit --deals" * (not result["is_full"]),
            *(
                f"{name} is not declared: play with --declare {name}=..."
                for name in ("authors", "code")
                if name not in entry and not (is_ours and name == "code")
            ),
        ]
        if any(wrong):
            raise SystemExit(f"{path.name}: {'; '.join(filter(None, wrong))}")
        entries.append(record)
    return entries


def taken_from(result: dict[str, Any]) -> str:
    """Return the margin of the best attacker of a result's agent, exact where that is known."""
    exact = result["exploitability"]
    if exact is not None:
        value = exact["exploitability"]
        return "" if value is None else f"{points(value)}, exact"
    names = ("kind", "options", "digest")
    agent = {name: result["agent"][name] for name in names}
    records = [c["results"] for file in results("attack-*") for c in file["commands"]]
    records += [file for file in results("leaderboard/**/*") if isinstance(file, dict)]
    gains = [
        gain
        for record in records
        if "gains" in record and record["rules"] == result["rules"]
        if {name: record["agents"][0][name] for name in names} == agent
        for gain in record["gains"]
        if gain["ci95"] is not None
    ]
    best = max(gains, key=lambda gain: gain["margin"], default=None)
    return "" if best is None else f"{gain_of(best)}, `{best['attacker']}`"


def trained_class(decisions: int | None) -> str:
    """Return an agent's training decisions, rounded up to a power of ten of at least 10^5."""
    if not decisions:
        return "none" if decisions == 0 else "not declared"
    return f"10^{max(5, len(str(decisions - 1)))}"
