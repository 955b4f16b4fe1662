"""Write and read the log of a training run, ``metrics.jsonl``, and its copy for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import json_object, read_limited, write_whole

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

METRICS_NAME = "metrics.jsonl"
TENSORBOARD_NAME = "tensorboard"
_FLUSH_SECONDS = 10
"""Seconds between writes to TensorBoard's file."""


_MOST = 200_000_000
"""The most bytes of a log. An update takes some 400."""
_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Seconds = Annotated[float, Field(ge=0)]


@dataclass
class Counters:
    """The counters of a run. pydantic checks them when a saved state is read."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    decisions: _Count = 0
    updates: _Count = 0
    pretraining_steps: _Count = 0
    """Minibatches of pretraining so far."""
    snapshots: _Count = 0
    evaluations: _Count = 0
    """Finished rounds of evaluation."""
    evaluated_decisions: _Count = 0
    """`decisions` at the last evaluation."""
    seconds: _Seconds = 0.0
    """Seconds of training with evaluations, without compilation."""
    learning_seconds: _Seconds = 0.0
    """Seconds of rollouts and updates alone."""
    starts: _Count = 0
    """Number of times that training was started or resumed."""


@dataclass(eq=False)
class History:
    """The lines of a run's log."""

    rows: list[dict[str, Any]] = field(repr=False)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of a kind: ``update``, ``evaluation`` or ``exploitability``."""
        return [row for row in self.rows if row["kind"] == kind]

    @property
    def latest(self) -> dict[str, dict[str, Any]]:
        """The last evaluation of each opponent."""
        return {row["opponent"]: row for row in self.of_kind("evaluation")}

    @property
    def latest_exploitability(self) -> dict[str, Any] | None:
        """The last exploitability, or None without one."""
        rows = self.of_kind("exploitability")
        return rows[-1] if rows else None


class Metrics(History):
    """The log of a run, one JSON object per line, with a copy for TensorBoard if installed.

    A line that cannot be written, as on a full disk, is written before the next one. TensorBoard's
    file then stays incomplete.
    """

    def __init__(self, run_dir: Path, counters: Counters) -> None:
        """Open the log of a run with these counters, and drop later lines.

        Raises:
            CheckpointError: if the log is not an ordinary file.
            OSError: if it cannot be written.
        """
        self.path = run_dir / METRICS_NAME
        super().__init__(
            [
                row
                for row in read_metrics(run_dir)
                if row["decisions"] <= counters.decisions
                and row["updates"] <= counters.updates
                and row.get("round", -1) < counters.evaluations
            ]
        )
        if self.path.exists():
            text = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_whole(self.path, text.encode())  # a new file, so no hard link to it grows
        self._unwritten = b""
        self._file = self.path.open("ab", buffering=0)
        self._board: SummaryWriter | None = None
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(_quiet_tensorboard())
        with contextlib.suppress(OSError):
            # TensorBoard drops what it has from these decisions on, which may be lost lines.
            begin = counters.decisions if (run_dir / TENSORBOARD_NAME).exists() else 0
            self._board = _tensorboard(run_dir / TENSORBOARD_NAME, begin)
            for row in self.rows:
                if row["decisions"] >= begin:
                    self._add_to_board(row)

    def write(self, kind: str, decisions: int, values: Mapping[str, Any]) -> None:
        """Add a line, and its numbers to TensorBoard, under `kind`."""
        row = {"kind": kind, "decisions": decisions} | dict(values)
        self.rows.append(row)
        self._unwritten += (json.dumps(row) + "\n").encode()
        with contextlib.suppress(OSError):
            self.flush()
        with contextlib.suppress(OSError):
            self._add_to_board(row)

    def _add_to_board(self, row: Mapping[str, Any]) -> None:
        """Add the numbers of a line to TensorBoard."""
        if self._board is None:
            return
        prefix = f"{row['kind']}/{row['opponent']}" if "opponent" in row else row["kind"]
        for name, value in row.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and name != "decisions":
                # Someone else's log may have a number or a text that TensorBoard cannot store.
                with contextlib.suppress(OverflowError, ValueError):
                    self._board.add_scalar(f"{prefix}/{name}", value, row["decisions"])

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
        with contextlib.suppress(OSError):
            if self._board is not None:
                self._board.close()
        self._stack.close()


def _tensorboard(folder: Path, decisions: int) -> SummaryWriter | None:
    """Return a writer for TensorBoard, or None if TensorBoard is not installed.

    TensorBoard drops earlier entries from `decisions` on.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=decisions, flush_secs=_FLUSH_SECONDS)


@contextlib.contextmanager
def _quiet_tensorboard() -> Iterator[None]:
    """Print no traceback of TensorBoard's thread if it cannot write, as on a full disk.

    The run then reports the full disk, or ends well without TensorBoard.
    """
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        is_ours = type(args.thread).__module__.startswith("tensorboard.")
        if not (is_ours and isinstance(args.exc_value, OSError)):
            before(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def read_metrics(run_dir: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's log. Skip damaged and incomplete ones.

    Raises:
        CheckpointError: if the log cannot be read.
    """
    path = run_dir / METRICS_NAME
    try:
        lines = read_limited(path, _MOST, "the log of a run").splitlines()
    except FileNotFoundError:
        return []
    except HeartsError as error:
        raise CheckpointError(str(error)) from None
    except OSError as error:
        raise CheckpointError(
            f"resume: {str(path)!r} cannot be read ({error.strerror}); move it away"
        ) from None
    rows = [row for row in map(json_object, lines) if row is not None]
    return [row for row in rows if has_fields(row, _FIELDS.get(str(row.get("kind"))))]


_COMMON = {"decisions": int, "updates": int, "seconds": int | float}
_ROUND = _COMMON | {"round": int}
RESULT: dict[str, Any] = {"opponent": str, "margin": float, "ci95": list, "deals": int, "seed": int}
"""The fields of an evaluation that are read later, with their types."""
_FIELDS: dict[str, dict[str, Any]] = {
    "update": _COMMON | {"decisions_per_second": int | float},
    "evaluation": _ROUND | RESULT | {"won": float},
    "exploitability": _ROUND | {"sampled": float, "greedy": float},
}
"""The same for each kind of line."""
LOGGED = ("kind", *_FIELDS["update"], "pretraining")
"""Names in the line of an update that a figure of a learner cannot have."""
_LARGEST = 2.0**64


def has_fields(row: Mapping[str, Any], fields: Mapping[str, Any] | None) -> bool:
    """Return True if a line has these fields, with finite numbers. None: its kind is unknown."""
    if fields is None or not all(_fits(row.get(name), fields[name]) for name in fields):
        return False
    ends = row["ci95"] if "ci95" in fields else [0.0, 0.0]
    return len(ends) == 2 and all(_fits(end, float) for end in ends)


def _fits(value: Any, kind: Any) -> bool:
    """Return True if a value has this type. Whole numbers are counts, all numbers are finite."""
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    least = 0 if kind is int else -_LARGEST
    return not isinstance(value, int | float) or least <= value < _LARGEST


def check_figures(figures: Any) -> None:
    """Raise HeartsError unless ``learn``, which a user may override, returned figures to log."""
    if not isinstance(figures, dict):
        raise HeartsError(f"learn: it returns {quoted(figures)}; return a dict of figures")
    for name, figure in figures.items():
        if name in LOGGED:
            raise HeartsError(f"learn: every update logs {name!r} already; rename this figure")
        if not isinstance(figure, int | float | None):
            kind = type(figure).__name__
            raise HeartsError(f"learn: the figure {name!r} is a {kind}; return a float, or None")
