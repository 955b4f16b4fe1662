"""Work for other processes, which import it by name."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import HANG, wait_until


@dataclass(frozen=True)
class Work:
    """Squares a number, and records in its folder the processes that began and finished it."""

    folder: Path
    at: dict[int, str] = field(default_factory=dict)
    """The event at a number: ``wait`` until another process has done one, ``hang``, ``raise``,
    ``die``, or ``die once``."""

    def __call__(self, number: int) -> tuple[int, int]:
        """Return the square and the process that computed it."""
        self._note("begun", f"{number} {os.getpid()}")
        match self.at.get(number):
            case "wait":
                wait_until(lambda: bool(self._done_by() - {os.getpid()}))
            case "hang":
                time.sleep(10 * HANG)
            case "raise":
                raise KeyError(f"number {number}")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die once" if not (self.folder / "died").exists():
                (self.folder / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        self._note("done", str(os.getpid()))
        return number**2, os.getpid()

    def begun(self) -> list[tuple[int, int]]:
        """Return the numbers that were begun, each with its process."""
        file = self.folder / "begun"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(number), int(process)) for number, process in map(str.split, lines)]

    def _done_by(self) -> set[int]:
        done = self.folder / "done"
        return set(map(int, done.read_text().split())) if done.exists() else set()

    def _note(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text + "\n")


class Unsendable(Exception):
    """Cannot be unpickled: it wants two arguments, and pickle gives one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def raise_unsendable(_: object) -> None:
    """Raise it."""
    raise Unsendable("so ", "strange")
