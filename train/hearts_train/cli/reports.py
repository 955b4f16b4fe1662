"""Arguments, files and printed results of the commands that measure."""

from __future__ import annotations

import contextlib
import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import quoted_path
from hearts_env import __version__
from hearts_env.render.scene import count_text
from hearts_train import console
from hearts_train.cli.options import refuse_given
from hearts_train.console import Mistake
from hearts_train.measure.comparison import Comparison
from hearts_train.measure.contest import read_saved
from hearts_train.measure.duel import Example
from hearts_train.measure.evaluation import (
    Evaluation,
    MatchResults,
    evaluations_table,
    matches_table,
    platform_versions,
)

FREE = ("workers", "backend", "resume", "allow_code", "as_json", "plot", "declare")
"""Options allowed with ``--resume``, because they change no result."""


class Work:
    """The work of a command that measures: new or resumed, saved, and written as JSON.

    Attributes:
        agents: the agents, or their names.
        settings: the keywords of the function that does the work.
    """

    def __init__(self, context: typer.Context, function: Callable[..., Any]) -> None:
        """Read the options that all these commands share.

        With ``--resume``, agents and settings come from the file. Otherwise call ``begin``.

        Args:
            context: the command line.
            function: the function that does the work.

        Raises:
            Mistake: if an option is given that the file of ``--resume`` fixes.
            HeartsError: if that file is of another command, or names code that is not allowed.
        """
        options = context.params
        self._command = str(context.info_name)
        self._save, self._resume, self._json = map(options.get, ("save", "resume", "as_json"))
        self.agents: Sequence[Any] = ()
        self.settings: dict[str, Any] = {}
        if self._resume is not None:
            fixed = sorted(options.keys() - set(FREE))
            refuse_given(context, fixed, "--resume", self._resume)
            self.agents, saved = read_saved(self._resume, self._command)
            taken = inspect.signature(function).parameters
            self.settings |= {name: saved[name] for name in taken if name in saved}
        self.settings |= {name: options[name] for name in ("save", "resume", "workers", "backend")}
        self.settings["show"] = console.progress

    def begin(self, agents: Sequence[Any], **settings: Any) -> None:
        """Give the agents and settings of new work."""
        self.agents = agents
        self.settings |= settings

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Run this block. If a signal stops it, print how to continue, and exit."""
        try:
            yield
        except KeyboardInterrupt:
            console.note("stopped")
            self._say_how_to_continue()
            raise console.stopped() from None

    def finish(
        self,
        result: Any,
        *,
        interrupted: bool = False,
        write: Callable[[Any, str], None] | None = None,
    ) -> None:
        """Write the result as JSON. Print the saved file or, if interrupted, how to continue.

        Call it after the result has been shown, so nothing is lost if the file cannot be written.
        If `write` is None, ``write_json`` writes the result.
        """
        if self._json:
            (write or write_json)(result, self._json)
        if interrupted:
            self._say_how_to_continue()
            raise console.stopped()
        say_written(self._save)

    def _say_how_to_continue(self) -> None:
        """Print the command that continues the saved work, if a file was begun."""
        path = self._save or self._resume
        if path is not None and path.exists():
            agents, _ = read_saved(path)
            is_code = any(agent.runs_code for agent in agents)
            allow = " --allow-code" if is_code else ""
            file = quoted_path(path)
            console.note(f"saved; continue with: hearts {self._command} --resume {file}{allow}")


def say_written(out: Path | None) -> None:
    """Print which file a command has written, if any."""
    if out is not None:
        console.note(f"written: {quoted_path(out)}")


def command_line() -> str:
    """Return the command line of this process as a user would type it."""
    return f"{console.Commands.program} {shlex.join(sys.argv[1:])}"


def with_origin(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with this command, and with version and platform if it lacks them."""
    origin = {"version": __version__, "platform": platform_versions()}
    return origin | record | {"command": command_line()}


def write_json(result: dict[str, Any] | list[dict[str, Any]], target: str) -> None:
    """Write one or several records with their origin to a file or to standard output."""
    if isinstance(result, list):
        console.print_json([with_origin(record) for record in result], target)
    else:
        console.print_json(with_origin(result), target)


def show_evaluations(results: Sequence[Any]) -> None:
    """Print a table of one agent's evaluations, over deals or matches."""
    if isinstance(results[0], MatchResults):
        _show_matches(results)
        return
    console.print_table(*evaluations_table(results))
    show_faults(results)


def _show_matches(results: Sequence[MatchResults]) -> None:
    console.print_table(*matches_table(results))
    for result in results:
        if result.faults or result.opponent_faults:
            console.note(
                f"faults in matches against {result.opponent}: {result.faults} by "
                f"{result.agent}, {result.opponent_faults} by the opponent"
            )


def show_faults(results: Sequence[Evaluation]) -> None:
    """Print the agents' faults to standard error, each kind with a view that reproduces it."""
    counts: dict[str, int] = {}
    for result in results:
        for name, faults in (
            (result.agent, result.faults),
            (result.opponent, result.opponent_faults),
        ):
            counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, [example for result in results for example in result.examples])


def show_counted_faults(counts: Mapping[str, int], found: Sequence[Example]) -> None:
    """Print how many deals each agent forfeited, and one example per kind of fault."""
    examples: dict[tuple[str, str], Example] = {}
    for example in found:
        examples.setdefault((example.agent, example.kind), example)
    for name, count in counts.items():
        if count:
            console.note(f"{name}: forfeited {count_text(count, 'deal')} by faults, for example:")
        for (agent, kind), example in examples.items():
            if agent == name:
                console.note(
                    f"  {kind}, deal seed {example.seed}, seat {example.seat}: {example.text}"
                )
                console.note("    " + example.view.strip().replace("\n", "\n    "))


# ---- comparisons ---------------------------------------------------------------------------------


def parse_pair(text: str, option: str, example: str) -> tuple[float, float]:
    """Return the two comma-separated numbers of an option."""
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise Mistake(f"{option}: {text!r} is not two numbers; write them like {example}") from None
    return first, second


def show_comparison(result: Comparison) -> None:
    """Print a comparison as a sentence and a table."""
    console.say(result.with_short_names().conclusion)
    console.print_table(*result.table())
    counts: dict[str, int] = {}
    for name, faults in zip((result.agent, result.other), result.faults, strict=True):
        counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, result.examples)
