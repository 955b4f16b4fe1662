"""The folder of a training run: what is in it, and how it is written and read back.

| file | what |
|---|---|
| `config.yaml` | the whole resolved recipe |
| `checkpoint.safetensors` | the player, for ``make_agent`` and ``hearts evaluate`` |
| `state.safetensors` | what training goes on from: weights, optimiser, snapshots, counters |
| `model_card.md` | what the player is and was trained on, for people |
| `metrics.jsonl` | a line for each update and each evaluation |
| `curve.png` | margin over each opponent, against decisions and minutes |
| `tensorboard/` | the metrics for TensorBoard |

Every file is written whole or not at all, but for the logs, which grow line by line: lines behind
the state that training goes on from are dropped when it does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from hearts_agents.network import CHECKPOINT_NAME, read_checkpoint
from hearts_env._files import write_whole
from hearts_env.errors import CheckpointError
from hearts_env.rules import Rules
from hearts_train.config import ConfigError, TrainConfig
from hearts_train.pictures import save_figure, short_names, styles, wrapped

CONFIG_NAME = "config.yaml"
STATE_NAME = "state.safetensors"
CARD_NAME = "model_card.md"
METRICS_NAME = "metrics.jsonl"
CURVE_NAME = "curve.png"
TENSORBOARD_NAME = "tensorboard"

STATE_FORMAT = "hearts-env training state"
STATE_VERSION = 1

Tensors = dict[str, NDArray[Any]]


@dataclass
class Counters:
    """How far a run has come."""

    decisions: int = 0
    updates: int = 0
    gradient_epochs: int = 0
    snapshots: int = 0
    evaluations: int = 0
    """Rounds of evaluation done."""
    seconds: float = 0.0
    """Of training, evaluations included, start and compilation not."""
    learning_seconds: float = 0.0
    """Of rollouts and updates alone."""
    starts: int = 0
    """How often training was started or resumed."""


@dataclass
class State:
    """What training goes on from."""

    counters: Counters
    tensors: Tensors
    """``policy/...``, ``optimizer/...``, ``snapshot/...``, ``rng/torch``."""
    rng: dict[str, Any] = field(default_factory=dict)
    """States of NumPy generators."""


# ---- folders -------------------------------------------------------------------------------------


def new_run_folder(config: TrainConfig, run_dir: Path | None) -> Path:
    """The empty folder of a new run; None: ``runs/NAME-DATE-TIME``.

    Raises:
        ConfigError: there is a run in it already, or it cannot be made.
    """
    if run_dir is None:
        base = Path("runs") / f"{config.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        run_dir, number = base, 2
        while run_dir.exists():
            run_dir = base.with_name(f"{base.name}-{number}")
            number += 1
    if (run_dir / STATE_NAME).exists() or (run_dir / CONFIG_NAME).exists():
        raise ConfigError(
            f"run: {str(run_dir)!r} has a run already; go on with --resume {run_dir}, or name "
            "another folder"
        )
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"run: the folder {str(run_dir)!r} cannot be made: {error}") from None
    return run_dir


def check_run_folder(run_dir: Path) -> None:
    """Refuse what is not the folder of a run that can be resumed.

    Raises:
        CheckpointError: it is none.
    """
    if not run_dir.is_dir():
        raise CheckpointError(f"resume: {str(run_dir)!r} is no folder; give one of a run, in runs/")
    for name in (CONFIG_NAME, STATE_NAME):
        if not (run_dir / name).is_file():
            raise CheckpointError(
                f"resume: the folder {str(run_dir)!r} has no {name}; give one that `hearts train` "
                "has written"
            )


# ---- state ---------------------------------------------------------------------------------------


def save_state(path: Path, state: State) -> None:
    """Write a training state, whole or not at all."""
    header = {
        "format": STATE_FORMAT,
        "version": str(STATE_VERSION),
        "counters": json.dumps(asdict(state.counters)),
        "rng": json.dumps(state.rng),
    }
    arrays = {name: np.asarray(a, order="C") for name, a in state.tensors.items()}
    write_whole(path, save(arrays, header))


def load_state(path: Path) -> State:
    """Read a training state; never runs code from the file.

    Raises:
        CheckpointError: it is cut short, or something else.
    """
    mend = "resume another run, or start anew"
    try:
        with safe_open(str(path), framework="numpy") as opened:
            header = dict(opened.metadata() or {})
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, OverflowError) as error:
        raise CheckpointError(
            f"resume: {str(path)!r} is not a whole training state ({error}); {mend}"
        ) from None
    if header.get("format") != STATE_FORMAT or header.get("version") != str(STATE_VERSION):
        raise CheckpointError(
            f"resume: {str(path)!r} says format {header.get('format')!r}, version "
            f"{header.get('version')!r}; needed are {STATE_FORMAT!r}, {STATE_VERSION}; {mend}"
        )
    try:
        counters = Counters(**json.loads(header["counters"]))
        rng = dict(json.loads(header["rng"]))
    except (KeyError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"resume: the header of {str(path)!r} is damaged ({error}); {mend}"
        ) from None
    return State(counters, tensors, rng)


# ---- logs ----------------------------------------------------------------------------------------


class Metrics:
    """The log of a run, one JSON object a line; and for TensorBoard, where it is installed."""

    def __init__(self, run_dir: Path, counters: Counters) -> None:
        """Open the log of a run that stands where `counters` say; later lines are dropped."""
        self.path = run_dir / METRICS_NAME
        decisions = counters.decisions
        self.rows = [
            row
            for row in read_metrics(run_dir)
            if row["decisions"] <= decisions and row.get("round", -1) < counters.evaluations
        ]
        if self.path.exists():
            text = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_whole(self.path, text.encode())
        self._file = self.path.open("a", encoding="utf-8")
        self._board = _tensorboard(run_dir / TENSORBOARD_NAME, decisions)

    def write(self, kind: str, decisions: int, values: Mapping[str, Any]) -> None:
        """Add a line; its numbers also to TensorBoard, under `kind`."""
        row = {"kind": kind, "decisions": decisions} | dict(values)
        self.rows.append(row)
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        if self._board is not None:
            prefix = f"{kind}/{values['opponent']}" if "opponent" in values else kind
            for name, value in values.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    self._board.add_scalar(f"{prefix}/{name}", value, decisions)

    def evaluations(self) -> list[dict[str, Any]]:
        """The lines of all evaluations."""
        return [row for row in self.rows if row["kind"] == "evaluation"]

    def close(self) -> None:
        """Finish the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def _tensorboard(folder: Path, decisions: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    purge = decisions if folder.exists() else None
    return SummaryWriter(str(folder), purge_step=purge)


def read_metrics(run_dir: Path) -> list[dict[str, Any]]:
    """All whole lines of a run's log; one that a kill has cut short is left out."""
    rows = []
    try:
        text = (run_dir / METRICS_NAME).read_bytes().decode(errors="replace")
        lines = text.splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if (
            isinstance(row, dict)
            and type(row.get("decisions")) is int
            and isinstance(row.get("kind"), str)
            and type(row.get("round", 0)) is int
        ):
            rows.append(row)
    return rows


# ---- for people ----------------------------------------------------------------------------------


def draw_curve(path: Path, evaluations: Sequence[Mapping[str, Any]], title: str) -> None:
    """Draw the margin over each opponent against decisions and minutes into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(wrapped(title, 110))
    panels = figure.subplots(1, 2, sharey=True)
    opponents = list(dict.fromkeys(row["opponent"] for row in evaluations))
    short = short_names(opponents)
    style = styles(list(short.values()))
    for axes, key, label, scale in (
        (panels[0], "decisions", "decisions of the learner, millions", 1e-6),
        (panels[1], "seconds", "minutes of training", 1 / 60),
    ):
        axes.axhline(0.0, color="black", linewidth=0.8)
        for opponent in opponents:
            rows = [row for row in evaluations if row["opponent"] == opponent]
            x = [row[key] * scale for row in rows]
            color, marker = style[short[opponent]]
            margins = [row["margin"] for row in rows]
            (line,) = axes.plot(x, margins, color=color, marker=marker, markersize=4)
            line.set_label(f"over {short[opponent]}")
            low, high = zip(*(row["ci95"] for row in rows), strict=True)
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("margin, points a deal (95 % interval)")
    if opponents:
        panels[0].legend(loc="lower right")
    save_figure(figure, path, dpi=120)


def write_card(run_dir: Path, evaluations: Sequence[Mapping[str, Any]] = ()) -> Path:
    """Write the model card of the player in a run folder, and return its path.

    Args:
        run_dir: the folder.
        evaluations: figures to show (as ``Evaluation.to_json`` gives them) instead of those from
            the training.
    """
    _, meta = read_checkpoint(run_dir)
    text = format_card(
        meta.rules,
        meta.encoder,
        meta.layers,
        meta.activation,
        meta.num_weights,
        meta.training,
        list(evaluations) or meta.training.get("evaluations", []),
    )
    path = run_dir / CARD_NAME
    write_whole(path, text.encode())
    return path


def format_card(
    rules: Rules,
    encoder: str,
    layers: Sequence[int],
    activation: str,
    num_weights: int,
    training: Mapping[str, Any],
    evaluations: Sequence[Mapping[str, Any]],
) -> str:
    """The model card, Markdown."""
    lines = [f"# {training.get('name', 'player')}: a player of {rules.name}", ""]
    sizes = " - ".join(str(size) for size in layers)
    facts = {
        "Rules": f"`{rules.name}`",
        "Observation": f"`{encoder}`, {layers[0]} numbers",
        "Network": f"{sizes}, {activation}; {num_weights:,} weights, float32",
        "Algorithm": training.get("algorithm", "unknown"),
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
        lines.append("`self` stands for snapshots of this player taken during the training.")
    lines += ["Nobody else was played against in training.", "", "## Evaluation", ""]
    if not evaluations:
        lines += ["None yet: `hearts evaluate` gives one.", ""]
        return "\n".join(lines)
    lines += [
        "Margin: the others' mean points less the player's own, per deal, over duplicate deals "
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
            f"| {row['pairs']:,} | {row['seed']} | {'yes' if row['opponent'] in met else 'no'} |"
        )
    return "\n".join([*lines, ""])


__all__ = [
    "CARD_NAME",
    "CHECKPOINT_NAME",
    "CONFIG_NAME",
    "CURVE_NAME",
    "METRICS_NAME",
    "STATE_NAME",
    "TENSORBOARD_NAME",
    "Counters",
    "Metrics",
    "State",
    "check_run_folder",
    "draw_curve",
    "format_card",
    "load_state",
    "new_run_folder",
    "read_metrics",
    "save_state",
    "write_card",
]
