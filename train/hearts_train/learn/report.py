"""Reports of runs: the list of runs, the learning curve and the model card of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint
from hearts_env.support.files import write_whole
from hearts_train.learn.config import AVERAGE
from hearts_train.learn.log import History
from hearts_train.learn.runs import CARD_NAME, RunFolder
from hearts_train.measure.display import BLUE, format_margin, literal, new_figure, save_figure
from hearts_train.screen import format_seconds

EXPLOITED = {"drawn": "cards drawn", "preferred": "the preferred cards"}
"""The policies whose exploitability is computed, and their labels in plots."""

_MOST_POINTS = 400
"""Of a curve."""


# ---- the list of runs ----------------------------------------------------------------------------


def table(runs: Sequence[RunFolder]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of a list of runs."""
    opponents = list(dict.fromkeys(name for run in runs for name in run.latest))
    is_exploited = any(run.of_kind("exploitability") for run in runs)
    columns = ["run", "config", "seed", "decisions", "status"]
    columns += [f"over {opponent}" for opponent in opponents]
    columns += ["exploitability"] * is_exploited
    rows = []
    for run in runs:
        row = [str(run.path), run.name, str(run.seed), f"{run.decisions:,}", _status(run)]
        shown = [run.latest.get(opponent) for opponent in opponents]
        row += [format_margin(one["margin"], one["ci95"]) if one else "" for one in shown]
        if is_exploited:
            last = run.latest_exploitability
            row.append(f"{last['drawn']:.3f}" if last else "")
        rows.append(row)
    return columns, rows


def _status(run: RunFolder) -> str:
    share = "" if run.share is None else f"{run.share:.0%} "
    if run.is_training and run.seconds_left is not None:
        return f"{share}training, about {format_seconds(run.seconds_left)} left"
    return "finished" if run.status == "finished" else f"{share}{run.status}"


# ---- the learning curve --------------------------------------------------------------------------


class Time(NamedTuple):
    """An x axis of learning curves: a field of the log's lines, its scale and its label."""

    field: str
    scale: float
    label: str


TIMES = (
    Time("decisions", 1e-6, "decisions of the learner, millions"),
    Time("seconds", 1 / 60, "minutes of training"),
)


class Curve(NamedTuple):
    """A quantity over the course of a run.

    Attributes:
        label: The label of the y axis.
        rows: The lines of the log that have it.
        values: The quantity and both ends of its 95 % interval, ``(rows, 3)``; the interval is the
            value itself if there is none.
        is_margin: If True, 0 is marked.
        is_log: If True, the y axis is logarithmic.
    """

    label: str
    rows: list[dict[str, Any]]
    values: np.ndarray
    is_margin: bool = False
    is_log: bool = False


def curves_of(run: History) -> list[Curve]:
    """Return the curves of a run's evaluations; before the first, that of its value loss."""
    found = []
    for name in run.latest:
        rows = [row for row in run.of_kind("evaluation") if row["opponent"] == name]
        values = np.array([(row["margin"], *row["ci95"]) for row in rows])
        found.append(Curve(f"margin over {name}, points per deal", rows, values, is_margin=True))
    if rows := run.of_kind("exploitability"):
        for name, what in EXPLOITED.items():
            values = np.array([(row[name],) * 3 for row in rows])
            found.append(Curve(f"exploitability, {what}", rows, values, is_log=True))
    if not found:
        rows = [row for row in run.of_kind("update") if _is_finite(row.get("value_loss"))]
        rows = [rows[place] for place in _some(len(rows))]
        values = np.array([(row["value_loss"],) * 3 for row in rows]).reshape(len(rows), 3)
        found.append(Curve("value loss", rows, values))
    return found


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _some(number: int) -> list[int]:
    """Return at most ``_MOST_POINTS`` of `number` places, with the first and the last."""
    places = np.linspace(0, number - 1, min(number, _MOST_POINTS))
    return [int(place) for place in places.round()]


def draw_run(path: Path, run: History, title: str) -> None:
    """Plot a run's evaluations against decisions and minutes into a PNG, SVG or PDF file."""
    curves = curves_of(run)
    figure = new_figure(5.2 * len(TIMES), 3.6 * len(curves) + 0.4)
    figure.suptitle(literal(title))
    panels = figure.subplots(len(curves), len(TIMES), squeeze=False)
    for line, curve in zip(panels, curves, strict=True):
        for axes, time in zip(line, TIMES, strict=True):
            x = [row[time.field] * time.scale for row in curve.rows]
            middle, low, high = curve.values.T
            marks = max(1, len(x) // 12)
            axes.plot(x, middle, "o-", color=BLUE, markersize=4, markevery=marks, linewidth=1.4)
            axes.fill_between(x, low, high, color=BLUE, alpha=0.2, linewidth=0)
            if curve.is_margin:
                axes.axhline(0.0, color="black", linewidth=0.8)
            if curve.is_log:
                axes.set_yscale("log")
            axes.set_xlabel(time.label)
            axes.set_ylabel(literal(curve.label))
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


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
        "Network": f"`{meta.module}`"
        if meta.module
        else f"{sizes}, {meta.activation}; {meta.num_weights:,} weights",
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
