"""Draw the learning curves of the reference results.

A curve is the mean over the seeds of a recipe, and its band reaches from the lowest to the highest.
A picture carries a digest of its data, by which ``docs/tables.py`` can tell that it is stale.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from parts import recipes, results

from hearts_train.measure.display import GREY, new_figure, save_figure

FIFTHS = 5
"""The number of points of a curve, one for each part of the budget."""
COLOURS = ("#0072B2", "#D55E00", "#007F5F", "#B0447F", "#8A6D00", "#3D3D9E", "#A52A2A")
DASHES = ("-", "--", ":")
"""The dashes of the first seven recipes, the next seven and the others."""
TITLES = {
    "two_player": "two_player: margin over standard, pro and pimc, in points per deal",
    "mini": "mini: exploitability (lower is better), in points per deal",
}
LINE = 0.16
"""The height of a label, in inches."""
Point = tuple[float, float, float, float]
"""A place on the x-axis, and the lowest, mean and highest value there."""


class Panel(NamedTuple):
    """Curves by recipe over ``decisions`` or ``minutes``, and the values of the baselines."""

    title: str
    over: str
    curves: Mapping[str, Sequence[Point]]
    baselines: Mapping[str, float]


def reference_panels(budget: int, over: str) -> list[Panel]:
    """Return the curves of all recipes with this budget, over ``decisions`` or ``minutes``."""
    [measured] = results("baselines")
    found, panels = recipes(budget), []
    for rules in TITLES if over == "decisions" else ("two_player",):
        curves = {name: mean_curve(own[rules], over) for name, own in found.items() if own[rules]}
        rows = [row for row in measured["baselines"] if row["rules"] == rules]
        baselines = {row["agent"]: value_of(row["final"] | row, rules) for row in rows}
        panels.append(Panel(TITLES[rules], over, curves, baselines))
    return panels


def value_of(point: Mapping[str, Any], rules: str) -> float:
    """Return the exploitability on ``mini``, else the mean margin over the opponents."""
    if rules == "mini":
        return point["exploitability"]
    return statistics.fmean(point["margins"].values())


def mean_curve(runs: Iterable[Mapping[str, Any]], over: str) -> list[Point]:
    """Return the mean curve of the runs of a recipe with the same rules.

    Points of the same fifth of the budget belong together. The last point of a run ends the last
    fifth, although the run may have fewer decisions.
    """
    fifths: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        for point in run["curve"]:
            is_last = point is run["curve"][-1]
            fifth = FIFTHS if is_last else FIFTHS * point["decisions"] // run["budget"]
            x = point["decisions"] if over == "decisions" else point["cpu_seconds"] / 60
            fifths.setdefault(fifth, []).append((x, value_of(point, run["rules"])))
    found = (zip(*points, strict=True) for _, points in sorted(fifths.items()))
    return [(statistics.fmean(x), min(y), statistics.fmean(y), max(y)) for x, y in found]


def digest(panels: Sequence[Panel]) -> str:
    """Return the SHA-256 of the rounded data of a picture, as the picture contains it."""
    rounded = json.loads(json.dumps(panels), parse_float=lambda text: round(float(text), 6))
    return f"data-{hashlib.sha256(json.dumps(rounded).encode()).hexdigest()}"


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Draw panels, one below the other, in an SVG file."""
    names = sorted({name for panel in panels for name in panel.curves})
    looks = dict(zip(names, itertools.cycle(itertools.product(DASHES, COLOURS)), strict=False))
    height = max(2.8, LINE * len(names))
    figure = new_figure(8, (height + 0.7) * len(panels))
    figure.set_gid(digest(panels))
    grid = figure.subplots(len(panels), squeeze=False)[:, 0]
    for axes, panel in zip(grid, panels, strict=True):
        axes.set_title(panel.title, fontsize=10, loc="left")
        axes.set_xlabel("decisions" if panel.over == "decisions" else "processor minutes")
        if panel.over == "minutes":
            axes.set_xscale("log", subs=[2, 5])
        axes.xaxis.set_major_formatter("{x:,.7g}")
        axes.xaxis.set_minor_formatter("{x:,.7g}")
        axes.tick_params(which="both", length=3, pad=4)
        axes.grid(which="both", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.1)
        _draw_lines(axes, panel, looks, LINE / height)
    save_figure(figure, path)


def _draw_lines(axes: Any, panel: Panel, looks: Mapping[str, tuple[str, str]], gap: float) -> None:
    for value in panel.baselines.values():
        axes.axhline(value, color=GREY, linewidth=0.7, linestyle=":")
    for name, points in panel.curves.items():
        (dash, colour), (x, low, mean, high) = looks[name], np.array(points).T
        axes.plot(x, mean, dash, color=colour, marker="o", markersize=3, linewidth=1.4)
        axes.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0)
    means = {name: points[-1][2] for name, points in panel.curves.items()}
    text, within, limits = {"fontsize": 9, "va": "center"}, axes.transAxes, axes.get_ylim()
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for name, y in spread(panel.baselines, limits, gap).items():
        axes.text(0.01, y, name, color="dimgrey", bbox=box, transform=within, **text)
    for name, y in spread(means, limits, gap).items():
        end, colour = (panel.curves[name][-1][0], means[name]), looks[name][1]
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0, 0.5)}
        at = {"xytext": (1.01, y), "textcoords": within}
        axes.annotate(name, end, color=colour, arrowprops=line, **at, **text)


def spread(
    values: Mapping[str, float], limits: tuple[float, float], gap: float
) -> dict[str, float]:
    """Return places near the values, as fractions of the axis, at least `gap` apart."""
    names, shift = sorted(values, key=values.__getitem__), gap * np.arange(len(values))
    free = np.interp([values[name] for name in names], limits, (0, 1)) - shift
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    places = np.clip((up + down) / 2, 0, 1 - gap * (len(names) - 1)) + shift
    return dict(zip(names, places, strict=True))
