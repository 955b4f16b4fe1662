"""Shared by the examples: their options, the count of decisions, and the files of what they learn.

``Report`` shows whether a library works with the environment: the learner must win and lose deals
in each seat (with a wrapper that loses rewards, it would only win or only lose), and it must never
play an illegal card.

``Learning`` adds the protocol of the reference results (docs/benchmark.md): a budget of decisions,
and the policy's file at each fifth of it. Nothing of an algorithm is here.
"""

from __future__ import annotations

import argparse
import inspect
import platform
import resource
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import hearts_env
from hearts_agents import save_policy
from hearts_env import HeartsError
from hearts_env.support.files import write_json

OUTCOMES = ("won", "lost", "drawn")
POINTS = 5
"""The number of points of a learning curve, evenly spaced over the budget."""


class Report:
    """Counts the learner's deals and decisions."""

    def __init__(self, about: str | None, *libraries: str) -> None:
        """Read the command line.

        Args:
            about: the description for ``--help``.
            libraries: the distributions that are reported with their versions, the main one first.
        """
        parser = argparse.ArgumentParser(
            description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self._add_options(parser)
        parser.add_argument(
            "--json", type=Path, metavar="FILE", help="also write the report to FILE"
        )
        self.options = parser.parse_args()
        self._libraries = libraries
        self._start, self._cpu_start = time.monotonic(), _cpu_seconds()
        self.decisions = self.illegal = 0
        self.seats: list[dict[str, int]] = [dict.fromkeys(OUTCOMES, 0) for _ in range(2)]

    def _add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--smoke", action="store_true", help="run for seconds only")

    def choose(self, full: int, smoke: int) -> int:
        """Return `full`, or `smoke` with ``--smoke``."""
        return smoke if self.options.smoke else full

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

    def decided(self, masks: Any) -> None:
        """Count the learner's decisions.

        Args:
            masks: the masks of its turns, ``(..., num_actions)``. Turns with one legal action do
                not count.
        """
        self.decisions += int((np.asarray(masks).sum(axis=-1) > 1).sum())

    def _cpu_seconds(self) -> float:
        return round(_cpu_seconds() - self._cpu_start, 1)

    def record(self) -> dict[str, Any]:
        """Return the report as JSON types."""
        told = dict.fromkeys((*self._libraries, "gymnasium", "pettingzoo", "numpy"))
        return {
            "versions": {name: _version(name) for name in told},
            "hearts_env": hearts_env.__version__,
            "python": platform.python_version(),
            "seconds": round(time.monotonic() - self._start, 1),
            "cpu_seconds": self._cpu_seconds(),
            "decisions": self.decisions,
            "seats": self.seats,
            "illegal": self.illegal,
        }

    def finish(self) -> None:
        """Print the report, and write it to the file of ``--json``."""
        record = self.record()
        versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
        seats = "; ".join(
            f"seat {seat}: {row['won']} won, {row['lost']} lost, {row['drawn']} drawn"
            for seat, row in enumerate(self.seats)
        )
        print(f"versions         {versions}, hearts-env {record['hearts_env']}")
        print(f"decisions        {record['decisions']:,} in {record['seconds']:.0f} s")
        print(f"deals            {seats}")
        print(f"illegal actions  {self.illegal}")
        if self.options.json is not None:
            write_json(self.options.json, record)


class Learning(Report):
    """The report of a recipe that learns within a budget of decisions."""

    def __init__(
        self,
        about: str | None,
        *libraries: str,
        opponents: str,
        greedy: bool,
        settings: Mapping[str, Any],
        tried: int = 1,
    ) -> None:
        """Read the command line.

        Args:
            about: the description for ``--help``.
            libraries: the distributions that are reported with their versions, the main one first.
            opponents: a description of the opponents in training.
            greedy: whether the learned policy is greedy, or samples.
            settings: the settings of the recipe, as JSON types, for the report.
            tried: number of settings that were tried on ``dev`` deals, these included.
        """
        super().__init__(about, *libraries)
        self.rules: str = self.options.rules
        self.seed: int = self.options.seed
        self._recipe = {"opponents": opponents, "greedy": greedy, "settings": dict(settings)}
        self._recipe["tried"] = tried
        self._greedy = greedy
        self._learned = self._saved = 0
        self._layers: Callable[[], Any] | None = None

    def _add_options(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--decisions", type=int, default=100_000, help="decisions to learn from (%(default)s)")
        add("--seed", type=int, default=0, help="seed of games and network (%(default)s)")
        add("--rules", default="two_player", help="the game (%(default)s)")
        add(
            "--save",
            type=Path,
            default=Path("learned.safetensors"),
            metavar="FILE",
            help="file of the learned policy; snapshots at each fifth lie beside it (%(default)s)",
        )

    @property
    def is_over(self) -> bool:
        """Whether the decisions counted exceed the budget. Do not learn from the last ones then."""
        return self.decisions > self.options.decisions

    def fits(self, number: int) -> bool:
        """Return whether so many more decisions fit into the budget."""
        return self.decisions + number <= self.options.decisions

    def learned(self, layers: Callable[[], Any], **form: Any) -> None:
        """Note that the policy has learned from all decisions counted so far.

        Args:
            layers: a function that returns the layers of the present policy, as
                ``hearts_agents.save_policy`` takes them: ``lambda: actor``.
            **form: other arguments of ``save_policy``, such as ``activation``.

        Raises:
            HeartsError: if `layers` is not a function, or the decisions exceed the budget.
        """
        if not inspect.isroutine(layers):
            raise HeartsError("layers: is not a function; give one, like lambda: actor")
        if self.is_over:
            raise HeartsError(
                f"decisions: {self.decisions:,} are more than the {self.options.decisions:,} of "
                "the budget; stop when is_over, before learning from the last ones"
            )
        self._learned, self._layers, self._form = self.decisions, layers, form
        point = POINTS * self._learned // self.options.decisions
        if self._saved < point < POINTS:
            self._save(self.options.save.with_suffix(f".{point}.safetensors"))
            self._saved = point

    def _save(self, path: Path) -> None:
        if self._layers is None:
            raise HeartsError(
                f"decisions: the {self.options.decisions:,} of the budget were counted before the "
                "first update; update more often, and call learned after each update"
            )
        spent = {"decisions": self._learned, "cpu_seconds": self._cpu_seconds()}
        facts = {"name": path.stem, **spent, **self._recipe}
        given = {"observation": "flat", "greedy": self._greedy, "training": facts} | self._form
        save_policy(self._layers(), path, self.rules, **given)

    def record(self) -> dict[str, Any]:
        """Return the report as JSON types."""
        budget = {"budget": self.options.decisions, "rules": self.rules, "seed": self.seed}
        return {**super().record(), "decisions": self._learned, **budget, **self._recipe}

    def finish(self) -> None:
        """Save the policy, print the report, and write it to the file of ``--json``."""
        self._save(self.options.save)
        super().finish()
        print(f"saved            {self.options.save}; try: hearts benchmark {self.options.save}")


def _cpu_seconds() -> float:
    """Return the processor seconds of this process and of the child processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
