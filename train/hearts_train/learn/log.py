"""The log of a training run, ``metrics.jsonl``, line by line; and its copy for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import json_object, write_whole

METRICS_NAME = "metrics.jsonl"
TENSORBOARD_NAME = "tensorboard"


@dataclass
class Counters:
    """The counters of a run."""

    decisions: int = 0
    updates: int = 0
    gradient_epochs: int = 0
    pretraining_steps: int = 0
    """Minibatches of pretraining learnt."""
    snapshots: int = 0
    evaluations: int = 0
    """Finished rounds of evaluation."""
    evaluated_decisions: int = 0
    """Decisions at the last of them."""
    evaluated_seconds: float = 0.0
    """Seconds at the last of them."""
    seconds: float = 0.0
    """Of training, without compilation and the evaluation of the untrained player."""
    pretraining_seconds: float = 0.0
    """Of pretraining, which no budget counts."""
    learning_seconds: float = 0.0
    """Of rollouts and updates alone."""
    starts: int = 0
    """How often training was started or resumed."""


@dataclass(eq=False)
class History:
    """The lines of a run's log."""

    rows: list[dict[str, Any]]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The lines of a kind: update, evaluation, exploitability."""
        return [row for row in self.rows if row["kind"] == kind]

    @property
    def latest(self) -> dict[str, dict[str, Any]]:
        """The last evaluation over each opponent."""
        return {row["opponent"]: row for row in self.of_kind("evaluation")}

    @property
    def latest_exploitability(self) -> dict[str, Any] | None:
        """The last exploitability; None if the last evaluation was interrupted before it."""
        evaluated = max((row["decisions"] for row in self.latest.values()), default=0)
        rows = [row for row in self.of_kind("exploitability") if row["decisions"] >= evaluated]
        return rows[-1] if rows else None


class Metrics(History):
    """The log of a run, one JSON object a line; and for TensorBoard, where it is installed.

    A line that cannot be written (a full disk) is written before the next one.
    """

    def __init__(
        self, run_dir: Path, counters: Counters, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Open the log of a run with these counters; later lines are dropped.

        `warn` is called once, with a line, if TensorBoard's file cannot be written.

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
        """Continue without TensorBoard's file, which is only a copy of the log."""
        if self._board is not None:
            self._board.close()
        self._board = None
        folder = self.path.parent / TENSORBOARD_NAME
        self._warn(f"{folder} cannot be written: {error.strerror or error}; it stays incomplete")

    def flush(self) -> None:
        """Write the lines that are not in the file yet; after an OSError call it again."""
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
        except OSError as error:
            error.filename = str(self.path)
            raise

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
    """The lines of a run's log; truncated, damaged or incomplete ones are skipped.

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
    """Whether a line of a log has all fields that are read later."""
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


class EventFile:
    """A new file of events in a folder, written here.

    TensorBoard's own writer has a thread, which prints a traceback when the disk is full.
    """

    def __init__(self, folder: Path, purge_from: int | None) -> None:
        """Make the file; TensorBoard ignores earlier files from step `purge_from` on.

        ImportError if TensorBoard is not installed, OSError if the file cannot be written.
        """
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._events: Any = event_pb2
        self._summaries: Any = summary_pb2
        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._file = (folder / name).open("xb", buffering=0)
        self._records = RecordWriter(self)
        try:
            self._write(file_version="brain.Event:2")
            if purge_from is not None:
                start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
                self._write(step=purge_from, session_log=start)
        except OSError:
            self.close()
            raise

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Add values by their names; after an OSError the file is of no further use."""
        pairs = values.items()
        scalars = [self._summaries.Summary.Value(tag=tag, simple_value=v) for tag, v in pairs]
        self._write(step=step, summary=self._summaries.Summary(value=scalars))

    def _write(self, **fields: Any) -> None:
        event = self._events.Event(wall_time=time.time(), **fields)
        self._records.write(event.SerializeToString())

    def write(self, data: bytes) -> None:
        """Append all of a record; for TensorBoard's ``RecordWriter``."""
        while data:
            data = data[self._file.write(data) :]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
