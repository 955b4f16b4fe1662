"""Write and read the folder of a training run.

| file | content |
|---|---|
| `config.yaml` | all settings of the run |
| `checkpoint.safetensors` | the player, for ``make_agent`` and ``hearts evaluate`` |
| `checkpoints/` | the player of each evaluation, by decisions |
| `state.safetensors` | the training state: weights, optimiser, games, random numbers, ... |
| `model_card.md` | a description of the player and its training |
| `metrics.jsonl` | one line per update and per evaluation |
| `evaluation.png` | the picture of the final evaluation |
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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hearts_agents.models.checkpoint import CHECKPOINT_NAME
from hearts_agents.spec import path_name, quoted_path
from hearts_env.support import clock
from hearts_env.support.errors import CheckpointError, HeartsError
from hearts_env.support.files import (
    held,
    is_held,
    kind_of,
    own_files,
    owner_in,
    read_limited,
    remove_leftovers,
)
from hearts_env.support.tensors import (
    DIGEST,
    Tensors,
    digest_of,
    header_of,
    read_tensors,
    write_tensors,
)
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.config_files import read_config
from hearts_train.learn.log import (
    METRICS_NAME,
    RESULT,
    TENSORBOARD_NAME,
    Counters,
    History,
    has_fields,
    read_metrics,
)
from hearts_train.learn.own_code import OwnCode, from_json, to_json

CONFIG_NAME = "config.yaml"
STATE_NAME = "state.safetensors"
CARD_NAME = "model_card.md"
CURVE_NAME = "curve.png"
EVALUATION_NAME = "evaluation.json"
CHECKPOINTS_NAME = "checkpoints"
LOCK_NAME = ".lock"
PICTURE_NAME = "evaluation.png"
_WRITTEN = (
    CHECKPOINT_NAME,
    f"{CHECKPOINTS_NAME}/*.safetensors",
    CARD_NAME,
    METRICS_NAME,
    CURVE_NAME,
    EVALUATION_NAME,
    PICTURE_NAME,
)
_MOST = 10_000_000
"""The most bytes of a final evaluation."""
_NEEDED = (CONFIG_NAME, STATE_NAME, CHECKPOINTS_NAME, TENSORBOARD_NAME)

LEASE = 60.0
"""Seconds for which a lock of another machine counts as held after its last renewal."""
_RENEWED_EVERY = 10.0  # seconds

STATE_FORMAT = "hearts-env training state"
STATE_VERSION = 9

_DEPTH = 3
"""The levels of folders that ``find_runs`` searches."""

_COUNTERS = TypeAdapter(Counters)


@dataclass
class State:
    """The training state between two updates."""

    counters: Counters
    tensors: Tensors
    """``policy/...``, ``optimizer/...``, ``snapshot/...``, ``games/...``, and others that an
    algorithm adds."""
    games: str = ""
    """The settings of ``games/...``. If they change, new games start."""
    code: list[OwnCode] = field(default_factory=list)
    """The user's code that made the state, the latest last."""


# ---- folders -------------------------------------------------------------------------------------


def new_run_folder(name: str, run_dir: Path | None) -> Path:
    """Return the folder of a new run, created if needed.

    If `run_dir` is None, take the first free one of ``runs/NAME-1``, ``runs/NAME-2``, ...

    Raises:
        ConfigError: if it cannot be created.
    """
    if run_dir is not None:
        make_folder(Path(run_dir))
        return Path(run_dir)
    for number in itertools.count(1):
        folder = Path("runs", f"{name}-{number}")
        if make_folder(folder):
            break
    return folder


def make_folder(folder: Path) -> bool:
    """Make a folder. Return False if it existed. Raise ConfigError if that fails."""
    try:
        str(folder).encode()  # for TensorBoard and the model card
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null byte
        if isinstance(error, OSError) and kind_of(folder) == "folder":
            return False
        raise ConfigError(
            f"run: the folder {str(folder)!r} cannot be created ({error}); name another"
        ) from None
    return True


def check_is_free(run_dir: Path) -> None:
    """Raise if a folder has files, except those that a process killed at its start leaves."""
    if run_dir.is_dir() and any(
        path.name != LOCK_NAME and path.suffix != ".tmp" for path in run_dir.iterdir()
    ):
        raise ConfigError(
            f"run: {str(run_dir)!r} is not empty; resume its run with --resume "
            f"{quoted_path(run_dir)}, or give a new folder"
        )


def check_run_folder(run_dir: Path) -> None:
    """Raise unless this is the folder of a run that can be resumed.

    A run that was killed before it saved a state starts again from its config. The folder may come
    from someone else, so links in it are removed or refused.
    """
    own_files(run_dir, "run", written=_WRITTEN, needed=_NEEDED)
    if not (run_dir / CONFIG_NAME).is_file():
        raise CheckpointError(
            f"resume: {str(run_dir)!r} has no {CONFIG_NAME}; give a folder that `hearts train` "
            "has written"
        )
    if not (run_dir / STATE_NAME).is_file() and (
        (run_dir / STATE_NAME).exists() or (run_dir / CHECKPOINT_NAME).exists()
    ):
        raise CheckpointError(
            f"resume: the folder {str(run_dir)!r} has no {STATE_NAME}, which is needed "
            "to resume; start a new run in another folder"
        )


@contextlib.contextmanager
def hold_run(run_dir: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder against other processes within this context, and remove unfinished files.

    Args:
        run_dir: the folder.
        patience: the seconds to wait if another process holds it.

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
    if lock.is_symlink() or not lock.is_file():  # `held` replaces what is not a file
        return
    try:
        with lock.open("rb") as file:
            owner, renewed = owner_in(file.read(200)), os.fstat(file.fileno()).st_mtime
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


def checkpoint_path(run_dir: Path, decisions: int) -> Path:
    """Return the file of the player that was evaluated after this number of decisions."""
    return run_dir / CHECKPOINTS_NAME / f"{decisions:012d}.safetensors"


def drop_lost_checkpoints(run_dir: Path, decisions: int) -> None:
    """Remove players later than the state that training resumes from.

    A run that was killed after an evaluation may have saved such players, and the resumed run need
    not produce them again.
    """
    for path in (run_dir / CHECKPOINTS_NAME).glob("[0-9]" * 12 + ".safetensors"):
        if int(path.stem) > decisions:
            path.unlink()


# ---- state ---------------------------------------------------------------------------------------


def save_state(path: Path, state: State) -> None:
    """Write a training state, whole or not at all."""
    header = {
        "format": STATE_FORMAT,
        "version": str(STATE_VERSION),
        "counters": json.dumps(asdict(state.counters)),
        "games": state.games,
        "code": json.dumps(to_json(state.code)),
    }
    write_tensors(path, state.tensors, header)


def load_state(path: Path) -> State:
    """Read a training state, without running code from the file.

    Raises:
        CheckpointError: if it is damaged, or of another kind or version.
    """
    try:
        tensors, header = read_tensors(path)
        if (header.get("format"), header.get("version")) != (STATE_FORMAT, str(STATE_VERSION)):
            raise CheckpointError("it is not a training state of this version of hearts-env")
        if header.get(DIGEST) != digest_of(tensors, header):
            raise CheckpointError("it is damaged")
        counters = _COUNTERS.validate_json(header.get("counters", ""))
        code = from_json(header.get("code", ""))
    except (CheckpointError, ValidationError) as error:
        reason = "its header is invalid" if isinstance(error, ValidationError) else error
        raise CheckpointError(
            f"resume: {str(path)!r} cannot be used ({reason}); resume another run, or start a "
            "new one"
        ) from None
    return State(counters, tensors, header.get("games", ""), code)


# ---- the list of runs ---------------------------------------------------------------------------


@dataclass(eq=False)
class RunFolder(History):
    """The content of a run's folder when it was read."""

    path: Path
    config: TrainConfig
    is_training: bool
    """True if a process trains here now."""

    @property
    def decisions(self) -> int:
        """The number of decisions learnt from so far."""
        return int(self.rows[-1]["decisions"]) if self.rows else 0

    @property
    def seconds(self) -> float:
        """The seconds of training so far, including evaluations."""
        return max((float(row["seconds"]) for row in self.rows), default=0.0)

    @property
    def share(self) -> float:
        """The share of its budget that is spent, 0 to 1."""
        return self.config.budget.share(self.decisions)

    @property
    def seconds_left(self) -> float | None:
        """The seconds left at the mean speed so far, or None if unknown."""
        if not self.share or not self.seconds:
            return None
        return self.seconds * (1 - self.share) / self.share

    @cached_property
    def final(self) -> list[dict[str, Any]]:
        """The final evaluation, one record per opponent. It is empty until all are done."""
        return final_evaluation(self.path)

    @property
    def status(self) -> str:
        """The status of the run: ``training``, ``finished`` or ``stopped``."""
        if self.is_training:
            return "training"
        return "finished" if self.share >= 1.0 else "stopped"

    def summary(self) -> dict[str, Any]:
        """Return the progress of the run as JSON types."""
        return {
            "run": path_name(self.path),
            "name": self.config.name,
            "seed": self.config.seed,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "share": self.share,
            "status": self.status,
        }


def final_evaluation(run_dir: Path) -> list[dict[str, Any]]:
    """Return the final evaluations, one per opponent. The list is empty until all are done."""
    try:
        rows = json.loads(read_limited(run_dir / EVALUATION_NAME, _MOST, "a final evaluation"))
    except (OSError, ValueError, RecursionError):  # HeartsError is a ValueError
        return []
    are_rows = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if are_rows and all(has_fields(row, RESULT) for row in rows) else []


def code_of_player(run_dir: Path) -> OwnCode | None:
    """Return the code that a run's player was last trained with, or None if unknown."""
    try:
        training = json.loads(header_of(run_dir / CHECKPOINT_NAME)["training"])
        return from_json(training["code"])[-1]
    except (KeyError, IndexError, TypeError, ValueError, RecursionError):  # of the file's author
        return None


def check_reuse(run_dir: Path, change: str) -> None:
    """Raise if the code of a finished run has changed (``change_of``)."""
    if change:
        raise ConfigError(
            f"run: {str(run_dir)!r} is finished, and {change}; train in another folder (--run), or "
            "delete that one"
        )


def read_run(folder: Path) -> RunFolder:
    """Read the run in a folder. Raise HeartsError if its config or log cannot be read."""
    config = read_config(folder / CONFIG_NAME)
    return RunFolder(read_metrics(folder), folder, config, is_held(folder / LOCK_NAME))


def find_runs(places: Sequence[Path]) -> tuple[list[RunFolder], list[str]]:
    """Return the runs in or under some folders, oldest first, and messages about unreadable ones.

    Raises:
        CheckpointError: if a folder has no run, or no run can be read.
    """
    configs: dict[Path, Path] = {}
    for place in places:
        inside = [place.glob("[!.]*/" * depth + CONFIG_NAME) for depth in range(_DEPTH + 1)]
        found = {config.resolve(): config for found in inside for config in found}
        if not found:
            raise CheckpointError(
                f"run: there is no run in {str(place)!r}; train one with `hearts train`"
            )
        configs |= found
    runs, faults = [], []
    for config in sorted(configs.values(), key=lambda path: (path.stat().st_mtime, path)):
        try:
            runs.append(read_run(config.parent))
        except HeartsError as error:
            faults.append(str(error))
    if not runs:
        raise CheckpointError(faults[0])
    return runs, faults
