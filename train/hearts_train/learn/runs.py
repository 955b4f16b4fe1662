"""The folder of a training run: its files, and how they are written and read back.

| file | what |
|---|---|
| `config.yaml` | the complete resolved recipe |
| `checkpoint.safetensors` | the player, for ``make_agent`` and ``hearts evaluate`` |
| `checkpoints/` | the players of the last three evaluations, by decisions, and `best` |
| `state.safetensors` | what training resumes from: weights, optimiser, games, random numbers, ... |
| `model_card.md` | what the player is and was trained on, for people |
| `metrics.jsonl` | a line for each update and each evaluation |
| `curve.png` | margin over each opponent, against decisions and minutes; exploitability |
| `tensorboard/` | the metrics for TensorBoard |
| `.lock` | held by the process that trains here, or writes the last evaluation |

Every file is written whole or not at all, except for the logs, which grow line by line. Lines and
players that are later than the saved state are dropped when training resumes from it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hearts_agents.models.checkpoint import (
    CHECKPOINT_NAME,
    DIGEST,
    Checkpoint,
    Tensors,
    digest_of,
    read_checkpoint,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from hearts_agents.spec import AgentSpec
from hearts_env.support.errors import CheckpointError, quoted
from hearts_env.support.files import held, is_held, remove_leftovers, write_whole
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.event_file import EventFile
from hearts_train.learn.recipes import load_config

CONFIG_NAME = "config.yaml"
STATE_NAME = "state.safetensors"
CARD_NAME = "model_card.md"
METRICS_NAME = "metrics.jsonl"
CURVE_NAME = "curve.png"
TENSORBOARD_NAME = "tensorboard"
CHECKPOINTS_NAME = "checkpoints"
BEST_NAME = "best.safetensors"
LOCK_NAME = ".lock"

_OF_A_START = (CONFIG_NAME, METRICS_NAME, TENSORBOARD_NAME, CHECKPOINTS_NAME, LOCK_NAME)
"""What a run has in its folder before it has saved a state."""

NUM_KEPT = 3
"""Players of evaluations that stay in ``checkpoints/``, besides the best."""

STATE_FORMAT = "hearts-env training state"
STATE_VERSION = 4


@dataclass
class Counters:
    """How far a run has come."""

    decisions: int = 0
    updates: int = 0
    gradient_epochs: int = 0
    lessons: int = 0
    """Minibatches of lessons learnt."""
    snapshots: int = 0
    evaluations: int = 0
    """Rounds of evaluation done."""
    evaluated_decisions: int = 0
    """Decisions at the last of them."""
    evaluated_seconds: float = 0.0
    """Seconds at the last of them."""
    seconds: float = 0.0
    """Of training, with all evaluations but that of the untrained player, without compilation."""
    lesson_seconds: float = 0.0
    """Of gathering and learning lessons, which no budget counts."""
    learning_seconds: float = 0.0
    """Of rollouts and updates alone."""
    starts: int = 0
    """How often training was started or resumed."""


@dataclass
class State:
    """What training resumes from: its state between two updates."""

    counters: Counters
    tensors: Tensors
    """``policy/...``, ``optimizer/...``, ``snapshot/...``, ``games/...``; an algorithm's own."""
    games: str = ""
    """The settings under which ``games/...`` were played; if they change, new games begin."""


# ---- folders -------------------------------------------------------------------------------------


def new_run_folder(config: TrainConfig, run_dir: Path | None) -> Path:
    """The folder of a new run, created if needed; None: the first new one of ``runs/NAME-1, ...``.

    A folder that is given may hold the remains of a start that was killed before it saved anything.

    Raises:
        ConfigError: if there is already a run in it, or it cannot be created.
    """
    folder = Path("runs" if run_dir is None else run_dir)
    if run_dir is not None:
        check_is_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder if run_dir is not None else _next_folder(folder, config.name)
    except OSError as error:
        raise ConfigError(
            f"run: the folder {str(folder)!r} cannot be made ({error}); name another"
        ) from None


def _next_folder(place: Path, name: str) -> Path:
    for number in itertools.count(1):
        with contextlib.suppress(FileExistsError):
            folder = place / f"{name}-{number}"
            folder.mkdir()
            break
    return folder


def check_is_free(run_dir: Path) -> None:
    """Refuse a folder in which a run has saved something, or that has files of somebody else's.

    What a run leaves that was killed before it saved a state is no hindrance.

    Raises:
        ConfigError: if there is a state or a player in it, or anything else.
    """
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
    """Refuse what is not the folder of a run that can be resumed.

    A run that was killed before it saved a state can be: it starts again from its recipe.

    Raises:
        CheckpointError: if it is not a folder, has no recipe, or is of a run that another process
            is starting.
    """
    if not run_dir.is_dir():
        raise CheckpointError(
            f"resume: {str(run_dir)!r} is not a folder; give that of a run", value=run_dir
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
    """The recipe in a run's folder, which somebody else may have written, to train with.

    Args:
        run_dir: the folder.
        overrides: the user's own changes, as for ``load_config``.

    Raises:
        ConfigError: if the recipe or a change cannot be used.
        HeartsError: if the recipe names an agent that runs code, the changes do not remove it, and
            the user does not trust the folder.
    """
    path = run_dir / CONFIG_NAME
    config = load_config(path, overrides)
    for name in load_config(path).agents:
        if name in config.agents:
            AgentSpec.from_json(name).check_allowed(f"config: {str(path)!r}")
    return config


def is_recipe_of_run(path: Path) -> bool:
    """Whether a file is the recipe in the folder of a run, which ``resumed_config`` reads."""
    others = (CHECKPOINT_NAME, STATE_NAME, METRICS_NAME)
    return path.name == CONFIG_NAME and any((path.parent / name).exists() for name in others)


@contextlib.contextmanager
def hold_run(run_dir: Path) -> Iterator[None]:
    """Keep other processes from writing to this folder in the block; remove unfinished files.

    Raises:
        CheckpointError: if another process holds it, or nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held(run_dir / LOCK_NAME, f"run: {str(run_dir)!r}"))
        except OSError as error:
            raise CheckpointError(
                f"run: {str(run_dir / LOCK_NAME)!r} cannot be written ({error.strerror}); "
                "use a folder that can be written to"
            ) from None
        remove_leftovers(run_dir)
        remove_leftovers(run_dir / CHECKPOINTS_NAME)
        yield


def keep_checkpoint(
    run_dir: Path,
    tensors: Mapping[str, NDArray[Any]],
    meta: Checkpoint,
    *,
    is_best: bool,
    half: bool = False,
) -> None:
    """Write the player to ``checkpoints/``, also as the best one; the last three stay there.

    Raises:
        OSError: if it cannot be written.
    """
    folder = run_dir / CHECKPOINTS_NAME
    folder.mkdir(exist_ok=True)
    if is_best:
        save_checkpoint(folder / BEST_NAME, tensors, meta, half=half)
    path = folder / f"{meta.training['decisions']:012d}.safetensors"
    save_checkpoint(path, tensors, meta, half=half)
    for path in list(_numbered(run_dir).values())[:-NUM_KEPT]:
        path.unlink(missing_ok=True)


def drop_lost_checkpoints(run_dir: Path, decisions: int, scores: Mapping[int, float]) -> None:
    """Remove players that are later than the state from which training resumes.

    A run that was killed after an evaluation has saved such players, and the resumed run need not
    produce them again. If the best is one of them, the best of the remaining players replaces it.

    Args:
        run_dir: the folder.
        decisions: those of the state.
        scores: of the evaluations up to the state, by decisions; higher is better.

    Raises:
        OSError: if the best cannot be written.
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
    """How many decisions the best player was trained for; -1 if there is none to be read."""
    try:
        _, meta = read_checkpoint(run_dir / CHECKPOINTS_NAME / BEST_NAME)
    except CheckpointError:
        return -1
    decisions = meta.training.get("decisions")
    return decisions if type(decisions) is int else -1


def _numbered(run_dir: Path) -> dict[int, Path]:
    """The players of evaluations that are kept, by decisions, ascending."""
    paths = sorted((run_dir / CHECKPOINTS_NAME).glob("[0-9]" * 12 + ".safetensors"))
    return {int(path.stem): path for path in paths}


# ---- state ---------------------------------------------------------------------------------------


def save_state(path: Path, state: State) -> None:
    """Write a training state, whole or not at all.

    Raises:
        OSError: if it cannot be written.
    """
    header = {
        "format": STATE_FORMAT,
        "version": str(STATE_VERSION),
        "counters": json.dumps(asdict(state.counters)),
        "games": state.games,
    }
    write_tensors(path, state.tensors, header)


def load_state(path: Path) -> State:
    """Read a training state; never runs code from the file.

    Raises:
        CheckpointError: if it is damaged, of another version, or something else.
    """
    fix = "resume another run, or start a new one"
    try:
        tensors, header = read_tensors(path)
    except CheckpointError as error:
        raise CheckpointError(
            f"resume: {str(path)!r} is not a whole training state ({error}); {fix}"
        ) from None
    if header.get("format") != STATE_FORMAT:
        raise CheckpointError(f"resume: {str(path)!r} is not a training state; {fix}")
    if header.get("version") != str(STATE_VERSION):
        raise CheckpointError(
            f"resume: {str(path)!r} is of version {header.get('version')!r}, this package reads "
            f"{STATE_VERSION}; {fix}"
        )
    if header.get(DIGEST) != digest_of(tensors, header):
        raise CheckpointError(
            f"resume: the content of {str(path)!r} is not what was written, the file is damaged; "
            f"{fix}"
        )
    counters = _parse_counters(header.get("counters", ""))
    if counters is None:
        raise CheckpointError(f"resume: the counters in {str(path)!r} are damaged; {fix}")
    return State(counters, tensors, header.get("games", ""))


def _parse_counters(text: str) -> Counters | None:
    """The counters of a header; None if any is not a finite number from 0."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kinds = {name: type(value) for name, value in asdict(Counters()).items()}
    if not isinstance(values, dict):
        return None
    values = dict[str, Any](lesson_seconds=0.0) | values  # which earlier states lack
    if values.keys() != kinds.keys():
        return None
    for name, kind in kinds.items():
        value = values[name]
        is_number = type(value) is int or (kind is float and type(value) is float)
        if not (is_number and 0 <= value < 2**53):
            return None
        values[name] = kind(value)
    return Counters(**values)


# ---- logs ----------------------------------------------------------------------------------------


class Metrics:
    """The log of a run, one JSON object a line; and for TensorBoard, where it is installed.

    A line that cannot be written (a full disk) is kept and written before the next one.
    """

    def __init__(
        self, run_dir: Path, counters: Counters, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Open the log of a run that has come as far as `counters` say; later lines are dropped.

        Args:
            run_dir: the run's folder.
            counters: how far it has come.
            warn: called once, with a line, if TensorBoard's file cannot be written.

        Raises:
            CheckpointError: if the log is not an ordinary file.
            OSError: if it cannot be written.
        """
        self.path = run_dir / METRICS_NAME
        decisions = counters.decisions
        self.rows = [
            row
            for row in read_metrics(run_dir)
            if row["decisions"] <= decisions
            and row.get("updates", 0) <= counters.updates
            and row.get("round", -1) < counters.evaluations
        ]
        if self.path.exists():
            text = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_whole(self.path, text.encode())
        self._unwritten = b""
        self._file = self.path.open("ab", buffering=0)
        self._warn = warn
        self._board: EventFile | None = None
        try:
            self._board = _tensorboard(run_dir / TENSORBOARD_NAME, decisions)
        except OSError as error:
            self._give_up(error)

    def write(self, kind: str, decisions: int, values: Mapping[str, Any]) -> None:
        """Add a line; its numbers also to TensorBoard, under `kind`."""
        row = {"kind": kind, "decisions": decisions} | dict(values)
        self.rows.append(row)
        self._unwritten += (json.dumps(row) + "\n").encode()
        with contextlib.suppress(OSError):
            self.flush()
        if self._board is not None:
            prefix = f"{kind}/{values['opponent']}" if "opponent" in values else kind
            scalars = {
                f"{prefix}/{name}": float(value)
                for name, value in values.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            }
            try:
                self._board.add(scalars, decisions)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Go on without TensorBoard's file, which is only a second copy of the log."""
        if self._board is not None:
            self._board.close()
        self._board = None
        folder = self.path.parent / TENSORBOARD_NAME
        self._warn(f"{folder} cannot be written: {error.strerror or error}; it stays incomplete")

    def flush(self) -> None:
        """Write the lines that are not in the file yet.

        Raises:
            OSError: if they cannot be written; they are kept.
        """
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
        except OSError as error:
            error.filename = str(self.path)
            raise

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The lines of a kind: update, evaluation, exploitability."""
        return [row for row in self.rows if row["kind"] == kind]

    def close(self) -> None:
        """Finish the files, as far as they can be written."""
        with contextlib.suppress(OSError):
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()
        if self._board is not None:
            self._board.close()


def _tensorboard(folder: Path, decisions: int) -> EventFile | None:
    """The file for TensorBoard; None where that is not installed."""
    try:
        return EventFile(folder, decisions if folder.exists() else None)
    except ImportError:
        return None


def read_metrics(run_dir: Path) -> list[dict[str, Any]]:
    """The lines of a run's log; those that are cut short, damaged or lack a field are skipped.

    Raises:
        CheckpointError: if the log is not a file that can be read.
    """
    path = run_dir / METRICS_NAME
    if not path.exists():
        return []
    try:
        if not path.is_file():
            raise IsADirectoryError(None, "it is not an ordinary file")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CheckpointError(
            f"resume: {str(path)!r} cannot be read ({error.strerror}); move it away"
        ) from None
    rows = []
    for line in lines:
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and _is_row(row):
            rows.append(row)
    return rows


def exploitability_of(row: Mapping[str, Any]) -> float:
    """How exploitable a player is as it plays, by a line of a log.

    That of the cards drawn, or of the preferred ones if it draws none, as with action values.
    """
    return float(row.get("drawn", row["preferred"]))


_NUMBERS = {
    "update": ("decisions_per_second", "seconds"),
    "evaluation": ("margin", "won", "seconds"),
    "exploitability": ("preferred", "seconds"),
}
_COUNTS = {
    "update": ("decisions", "updates"),
    "evaluation": ("decisions", "updates", "round", "deals", "seed"),
    "exploitability": ("decisions", "updates", "round"),
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line of a log has what is read from it later."""
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _COUNTS:
        return False
    counts = [row.get(name) for name in _COUNTS[kind]]
    numbers = [row.get(name) for name in _NUMBERS[kind]]
    if kind == "exploitability" and "drawn" in row:
        numbers.append(row["drawn"])
    if kind == "evaluation":
        interval = row.get("ci95")
        if not (isinstance(row.get("opponent"), str) and isinstance(interval, list)):
            return False
        numbers += interval if len(interval) == 2 else [None]
    are_counts = all(type(count) is int and 0 <= count < 2**63 for count in counts)
    are_numbers = all(isinstance(n, int | float) and -1e300 < n < 1e300 for n in numbers)
    return are_counts and are_numbers


__all__ = [
    "BEST_NAME",
    "CARD_NAME",
    "CHECKPOINTS_NAME",
    "CHECKPOINT_NAME",
    "CONFIG_NAME",
    "CURVE_NAME",
    "LOCK_NAME",
    "METRICS_NAME",
    "STATE_NAME",
    "TENSORBOARD_NAME",
    "Counters",
    "Metrics",
    "State",
    "best_decisions",
    "check_is_free",
    "check_run_folder",
    "drop_lost_checkpoints",
    "exploitability_of",
    "hold_run",
    "is_recipe_of_run",
    "keep_checkpoint",
    "load_state",
    "new_run_folder",
    "read_metrics",
    "resumed_config",
    "save_state",
]
