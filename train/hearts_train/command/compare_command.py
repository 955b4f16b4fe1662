"""What ``hearts compare`` does around ``hearts_train.measure.comparison``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from hearts_env import HeartsError, Rules
from hearts_train import console
from hearts_train.command.reports import prepare, show_counted_faults
from hearts_train.console import Mistake
from hearts_train.measure.comparison import Comparison, Trial, check_max_pairs
from hearts_train.measure.pictures import short_names
from hearts_train.measure.records import read_settings
from hearts_train.measure.sequential import HIGH, LOW, Question, SequentialTest


class Begun(NamedTuple):
    """What a comparison was begun with."""

    agents: list[str]
    against: list[str]
    rules: Rules | None
    question: Question
    max_pairs: int
    seed: int
    isolate: bool
    time_limit: float | None


def two_of(agents: Sequence[str]) -> list[str]:
    """The two agents of the command line.

    Raises:
        Mistake: if there are more or fewer.
    """
    if len(agents) != 2:
        told = "none given" if not agents else f"{len(agents)} given"
        raise Mistake(f"agents: {told}; give two, as in: hearts compare runs/new runs/old")
    return list(agents)


def play(
    begun: Begun,
    crew: tuple[int | None, str],
    out: Path | None,
    *,
    resume: Path | None,
    command: str,
) -> Comparison:
    """Play a comparison, its state shown all the while."""
    max_pairs = check_max_pairs(begun.max_pairs)
    trial = Trial(
        [*begun.agents, *begun.against],
        begun.rules,
        begun.question,
        begun.seed,
        isolate=begun.isolate,
        time_limit=begun.time_limit,
        workers=crew[0],
        backend=crew[1],
        command=command,
    )
    prepare(trial)
    short = short_names([*begun.agents])
    label = " against ".join(short[name] for name in begun.agents)
    if begun.against:
        label = " or ".join(short[name] for name in begun.agents)
    with trial.recorded(max_pairs, out, resume), console.progress(label) as tell:

        def watch(test: SequentialTest, done: float) -> None:
            if not test.states:
                tell(done, max_pairs, "no look yet")
                return
            left = test.states[-1].pairs + test.expected_left() - done
            tell(done, min(max_pairs, max(done + left, done + 1)), news_of(test))

        return trial.run(max_pairs, watch)


def news_of(test: SequentialTest) -> str:
    """Where a test stands, in a line."""
    state, (below, above) = test.states[-1], test.question.bounds
    return (
        f"LLR {state.llr:+.2f} of {below:.2f} and {above:+.2f}, margin {state.mean:+.3f}, "
        f"about {test.expected_left():,.0f} deals left"
    )


def refuse_said(context: typer.Context, resume: Path) -> None:
    """Refuse what the command line says beside a file that decides it."""
    kept = {"workers", "backend", "resume", "as_json", "context"}
    for name in context.params.keys() - kept:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            said = "agents" if name == "agents" else "--" + name.replace("_", "-")
            raise Mistake(f"{said}: with --resume it is as {resume} says; omit it")


def read_begun(path: Path) -> Begun:
    """What the comparison in a file of results was begun with.

    Raises:
        HeartsError: if it is not such a file, of another command, or begun by a program.
    """
    settings = read_settings(path)
    about: Any = settings.get("about")
    names: list[Any] = [agent["spec"] for agent in settings["agents"]]
    if not isinstance(about, dict) or "compare" not in about:
        raise HeartsError(
            f"resume: {str(path)!r} is not of this command; it was begun by hearts evaluate, "
            "tournament or benchmark, which go on with it"
        )
    if None in names:
        raise HeartsError(
            f"resume: {str(path)!r} has agents that a program made; resume it in that program"
        )
    return Begun(
        names[:2],
        names[2:],
        Rules.from_dict(settings["rules_in_full"]),
        Question(**about["compare"]),
        *(settings[name] for name in ("pairs", "seed", "isolate", "time_limit")),
    )


def show(result: Comparison, *, to_stderr: bool) -> None:
    """Print what was found, in a sentence and a table."""
    names = [result.agent, result.other, *result.against]
    short = short_names(names)
    times = result.fixed_pairs / result.pairs
    below, above = result.bounds
    rows = [
        ["answer", verdict_of(result)],
        ["margin, early stop allowed for", told_interval(result.margin, result.ci95)],
        ["log likelihood ratio", f"{result.llr:+.2f} of {below:+.2f} and {above:+.2f}"],
        ["duplicate deals", f"{result.pairs:,}"],
        ["a test of fixed size", f"{result.fixed_pairs:,}, {times:.1f} times as many"],
    ]
    field = ", ".join(short[name] for name in result.against)
    title = (
        f"{short[result.agent]} over {short[result.other]}"
        + (f", both against {field}" if field else "")
        + f", {result.rules}: points a deal, 95 % interval"
    )
    question = f"{result.low:+g} or less, or {result.high:+g} or more?"
    console.print_table(title, ["question", question], rows, to_stderr=to_stderr)
    counts: dict[str, int] = {}
    for name, faults in zip(names, result.faults, strict=True):
        counts[name] = counts.get(name, 0) + faults
    show_counted_faults(counts, result.examples)


def told_interval(value: float, interval: tuple[float, float]) -> str:
    """Like ``+0.15 (+0.02 to +0.26)``: an interval that need not lie evenly about the value."""
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})"


def verdict_of(result: Comparison) -> str:
    """The verdict, in words."""
    if result.verdict == HIGH:
        return f"{result.high:+g} or more; wrong in {result.alpha:.1%} at {result.low:+g}"
    if result.verdict == LOW:
        return f"{result.low:+g} or less; wrong in {result.beta:.1%} at {result.high:+g}"
    return "stopped before it was decided" if result.interrupted else "not decided"
