"""Draw the learning curves of the reference results as SVG, without a drawing library.

A picture depends on the files of results alone, so ``docs/tables.py`` can tell that it is stale. A
curve is the mean over the seeds of a recipe, and its band reaches from the lowest to the highest.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from parts import results

FIFTHS = 5
"""The number of points of a curve, one for each part of the budget."""
COLOURS = ("#0072B2", "#D55E00", "#007F5F", "#B0447F", "#8A6D00", "#3D3D9E", "#A52A2A")
DASHES = ("none", "7 3", "2 3")
"""The dashes of the first seven recipes, the next seven and the others."""
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 56, 136, 34, 44
LINE, LETTER = 14, 6.4
"""The height of a label and the usual width of a letter, in pixels."""
_ROUNDS = 200
"""Enough for thirty labels to move apart."""


class Point(NamedTuple):
    """A point of a mean curve."""

    x: float
    low: float
    mean: float
    high: float


@dataclass(frozen=True)
class Panel:
    """Curves by recipe over one x-axis, with the baselines as lines across."""

    title: str
    x_title: str
    height: float
    curves: Mapping[str, Sequence[Point]]
    baselines: Mapping[str, float]
    x_range: tuple[float, float]
    is_log: bool = False

    @property
    def y_range(self) -> tuple[float, float]:
        """The range of the y-axis, a little more than that of the values."""
        values = [value for points in self.curves.values() for p in points for value in p[1:]]
        values += self.baselines.values()
        pad = 0.04 * (max(values) - min(values))
        return min(values) - pad, max(values) + pad

    def place_x(self, x: float) -> float:
        """Return the horizontal place of a value, in pixels."""
        low, high, x = (math.log(v) if self.is_log else v for v in (*self.x_range, x))
        return LEFT + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def place_y(self, y: float) -> float:
        """Return the vertical place of a value, in pixels."""
        low, high = self.y_range
        return TOP + (high - y) / (high - low) * (self.height - TOP - BOTTOM)


# ---- results -------------------------------------------------------------------------------------
def reference_picture(budget: int, over: str) -> str:
    """Return the picture of all recipes with this budget, over ``decisions`` or ``minutes``."""
    runs = [run for run in results("reference/*") if run["budget"] == budget]
    names = sorted({run["example"] for run in runs})
    panels = [_panel(runs, over, "two_player", "margin over standard, pro and pimc", mean_margin)]
    if over == "decisions":
        exact = "exploitability (lower is better)"
        panels.append(_panel(runs, over, "mini", exact, lambda point: point["exploitability"]))
    return draw(panels, names)


def _panel(
    runs: Iterable[dict[str, Any]], over: str, rules: str, what: str, value: Callable[..., float]
) -> Panel:
    own = [run for run in runs if run["rules"] == rules]
    curves = {
        name: mean_curve([run for run in own if run["example"] == name], over, value)
        for name in sorted({run["example"] for run in own})
    }
    [measured] = results("baselines")
    baselines = {
        row["agent"]: value({**row, **row["final"], "margins": row["margins"]})
        for row in measured["baselines"]
        if row["rules"] == rules
    }
    title, height = f"{rules}: {what}, in points per deal", 400 if rules == "two_player" else 300
    if over == "decisions":
        return Panel(title, over, height, curves, baselines, (0, max(run["budget"] for run in own)))
    at = [point.x for points in curves.values() for point in points]
    limits = (min(at) / 1.2, max(at) * 1.2)
    return Panel(title, "processor minutes", height, curves, baselines, limits, is_log=True)


def mean_margin(point: Mapping[str, Any]) -> float:
    """Return the mean margin over the opponents of a curve."""
    return statistics.fmean(point["margins"].values())


def mean_curve(
    runs: Iterable[dict[str, Any]], over: str, value: Callable[[dict[str, Any]], float]
) -> list[Point]:
    """Return the mean curve of the runs of a recipe.

    Points of the same fifth of the budget belong together. The last point of a run ends the last
    fifth, although the run may have fewer decisions.
    """
    fifths: dict[int, list[dict[str, Any]]] = {}
    for run in runs:
        *early, last = run["curve"]
        for point in early:
            fifths.setdefault(FIFTHS * point["decisions"] // run["budget"], []).append(point)
        fifths.setdefault(FIFTHS, []).append(last)
    curve = []
    for _, found in sorted(fifths.items()):
        at = [p["decisions"] if over == "decisions" else p["cpu_seconds"] / 60 for p in found]
        values = [value(point) for point in found]
        curve.append(
            Point(statistics.fmean(at), min(values), statistics.fmean(values), max(values))
        )
    return curve


# ---- drawing -------------------------------------------------------------------------------------
def draw(panels: Sequence[Panel], names: Sequence[str]) -> str:
    """Return an SVG document of panels, one below the other. `names` decides the colours."""
    height = sum(panel.height for panel in panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    top = 0.0
    for panel in panels:
        parts += [f'<g transform="translate(0 {top:g})">', *_axes(panel)]
        parts += [*_baselines(panel), *_curves(panel, names), "</g>"]
        top += panel.height
    return "\n".join([*parts, "</svg>", ""])


def _axes(panel: Panel) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, panel.height - BOTTOM
    is_signed = min(panel.baselines.values()) < 0
    yield _text(LEFT, 18, panel.title, size=13, weight="bold")
    for y in ticks(*panel.y_range):
        at = panel.place_y(y)
        yield _line((LEFT, at), (right, at), "#E4E4E4")
        yield _text(LEFT - 8, at + 4, f"{y:+g}" if y and is_signed else f"{y:g}", anchor="end")
    for x in log_ticks(*panel.x_range) if panel.is_log else ticks(*panel.x_range):
        at = panel.place_x(x)
        yield _line((at, bottom), (at, bottom + 4), "#666666")
        yield _text(at, bottom + 18, f"{x:g}" if panel.is_log else f"{x:,.0f}", anchor="middle")
    yield _line((LEFT, bottom), (right, bottom), "#666666")
    yield _text((LEFT + right) / 2, bottom + 36, panel.x_title, anchor="middle")


def _baselines(panel: Panel) -> Iterator[str]:
    """Yield a line across for each baseline. Lines that are close together share a label."""
    groups: list[list[tuple[float, str]]] = []
    for at, name in sorted((panel.place_y(value), name) for name, value in panel.baselines.items()):
        yield _line((LEFT, at), (WIDTH - RIGHT, at), "#999999", dash="1 3")
        if groups and at - groups[-1][-1][0] < LINE:
            groups[-1].append((at, name))
        else:
            groups.append([(at, name)])
    for group in groups:
        names = ", ".join(name for _, name in group)
        yield _text(LEFT + 4, group[0][0] - 3, names, colour="#777777", size=11, style="italic")


def _curves(panel: Panel, names: Sequence[str]) -> Iterator[str]:
    ends = {}
    for name, points in panel.curves.items():
        colour, dash = look(names.index(name))
        at = [panel.place_x(point.x) for point in points]
        middle = [panel.place_y(point.mean) for point in points]
        upper = [(x, panel.place_y(point.high)) for x, point in zip(at, points, strict=True)]
        lower = [(x, panel.place_y(point.low)) for x, point in zip(at, points, strict=True)]
        yield f'<path d="{_path([*upper, *lower[::-1]])}Z" fill="{colour}" fill-opacity="0.14"/>'
        yield (
            f'<path d="{_path(zip(at, middle, strict=True))}" fill="none" stroke="{colour}" '
            f'stroke-width="1.8" stroke-dasharray="{dash}"/>'
        )
        for x, y in zip(at, middle, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
        ends[name] = at[-1], middle[-1]
    column = None if panel.is_log else WIDTH - RIGHT + 16
    wanted = {name: (column or x + 12, y) for name, (x, y) in ends.items()}
    for name, y in place_labels(wanted, panel.height - BOTTOM).items():
        colour, x = look(names.index(name))[0], wanted[name][0]
        yield _line(ends[name], (x - 2, y), colour)
        yield _text(x, y + 4, name, colour=colour, halo=True)


def place_labels(wanted: Mapping[str, tuple[float, float]], bottom: float) -> dict[str, float]:
    """Return the heights of labels near the wanted places, so that none covers another.

    Args:
        wanted: the left end and the middle of each label.
        bottom: the lowest place of a label.
    """
    heights = {name: y for name, (_, y) in sorted(wanted.items(), key=lambda item: item[1][1])}
    pairs = [
        (upper, lower)
        for upper, lower in itertools.combinations(heights, 2)
        if wanted[upper][0] < wanted[lower][0] + LETTER * len(lower)
        and wanted[lower][0] < wanted[upper][0] + LETTER * len(upper)
    ]
    for _ in range(_ROUNDS):
        for upper, lower in pairs:
            push = max(0.0, LINE - (heights[lower] - heights[upper])) / 2
            heights[upper] -= push
            heights[lower] = min(heights[lower] + push, bottom)
    return heights


def look(number: int) -> tuple[str, str]:
    """Return the colour and the dashes of a recipe by its number."""
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]


def ticks(low: float, high: float) -> list[float]:
    """Return about six round values from `low` to `high`."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= 0.7 * rough)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the values 1, 2 and 5 of each power of ten from `low` to `high`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def _path(places: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _line(
    start: tuple[float, float], end: tuple[float, float], colour: str, *, dash: str = "none"
) -> str:
    (a, b), (c, d) = start, end
    return (
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{colour}" '
        f'stroke-dasharray="{dash}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    colour: str = "#333333",
    size: int = 12,
    weight: str = "normal",
    style: str = "normal",
    halo: bool = False,
) -> str:
    around = ' stroke="white" stroke-width="3" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
        f'font-weight="{weight}" font-style="{style}"{around}>{escape(text)}</text>'
    )
