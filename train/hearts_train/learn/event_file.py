"""The metrics of a run for TensorBoard: a file of scalars."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class EventFile:
    """A new file of events in a folder, written here.

    TensorBoard's own writer writes in a thread, which prints a traceback where a disk is full.
    """

    def __init__(self, folder: Path, purge_from: int | None) -> None:
        """Make the file.

        Args:
            folder: made if needed.
            purge_from: TensorBoard drops what earlier files in the folder have from this step on.

        Raises:
            ImportError: if TensorBoard is not installed.
            OSError: if the file cannot be written.
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
        """Add values by their names in TensorBoard.

        Raises:
            OSError: if they cannot be written; the file is of no further use.
        """
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
