"""Helpers of ``hearts compare``; the work is in ``comparison``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import typer

from hearts_train import console
from hearts_train.cli.options import refuse_other
from hearts_train.cli.reports import command_line, say_how_to_continue, show_counted_faults
from hearts_train.console import Mistake
from hearts_train.measure.comparison import (
    OPPONENTS,
    Comparison,
    GroupComparison,
    compare,
    compare_runs,
)
from hearts_train.measure.contest import Saved
from hearts_train.measure.intervals import MIN_RUNS
from hearts_train.measure.pictures import short_names
from hearts_train.measure.sequential import HIGH, LOW, Question

_OF_TWO = ("margins", "errors")
Groups = tuple[list[Any], list[Any]]


def two_of(text: str, option: str, example: str) -> tuple[float, float]:
    """The two comma-separated numbers of an option."""
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise Mistake(f"{option}: {text!r} is not two numbers; write them like {example}") from None
    return first, second


def groups_of(agents: Sequence[str]) -> tuple[list[str], list[str]]:
    """The agents before and after ``vs``, or the two where there is no such word.

    Raises:
        Mistake: if there are not two, or there are groups of less than two.
    """
    if "vs" not in agents:
        if len(agents) != 2:
            count = "none given" if not agents else f"{len(agents)} given"
            raise Mistake(
                f"agents: {count}; give two, as in: hearts compare runs/new runs/old; or groups "
                "of runs: hearts compare runs/a-* vs runs/b-*"
            )
        return [agents[0]], [agents[1]]
    place = agents.index("vs")
    left, right = list(agents[:place]), list(agents[place + 1 :])
    if "vs" in right or min(len(left), len(right)) < MIN_RUNS:
        raise Mistake(
            f"agents: {len(left)} before 'vs' and {len(right)} after it; give two runs or more on "
            "either side, or two agents without 'vs'"
        )
    return left, right


def refuse_other_kind(context: typer.Context, *, is_group: bool) -> None:
    """Refuse options that do not apply to groups of runs, or to two agents."""
    if is_group:
        refuse_other(context, _OF_TWO, "groups of runs play --deals deals; omit it")


def play(
    groups: Groups, opponents: list[Any] | None, **arguments: Any
) -> Comparison | GroupComparison:
    """Compare two agents, or two groups of runs; after a signal say how to continue."""
    first, second = groups
    arguments |= {"command": command_line(), "show": console.progress}
    if len(first) == 1:
        return compare(first[0], second[0], opponents=opponents or (), **arguments)
    try:
        return compare_runs(first, second, opponents or OPPONENTS, **arguments)
    except KeyboardInterrupt:
        console.note("stopped")
        say_how_to_continue("compare", arguments["save"] or arguments["resume"])
        raise console.stopped() from None


def arguments_of(saved: Saved) -> dict[str, Any]:
    """The arguments of the comparison in a file of results."""
    first, second = saved.about.get("groups", (1, 1))
    arguments: dict[str, Any] = {
        "groups": (saved.agents[:first], saved.agents[first : first + second]),
        "opponents": saved.agents[first + second :],
        "rules": saved.rules,
        "seed": saved.seed,
        "isolate": saved.isolate,
        "time_limit": saved.time_limit,
    }
    if "groups" in saved.about:
        return arguments | {"deals": saved.about["deals"]}
    question = Question(**saved.about["question"])
    return arguments | {"question": question, "deals": saved.about["max_deals"]}


def show(result: Comparison | GroupComparison, *, verbose: bool, to_stderr: bool) -> None:
    """Print the result: a sentence, then tables; those of a test only with `verbose`."""
    if isinstance(result, GroupComparison):
        show_groups(result, to_stderr=to_stderr)
    else:
        show_two(result, verbose=verbose, to_stderr=to_stderr)


def _say(sentence: str, *, to_stderr: bool) -> None:
    console.note(sentence) if to_stderr else print(sentence, flush=True)


def show_groups(result: GroupComparison, *, to_stderr: bool) -> None:
    """Print the conclusion on the two groups in a sentence, then the margins of all runs."""
    _say(result.conclusion, to_stderr=to_stderr)
    names = [*result.runs, *result.others]
    short = short_names([*names, *result.opponents])
    scores = np.concatenate([result.scores, result.other_scores])
    rows = [
        [short[name], *(f"{score:+.2f}" for score in row)]
        for name, row in zip(names, scores, strict=True)
    ]
    title = f"{result.rules}: margins in points a deal over {result.deals:,} duplicate deals each"
    columns = ["run", *(short[name] for name in result.opponents)]
    console.print_table(title, columns, rows, to_stderr=to_stderr)
    chance, (low, high) = result.improvement
    given = [
        [f"{len(result.runs)} runs, interquartile mean", shown_interval(*result.iqm)],
        [f"{len(result.others)} others, interquartile mean", shown_interval(*result.other_iqm)],
        ["difference", shown_interval(*result.difference)],
        ["a run scores more than another", f"{chance:.0%} ({low:.0%} to {high:.0%})"],
    ]
    columns = ["over all runs", "95 % interval over runs"]
    console.print_table("", columns, given, to_stderr=to_stderr)


def show_two(result: Comparison, *, verbose: bool, to_stderr: bool) -> None:
    """Print the result in a sentence, and with `verbose` the test as a table."""
    names = [result.agent, result.other, *result.opponents]
    short = short_names(names)
    agent, other, *field = (short[name] for name in names)
    shown = replace(result, agent=agent, other=other, opponents=tuple(field))
    _say(shown.conclusion, to_stderr=to_stderr)
    if verbose:
        times = result.fixed_deals / result.deals
        more = f", {times:.1f} times as many" if times >= 1.05 else ""
        below, above = result.bounds
        rows = [
            ["accepted", verdict_of(result)],
            ["margin, corrected for stopping early", shown_interval(result.margin, result.ci95)],
            ["log likelihood ratio", f"{result.llr:+.2f}, bounds {below:+.2f} and {above:+.2f}"],
            ["duplicate deals", f"{result.deals:,}"],
            ["a test of fixed size would need", f"{result.fixed_deals:,}{more}"],
        ]
        title = f"{agent} over {other}, {result.rules}: points a deal, 95 % interval"
        columns = ["sequential test", f"{result.low:+g} or less against {result.high:+g} or more"]
        console.print_table(title, columns, rows, to_stderr=to_stderr)
    counts: dict[str, int] = {}
    for name, faults in zip(names, result.faults, strict=True):
        counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, result.examples)


def shown_interval(value: float, interval: tuple[float, float]) -> str:
    """Like ``+0.15 (+0.02 to +0.26)``: an interval that need not be symmetric."""
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})"


def verdict_of(result: Comparison) -> str:
    """The hypothesis that the test has accepted: one of two, not a bound on the margin."""
    if result.verdict == HIGH:
        return f"{result.high:+g} or more (error rate at most {result.alpha:.1%})"
    if result.verdict == LOW:
        return f"{result.low:+g} or less (error rate at most {result.beta:.1%})"
    return "neither: stopped early" if result.interrupted else "neither"
