"""The progress of a training run, on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from hearts_train.learn.learner import Learner
from hearts_train.learn.report import EXPLOITED
from hearts_train.measure.evaluation import Evaluation
from hearts_train.screen import note, progress


class Display:
    """Shows how far a run is, and a line for each evaluation."""

    def __init__(self, learner: Learner, *, is_shown: bool) -> None:
        self.learner = learner
        self.is_shown = is_shown
        self._bar = contextlib.ExitStack()
        self._label = self._speed = ""
        self._margins: dict[str, str] = {}

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def say(self, text: str) -> None:
        """Show a line."""
        if self.is_shown:
            note(text)

    def progress(self, label: str, share: float, message: str = "") -> None:
        """Show the share done of what `label` names."""
        if not self.is_shown:
            return
        if label != self._label:
            self._bar.close()
            self._report = self._bar.enter_context(progress(label))
            self._label = label
        self._report(share, 1.0, message)

    def update(self, row: Mapping[str, Any]) -> None:
        """Show the progress after an update with this line of the log."""
        if "pretraining" in row:
            self._speed = f"pretraining {row['pretraining']:.0%}"
        else:
            millions = self.learner.counters.decisions / 1e6
            self._speed = f"{millions:.2f} M, {row['decisions_per_second'] / 1e3:.0f} k/s"
        self._show()

    def _show(self) -> None:
        margins = [f"{margin} {name}" for name, margin in self._margins.items()]
        message = " · ".join(filter(None, [self._speed, *margins]))
        self.progress(self.learner.config.name, self.learner.progress, message)

    def evaluated(self, opponent: str, result: Evaluation) -> None:
        """Show the result of an evaluation."""
        self._margins[opponent] = f"{result.margin:+.1f}"
        self._show()
        low, high = result.ci95
        self._found(f"{result.margin:+6.2f} ({low:+.2f} to {high:+.2f}) over {opponent}")

    def exploited(self, row: Mapping[str, Any]) -> None:
        """Show the learner's exploitability from a line of the log."""
        found = [f"{row[name]:.3f} ({what})" for name, what in EXPLOITED.items() if name in row]
        self._found(f"exploitability {', '.join(found)}")

    def _found(self, text: str) -> None:
        counters = self.learner.counters
        when = f"{counters.seconds / 60:5.2f} min, {counters.decisions / 1e6:5.2f} M decisions"
        self.say(f"{when}: {text}")
