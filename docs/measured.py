"""Tables from records of ``bench`` scripts and of ``docs/libraries.py``; see ``tables.measured``.

Most are those of docs/statistics.md.
"""

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


def coverage(record: dict[str, Any]) -> Rows:
    """How often the intervals of evaluations contain the truth."""
    rows = [
        [
            f"`{row['agent']}`, `{row['opponent']}`, `{row['rules']}`",
            f"{row['truth']:+.3f}",
            row["truth_from"],
            str(row["deals"]),
            percent(row["normal"]),
            percent(row["bootstrap"]),
        ]
        for row in record["coverage"]
    ]
    return ["players", "true margin", "known", "duplicate deals", "normal", "bootstrap"], rows


def asked_of(test: dict[str, Any]) -> str:
    """The question of a test, and whose margins it was asked of."""
    ask, names = test["question"], dict.fromkeys((test["agent"], test["opponent"]))
    who = ", ".join(f"`{name}`" for name in names)
    return f"{ask['low']:g} or {ask['high']:g}? {who}, `{test['rules']}`"


def tests(record: dict[str, Any]) -> Rows:
    """What sequential tests answer, how often wrongly, after how many deals."""
    rows = []
    for test in record["tests"]:
        ask = test["question"]
        for row in test["rows"]:
            is_low, is_high = row["truth"] <= ask["low"], row["truth"] >= ask["high"]
            wrong = row["high"] if is_low else row["low"]
            asked = ask["alpha"] if is_low else ask["beta"]
            rows.append(
                [
                    asked_of(test),
                    f"{row['truth']:.3g}",
                    percent(wrong) if is_low or is_high else "-",
                    f"{asked:.0%}" if is_low or is_high else "-",
                    f"{row['mean_deals']:,.0f}",
                    f"{row['fixed_deals']:,}",
                    f"{1 - row['mean_deals'] / row['fixed_deals']:.0%}",
                ]
            )
    head = ["question", "truth", "wrong", "asked", "deals, mean", "fixed size", "saved"]
    return head, rows


def stopped(record: dict[str, Any]) -> Rows:
    """How often the interval after an early stop contains the truth."""
    rows = [
        [
            asked_of(test),
            f"{row['truth']:.3g}",
            percent(row["interval_covers"]),
            percent(row["plain_interval_covers"]),
            percent(row["estimate_above"]),
        ]
        for test in record["tests"]
        for row in test["rows"]
    ]
    return ["question", "truth", "interval given", "mean ± 1.96 errors", "estimate too high"], rows


def seeds(record: dict[str, Any]) -> Rows:
    """How often the intervals over training runs contain the truth."""
    names = ("iqm", "mean", "difference")
    rows = []
    for row in record["seeds"]:
        kind = "stronger or weaker" if row["strength"] else "each margin on its own"
        rows.append([str(row["runs"]), kind, *(percent(row[name]) for name in names)])
    head = ["runs", "what varies", "interquartile mean", "mean", "difference of two groups"]
    return head, rows


def networks(record: dict[str, Any]) -> Rows:
    """How long it takes to decide between networks."""
    rows = [
        [
            f"{row['agent']}, {row['other']}",
            "rather 0.1 than 0" if row["verdict"] == "high" else "rather 0 than 0.1",
            f"{row['margin']:+.2f} ({row['ci95'][0]:+.2f} to {row['ci95'][1]:+.2f})",
            f"{row['deals']:,}",
            f"{row['fixed_deals']:,}",
            f"{row['seconds']:.0f}",
        ]
        for row in record["comparisons"]
    ]
    return ["networks", "answer", "margin", "duplicate deals", "fixed size", "seconds"], rows


def duplicates(record: dict[str, Any]) -> Rows:
    """What playing each deal from both seats saves, and what the deal's value does without it."""
    rows = [
        [
            f"`{row['agent']}`, `{row['opponent']}`, `{row['rules']}`",
            f"{row['single_sd']:.1f}",
            f"{row['sd']:.1f}",
            f"{row['duplicate_left']:.0%}",
            left(row["single_left"]),
        ]
        for row in record["pairings"]
    ]
    head = ["players", "sd, a play", "sd, a pair", "variance left by pairs"]
    return [*head, "left by the deal's value in single plays"], rows


def variates(record: dict[str, Any]) -> Rows:
    """What each control variate leaves of the variance, and what it costs."""
    rows = []
    for pairing in record["pairings"]:
        for row in pairing["variates"]:
            cost = pairing["ms"] + row["ms"]
            rows.append(
                [
                    f"`{pairing['agent']}`, `{pairing['opponent']}`, `{pairing['rules']}`",
                    row["variate"],
                    left(row),
                    f"{pairing['ms']:.2f} + {row['ms']:.2f}",
                    f"{row['left'] * cost / pairing['ms']:.2f}",
                ]
            )
    head = ["players", "variate", "variance left", "ms a pair, play + variate"]
    return [*head, "time for the same interval"], rows


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


def left(record: dict[str, Any]) -> str:
    """Like ``82 % (75 to 90)``."""
    low, high = record["ci95"]
    return f"{record['left']:.0%} ({low:.0%} to {high:.0%})"


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
        needs = ", ".join(f"`{requirement}`" for requirement in example["requirements"])
        rows.append([f"`{name}`", example["what"], example["note"] + error, needs])
    return ["example", "what it shows", "to know", "beside hearts-env"], rows


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


def pro_options(record: dict[str, Any]) -> Rows:
    """How often ``pro`` plays another card with its options."""
    rows = [
        [
            f"`pro?{row['options']}`",
            f"{row['differing']:,} of {record['choices']:,}",
            f"{row['differing'] / record['choices']:.1%}",
        ]
        for row in record["rows"]
    ]
    return ["player", "other cards than `pro`", "share"], rows


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "coverage": ("error_rates", coverage),
    "tests": ("sequential_tests", tests),
    "stopped": ("sequential_tests", stopped),
    "seeds": ("seed_intervals", seeds),
    "networks": ("compare", networks),
    "duplicates": ("variates", duplicates),
    "variates": ("variates", variates),
    "datasets": ("dataset", dataset_costs),
    "openspiel": ("openspiel_games", openspiel),
    "libraries": ("libraries", libraries),
    "library_notes": ("libraries", library_notes),
    "serve": ("serve", serving),
    "pro_options": ("pro_options", pro_options),
}
"""The file of results of each table, and what makes it."""
