"""Evaluations and tournaments as the commands run and show them."""

from __future__ import annotations

import os
import pathlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from typer import Context

from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, HeartsError, Rules, __version__
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console
from hearts_train.command.options import refuse_said
from hearts_train.console import Mistake
from hearts_train.measure.duel import Example
from hearts_train.measure.evaluation import Contest, Evaluation, check_deals, platform_versions
from hearts_train.measure.records import named_agents, read_settings
from hearts_train.measure.summary import evaluations_table
from hearts_train.measure.tournament import Tournament, tournament_tables

Path = str | os.PathLike[str]


def prepare(contest: Contest) -> None:
    """Compile what the package's own players need, before anything is timed or interrupted."""
    with held_interrupt():  # compilation cannot be interrupted safely
        batch = BatchGame(contest.rules, 1)
        views = batch.views()
        for contender in contest.contenders:
            if contender.is_ours:
                contender.fresh(0).act_batch(views)
        batch.play(batch.random_actions())


def evaluate_against(
    agent: str,
    opponents: Sequence[str],
    rules: Rules | None,
    deals: int,
    seed: int,
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    workers: int | None = None,
    backend: str = "local",
    command: str | None = None,
) -> list[Evaluation]:
    """Evaluate an agent against each opponent in turn; after Ctrl-C, return what is finished."""
    check_deals(deals)
    contest = Contest(
        [agent, *opponents],
        rules,
        seed,
        isolate=isolate,
        time_limit=time_limit,
        workers=workers,
        backend=backend,
        command=command,
    )
    prepare(contest)
    results: list[Evaluation] = []
    with contest.recorded(deals, out, resume):
        try:
            results.extend(
                contest.evaluations(
                    deals, lambda _, j: console.progress(f"{agent} against {opponents[j - 1]}")
                )
            )
        except KeyboardInterrupt:
            if not results:
                raise
    return results


class Settings(NamedTuple):
    """The settings of an evaluation or a tournament."""

    agents: list[str]
    rules: Rules
    deals: int
    seed: int
    isolate: bool
    time_limit: float | None


def read_begun(path: Path, *, is_tournament: bool) -> Settings:
    """The settings in a file of results.

    Raises:
        HeartsError: if it is not such a file, or one of the other command.
    """
    settings = read_settings(path)
    names = named_agents(path, settings)
    pairings = [tuple(pairing) for pairing in settings["pairings"]]
    each_against_first = pairings == [(0, j) for j in range(1, len(names))]
    if is_tournament == each_against_first and len(names) > 2:
        right = "evaluate" if each_against_first else "tournament"
        raise HeartsError(
            f"resume: {str(path)!r} is not of this command; use hearts {right} --resume"
        )
    rest = (settings[name] for name in ("deals", "seed", "isolate", "time_limit"))
    return Settings(names, Rules.from_dict(settings["rules_in_full"]), *rest)


def resumed(
    context: Context, path: pathlib.Path, *, is_tournament: bool, is_given: bool
) -> Settings:
    """What a file of results was begun with; refused is whatever the command line says besides."""
    said = ("opponents", "deals", "rules", "players", "seed", "isolate", "time_limit", "out")
    refuse_said(context, said, "--resume", path)
    if is_given:
        raise Mistake(f"agents: with --resume they are as {path} says; omit them")
    return read_begun(path, is_tournament=is_tournament)


def say_how_to_go_on(command: str, kept: Path | None, blocks: Path | None = None) -> None:
    """Name the command that goes on with what was kept.

    Args:
        command: its first words, without ``hearts``.
        kept: what it is given; None: nothing was kept.
        blocks: the file of results, where it is another.
    """
    if kept is None:
        return
    agents = read_settings(blocks or kept)["agents"]
    is_code = any(AgentSpec.from_json(agent["spec"]).runs_code for agent in agents)
    trust = " --allow-code" if is_code else ""
    console.note(f"kept; go on with: hearts {command} --resume {kept}{trust}")


def say_written(out: Path | None) -> None:
    """Name the file that a command has written, if it was to write one."""
    if out is not None:
        console.note(f"written: {out}")


def command_line() -> str:
    """The command line of this process, as it would be typed."""
    return shlex.join(["hearts", *sys.argv[1:]])


def with_origin(records: Iterable[dict[str, Any]], seed: int | None = None) -> list[dict[str, Any]]:
    """Records as ``--json`` prints them: each says by what it was measured.

    Args:
        records: the figures; what they say themselves stays.
        seed: that of all draws; None: nothing is drawn.
    """
    origin: dict[str, Any] = {"version": __version__, "platform": platform_versions()}
    origin["command"] = command_line()
    if seed is not None:
        origin["seed"] = seed
    return [record | {k: v for k, v in origin.items() if k not in record} for record in records]


def show_evaluations(results: list[Evaluation], *, to_stderr: bool) -> None:
    """Print a table of the evaluations of one agent."""
    table = evaluations_table(results)
    console.print_table(table.title, table.columns, table.rows, to_stderr=to_stderr)
    show_faults(results)


def show_faults(results: Sequence[Evaluation]) -> None:
    """Name the agents that misbehaved, with a view that reproduces it, on standard error."""
    counts: dict[str, int] = {}
    for result in results:
        for name, faults in (
            (result.agent, result.faults),
            (result.opponent, result.opponent_faults),
        ):
            counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, [example for result in results for example in result.examples])


def show_counted_faults(counts: Mapping[str, int], found: Sequence[Example]) -> None:
    """Say how many deals are charged to each agent, and show one of its faults of each kind."""
    examples: dict[tuple[str, str], Example] = {}
    for example in found:
        examples.setdefault((example.agent, example.kind), example)
    for name, count in counts.items():
        if count:
            console.note(f"{name}: misbehaved; {count:,} deals are charged to it, for example:")
        for (agent, kind), example in examples.items():
            if agent == name:
                console.note(
                    f"  {kind}, deal seed {example.seed}, seat {example.seat}: {example.text}"
                )
                console.note("    " + example.view.strip().replace("\n", "\n    "))


def show_tournament(result: Tournament, *, to_stderr: bool) -> None:
    """Print the ranking, and below it the margin of each agent over each other."""
    for table in tournament_tables(result):
        console.print_table(table.title, table.columns, table.rows, to_stderr=to_stderr)
    show_faults(list(result.evaluations.values()))
