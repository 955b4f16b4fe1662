"""The progress of a training run, on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from hearts_env.support import clock
from hearts_train.learn.learner import Learner
from hearts_train.learn.log import Metrics
from hearts_train.learn.report import EXPLOITED
from hearts_train.measure.summary import Evaluation
from hearts_train.screen import note, screen


class Display:
    """Shows a run on standard error: a bar with the time left, and a line for each evaluation."""

    def __init__(self, learner: Learner, *, is_shown: bool) -> None:
        self.learner = learner
        self.is_shown = is_shown
        self.console = Console(file=screen())
        self.latest: dict[str, str] = {}
        self._progress: list[str] = []
        self._prepared = ""
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[text]}"),
            console=self.console,
            disable=not is_shown,
        )
        self.task = self.bar.add_task(learner.config.name, total=1.0, text="")
        self._origin = (0.0, 0.0)

    def __enter__(self) -> Display:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Show a text in the bar until the next update."""
        self.bar.update(self.task, text=text)
        if self.is_shown and not self.console.is_terminal:
            note(text)

    def preparing(self, what: str, share: float, seconds: float) -> None:
        """Show the preparation before the next update, for this many seconds.

        Without a terminal, one line for each tenth of it.
        """
        left = seconds * (1 - share) / share if share else None
        text = f"{what} {share:.0%} · {_clock(left)} left"
        tenth = f"{what} {int(10 * share)}"
        if self.console.is_terminal:
            self.bar.update(self.task, text=text)
        elif tenth != self._prepared:
            self.say(text)
        self._prepared = tenth

    def warn(self, text: str) -> None:
        """Show a permanent line."""
        if self.is_shown:
            self.bar.console.print(f"warning: {text}", highlight=False, markup=False)

    def silence(self) -> None:
        """Stop showing anything: the terminal is gone."""
        self.is_shown = False
        self.console.quiet = True

    def start(self) -> None:
        """Start the clock."""
        self._origin = (clock.now(), self.learner.progress)
        self.bar.reset(self.task, text="")
        self.bar.update(self.task, completed=self.learner.progress)

    def update(self, metrics: Metrics) -> None:
        """Show the progress after an update."""
        share = self.learner.progress
        begin, first = self._origin
        elapsed = clock.now() - begin
        left = elapsed * (1 - share) / (share - first) if share > first else None
        rate = metrics.rows[-1].get("decisions_per_second", 0.0)
        count = self.learner.counters.decisions
        taught = metrics.rows[-1].get("pretraining")
        self._progress = [f"{_clock(left)} left", f"{count / 1e6:.2f} M, {rate / 1e3:.0f} k/s"]
        if taught is not None:
            self._progress = [f"pretraining {taught:.0%}"]
        self.bar.update(self.task, completed=share)
        self._show()

    def _show(self) -> None:
        margins = [f"{margin} {name}" for name, margin in self.latest.items()]
        self.bar.update(self.task, text=" · ".join([*self._progress, *margins]))

    def evaluated(self, opponent: str, result: Evaluation) -> None:
        """Show the result of an evaluation."""
        self.latest[opponent] = f"{result.margin:+.1f}"
        self._show()
        low, high = result.ci95
        self._found(f"{result.margin:+6.2f} ({low:+.2f} to {high:+.2f}) over {opponent}")

    def exploited(self, row: Mapping[str, Any]) -> None:
        """Show the learner's exploitability from a line of the log."""
        found = [f"{row[name]:.3f} ({what})" for name, what in EXPLOITED.items() if name in row]
        self._found(f"exploitability {', '.join(found)}")

    def _found(self, text: str) -> None:
        if self.is_shown:
            counters = self.learner.counters
            when = f"{counters.seconds / 60:5.2f} min, {counters.decisions / 1e6:5.2f} M decisions"
            self.bar.console.print(f"{when}: {text}", highlight=False)


def _clock(seconds: float | None) -> str:
    """Like ``3:20``, which fits into the bar; ``?`` while it is unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
