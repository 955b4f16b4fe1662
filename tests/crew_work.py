"""Work for other processes, which import it by name."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import HANG, wait_until


@dataclass(frozen=True)
class Work:
    """Squares a number; some numbers do more than that."""

    folder: Path
    killed: int = -1
    """At this number the process is killed, the first time."""
    always_killed: int = -1
    slow: int = -1
    """At this number it waits until another process has done one."""
    endless: int = -1
    wrong: int = -1

    def __call__(self, number: int) -> tuple[int, int]:
        """The square, and the process that computed it."""
        with (self.folder / "begun").open("a") as file:
            file.write(f"{number} {os.getpid()}\n")
        if number == self.wrong:
            raise KeyError(f"number {number}")
        if number == self.slow:
            wait_until(lambda: bool(self._done_by() - {os.getpid()}))
        if number == self.endless:
            time.sleep(10 * HANG)
        mark = self.folder / "killed"
        if number == self.always_killed or (number == self.killed and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        with (self.folder / "done").open("a") as file:
            file.write(f"{os.getpid()}\n")
        return number**2, os.getpid()

    def _done_by(self) -> set[int]:
        done = self.folder / "done"
        return set(map(int, done.read_text().split())) if done.exists() else set()


class Unsendable(Exception):
    """Cannot be unpickled: it wants two arguments, and pickle gives one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def raise_unsendable(_: object) -> None:
    """Raise it."""
    raise Unsendable("so ", "strange")
