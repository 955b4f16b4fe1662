"""Tables from records of ``bench`` and of ``docs/libraries.py``; see ``tables.measured``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearts_train.measure.shown import format_margin

Rows = tuple[list[str], list[list[str]]]
"""The head of a table, and its rows."""


def percent(record: dict[str, Any]) -> str:
    """A share with its 95 % interval, like ``94.3 (92.7 to 95.6)``."""
    low, high = record["ci95"]
    return f"{record['share']:.1%} ({low:.1%} to {high:.1%})"


def tests(record: dict[str, Any]) -> Rows:
    """What the first of the sequential tests answers, how often wrongly, and its intervals."""
    test = record["tests"][0]
    ask = test["question"]
    rows = []
    for row in test["rows"]:
        is_low, is_high = row["truth"] <= ask["low"], row["truth"] >= ask["high"]
        rows.append(
            [
                f"{row['truth']:.3g}",
                percent(row["high"] if is_low else row["low"]) if is_low or is_high else "-",
                f"{row['mean_deals']:,.0f}",
                f"{row['fixed_deals']:,}",
                percent(row["interval_covers"]),
                percent(row["plain_interval_covers"]),
            ]
        )
    head = [f"true margin ({ask['low']:g} or {ask['high']:g}?)", "wrong", "deals, mean"]
    return [*head, "fixed size", "interval holds", "mean ± 1.96 errors holds"], rows


def seeds(record: dict[str, Any]) -> Rows:
    """How often the intervals over training runs contain the truth."""
    rows = [
        [str(row["runs"]), *(percent(row[name]) for name in ("iqm", "difference"))]
        for row in record["seeds"]
        if row["strength"]
    ]
    return ["runs", "interquartile mean", "difference of two groups"], rows


def duplicates(record: dict[str, Any]) -> Rows:
    """What playing each deal from both seats saves."""
    rows = [
        [
            f"`{row['agent']}`, `{row['opponent']}`, `{row['rules']}`",
            f"{row['single_sd']:.1f}",
            f"{row['sd']:.1f}",
            f"{row['duplicate_left']:.0%}",
        ]
        for row in record["pairings"]
        if len(row["agent"]) > 2  # not a1, a2: networks that nobody has
    ]
    return ["players", "sd, a play", "sd, a duplicate deal", "variance left"], rows


def dataset_costs(record: dict[str, Any]) -> Rows:
    """What a recorded game costs, and how many a second one core makes."""
    rows = []
    for row in record["rows"]:
        total = row["playing_ms"] + row["writing_ms"]
        rows.append(
            [
                row["form"],
                f"{row['playing_ms']:.1f}",
                f"{row['writing_ms']:.1f}",
                f"{1000 / total:,.0f}",
                f"{row['bytes'] / 1000:.1f}",
            ]
        )
    head = ["what is recorded", "ms to play, a game", "ms to write", "games a second of one core"]
    return [*head, "kB a game"], rows


def openspiel(record: dict[str, Any]) -> Rows:
    """What OpenSpiel's algorithms find, and how exploitable it is by either side's reckoning."""
    rows = [
        [
            row["policy"],
            "" if row["iterations"] is None else f"{row['iterations']:,}",
            f"{row['made_in']:.0f}" if row["made_in"] >= 1 else "",
            f"{row['theirs']:.9f}",
            f"{row['ours']:.9f}",
        ]
        for row in record["rows"]
    ]
    return ["policy", "iterations, or deals", "seconds", "OpenSpiel", "hearts-env"], rows


def libraries(record: dict[str, Any]) -> Rows:
    """What every example has played with its library, and what the learner has learnt."""
    rows = []
    for name, example in record["examples"].items():
        link = f"[`{name}`](../examples/{name}.py)"
        report = example.get("report")
        if report is None:
            pinned, _, version = example["requirements"][0].partition("==")
            stage = "not installed" if example["failed"] == "install" else "failed"
            rows.append([f"{pinned} {version}", link, stage, *[""] * 5])
            continue
        library, version = next(iter(report["versions"].items()))
        seats = [f"{seat['won']:,} / {seat['lost']:,}" for seat in report["seats"]]
        margins = [
            format_margin(report[when]["margin"], report[when]["ci95"])
            for when in ("before", "after")
        ]
        counts = [f"{report['decisions']:,}", *seats, str(report["illegal"])]
        rows.append([f"{library} {version}", link, *counts, *margins])
    head = ["library", "example", "decisions", "seat 0: won / lost", "seat 1: won / lost"]
    return [*head, "illegal", "margin before", "margin after"], rows


def library_notes(record: dict[str, Any]) -> Rows:
    """What every example shows, and what users of the library must know."""
    rows = []
    for name, example in record["examples"].items():
        error = f" **It fails here:** `{example['error']}`" if "error" in example else ""
        rows.append([f"`{name}`", example["what"], example["note"] + error])
    return ["example", "what it shows", "to know"], rows


def serving(record: dict[str, Any]) -> Rows:
    """The table server under load."""
    told, answered, memory = record["told_ms"], record["answered_ms"], record["megabytes"]
    low, high = record["thinks"]
    rows = [
        ["games at once, each against " + f"`{record['agent']}`", f"{record['games']}"],
        [
            f"cards played, a person thinking {low:g} to {high:g} s",
            f"{record['cards']:,} ({record['cards_per_second']:g} a second)",
        ],
        ["a card is played: p50, p99, longest", milliseconds(told)],
        ["the agent has answered: p50, p99, longest", milliseconds(answered)],
        [
            "processor of the server: cores busy, time a card",
            f"{record['server_cores']:g}, "
            f"{1e3 * record['server_cores'] / record['cards_per_second']:.1f} ms",
        ],
        ["memory: empty, with all games", f"{memory['empty']:.0f} MB, {memory['full']:.0f} MB"],
        ["on disk a table", f"{record['kilobytes_a_table_on_disk']:g} kB"],
        ["lost by a kill in the midst", f"{record['lost']} of {record['games']} tables"],
        [
            "start to first page, everything compiled",
            f"{record['start']['seconds']:g} s ({record['start']['cpu']:g} s of processor)",
        ],
        ["machine", f"{record['cores']} cores, load {record['load']:g} before it"],
    ]
    return ["what", "measured"], rows


def milliseconds(record: dict[str, float]) -> str:
    """The quantiles of a time."""
    return ", ".join(f"{record[name]:.1f}" for name in ("p50", "p99", "max")) + " ms"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "tests": ("sequential_tests", tests),
    "seeds": ("seed_intervals", seeds),
    "duplicates": ("variates", duplicates),
    "datasets": ("dataset", dataset_costs),
    "openspiel": ("openspiel_games", openspiel),
    "libraries": ("libraries", libraries),
    "library_notes": ("libraries", library_notes),
    "serve": ("serve", serving),
}
"""The file of results of each table, and what makes it."""
