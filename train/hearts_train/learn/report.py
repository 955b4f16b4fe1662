"""Reports: the list of runs, the table of seeds, learning curves and model cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint
from hearts_agents.spec import path_name, quoted_path
from hearts_env.support.errors import bare
from hearts_env.support.files import write_json, write_whole
from hearts_env.support.tables import ResultTable
from hearts_train.learn.config import AVERAGE, SELF
from hearts_train.learn.log import History
from hearts_train.learn.own_code import OwnCode, from_json
from hearts_train.learn.runs import CARD_NAME, CURVE_NAME, RunFolder
from hearts_train.measure.display import (
    BLUE,
    format_margin,
    literal,
    new_figure,
    save_figure,
)
from hearts_train.screen import format_seconds, printable

EXPLOITED = ("sampled", "greedy")
"""The two policies with an exploitability: with sampled cards, and with the likeliest cards."""


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
        config, decisions = run.config, f"{run.decisions:,}"
        row = [quoted_path(run.path), config.name, str(config.seed), decisions, format_status(run)]
        shown = [run.latest.get(opponent) for opponent in opponents]
        row += [format_margin(one["margin"], one["ci95"]) if one else "" for one in shown]
        if is_exploited:
            last = run.latest_exploitability
            row.append(f"{last['sampled']:.3f}" if last else "")
        rows.append(row)
    return columns, rows


def format_status(run: RunFolder) -> str:
    """Return a run's progress, its status and the time left, as text."""
    if run.is_training and run.seconds_left is not None:
        return f"{run.share:.0%} training, about {format_seconds(run.seconds_left)} left"
    return "finished" if run.status == "finished" else f"{run.share:.0%} {run.status}"


def listed_files(files: Mapping[str, Path]) -> list[str]:
    """Return a line per file, with its name."""
    return [printable(f"{name + ':':16}{quoted_path(path)}") for name, path in files.items()]


# ---- several seeds -------------------------------------------------------------------------------
SEEDS_NAME = "seeds.json"


@dataclass(frozen=True)
class SeedsResult:
    """The runs of several seeds of one config."""

    folder: Path
    runs: list[RunFolder]
    """The runs that were started, in the order of the seeds. ``final`` is the final evaluation."""
    is_finished: bool
    """False if they were stopped by a signal. The same call resumes them."""
    signal_number: int = 0
    """The signal that stopped them, or 0."""

    @property
    def finished(self) -> list[RunFolder]:
        """The runs that are trained and evaluated."""
        return [run for run in self.runs if run.final]

    def spread(self) -> list[dict[str, Any]]:
        """Return mean and standard deviation over the seeds for each final figure."""
        figures = [_final_figures(run) for run in self.finished]
        found = []
        for name in dict.fromkeys(name for one in figures for name in one):
            values = [one[name][0] for one in figures if name in one]
            sd = stdev(values) if len(values) > 1 else None
            mean = fmean(values)
            found.append({"name": name, "seeds": len(values), "mean": mean, "sd": sd})
        return found

    def table(self) -> ResultTable:
        """Return a row per seed, and a row with mean and standard deviation."""
        spread = self.spread()
        rows = []
        for run in self.runs:
            figures = _final_figures(run) if run.final else {}
            cells = [figures.get(one["name"], (0.0, ""))[1] for one in spread]
            rows.append([str(run.config.seed), f"{run.decisions:,}", *cells])
        if spread:
            sds = ["" if one["sd"] is None else f" ± {one['sd']:.2f}" for one in spread]
            cells = [f"{one['mean']:+.2f}{sd}" for one, sd in zip(spread, sds, strict=True)]
            rows.append(["mean ± sd", "", *cells])
        title = "margins in points per deal, with the 95 % interval over deals"
        title = f"{path_name(self.folder)}: {title}"
        return ResultTable(title, ["seed", "decisions", *(one["name"] for one in spread)], rows)

    @property
    def files(self) -> dict[str, Path]:
        """The files that a user may want to open, by name."""
        found = {
            "runs": self.folder,
            "figures": self.folder / SEEDS_NAME,
            "learning curve": self.folder / CURVE_NAME,
        }
        return {name: path for name, path in found.items() if path.exists()}

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *listed_files(self.files)])

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        return {
            "run": path_name(self.folder),
            "seeds": [run.summary() | {"evaluations": run.final} for run in self.runs],
            "spread": self.spread(),
            "curves": [curve.to_json() for curve in band(self.finished)],
            "interrupted": not self.is_finished,
        }

    def write(self) -> None:
        """Write the figures and the learning curve to the folder."""
        write_json(self.folder / SEEDS_NAME, self.to_json())
        finished = self.finished
        if curves := band(finished):
            title = f"{finished[0].config.name}: mean ± standard deviation of {len(finished)} seeds"
            draw_curves(self.folder / CURVE_NAME, curves, title)


def _final_figures(run: RunFolder) -> dict[str, tuple[float, str]]:
    """Return the figures of a run's final evaluation, by name, with their texts."""
    found = {
        f"over {row['opponent']}": (row["margin"], format_margin(row["margin"], row["ci95"]))
        for row in run.final
    }
    if last := run.latest_exploitability:
        found["exploitability"] = (last["sampled"], f"{last['sampled']:.3f}")
    return found


# ---- the learning curve --------------------------------------------------------------------------


class Curve(NamedTuple):
    """A quantity over the course of a run, with a point per evaluation.

    Attributes:
        label: the label of the y axis.
        rounds: the numbers of the evaluations.
        decisions: the number of the learner's decisions before each evaluation.
        values: the quantity and both ends of its 95 % interval, ``(rounds, 3)``. If there is no
            interval, the value is there three times.
        is_margin: True for margins, False for exploitability, which has a logarithmic axis.
    """

    label: str
    rounds: list[int]
    decisions: list[float]
    values: np.ndarray
    is_margin: bool

    def to_json(self) -> dict[str, Any]:
        """Return the points of the curve as JSON types."""
        middle, low, high = self.values.T.tolist()
        points = {"decisions": self.decisions, "value": middle, "low": low, "high": high}
        return {"name": self.label} | points


def curves_of(run: History) -> list[Curve]:
    """Return the curves of a run's evaluations."""
    found = []
    for name in run.latest:
        rows = [row for row in run.of_kind("evaluation") if row["opponent"] == name]
        margins = [(row["margin"], *row["ci95"]) for row in rows]
        label = f"margin over {name}, points per deal"
        found.append(_curve(label, rows, margins, is_margin=True))
    if rows := run.of_kind("exploitability"):
        for name in EXPLOITED:
            values = [(row[name],) * 3 for row in rows]
            found.append(_curve(f"exploitability, {name} cards", rows, values, is_margin=False))
    return found


def _curve(
    label: str, rows: Sequence[Mapping[str, Any]], values: list[Any], *, is_margin: bool
) -> Curve:
    rounds, decisions = ([row[name] for row in rows] for name in ("round", "decisions"))
    return Curve(label, rounds, decisions, np.array(values), is_margin)


def band(runs: Sequence[History]) -> list[Curve]:
    """Return the mean curves of finished runs, with one standard deviation as the interval.

    Each point is a round of evaluations that all runs have, at their mean number of decisions.
    """
    found = []
    for curves in zip(*map(curves_of, runs), strict=True):
        rounds = sorted(set.intersection(*(set(curve.rounds) for curve in curves)))
        places = [[curve.rounds.index(number) for number in rounds] for curve in curves]
        at = list(zip(curves, places, strict=True))
        decisions = np.mean([np.array(curve.decisions)[place] for curve, place in at], axis=0)
        values = np.array([curve.values[place, 0] for curve, place in at])
        mean, sd = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(curves) - 1))
        interval = np.stack([mean, mean - sd, mean + sd], axis=1)
        one = curves[0]
        found.append(Curve(one.label, rounds, decisions.tolist(), interval, one.is_margin))
    return found


def draw_curves(path: Path, curves: Sequence[Curve], title: str) -> None:
    """Plot curves against decisions into a PNG, SVG or PDF file."""
    figure = new_figure(6.4, 3.6 * len(curves) + 0.4)
    figure.suptitle(literal(title))
    panels = figure.subplots(len(curves), 1, squeeze=False)[:, 0]
    for axes, curve in zip(panels, curves, strict=True):
        millions = np.array(curve.decisions) / 1e6
        middle, low, high = curve.values.T
        marks = max(1, len(millions) // 12)
        axes.plot(millions, middle, "o-", color=BLUE, markersize=4, markevery=marks, linewidth=1.4)
        axes.fill_between(millions, low, high, color=BLUE, alpha=0.2, linewidth=0)
        if curve.is_margin:
            axes.axhline(0.0, color="black", linewidth=0.8)
        else:
            axes.set_yscale("log")
        axes.set_xlabel("decisions of the learner, millions")
        axes.set_ylabel(literal(curve.label))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


# ---- the model card ------------------------------------------------------------------------------


def write_card(
    run_dir: Path, evaluations: Sequence[Mapping[str, Any]] = (), meta: Checkpoint | None = None
) -> None:
    """Write the model card of the player in a run's folder.

    Args:
        run_dir: the folder.
        evaluations: the evaluations to show instead of those in the log, in the form of
            ``Evaluation.to_json``.
        meta: the metadata of the player. If None, they are read from its file.
    """
    if meta is None:
        _, meta = read_checkpoint(run_dir)
    text = format_card(meta, evaluations or meta.training["evaluations"])
    write_whole(run_dir / CARD_NAME, printable(text).encode())


def _code(text: str) -> str:
    """Return text as code in Markdown, also if a folder's name has a backtick."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _digests(code: OwnCode) -> str:
    """Return the parts of a run's code, each with the beginning of its digest."""
    parts = ((bare(name), digest) for name, digest in code.digests.items())
    return ", ".join(f"{_code(name)} {digest[:16]}" for name, digest in parts)


def format_card(meta: Checkpoint, evaluations: Sequence[Mapping[str, Any]]) -> str:
    """Return the model card of a run's player as Markdown."""
    training, config, layers = meta.training, meta.training["config"], meta.layers
    pretraining, ppo, opponents = config["pretraining"], config["ppo"], config["opponents"]
    sizes = " - ".join(map(str, layers))
    facts = {
        "Rules": f"`{meta.rules.name}`",
        "Observation": f"`{meta.encoder}`, {layers[0]} numbers",
        "Network": f"`{meta.module}`"
        if meta.module
        else f"{sizes}, {meta.activation}; {meta.num_weights:,} weights",
        "Algorithm": training["algorithm"],
        "Trained for": f"{training['decisions']:,} decisions in {training['minutes']:.1f} minutes "
        f"({training['updates']:,} updates)",
        "Seed": training["seed"],
        "Command": _code(training["command"]),
        "Versions": ", ".join(f"{name} {of}" for name, of in training["versions"].items()),
    }
    if own := [code for code in from_json(training["code"]) if code.digests]:
        texts = [_digests(code) for code in own]
        if len(own) > 1:
            texts = [f"from update {c.since + 1}: {t}" for c, t in zip(own, texts, strict=True)]
        facts["Own code"] = "; ".join(texts)
    if number := pretraining["positions"]:
        learnt = {
            "action": "the card that it plays",
            "values": "the double-dummy value of each card",
        }
        target = learnt[pretraining["target"]]
        facts["Pretraining"] = f"{number:,} positions of `pimc`, with {target}"
    if ppo["magnet_coef"] and ppo["magnet"] != AVERAGE:
        facts["Teacher"] = f"`{ppo['magnet']}`, as the magnet of its policy"
    lines = [f"# {training['name']}: a player of {meta.rules.name}", ""]
    lines += [f"- **{name}:** {value}" for name, value in facts.items()]
    lines += ["", "## Trained against", ""]
    lines += [f"- {name} (weight {weight:g})" for name, weight in opponents.items()]
    if SELF in opponents:
        lines += ["", "`self` stands for this player and its snapshots during training."]
    lines += ["", "## Evaluation", ""]
    if exploited := training["exploitability"]:
        found = [f"{exploited[name]:.3f} ({name} cards)" for name in EXPLOITED]
        text = f"Exploitability, the mean margin of an exact best response: {', '.join(found)}."
        lines += [text, ""]
    if not evaluations:
        return "\n".join([*lines, "No margins yet; run `hearts evaluate`.", ""])
    lines += [
        "Margin: the opponents' mean points minus the player's own, per deal. Every duplicate deal "
        "is played with the player in each seat. The player plays its greedy action.",
        "",
        "| opponent | margin | 95 % interval | deals | seed |",
        "|---|---|---|---|---|",
    ]
    for row in evaluations:
        low, high = row["ci95"]
        interval = f"{low:+.2f} to {high:+.2f}"
        lines.append(
            f"| {row['opponent']} | {row['margin']:+.2f} | {interval} | {row['deals']:,} "
            f"| {row['seed']} |"
        )
    return "\n".join([*lines, ""])
