"""What ``hearts compare`` does around ``comparison`` and ``aggregates`` of ``measure``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from hearts_env import HeartsError, Rules
from hearts_train import console
from hearts_train.command.options import is_said
from hearts_train.command.reports import prepare, say_how_to_go_on, show_counted_faults
from hearts_train.console import Mistake
from hearts_train.measure.aggregates import MIN_RUNS, GroupComparison, GroupTrial
from hearts_train.measure.comparison import Comparison, Trial, check_max_deals
from hearts_train.measure.contenders import Contender
from hearts_train.measure.evaluation import check_deals
from hearts_train.measure.pictures import short_names
from hearts_train.measure.records import named_agents, read_settings
from hearts_train.measure.sequential import HIGH, LOW, Question, SequentialTest

AGAINST = ("easy", "standard", "standard_trump", "pro")
"""Whom groups of runs play where nothing else is said."""
_OF_TWO = ("low", "high", "alpha", "beta", "max_deals")


class Begun(NamedTuple):
    """What a comparison was begun with: of two agents, or of two groups of two runs or more."""

    agents: list[str]
    others: list[str]
    opponents: list[str] | None
    rules: Rules | None
    question: Question
    deals: int
    """Of groups those of each run against each opponent; else the most that are played."""
    seed: int
    isolate: bool
    time_limit: float | None


def groups_of(agents: Sequence[str]) -> tuple[list[str], list[str]]:
    """The agents before and after ``vs``, or the two where there is no such word.

    Raises:
        Mistake: if there are not two, or there are groups of less than two.
    """
    if "vs" not in agents:
        if len(agents) != 2:
            told = "none given" if not agents else f"{len(agents)} given"
            raise Mistake(
                f"agents: {told}; give two, as in: hearts compare runs/new runs/old; or two groups "
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
    """Refuse options of the other of the two kinds of comparison."""
    for name in _OF_TWO if is_group else ("deals",):
        if is_said(context, name):
            said = "--" + name.replace("_", "-")
            why = "groups of runs play --deals deals" if is_group else "is for groups of runs"
            raise Mistake(f"{said}: {why}; omit it")


def play(
    begun: Begun,
    crew: tuple[int | None, str],
    out: Path | None,
    *,
    resume: Path | None,
    command: str,
) -> Comparison | GroupComparison:
    """Play a comparison, its state shown all the while."""
    settings = {
        "isolate": begun.isolate,
        "time_limit": begun.time_limit,
        "workers": crew[0],
        "backend": crew[1],
        "command": command,
    }
    if len(begun.agents) > 1:
        return _play_groups(begun, settings, out, resume)
    max_deals = check_max_deals(begun.deals)
    entrants = [*begun.agents, *begun.others, *(begun.opponents or [])]
    trial = Trial(entrants, begun.rules, begun.question, begun.seed, **settings)
    prepare(trial)
    for first, second in same_players(trial.contenders[:2]):
        console.note(f"{first} and {second} are the same player: nothing can differ but luck")
    short = short_names(entrants)
    label = f"{short[entrants[0]]} {'or' if begun.opponents else 'against'} {short[entrants[1]]}"
    with trial.recorded(max_deals, out, resume), console.progress(label) as tell:

        def watch(test: SequentialTest, done: float) -> None:
            if not test.states:
                tell(done, max_deals, "no look yet")
                return
            left = test.states[-1].deals + test.expected_left() - done
            tell(done, min(max_deals, max(done + left, done + 1)), news_of(test))

        return trial.run(max_deals, watch)


def _play_groups(
    begun: Begun, settings: dict[str, Any], out: Path | None, resume: Path | None
) -> GroupComparison:
    """Play a comparison of groups of runs; after a signal say how to go on."""
    opponents = begun.opponents if begun.opponents is not None else list(AGAINST)
    deals = check_deals(begun.deals)
    trial = GroupTrial(begun.agents, begun.others, opponents, begun.rules, begun.seed, **settings)
    prepare(trial)
    for group in (trial.contenders[: trial.counts[0]], trial.contenders[trial.counts[0] :]):
        for first, second in same_players(group[: trial.counts[1]]):
            console.note(
                f"{first} and {second} are the same player: they are one run, not two, and the "
                "intervals too narrow; train with other seeds (--set seed=1)"
            )
    try:
        with trial.recorded(deals, out, resume), console.progress("runs") as tell:
            return trial.run(deals, tell)
    except KeyboardInterrupt:
        console.note("stopped")
        say_how_to_go_on("compare", out or resume)
        raise console.stopped() from None


def same_players(contenders: Sequence[Contender]) -> Iterator[tuple[str, str]]:
    """Those who are the same player as an earlier one, by name; the earlier one is first."""
    known: dict[str, str] = {}
    for contender in contenders:
        told = contender.to_json()
        if told["spec"] is None and told["digest"] is None:  # an object of a program
            continue
        who = told["digest"] or contender.spec.name
        key = f"{told['kind']} {who} {told['options']}"
        if key in known:
            yield known[key], contender.name
        known.setdefault(key, contender.name)


def news_of(test: SequentialTest) -> str:
    """Where a test stands, in a line."""
    return f"margin {test.states[-1].mean:+.3f}, about {test.expected_left():,.0f} deals left"


def read_begun(path: Path) -> Begun:
    """What the comparison in a file of results was begun with.

    Raises:
        HeartsError: if it is not such a file, of another command, or begun by a program.
    """
    settings = read_settings(path)
    about: Any = settings.get("about")
    kind = about if isinstance(about, dict) else {}
    if not kind.keys() & {"compare", "groups"}:
        raise HeartsError(
            f"resume: {str(path)!r} is not of this command; it was begun by hearts evaluate, "
            "tournament or benchmark, which go on with it"
        )
    names = named_agents(path, settings)
    first, second, _ = kind.get("groups", (1, 1, 0))
    return Begun(
        names[:first],
        names[first : first + second],
        names[first + second :],
        Rules.from_dict(settings["rules_in_full"]),
        Question(**kind.get("compare", {})),
        *(settings[name] for name in ("deals", "seed", "isolate", "time_limit")),
    )


def show(result: Comparison | GroupComparison, *, verbose: bool, to_stderr: bool) -> None:
    """Print what was found: a sentence, then tables; those of a test only with `verbose`."""
    if isinstance(result, GroupComparison):
        show_groups(result, to_stderr=to_stderr)
    else:
        show_two(result, verbose=verbose, to_stderr=to_stderr)


def _say(sentence: str, *, to_stderr: bool) -> None:
    console.note(sentence) if to_stderr else print(sentence, flush=True)


def show_groups(result: GroupComparison, *, to_stderr: bool) -> None:
    """Print what follows for the two groups in a sentence, then the margins of all runs."""
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
    told = [
        [f"{len(result.runs)} runs, interquartile mean", told_interval(*result.iqm)],
        [f"{len(result.others)} others, interquartile mean", told_interval(*result.other_iqm)],
        ["difference", told_interval(*result.difference)],
        ["a run scores more than another", f"{chance:.0%} ({low:.0%} to {high:.0%})"],
    ]
    columns = ["over all runs", "95 % interval over runs"]
    console.print_table("", columns, told, to_stderr=to_stderr)


def show_two(result: Comparison, *, verbose: bool, to_stderr: bool) -> None:
    """Print what was found in a sentence, and with `verbose` the test as a table."""
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
            ["margin, corrected for stopping early", told_interval(result.margin, result.ci95)],
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


def told_interval(value: float, interval: tuple[float, float]) -> str:
    """Like ``+0.15 (+0.02 to +0.26)``: an interval that need not lie evenly about the value."""
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})"


def verdict_of(result: Comparison) -> str:
    """The hypothesis that the test has accepted: one of two, not a bound on the margin."""
    if result.verdict == HIGH:
        return f"{result.high:+g} or more (error rate at most {result.alpha:.1%})"
    if result.verdict == LOW:
        return f"{result.low:+g} or less (error rate at most {result.beta:.1%})"
    return "neither: stopped early" if result.interrupted else "neither"
