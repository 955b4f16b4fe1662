"""Work for other processes, which import it by name."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Work:
    """Squares a number; some numbers do more than that."""

    folder: Path
    killed: int = -1
    """At this number the process is killed, the first time."""
    always_killed: int = -1
    slow: int = -1
    seconds: float = 0.5
    """This number takes so long."""
    wrong: int = -1

    def __call__(self, number: int) -> tuple[int, int]:
        """The square, and the process that computed it."""
        with (self.folder / "begun").open("a") as file:
            file.write(f"{number} {os.getpid()}\n")
        if number == self.wrong:
            raise KeyError(f"number {number}")
        if number == self.slow:
            time.sleep(self.seconds)
        mark = self.folder / "killed"
        if number == self.always_killed or (number == self.killed and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2, os.getpid()


class Unsendable(Exception):
    """Cannot be unpickled: it wants two arguments, and pickle gives one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def raise_unsendable(_: object) -> None:
    """Raise it."""
    raise Unsendable("so ", "strange")
