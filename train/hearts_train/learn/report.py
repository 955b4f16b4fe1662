"""Reports of runs: learning curves of one or many, tables, the model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint
from hearts_env import HeartsError
from hearts_env.support.files import write_whole
from hearts_train.learn.config import AVERAGE
from hearts_train.learn.log import History
from hearts_train.learn.runs import CARD_NAME, RunFolder
from hearts_train.measure.display import (
    Style,
    format_margin,
    literal,
    new_figure,
    save_figure,
    styles,
)
from hearts_train.screen import format_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPLOITED = {"drawn": "cards drawn", "preferred": "the preferred cards"}
"""The policies whose exploitability is computed, and their labels in plots."""
EXPLOITABILITY = "exploitability"
OVER = "over "
IGNORED = ("name", "seed", "threads", "device", "precision", "evaluation", "checkpoint")
"""Settings that do not make another experiment."""

_MOST_SHOWN = 3  # settings in a label
_MOST_POINTS = 400


class Time(NamedTuple):
    """The x axes of learning curves: a field of a log's lines, its scale and its label."""

    field: str
    scale: float
    label: str


TIMES = {
    "decisions": Time("decisions", 1e-6, "decisions of the learner, millions"),
    "minutes": Time("seconds", 1 / 60, "minutes of training"),
}


# ---- which runs are alike ------------------------------------------------------------------------


def differing(runs: Sequence[RunFolder]) -> list[str]:
    """The settings in which some runs differ, in the order of the config, without ``IGNORED``."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    counted = (name for name in names if name.partition(".")[0] not in IGNORED)
    return [name for name in counted if len({repr(run.settings.get(name)) for run in runs}) > 1]


def repeated(runs: Sequence[RunFolder]) -> Iterator[tuple[RunFolder, RunFolder]]:
    """Runs that repeat config and seed of an earlier run, each after that one.

    The same config and seed make the same player, so these are not independent samples.
    """
    for place, run in enumerate(runs):
        for earlier in runs[:place]:
            if earlier.seed == run.seed and not differing([earlier, run]):
                yield earlier, run
                break


def grouped(runs: Sequence[RunFolder], by: Sequence[str] = ()) -> dict[str, list[RunFolder]]:
    """Groups of runs that belong together, by their labels.

    Args:
        runs: the runs.
        by: settings that tell groups apart (``name``, ``ppo.ent_coef``); none: all that make
            another experiment, and the config's name.

    Raises:
        HeartsError: if no run has a setting of this name.
    """
    known = dict.fromkeys(name for run in runs for name in run.settings)
    for name in by:
        if name not in known:
            raise HeartsError(
                f"--by: {name!r} is not a setting of these runs; give one of "
                + ", ".join(list(known)[:12])
                + " ...",
                value=name,
            )
    names = list(by) or ["name", *differing(runs)]
    keys: dict[tuple[str, ...], list[RunFolder]] = {}
    for run in runs:
        keys.setdefault(tuple(repr(run.settings.get(name)) for name in names), []).append(run)
    shown = list(by) or _fewest(names, list(keys))
    labels = {key: _label(shown, group[0]) for key, group in keys.items()}
    if not by and len(shown) > _MOST_SHOWN:  # then the folder's name says more
        labels |= {key: group[0].path.name for key, group in keys.items() if len(group) == 1}
    found: dict[str, list[RunFolder]] = {}
    for key, group in keys.items():
        label, number = labels[key], 1
        while label in found:
            number += 1
            label = f"{labels[key]} ({number})"
        found[label] = group
    return found


def _fewest(names: Sequence[str], keys: Sequence[tuple[str, ...]]) -> list[str]:
    """A few settings that distinguish the groups, the most distinctive first."""
    chosen: list[int] = [] if len(keys) > 1 else [0]

    def apart(places: Sequence[int]) -> int:
        return len({tuple(key[place] for place in places) for key in keys})

    while apart(chosen) < len(keys):
        rest = [place for place in range(len(names)) if place not in chosen]
        chosen.append(max(rest, key=lambda place: (apart([*chosen, place]), -place)))
    return [names[place] for place in sorted(chosen)]


def _label(shown: Sequence[str], run: RunFolder) -> str:
    words = [
        run.name if name == "name" else f"{name.rpartition('.')[2]} {run.settings.get(name)}"
        for name in shown
    ]
    return ", ".join(words)


# ---- the table of runs ---------------------------------------------------------------------------


def table(runs: Sequence[RunFolder], settings: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a list of runs, with some of their settings."""
    opponents = list(dict.fromkeys(name for run in runs for name in run.latest))
    columns = ["run", "config", "seed", "decisions", "status"]
    columns += [f"{OVER}{opponent}" for opponent in opponents]
    is_exploited = any(run.of_kind(EXPLOITABILITY) for run in runs)
    columns += [EXPLOITABILITY] * is_exploited
    rows = []
    for run in runs:
        row = [str(run.path), run.name, str(run.seed), f"{run.decisions:,}", _status(run)]
        latest = run.latest
        shown = [latest.get(opponent) for opponent in opponents]
        row += [format_margin(one["margin"], one["ci95"]) if one else "" for one in shown]
        if is_exploited:
            last = run.latest_exploitability
            row.append(f"{last['drawn']:.3f}" if last else "")
        rows.append([*row, *(str(run.settings.get(name, "")) for name in settings)])
    return [*columns, *settings], rows


def _status(run: RunFolder) -> str:
    share = "" if run.share is None else f"{run.share:.0%} "
    if run.is_training and run.seconds_left is not None:
        return f"{share}training, about {format_seconds(run.seconds_left)} left"
    return "finished" if run.status == "finished" else f"{share}{run.status}"


# ---- learning curves -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """One group of runs in one panel.

    Attributes:
        label: Its label in the legend.
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
    def legend(self) -> str:
        """The label, with the number of runs."""
        return f"{self.label} ({self.runs} runs, ± sd)" if self.runs > 1 else self.label


def quantities(runs: Sequence[RunFolder]) -> list[str]:
    """The quantities to plot: ``over pro``, ``exploitability``, then metrics of updates."""
    opponents = dict.fromkeys(row["opponent"] for run in runs for row in run.of_kind("evaluation"))
    names = [f"{OVER}{opponent}" for opponent in opponents]
    if any(run.of_kind(EXPLOITABILITY) for run in runs):
        names.append(EXPLOITABILITY)
    fields = dict.fromkeys(
        name
        for run in runs
        for row in (
            *run.of_kind("update")[:1],
            *run.of_kind("update")[-1:],
        )  # pretraining comes first
        for name, value in row.items()
        if isinstance(value, float) and name != "seconds"
    )
    return [*names, *fields]


def standing(runs: Sequence[RunFolder]) -> list[str]:
    """The default plots: the margins, and exploitability where it was computed."""
    names = quantities(runs)
    return [name for name in names if name.startswith(OVER) or name == EXPLOITABILITY]


def chosen(runs: Sequence[RunFolder], names: Sequence[str]) -> list[str]:
    """The quantities of these names, by their full names; without names: ``standing``."""
    known = quantities(runs)
    found = []
    for name in names:
        full = name if name in known else f"{OVER}{name}"
        if full not in known:
            raise HeartsError(
                f"--y: {name!r} is not in these runs; choose from {', '.join(known)}", value=name
            )
        found.append(full)
    if not names and not standing(runs):
        raise HeartsError(
            "--y: these runs have no evaluation yet; wait for the first, or choose from "
            + ", ".join(known)
        )
    return found or standing(runs)


def curve(label: str, runs: Sequence[History], quantity: str, x: str) -> Curve | None:
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
        if not len(places):  # they have no common range
            return None
        table = np.array([np.interp(places, line[0], line[1]) for line in lines])
        values, spread = table.mean(0), table.std(0, ddof=1)
        low, high = values - spread, values + spread
    some = np.unique(np.linspace(0, len(places) - 1, _MOST_POINTS).round().astype(int))
    shown = [array[some].tolist() for array in (places, values, low, high)]
    return Curve(label, len(lines), *shown)


_Line = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _line(run: History, quantity: str, x: str) -> _Line:
    """Places, values and both ends of the interval of one run, by ascending place."""
    if quantity.startswith(OVER):
        rows = [
            row for row in run.of_kind("evaluation") if row["opponent"] == quantity[len(OVER) :]
        ]
        found = [(row["margin"], *row["ci95"]) for row in rows]
    elif quantity == EXPLOITABILITY:
        rows = run.of_kind(EXPLOITABILITY)
        found = [(row["drawn"],) * 3 for row in rows]
    else:
        kind = EXPLOITABILITY if quantity in EXPLOITED else "update"
        rows = [row for row in run.of_kind(kind) if isinstance(row.get(quantity), float)]
        found = [(row[quantity],) * 3 for row in rows]
    places = np.array([row[TIMES[x].field] * TIMES[x].scale for row in rows])
    values = np.array(found, np.float64).reshape(len(rows), 3)
    finite = np.flatnonzero(np.isfinite(values).all(1))  # a run that diverges logs others too
    order = finite[np.unique(places[finite], return_index=True)[1]]
    values = values[order]
    return places[order], values[:, 0], values[:, 1], values[:, 2]


def curves(groups: Mapping[str, Sequence[History]], quantity: str, x: str) -> list[Curve]:
    """The curves of all groups that have the quantity."""
    found = (curve(label, runs, quantity, x) for label, runs in groups.items())
    return [one for one in found if one is not None]


def axis_label(quantity: str) -> str:
    """The label of the y axis of a quantity."""
    if quantity.startswith(OVER):
        return f"margin {quantity}, points a deal"
    if quantity in EXPLOITED:
        return f"exploitability, {EXPLOITED[quantity]}"
    if quantity == EXPLOITABILITY:
        return "exploitability, points a deal"
    return quantity.replace("_", " ")


def draw(
    groups: Mapping[str, Sequence[History]], wanted: Sequence[str], times: Sequence[str], path: Path
) -> None:
    """Plot a panel for each quantity and x axis into a PNG, SVG or PDF file."""
    places = [(quantity, x) for quantity in wanted for x in times]
    columns = min(len(places), 3 if len(times) == 1 else len(times))
    number = -(-len(places) // columns)
    figure = new_figure(5.2 * columns, 3.6 * number + 0.4)
    panels = figure.subplots(number, columns, squeeze=False).flat
    style = styles(list(groups))
    lines: dict[str, Any] = {}
    for axes, (quantity, x) in zip(panels, places, strict=False):
        # The first panel's line stands for the curve in the legend.
        lines = _panel(axes, curves(groups, quantity, x), quantity, style) | lines
        axes.set_ylabel(literal(axis_label(quantity)))
        axes.set_xlabel(TIMES[x].label)
    for axes in list(figure.axes)[len(places) :]:
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


def draw_run(path: Path, run: History, title: str) -> None:
    """Plot a run's evaluations against decisions and minutes into a PNG file."""
    exploited = [name for name in EXPLOITED if any(name in row for row in run.rows)]
    margins = [f"{OVER}{opponent}" for opponent in run.latest]
    wanted = [*margins, *exploited] or ["value_loss"]
    draw({title: [run]}, wanted, list(TIMES), path)


def _panel(
    axes: Axes, found: Sequence[Curve], quantity: str, style: Mapping[str, Style]
) -> dict[str, Any]:
    """Plot the curves of a quantity; returns lines by label."""
    lines = {}
    for one in found:
        (line,) = axes.plot(
            one.x,
            one.mean,
            **style[one.label]._asdict(),
            markersize=4,
            markevery=max(1, len(one.x) // 12),
            linewidth=1.4,
        )
        axes.fill_between(one.x, one.low, one.high, color=line.get_color(), alpha=0.2, linewidth=0)
        lines[literal(one.legend)] = line
    if quantity.startswith(OVER):
        axes.axhline(0.0, color="black", linewidth=0.8)
    if quantity == EXPLOITABILITY or quantity in EXPLOITED:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return lines


# ---- the model card ------------------------------------------------------------------------------


def write_card(
    run_dir: Path, evaluations: Sequence[Mapping[str, Any]] = (), meta: Checkpoint | None = None
) -> Path:
    """Write the model card of the player in a run folder, and return its path.

    `evaluations` (as ``Evaluation.to_json`` gives them) are shown instead of those from the
    training; `meta` is read from the player's file if it is not given.
    """
    if meta is None:
        _, meta = read_checkpoint(run_dir)
    text = format_card(meta, list(evaluations) or meta.training.get("evaluations", []))
    path = run_dir / CARD_NAME
    write_whole(path, text.encode())
    return path


def _teachers(config: Mapping[str, Any]) -> dict[str, str]:
    """What the player has learnt from besides play, from a complete config."""
    found = {}
    pretraining = _pretraining(config)
    if number := pretraining.get("positions"):
        is_imitation = pretraining.get("target") == "action" or pretraining.get("imitate")
        what = "which card it takes" if is_imitation else "what every card is worth double dummy"
        found["Pretraining"] = f"{number:,} positions that `pimc` plays: {what}"
    ppo = config.get("ppo", {})
    if ppo.get("magnet_coef") and ppo["magnet"] != AVERAGE:
        found["Teacher"] = f"`{ppo['magnet']}`, towards whose policy it was pulled"
    return found


def _pretraining(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of the pretraining, which the shipped champions' headers call lessons.

    A header is part of a player's digest, which published results state, so it stays as it is.
    """
    found: Mapping[str, Any] = config.get("pretraining") or config.get("lessons", {})
    return found


def format_card(meta: Checkpoint, evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The model card, Markdown, of a player's header and its evaluations."""
    training, layers = meta.training, meta.layers
    config = training.get("config", {})
    lines = [f"# {training.get('name', 'player')}: a player of {meta.rules.name}", ""]
    sizes = " - ".join(str(size) for size in layers)
    facts = {
        "Rules": f"`{meta.rules.name}`",
        "Observation": f"`{meta.encoder}`, {layers[0]} numbers",
        "Network": f"{sizes}, {meta.activation}; {meta.num_weights:,} weights",
        "Algorithm": training.get("algorithm", "unknown"),
        **_teachers(config),
        "Trained for": f"{training.get('decisions', 0):,} decisions in "
        f"{training.get('minutes', 0):.1f} minutes ({training.get('updates', 0):,} updates)",
        "Seed": training.get("seed", "unknown"),
        "Command": f"`{training.get('command', 'unknown')}`",
        "Versions": ", ".join(f"{k} {v}" for k, v in training.get("versions", {}).items()),
    }
    lines += [f"- **{name}:** {value}" for name, value in facts.items()]
    lines += ["", "## Trained against", ""]
    for phase in training.get("schedule", []):
        who = ", ".join(f"{name} (weight {w:g})" for name, w in phase["opponents"].items())
        lines.append(f"- until {phase['until']:.0%} of the budget: {who}")
    lines.append("")
    if any("self" in phase["opponents"] for phase in training.get("schedule", [])):
        lines.append("`self` stands for this player, as it is and as it was during the training.")
    lines += ["It played no other opponents in training.", "", "## Evaluation", ""]
    exploited = training.get("exploitability")
    if exploited:
        lines += [
            "Exploitability, the mean margin of an exact best response: "
            + ", ".join(
                f"{exploited[name]:.3f} ({what})"
                for name, what in EXPLOITED.items()
                if name in exploited
            )
            + ".",
            "",
        ]
    if not evaluations:
        lines += ["None yet; run `hearts evaluate`.", ""]
        return "\n".join(lines)
    lines += [
        "Margin: the others' mean points minus the player's own, per deal, over duplicate deals "
        "(each played with the player in every seat); the player takes its preferred action.",
        "",
        "| opponent | margin | 95 % interval | deals | seed | trained against |",
        "|---|---|---|---|---|---|",
    ]
    met = {name: "yes" for phase in training.get("schedule", []) for name in phase["opponents"]}
    if _pretraining(config).get("positions"):
        met.setdefault("pimc", "no, but pretrained on its play")
    for row in evaluations:
        low, high = row["ci95"]
        lines.append(
            f"| {row['opponent']} | {row['margin']:+.2f} | {low:+.2f} to {high:+.2f} "
            f"| {row['deals']:,} | {row['seed']} | {met.get(row['opponent'], 'no')} |"
        )
    return "\n".join([*lines, ""])
