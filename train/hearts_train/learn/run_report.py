"""What people look at in a run's folder: the learning curve and the model card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint
from hearts_env.support.files import write_whole
from hearts_train.learn.config import AVERAGE
from hearts_train.learn.runs import CARD_NAME
from hearts_train.measure.pictures import literal, save_figure, short_names, styles, wrapped

EXPLOITED = {"drawn": "cards drawn", "preferred": "the preferred cards"}
"""What exploitability is computed of, and how pictures call it."""


class Time(NamedTuple):
    """What learning curves are drawn against: a field of a log's lines, its scale and its name."""

    field: str
    scale: float
    label: str


TIMES = {
    "decisions": Time("decisions", 1e-6, "decisions of the learner, millions"),
    "minutes": Time("seconds", 1 / 60, "minutes of training"),
}


def draw_curve(
    path: Path,
    evaluations: Sequence[Mapping[str, Any]],
    title: str,
    exploited: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Draw a run's evaluations against decisions and minutes into a PNG file.

    Args:
        path: the file.
        evaluations: the margins over opponents, as a run's log has them.
        title: of the picture.
        exploited: the exploitabilities; they get panels of their own.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    number = 1 + bool(exploited)
    figure = Figure(figsize=(11, 4.5 * number), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(wrapped(title, 110))
    panels = figure.subplots(number, 2, sharey="row", squeeze=False)
    for axes, time in zip(panels[0], TIMES.values(), strict=True):
        _draw_margins(axes, evaluations, time)
    panels[0][0].set_ylabel("margin, points a deal (95 % interval)")
    if evaluations:
        panels[0][0].legend(loc="lower right")
    for axes, time in zip(panels[-1] if exploited else (), TIMES.values(), strict=False):
        for name, label in EXPLOITED.items():
            rows = [row for row in exploited if name in row]
            if rows:
                x = [row[time.field] * time.scale for row in rows]
                axes.plot(x, [row[name] for row in rows], marker="o", markersize=4, label=label)
        axes.set_yscale("log")
    if exploited:
        panels[-1][0].set_ylabel("exploitability, points a deal")
        panels[-1][0].legend(loc="upper right")
    for axes, time in zip(panels[-1], TIMES.values(), strict=True):
        axes.set_xlabel(time.label)
    for axes in panels.flat:
        axes.grid(alpha=0.3)
    save_figure(figure, path, dpi=120)


def _draw_margins(axes: Any, evaluations: Sequence[Mapping[str, Any]], time: Time) -> None:
    """Draw the margin over each opponent against a time."""
    opponents = list(dict.fromkeys(row["opponent"] for row in evaluations))
    short = short_names(opponents)
    style = styles(list(short.values()))
    axes.axhline(0.0, color="black", linewidth=0.8)
    for opponent in opponents:
        rows = [row for row in evaluations if row["opponent"] == opponent]
        x = [row[time.field] * time.scale for row in rows]
        color, marker = style[short[opponent]]
        margins = [row["margin"] for row in rows]
        (line,) = axes.plot(x, margins, color=color, marker=marker, markersize=4)
        line.set_label(literal(f"over {short[opponent]}"))
        low, high = zip(*(row["ci95"] for row in rows), strict=True)
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def write_card(
    run_dir: Path,
    evaluations: Sequence[Mapping[str, Any]] = (),
    meta: Checkpoint | None = None,
) -> Path:
    """Write the model card of the player in a run folder, and return its path.

    Args:
        run_dir: the folder.
        evaluations: figures to show (as ``Evaluation.to_json`` gives them) instead of those from
            the training.
        meta: what the player is; None: as its file says.
    """
    if meta is None:
        _, meta = read_checkpoint(run_dir)
    text = format_card(meta, list(evaluations) or meta.training.get("evaluations", []))
    path = run_dir / CARD_NAME
    write_whole(path, text.encode())
    return path


def _taught_by(config: Mapping[str, Any]) -> dict[str, str]:
    """Whom the player has learnt from besides play, by a complete recipe."""
    found = {}
    lessons = config.get("lessons", {})
    if number := lessons.get("positions"):
        what = (
            "which card `pimc` takes"
            if lessons.get("imitate")
            else "what every card is worth double dummy"
        )
        found["Lessons before play"] = f"{number:,} positions, {what}"
    ppo = config.get("ppo", {})
    magnet = ppo.get("magnet", AVERAGE)  # runs from before there was another have none
    if ppo.get("magnet_coef") and magnet != AVERAGE:
        found["Teacher"] = f"`{magnet}`, towards whose policy it was pulled"
    return found


def format_card(meta: Checkpoint, evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The model card, Markdown, of a player's header and its evaluations."""
    training, layers = meta.training, meta.layers
    lines = [f"# {training.get('name', 'player')}: a player of {meta.rules.name}", ""]
    sizes = " - ".join(str(size) for size in layers)
    facts = {
        "Rules": f"`{meta.rules.name}`",
        "Observation": f"`{meta.encoder}`, {layers[0]} numbers",
        "Network": f"{sizes}, {meta.activation}; {meta.num_weights:,} weights",
        "Algorithm": training.get("algorithm", "unknown"),
        **_taught_by(training.get("config", {})),
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
    lines += ["It met no other opponents in training.", "", "## Evaluation", ""]
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
    met = {name for phase in training.get("schedule", []) for name in phase["opponents"]}
    for row in evaluations:
        low, high = row["ci95"]
        lines.append(
            f"| {row['opponent']} | {row['margin']:+.2f} | {low:+.2f} to {high:+.2f} "
            f"| {row['deals']:,} | {row['seed']} | {'yes' if row['opponent'] in met else 'no'} |"
        )
    return "\n".join([*lines, ""])
