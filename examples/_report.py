"""Shared by all examples: the option ``--smoke``, and the report that each prints at its end.

The report shows whether a library works with the environment. The learner must win and lose deals
in each seat (with a wrapper that loses rewards, it would only win or only lose), and it must never
play an illegal card. The margins over ``easy`` come from duplicate deals: the same cards from both
seats.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import hearts_env
from hearts_agents.models.network import EncoderAgent
from hearts_env.support.files import write_json
from hearts_train import evaluate

OUTCOMES = ("won", "lost", "drawn")


class Report:
    """Counts the learner's deals, and measures it against ``easy`` before and after learning."""

    def __init__(self, about: str | None, *libraries: str) -> None:
        """Read the command line.

        Args:
            about: the description for ``--help``.
            libraries: the distributions that are reported with their versions, the main one first.
        """
        parser = argparse.ArgumentParser(
            description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--smoke", action="store_true", help="run for seconds only")
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="also write the report to FILE"
        )
        given = parser.parse_args()
        self.is_smoke: bool = given.smoke
        self._file: Path | None = given.json
        self._libraries = libraries
        self._start = time.monotonic()
        self._margins: list[dict[str, Any]] = []
        self.decisions = self.illegal = 0
        self.seats: list[dict[str, int]] = [dict.fromkeys(OUTCOMES, 0) for _ in range(2)]

    def choose(self, full: int, smoke: int) -> int:
        """Return `full`, or `smoke` with ``--smoke``."""
        return smoke if self.is_smoke else full

    def decided(self, number: int = 1) -> None:
        """Count decisions of the learner."""
        self.decisions += int(number)

    def played(self, seat: int, reward: float, *, offender: int = -1) -> None:
        """Count a deal that the learner has finished.

        Args:
            seat: its seat.
            reward: its return, from the library. It has won if this is positive.
            offender: ``info["offender"]``, the seat that played an illegal card, or -1.
        """
        place = 0 if reward > 0 else 1 if reward < 0 else 2
        self.seats[int(seat)][OUTCOMES[place]] += 1
        self.illegal += int(offender) == int(seat)

    def measure(
        self,
        player: Callable[[Any], Any] | Any,
        observation: str = "flat",
        rules: str = "two_player",
    ) -> None:
        """Play duplicate deals against ``easy``. Call this before and after learning.

        Args:
            player: an agent, or a function from float32 observations ``(n, *shape)`` to scores of
                the actions ``(n, num_actions)``. The legal action with the highest score is played.
            observation: the encoder that it was trained on.
            rules: the rules that it was trained on.
        """
        agent = player if hasattr(player, "act") else _Learner(player, observation)
        deals = self.choose(full=5_000, smoke=500)
        played = evaluate(agent, "easy", rules, deals=deals, seed=1)
        self._margins.append({"margin": played.margin, "ci95": list(played.ci95), "deals": deals})

    def finish(self) -> None:
        """Print the report, and write it to the file of ``--json``."""
        told = dict.fromkeys((*self._libraries, "gymnasium", "pettingzoo", "numpy"))
        record = {
            "versions": {name: _version(name) for name in told},
            "hearts_env": hearts_env.__version__,
            "python": platform.python_version(),
            "smoke": self.is_smoke,
            "seconds": round(time.monotonic() - self._start, 1),
            "decisions": self.decisions,
            "seats": self.seats,
            "illegal": self.illegal,
            "before": self._margins[0],
            "after": self._margins[-1],
        }
        versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
        seats = "; ".join(
            f"seat {seat}: {row['won']} won, {row['lost']} lost, {row['drawn']} drawn"
            for seat, row in enumerate(self.seats)
        )
        print(f"versions          {versions}, hearts-env {record['hearts_env']}")
        print(f"decisions         {self.decisions:,} in {record['seconds']:.0f} s")
        print(f"deals             {seats}")
        print(f"illegal actions   {self.illegal}")
        print(f"margin over easy  before {_told(record['before'])}, after {_told(record['after'])}")
        if self._file is not None:
            write_json(self._file, record)


class _Learner(EncoderAgent):
    """A player with a function that scores each action."""

    def __init__(self, worths: Callable[[Any], Any], observation: str) -> None:
        super().__init__(observation)
        self.worths = worths

    def weigh(self, observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return np.asarray(self.worths(observations.astype(np.float32)), np.float32)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Learner:
        return self.sharing_copy(memo)


def _told(margin: dict[str, Any]) -> str:
    low, high = margin["ci95"]
    return f"{margin['margin']:+.2f} ± {(high - low) / 2:.2f} ({margin['deals']:,} duplicate deals)"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
