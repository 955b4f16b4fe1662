"""Write and read the folder of a training run.

| file | content |
|---|---|
| `config.yaml` | all settings of the run |
| `checkpoint.safetensors` | the player, for ``make_agent`` and ``hearts evaluate`` |
| `checkpoints/` | the players of the last three evaluations, by decisions, and `best` |
| `state.safetensors` | the training state: weights, optimiser, games, random numbers, ... |
| `model_card.md` | a description of the player and its training |
| `metrics.jsonl` | one line per update and per evaluation |
| `curve.png` | margins and exploitability against decisions and minutes |
| `tensorboard/` | the metrics for TensorBoard |
| `evaluation.json` | the final evaluation, removed when training resumes |
| `.lock` | the lock of the process that trains or evaluates here |

Every file is written whole or not at all, except the logs, which grow line by line. When training
resumes, lines and players later than the saved state are dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hearts_agents.models.checkpoint import (
    CHECKPOINT_NAME,
    Checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from hearts_agents.spec import AgentSpec
from hearts_env.support import clock
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import held, is_held, json_object, remove_leftovers, write_whole
from hearts_env.support.tensors import DIGEST, Tensors, digest_of, read_tensors, write_tensors
from hearts_train.learn.config import BudgetConfig, ConfigError, TrainConfig
from hearts_train.learn.config_files import load_config, read_tree
from hearts_train.learn.log import METRICS_NAME, TENSORBOARD_NAME, Counters, History, read_metrics

CONFIG_NAME = "config.yaml"
STATE_NAME = "state.safetensors"
CARD_NAME = "model_card.md"
CURVE_NAME = "curve.png"
EVALUATION_NAME = "evaluation.json"
CHECKPOINTS_NAME = "checkpoints"
BEST_NAME = "best.safetensors"
LOCK_NAME = ".lock"

_OF_A_START = (CONFIG_NAME, METRICS_NAME, TENSORBOARD_NAME, CHECKPOINTS_NAME, LOCK_NAME)
"""The files of a run that has not saved a state yet."""

LEASE = 60.0
"""Seconds for which a lock of another machine counts as held after its last renewal."""
_RENEWED_EVERY = 10.0  # seconds

NUM_KEPT = 3
"""Number of players kept in ``checkpoints/``, besides the best."""

STATE_FORMAT = "hearts-env training state"
STATE_VERSION = 7


@dataclass
class State:
    """The training state between two updates."""

    counters: Counters
    tensors: Tensors
    """``policy/...``, ``optimizer/...``, ``snapshot/...``, ``games/...``, and others that an
    algorithm adds."""
    games: str = ""
    """The settings of ``games/...``. If they change, new games start."""


# ---- folders -------------------------------------------------------------------------------------


def new_run_folder(name: str, run_dir: Path | None) -> Path:
    """Return the folder of a new run, created if needed.

    If `run_dir` is None, take the first free one of ``runs/NAME-1``, ``runs/NAME-2``, ... A folder
    whose run was killed before it saved anything is reused.

    Raises:
        ConfigError: if the folder holds a run or other files, or cannot be created.
    """
    if run_dir is not None:
        run_dir = Path(run_dir)
        check_is_free(run_dir)
        make_folder(run_dir)
        return run_dir
    for number in itertools.count(1):
        folder = Path("runs", f"{name}-{number}")
        if make_folder(folder):
            break
    return folder


def make_folder(folder: Path) -> bool:
    """Make a folder. Return False if it existed. Raise ConfigError if that fails."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except OSError as error:
        if folder.is_dir():
            return False
        raise ConfigError(
            f"run: the folder {str(folder)!r} cannot be created ({error}); name another"
        ) from None
    return True


def check_is_free(run_dir: Path) -> None:
    """Raise if a folder holds a saved run or other files."""
    if (run_dir / STATE_NAME).exists() or (run_dir / CHECKPOINT_NAME).exists():
        raise ConfigError(
            f"run: {str(run_dir)!r} already has a run; resume it with --resume {run_dir}, or "
            "give another folder",
            value=run_dir,
        )
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        others = sorted(
            path.name
            for path in run_dir.iterdir()
            if path.name not in _OF_A_START and path.suffix != ".tmp"
        )
        if others:
            raise ConfigError(
                f"run: {str(run_dir)!r} has other files, like {quoted(others[0])}; give a new "
                "folder, or an empty one",
                value=run_dir,
            )


def check_run_folder(run_dir: Path) -> None:
    """Raise unless this is the folder of a run that can be resumed.

    A run that was killed before it saved a state starts again from its config.
    """
    if not run_dir.is_dir():
        raise CheckpointError(
            f"resume: {str(run_dir)!r} is not a folder; give the folder of a run", value=run_dir
        )
    if not (run_dir / CONFIG_NAME).is_file():
        if is_held(run_dir / LOCK_NAME):
            raise CheckpointError(
                f"resume: the run in {str(run_dir)!r} is still starting; wait for it, or stop it"
            )
        raise CheckpointError(
            f"resume: the folder {str(run_dir)!r} has no {CONFIG_NAME}; give one that "
            "`hearts train` has written"
        )
    if not (run_dir / STATE_NAME).is_file() and (
        (run_dir / STATE_NAME).exists() or (run_dir / CHECKPOINT_NAME).exists()
    ):
        raise CheckpointError(
            f"resume: the folder {str(run_dir)!r} has no {STATE_NAME}, which is needed "
            "to resume; start a new run in another folder"
        )


def resumed_config(run_dir: Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """Return the config in a run's folder, with the user's overrides.

    The folder may come from someone else, so agents in its config must not run code.

    Raises:
        HeartsError: if an agent runs code, `overrides` do not replace it, and code is not allowed.
    """
    path = run_dir / CONFIG_NAME
    config = load_config(path, overrides)
    for name in load_config(path).agents:
        if name in config.agents:
            AgentSpec.from_json(name).check_allowed(f"config: {str(path)!r}")
    return config


def is_config_of_run(path: Path) -> bool:
    """Return True if a file is the config in a run's folder, for ``resumed_config``."""
    others = (CHECKPOINT_NAME, STATE_NAME, METRICS_NAME)
    return path.name == CONFIG_NAME and any((path.parent / name).exists() for name in others)


@contextlib.contextmanager
def hold_run(run_dir: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder against other processes within this context, and remove unfinished files.

    Args:
        run_dir: the folder.
        patience: seconds to wait if another process holds it.

    Raises:
        CheckpointError: if another process holds it, or its lock cannot be written.
    """
    lock, end = run_dir / LOCK_NAME, clock.now() + patience
    with contextlib.ExitStack() as stack:
        while True:
            try:
                _check_lease(run_dir)
                stack.enter_context(held(lock, f"run: {str(run_dir)!r}"))
                break
            except CheckpointError:
                if clock.now() >= end:
                    raise
                time.sleep(1.0)
            except OSError as error:
                raise CheckpointError(
                    f"run: {str(lock)!r} cannot be written ({error.strerror}); "
                    "use a writable folder"
                ) from None
        stack.enter_context(_renewed(lock))
        remove_leftovers(run_dir)
        remove_leftovers(run_dir / CHECKPOINTS_NAME)
        yield


def _check_lease(run_dir: Path) -> None:
    """Raise if another machine renewed the lock lately. Not all file systems share locks."""
    lock = run_dir / LOCK_NAME
    try:
        owner, renewed = lock.read_text(errors="replace").strip(), lock.stat().st_mtime
    except FileNotFoundError:
        return
    machine = owner.partition(" on ")[2]
    if machine in ("", platform.node()):
        return
    with tempfile.TemporaryFile(dir=run_dir) as file:  # its time comes from the same clock
        age = os.fstat(file.fileno()).st_mtime - renewed
    if age < LEASE:
        raise CheckpointError(
            f"run: {str(run_dir)!r} is in use by process {owner}; wait for it, or stop it (the "
            f"folder is free within {LEASE:.0f} s after its end)"
        )


@contextlib.contextmanager
def _renewed(lock: Path) -> Iterator[None]:
    """Renew a lock within this context, for processes of other machines."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(_RENEWED_EVERY):
            with contextlib.suppress(OSError):
                os.utime(lock)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def keep_checkpoint(
    run_dir: Path,
    tensors: Mapping[str, NDArray[Any]],
    meta: Checkpoint,
    *,
    is_best: bool,
    half: bool = False,
) -> None:
    """Write the player to ``checkpoints/``, also as `best` if it is. Keep the last three."""
    folder = run_dir / CHECKPOINTS_NAME
    folder.mkdir(exist_ok=True)
    if is_best:
        save_checkpoint(folder / BEST_NAME, tensors, meta, half=half)
    path = folder / f"{meta.training['decisions']:012d}.safetensors"
    save_checkpoint(path, tensors, meta, half=half)
    for path in list(_numbered(run_dir).values())[:-NUM_KEPT]:
        path.unlink(missing_ok=True)


def drop_lost_checkpoints(run_dir: Path, decisions: int, scores: Mapping[int, float]) -> None:
    """Remove players later than the state that training resumes from.

    A run that was killed after an evaluation may have saved such players, and the resumed run need
    not produce them again. If the best is one of them, the best remaining one by `scores` replaces
    it.
    """
    numbered = _numbered(run_dir)
    best = run_dir / CHECKPOINTS_NAME / BEST_NAME
    if best_decisions(run_dir) > decisions:
        remaining = [number for number in numbered if number <= decisions and number in scores]
        if remaining:
            next_best = max(remaining, key=lambda number: (scores[number], number))
            write_whole(best, numbered[next_best].read_bytes())
        else:
            best.unlink(missing_ok=True)
    for number, path in numbered.items():
        if number > decisions:
            path.unlink(missing_ok=True)


def best_decisions(run_dir: Path) -> int:
    """Return the number of decisions that the best player was trained for, or -1 without one."""
    try:
        _, meta = read_checkpoint(run_dir / CHECKPOINTS_NAME / BEST_NAME)
    except CheckpointError:
        return -1
    decisions = meta.training.get("decisions")
    return decisions if type(decisions) is int else -1


def _numbered(run_dir: Path) -> dict[int, Path]:
    """Return the files in ``checkpoints/`` by decisions, ascending."""
    paths = sorted((run_dir / CHECKPOINTS_NAME).glob("[0-9]" * 12 + ".safetensors"))
    return {int(path.stem): path for path in paths}


# ---- state ---------------------------------------------------------------------------------------


def save_state(path: Path, state: State) -> None:
    """Write a training state, whole or not at all."""
    header = {
        "format": STATE_FORMAT,
        "version": str(STATE_VERSION),
        "counters": json.dumps(asdict(state.counters)),
        "games": state.games,
    }
    write_tensors(path, state.tensors, header)


def load_state(path: Path) -> State:
    """Read a training state, without running code from the file.

    Raises:
        CheckpointError: if it is damaged, or of another kind or version.
    """

    def refusal(what: str) -> CheckpointError:
        return CheckpointError(
            f"resume: {str(path)!r} {what}; resume another run, or start a new one"
        )

    try:
        tensors, header = read_tensors(path)
    except CheckpointError as error:
        raise refusal(f"is not a complete training state ({error})") from None
    if header.get("format") != STATE_FORMAT:
        raise refusal("is not a training state")
    if header.get("version") != str(STATE_VERSION):
        raise refusal(
            f"has version {header.get('version')!r}, from another version of hearts-env; this one "
            f"reads {STATE_VERSION}"
        )
    counters = _parse_counters(header.get("counters", ""))
    if header.get(DIGEST) != digest_of(tensors, header) or counters is None:
        raise refusal("is damaged: its content does not match its digest")
    return State(counters, tensors, header.get("games", ""))


def _parse_counters(text: str) -> Counters | None:
    """Return the counters of a header, or None if one is not a finite number from 0."""
    values = json_object(text)
    kinds = {name: type(value) for name, value in asdict(Counters()).items()}
    if values is None or values.keys() != kinds.keys():
        return None
    for name, kind in kinds.items():
        value = values[name]
        is_number = type(value) is int or (kind is float and type(value) is float)
        if not (is_number and 0 <= value < 2**53):
            return None
        values[name] = kind(value)
    return Counters(**values)


# ---- the list of runs ---------------------------------------------------------------------------

_DEPTH = 3


@dataclass(eq=False)
class RunFolder(History):
    """The content of a run's folder when it was read."""

    path: Path
    settings: Mapping[str, Any]
    """The content of its config file."""
    is_training: bool
    """True if a process trains here now."""

    @property
    def name(self) -> str:
        """The name in its config."""
        return str(self.settings.get("name", self.path.name))

    @property
    def seed(self) -> int | None:
        """The seed in its config, or None without one."""
        seed = self.settings.get("seed")
        return seed if isinstance(seed, int) else None

    @property
    def decisions(self) -> int:
        """The number of decisions learnt from so far."""
        return int(self.rows[-1]["decisions"]) if self.rows else 0

    @property
    def seconds(self) -> float:
        """The seconds of training so far, including evaluations."""
        return max((float(row["seconds"]) for row in self.rows), default=0.0)

    @cached_property
    def share(self) -> float | None:
        """The share of its budget that is spent, 0 to 1, or None if its config has no budget."""
        try:
            before = max((row["seconds"] for row in self.rows if "pretraining" in row), default=0.0)
            seconds = self.seconds - before  # pretraining, which no budget counts
            budget = BudgetConfig.model_validate(self.settings.get("budget"))
            return budget.share(self.decisions, seconds)
        except ValueError:
            return None

    @property
    def seconds_left(self) -> float | None:
        """The seconds until its end at its mean speed, or None if unknown."""
        if not self.share or not self.seconds:
            return None
        return self.seconds * (1 - self.share) / self.share

    @cached_property
    def final(self) -> list[dict[str, Any]]:
        """The final evaluation (``final_evaluation``)."""
        return final_evaluation(self.path)

    @property
    def status(self) -> str:
        """``training``, ``finished`` or ``stopped``."""
        if self.is_training:
            return "training"
        return "finished" if self.share is not None and self.share >= 1.0 else "stopped"

    def summary(self) -> dict[str, Any]:
        """Return its progress as JSON types."""
        return {
            "name": self.name,
            "seed": self.seed,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "share": self.share,
            "status": self.status,
        }


def final_evaluation(run_dir: Path) -> list[dict[str, Any]]:
    """Return the final evaluations, one per opponent. The list is empty until all are done."""
    try:
        rows = json.loads((run_dir / EVALUATION_NAME).read_bytes())
    except (OSError, ValueError):
        return []
    return rows if isinstance(rows, list) else []


def read_run(folder: Path) -> RunFolder:
    """Read the run in a folder. Raise CheckpointError if there is none or it cannot be read."""
    config = folder / CONFIG_NAME
    if not config.is_file():
        what = f"has no {CONFIG_NAME}" if folder.is_dir() else "is not a folder"
        raise CheckpointError(
            f"run: {str(folder)!r} {what}; give a folder that `hearts train` has written"
        )
    settings, _ = read_tree(config)
    return RunFolder(read_metrics(folder), folder, settings, is_held(folder / LOCK_NAME))


def find_runs(places: Sequence[Path]) -> tuple[list[RunFolder], list[str]]:
    """Return the runs in or under some folders, oldest first, and messages about unreadable ones.

    Raises:
        CheckpointError: if a folder does not exist, holds no run, or is itself an unreadable run.
    """
    found: dict[Path, RunFolder] = {}
    faults = []
    for place in places:
        is_run = not place.is_dir() or (place / CONFIG_NAME).is_file()
        folders = [place] if is_run else list(run_folders(place))
        if not folders:
            raise CheckpointError(
                f"run: there is no run in {str(place)!r}; train one with `hearts train`"
            )
        for folder in folders:
            try:
                found[folder.resolve()] = read_run(folder)
            except HeartsError as error:
                if is_run:
                    raise
                faults.append(str(error))
    return sorted(found.values(), key=lambda run: (began(run.path), str(run.path))), faults


def run_folders(place: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """Yield the folders of runs up to `depth` levels under a folder, by name.

    Folders that cannot be read are skipped.
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
    """Return when the run in a folder was last started, as ``time.time`` does."""
    try:
        return (folder / CONFIG_NAME).stat().st_mtime
    except OSError:
        return 0.0
