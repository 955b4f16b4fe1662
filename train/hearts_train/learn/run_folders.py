"""Run folders read back, many at once: how far each is, how they differ, which are alike.

For the folder's files themselves see ``hearts_train.learn.runs``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hearts_env import HeartsError
from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import is_held
from hearts_train.learn.config import BudgetConfig
from hearts_train.learn.recipes import parse_yaml
from hearts_train.learn.runs import (
    CARD_NAME,
    CHECKPOINT_NAME,
    CONFIG_NAME,
    LOCK_NAME,
    METRICS_NAME,
    read_metrics,
)

IGNORED = ("name", "seed", "threads", "device", "precision", "evaluation", "checkpoint")
"""Settings that do not make another experiment. Runs of one name that differ in nothing else are
alike."""

_DEPTH = 3
_MOST_SHOWN = 3  # settings in a label


@dataclass(frozen=True)
class RunFolder:
    """A run's folder as it was when it was read.

    Attributes:
        path: The folder.
        settings: The resolved recipe, by dotted name: ``ppo.ent_coef``.
        rows: The lines of ``metrics.jsonl``.
        is_training: Whether some process trains here now.
    """

    path: Path
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    is_training: bool

    @property
    def name(self) -> str:
        """The name of its recipe."""
        return str(self.settings.get("name", self.path.name))

    @property
    def seed(self) -> int | None:
        """The seed of its recipe."""
        seed = self.settings.get("seed")
        return seed if isinstance(seed, int) else None

    @property
    def decisions(self) -> int:
        """Decisions learnt from so far."""
        return int(self.rows[-1]["decisions"]) if self.rows else 0

    @property
    def seconds(self) -> float:
        """Seconds of training so far, evaluations included."""
        return max((float(row["seconds"]) for row in self.rows), default=0.0)

    @property
    def has_player(self) -> bool:
        """Whether there is a player to play against."""
        return has_player(self.path)

    @cached_property
    def share(self) -> float | None:
        """The share of its budget that is spent, 0 to 1; None if its recipe does not say."""
        known = {name: self.settings.get(f"budget.{name}") for name in ("minutes", "decisions")}
        try:
            lessons = max((row["seconds"] for row in self.rows if "lessons" in row), default=0.0)
            seconds = self.seconds - lessons  # of which no budget counts any
            return BudgetConfig.model_validate(known).share(self.decisions, seconds)
        except ValueError:
            return None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until its end at its mean pace; None if that cannot be told."""
        if not self.share or not self.seconds:
            return None
        return self.seconds * (1 - self.share) / self.share

    @property
    def status(self) -> str:
        """``training``, ``finished`` or ``stopped``."""
        if self.is_training:
            return "training"
        return "finished" if self.share is not None and self.share >= 1.0 else "stopped"

    @property
    def card(self) -> str:
        """Its model card, Markdown; empty if there is none."""
        try:
            return (self.path / CARD_NAME).read_text(errors="replace")
        except OSError:
            return ""

    def of_kind(self, kind: str) -> list[Mapping[str, Any]]:
        """The lines of a kind: update, evaluation, exploitability."""
        return [row for row in self.rows if row["kind"] == kind]

    @cached_property
    def latest(self) -> dict[str, Mapping[str, Any]]:
        """The last evaluation over each opponent."""
        return {row["opponent"]: row for row in self.of_kind("evaluation")}

    @cached_property
    def latest_exploitability(self) -> Mapping[str, Any] | None:
        """The last exploitability; None where the last evaluation was broken off before it."""
        evaluated = max((row["decisions"] for row in self.latest.values()), default=0)
        rows = [row for row in self.of_kind("exploitability") if row["decisions"] >= evaluated]
        return rows[-1] if rows else None


def has_player(folder: Path) -> bool:
    """Whether a run's folder has a player to play against."""
    return (folder / CHECKPOINT_NAME).is_file()


def read_run(folder: Path) -> RunFolder:
    """The run in a folder.

    Raises:
        CheckpointError: if there is no run in it, or it cannot be read.
    """
    config = folder / CONFIG_NAME
    if not config.is_file():
        what = f"has no {CONFIG_NAME}" if folder.is_dir() else "is not a folder"
        raise CheckpointError(
            f"run: {str(folder)!r} {what}; give a folder that `hearts train` has written"
        )
    try:
        text = config.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(
            f"run: {str(config)!r} cannot be read ({error}); give another folder", value=config
        ) from None
    tree = parse_yaml(text, str(config))
    if not isinstance(tree, dict):
        raise CheckpointError(
            f"run: {str(config)!r} is not a recipe; give another folder", value=config
        )
    rows = read_metrics(folder)
    return RunFolder(folder, dict(_flat(tree)), rows, is_held(folder / LOCK_NAME))


def find_runs(places: Sequence[Path]) -> tuple[list[RunFolder], list[str]]:
    """The runs in or under some folders, oldest first, and what could not be read.

    A run that is named itself must be whole; one that is only found under a folder and cannot be
    read is told of, and left out.

    Raises:
        CheckpointError: if there is no such folder, or it is no run and has none in it.
    """
    found: dict[Path, RunFolder] = {}
    faults = []
    for place in places:
        if not place.is_dir() or (place / CONFIG_NAME).is_file():
            found[place.resolve()] = read_run(place)
            continue
        folders = list(run_folders(place))
        if not folders:
            raise CheckpointError(
                f"run: there is no run in {str(place)!r}; train one with `hearts train`"
            )
        for folder in folders:
            try:
                found[folder.resolve()] = read_run(folder)
            except HeartsError as error:
                faults.append(str(error))
    return sorted(found.values(), key=lambda run: (began(run.path), str(run.path))), faults


def run_folders(place: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """The folders of runs in or a little under a folder, by name.

    There are none where nothing can be read.
    """
    try:
        if (place / CONFIG_NAME).is_file() and (place / METRICS_NAME).is_file():
            yield place
            return
        folders = sorted(place.iterdir()) if depth and place.is_dir() else []
    except OSError:
        return
    for folder in folders:
        if not folder.name.startswith("."):
            yield from run_folders(folder, depth - 1)


def began(folder: Path) -> float:
    """When the run in a folder was last started, in seconds as ``time.time`` has them."""
    try:
        return (folder / CONFIG_NAME).stat().st_mtime
    except OSError:
        return 0.0


def _flat(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def differing(runs: Sequence[RunFolder]) -> list[str]:
    """The settings in which some runs differ, in the order of the recipe, without ``IGNORED``."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    told = (name for name in names if name.partition(".")[0] not in IGNORED)
    return [name for name in told if len({repr(run.settings.get(name)) for run in runs}) > 1]


def repeated(runs: Sequence[RunFolder]) -> Iterator[tuple[RunFolder, RunFolder]]:
    """Runs of one recipe that have the seed of an earlier one, which comes first.

    A recipe and a seed make one player, so that they are no two samples of what the recipe makes.
    """
    for place, run in enumerate(runs):
        for earlier in runs[:place]:
            if earlier.seed == run.seed and not differing([earlier, run]):
                yield earlier, run
                break


def grouped(runs: Sequence[RunFolder], by: Sequence[str] = ()) -> dict[str, list[RunFolder]]:
    """Runs that are alike, by what a legend calls them.

    Args:
        runs: the runs.
        by: settings that tell groups apart (``name``, ``ppo.ent_coef``); none: all that make
            another experiment, and the recipe's name.

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
    told = list(by) or ["name", *differing(runs)]
    keys: dict[tuple[str, ...], list[RunFolder]] = {}
    for run in runs:
        keys.setdefault(tuple(repr(run.settings.get(name)) for name in told), []).append(run)
    shown = list(by) or _fewest(told, list(keys))
    labels = {key: _label(shown, group[0]) for key, group in keys.items()}
    if not by and len(shown) > _MOST_SHOWN:  # then a folder's name says more
        labels |= {key: group[0].path.name for key, group in keys.items() if len(group) == 1}
    found: dict[str, list[RunFolder]] = {}
    for key, group in keys.items():
        label, number = labels[key], 1
        while label in found:
            number += 1
            label = f"{labels[key]} ({number})"
        found[label] = group
    return found


def _fewest(told: Sequence[str], keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Few of the settings that tell the groups apart, those that do so best first."""
    chosen: list[int] = [] if len(keys) > 1 else [0]

    def apart(places: Sequence[int]) -> int:
        return len({tuple(key[place] for place in places) for key in keys})

    while apart(chosen) < len(keys):
        rest = [place for place in range(len(told)) if place not in chosen]
        chosen.append(max(rest, key=lambda place: (apart([*chosen, place]), -place)))
    return [told[place] for place in sorted(chosen)]


def _label(shown: Sequence[str], run: RunFolder) -> str:
    words = [
        run.name if name == "name" else f"{name.rpartition('.')[2]} {run.settings.get(name)}"
        for name in shown
    ]
    return ", ".join(words)
