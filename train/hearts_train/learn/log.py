"""Write and read the log of a training run, ``metrics.jsonl``, and its copy for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import json_object, write_whole

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

METRICS_NAME = "metrics.jsonl"
TENSORBOARD_NAME = "tensorboard"
_FLUSH_SECONDS = 10
"""Seconds between writes to TensorBoard's file."""


@dataclass
class Counters:
    """The counters of a run."""

    decisions: int = 0
    updates: int = 0
    gradient_epochs: int = 0
    pretraining_steps: int = 0
    """Minibatches of pretraining so far."""
    snapshots: int = 0
    evaluations: int = 0
    """Finished rounds of evaluation."""
    evaluated_decisions: int = 0
    """`decisions` at the last evaluation."""
    evaluated_seconds: float = 0.0
    """`seconds` at the last evaluation, without pretraining."""
    seconds: float = 0.0
    """Seconds of training, without compilation and the evaluation of the untrained player."""
    pretraining_seconds: float = 0.0
    """Seconds of pretraining, which no budget counts."""
    learning_seconds: float = 0.0
    """Seconds of rollouts and updates alone."""
    starts: int = 0
    """Number of times that training was started or resumed."""


@dataclass(eq=False)
class History:
    """The lines of a run's log."""

    rows: list[dict[str, Any]]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of a kind: ``update``, ``evaluation`` or ``exploitability``."""
        return [row for row in self.rows if row["kind"] == kind]

    @property
    def latest(self) -> dict[str, dict[str, Any]]:
        """The last evaluation of each opponent."""
        return {row["opponent"]: row for row in self.of_kind("evaluation")}

    @property
    def latest_exploitability(self) -> dict[str, Any] | None:
        """The last exploitability, or None if the last evaluation was interrupted before it."""
        evaluated = max((row["decisions"] for row in self.latest.values()), default=0)
        rows = [row for row in self.of_kind("exploitability") if row["decisions"] >= evaluated]
        return rows[-1] if rows else None


class Metrics(History):
    """The log of a run, one JSON object per line, with a copy for TensorBoard if installed.

    A line that cannot be written, as on a full disk, is written before the next one.
    """

    def __init__(
        self, run_dir: Path, counters: Counters, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Open the log of a run with these counters, and drop later lines.

        `warn` is called once, with one line, if TensorBoard's file cannot be written.

        Raises:
            CheckpointError: if the log is not an ordinary file.
            OSError: if it cannot be written.
        """
        self.path = run_dir / METRICS_NAME
        decisions = counters.decisions
        super().__init__(
            [
                row
                for row in read_metrics(run_dir)
                if row["decisions"] <= decisions
                and row.get("updates", 0) <= counters.updates
                and row.get("round", -1) < counters.evaluations
            ]
        )
        if self.path.exists():
            text = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_whole(self.path, text.encode())
        self._unwritten = b""
        self._file = self.path.open("ab", buffering=0)
        self._warn = warn
        self._board: SummaryWriter | None = None
        self._hook, threading.excepthook = threading.excepthook, self._report
        try:
            self._board = _tensorboard(run_dir / TENSORBOARD_NAME, decisions)
        except OSError as error:
            self._give_up(error)

    def write(self, kind: str, decisions: int, values: Mapping[str, Any]) -> None:
        """Add a line, and its numbers to TensorBoard, under `kind`."""
        row = {"kind": kind, "decisions": decisions} | dict(values)
        self.rows.append(row)
        self._unwritten += (json.dumps(row) + "\n").encode()
        with contextlib.suppress(OSError):
            self.flush()
        if self._board is not None:
            prefix = f"{kind}/{values['opponent']}" if "opponent" in values else kind
            try:
                for name, value in values.items():
                    if isinstance(value, int | float) and not isinstance(value, bool):
                        self._board.add_scalar(f"{prefix}/{name}", value, decisions)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Warn, and continue without TensorBoard's file."""
        if self._board is not None:
            with contextlib.suppress(OSError):
                file: Any = self._board.file_writer  # torch annotates it as None
                file.close()  # also ends its thread
        self._board = None
        folder = self.path.parent / TENSORBOARD_NAME
        self._warn(f"{folder} cannot be written: {error.strerror or error}; it stays incomplete")

    def _report(self, failure: threading.ExceptHookArgs) -> None:
        """Report an exception that ended a thread, except an OSError of TensorBoard's thread.

        TensorBoard's writer raises that one again in this thread.
        """
        is_board = type(failure.thread).__module__.startswith("tensorboard.")
        if not (is_board and issubclass(failure.exc_type, OSError)):
            self._hook(failure)

    def flush(self) -> None:
        """Write the pending lines. After an OSError, call this again."""
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
        except OSError as error:
            error.filename = str(self.path)
            raise

    def close(self) -> None:
        """Write the pending lines if possible, and close the files."""
        with contextlib.suppress(OSError):
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()
        if self._board is not None:
            try:
                self._board.close()
            except OSError as error:
                self._give_up(error)
        threading.excepthook = self._hook


def _tensorboard(folder: Path, decisions: int) -> SummaryWriter | None:
    """Return a writer for TensorBoard, or None if TensorBoard is not installed.

    TensorBoard drops earlier entries from `decisions` on.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    purge_step = decisions if folder.exists() else None
    return SummaryWriter(str(folder), purge_step=purge_step, flush_secs=_FLUSH_SECONDS)


def read_metrics(run_dir: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's log. Skip damaged and incomplete ones.

    Raises:
        CheckpointError: if the log cannot be read.
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
    rows = map(json_object, lines)
    return [row for row in rows if row is not None and _is_row(row)]


_NUMBERS = {
    "update": ("decisions_per_second", "seconds"),
    "evaluation": ("margin", "won", "seconds"),
    "exploitability": ("drawn", "preferred", "seconds"),
}
_COUNTS = {
    "update": ("decisions", "updates"),
    "evaluation": ("decisions", "updates", "round", "deals", "seed"),
    "exploitability": ("decisions", "updates", "round"),
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return True if a line has all fields that are read later."""
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _COUNTS:
        return False
    counts = [row.get(name) for name in _COUNTS[kind]]
    numbers = [row.get(name) for name in _NUMBERS[kind]]
    if kind == "evaluation":
        interval = row.get("ci95")
        if not (isinstance(row.get("opponent"), str) and isinstance(interval, list)):
            return False
        numbers += interval if len(interval) == 2 else [None]
    are_counts = all(type(count) is int and 0 <= count < 2**63 for count in counts)
    are_numbers = all(isinstance(n, int | float) and -1e300 < n < 1e300 for n in numbers)
    return are_counts and are_numbers
