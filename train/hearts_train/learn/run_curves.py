"""Learning curves of many runs in one picture: means and spreads over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearts_env import HeartsError
from hearts_train.learn.run_folders import RunFolder
from hearts_train.learn.run_report import TIMES
from hearts_train.learn.runs import exploitability_of
from hearts_train.measure.pictures import literal, save_figure, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 400
EXPLOITABILITY = "exploitability"
OVER = "over "


@dataclass(frozen=True)
class Curve:
    """One group of runs in one panel.

    Attributes:
        label: What the legend calls it.
        runs: How many runs it is the mean of.
        x: Millions of decisions, or minutes.
        mean: The mean over the runs; the line of the only run.
        low: One standard deviation over the runs below the mean; for a single run the lower end of
            the 95 % interval of its evaluation, or the line itself where there is none.
        high: The same above.
    """

    label: str
    runs: int
    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]

    @property
    def told(self) -> str:
        """The label, with the number of runs."""
        return f"{self.label} ({self.runs} runs, ± sd)" if self.runs > 1 else self.label

    def to_json(self) -> dict[str, Any]:
        """Everything, of types that JSON knows."""
        return asdict(self)


def quantities(runs: Sequence[RunFolder]) -> list[str]:
    """What can be drawn of these runs: ``over pro``, ``exploitability``, then what updates tell."""
    opponents = dict.fromkeys(row["opponent"] for run in runs for row in run.of_kind("evaluation"))
    names = [f"{OVER}{opponent}" for opponent in opponents]
    if any(run.of_kind(EXPLOITABILITY) for run in runs):
        names.append(EXPLOITABILITY)
    fields = dict.fromkeys(
        name
        for run in runs
        for row in (*run.of_kind("update")[:1], *run.of_kind("update")[-1:])  # lessons come first
        for name, value in row.items()
        if isinstance(value, float) and name != "seconds"
    )
    return [*names, *fields]


def standing(runs: Sequence[RunFolder]) -> list[str]:
    """What is drawn if nothing is said: the margins, and exploitability where it was computed."""
    names = quantities(runs)
    return [name for name in names if name.startswith(OVER) or name == EXPLOITABILITY]


def chosen(runs: Sequence[RunFolder], asked: Sequence[str]) -> list[str]:
    """The quantities that were asked for, by their full names; none asked for: ``standing``.

    Raises:
        HeartsError: if the runs have none of such a name.
    """
    known = quantities(runs)
    found = []
    for name in asked:
        full = name if name in known else f"{OVER}{name}"
        if full not in known:
            raise HeartsError(
                f"--y: {name!r} is not in these runs; choose from {', '.join(known)}", value=name
            )
        found.append(full)
    if not asked and not standing(runs):
        raise HeartsError(
            "--y: these runs have no evaluation yet; wait for the first, or choose from "
            + ", ".join(known)
        )
    return found or standing(runs)


def curve(label: str, runs: Sequence[RunFolder], quantity: str, x: str) -> Curve | None:
    """The curve of a group; None where none of its runs has the quantity.

    Where runs were measured at different places, each is interpolated linearly, over the range
    that all of them have.
    """
    lines = [line for run in runs if len((line := _line(run, quantity, x))[0])]
    if not lines:
        return None
    if len(lines) == 1:
        places, values, low, high = lines[0]
    else:
        first = max(line[0][0] for line in lines)
        last = min(line[0][-1] for line in lines)
        places = np.unique(np.concatenate([line[0] for line in lines]))
        places = places[(places >= first) & (places <= last)]
        if not len(places):  # they have no range in common
            return None
        table = np.array([np.interp(places, line[0], line[1]) for line in lines])
        values, spread = table.mean(0), table.std(0, ddof=1)
        low, high = values - spread, values + spread
    kept = np.unique(np.linspace(0, len(places) - 1, _MOST_POINTS).round().astype(int))
    shown = [array[kept].tolist() for array in (places, values, low, high)]
    return Curve(label, len(lines), *shown)


_Line = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _line(run: RunFolder, quantity: str, x: str) -> _Line:
    """Places, values and both ends of the interval of one run, by ascending place."""
    if quantity.startswith(OVER):
        rows = [
            row for row in run.of_kind("evaluation") if row["opponent"] == quantity[len(OVER) :]
        ]
        told = [(row["margin"], *row["ci95"]) for row in rows]
    elif quantity == EXPLOITABILITY:
        rows = run.of_kind(EXPLOITABILITY)
        told = [(exploitability_of(row),) * 3 for row in rows]
    else:
        rows = [row for row in run.of_kind("update") if isinstance(row.get(quantity), float)]
        told = [(row[quantity],) * 3 for row in rows]
    places = np.array([row[TIMES[x].field] * TIMES[x].scale for row in rows])
    values = np.array(told, np.float64).reshape(len(rows), 3)
    finite = np.flatnonzero(np.isfinite(values).all(1))  # a run that diverges logs others too
    order = finite[np.unique(places[finite], return_index=True)[1]]
    values = values[order]
    return places[order], values[:, 0], values[:, 1], values[:, 2]


def curves(groups: Mapping[str, Sequence[RunFolder]], quantity: str, x: str) -> list[Curve]:
    """The curves of all groups that have the quantity."""
    found = (curve(label, runs, quantity, x) for label, runs in groups.items())
    return [one for one in found if one is not None]


def axis_label(quantity: str) -> str:
    """What the vertical axis of a quantity says."""
    if quantity.startswith(OVER):
        return f"margin {quantity}, points a deal"
    if quantity == EXPLOITABILITY:
        return "exploitability, points a deal"
    return quantity.replace("_", " ")


def draw(
    groups: Mapping[str, Sequence[RunFolder]], wanted: Sequence[str], x: str, path: Path
) -> None:
    """Draw a panel for each quantity, side by side, into a PNG, SVG or PDF file.

    Raises:
        HeartsError: if the suffix is another, or there is no such folder.
    """
    from matplotlib.figure import Figure

    columns = min(len(wanted), 3)
    number = -(-len(wanted) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * number + 0.4), layout="constrained")
    panels = figure.subplots(number, columns, squeeze=False).flat
    style = styles(list(groups))
    lines: dict[str, Any] = {}
    for axes, quantity in zip(panels, wanted, strict=False):
        for one in curves(groups, quantity, x):
            lines.setdefault(literal(one.told), _draw_curve(axes, one, *style[one.label]))
        if quantity.startswith(OVER):
            axes.axhline(0.0, color="black", linewidth=0.8)
        if quantity == EXPLOITABILITY:
            axes.set_yscale("log")
        axes.set_ylabel(literal(axis_label(quantity)))
        axes.set_xlabel(TIMES[x].label)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(figure.axes)[len(wanted) :]:
        axes.remove()
    longest = max((len(label) for label in lines), default=1)
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="outside upper center",
        ncols=max(1, min(len(lines), 55 * columns // (longest + 8))),
        frameon=False,
    )
    save_figure(figure, path)


def _draw_curve(axes: Axes, one: Curve, color: str, marker: str) -> Any:
    every = max(1, len(one.x) // 12)
    (line,) = axes.plot(
        one.x, one.mean, color=color, marker=marker, markersize=4, markevery=every, linewidth=1.4
    )
    axes.fill_between(one.x, one.low, one.high, color=color, alpha=0.2, linewidth=0)
    return line
