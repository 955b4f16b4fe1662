"""A round robin: every agent against every other on the same duplicate deals, and a ranking.

The rating of an agent is its mean margin against the others, in points a deal. All pairings play
the same deals, so its interval is taken over deals, not over pairings, and is right although the
pairings share the cards. With more than two players "i against j" is one i among copies of j, and
the reverse is played too; the margin between them is then half the difference of the two.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.errors import needs
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.measure.contest import MIN_DEALS, Contest, Pairing, check_deals, num_deals
from hearts_train.measure.duel import Block
from hearts_train.measure.intervals import mean_and_interval
from hearts_train.measure.participants import AgentLike, named
from hearts_train.measure.pictures import literal, save_figure, short_names, wrapped
from hearts_train.measure.result_table import ResultTable, format_margin, format_ms
from hearts_train.measure.summary import Evaluation, platform_versions

_MOST_OPEN = 4
"""With more pairings than this the players' processes are ended after each block."""


@dataclass(frozen=True)
class Standing:
    """One line of the ranking: an agent's mean margin against all others, in points a deal."""

    place: int
    agent: str
    rating: float
    ci95: tuple[float, float]
    won: float
    ms_per_decision: float
    faults: int = 0


@dataclass(frozen=True)
class Tournament:
    """All pairings of some agents, and the ranking that follows.

    Attributes:
        agents: Names, as they were entered.
        rules: The rules, as ``Rules.from_text`` reads them.
        deals: Duplicate deals of each pairing.
        seed: Seed of deals and agents.
        evaluations: Every pairing that was played, as (row, column) of the table.
        standings: The ranking, best first.
        interrupted: Whether it was stopped before all deals were played.
        command: The command line, if there was one.
    """

    agents: tuple[str, ...]
    rules: str
    deals: int
    seed: int
    evaluations: dict[Pairing, Evaluation]
    standings: tuple[Standing, ...]
    interrupted: bool = False
    command: str | None = None

    def margin(self, row: int, column: int) -> tuple[float, tuple[float, float]]:
        """By how many points a deal `row` is better than `column`, and the 95 % interval."""
        return mean_and_interval(_margins(self.evaluations, row, column))

    def _repr_html_(self) -> str:
        """Two tables, for notebooks."""
        return "".join(table.to_html() for table in tournament_tables(self))

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return {
            "agents": list(self.agents),
            "rules": self.rules,
            "deals": self.deals,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "version": __version__,
            "platform": platform_versions(),
            "command": self.command,
            "rules_in_full": Rules.make(self.rules).to_dict(),
            "ranking": [
                {**standing.__dict__, "ci95": list(standing.ci95)} for standing in self.standings
            ],
            "evaluations": [e.to_json() for e in self.evaluations.values()],
        }


def tournament_tables(result: Tournament) -> tuple[ResultTable, ResultTable]:
    """The ranking, and the margin of each agent over each other."""
    note = " (stopped early)" if result.interrupted else ""
    title = (
        f"{result.rules}: mean margin over all others in points a deal, 95 % interval over "
        f"{result.deals} duplicate deals{note}"
    )
    has_faults = any(standing.faults for standing in result.standings)
    short = short_names(result.agents)
    rows = [
        [
            f"{standing.place}. {short[standing.agent]}",
            format_margin(standing.rating, standing.ci95),
            f"{standing.won:.1%}",
            format_ms(standing.ms_per_decision),
            *([str(standing.faults)] if has_faults else []),
        ]
        for standing in result.standings
    ]
    columns = ["agent", "margin", "deals won", "ms", *(["faults"] if has_faults else [])]
    ranking = ResultTable(title, columns, rows)
    order = [result.agents.index(standing.agent) for standing in result.standings]
    cross = [
        [
            short[result.agents[i]],
            *("" if i == j else format_margin(*result.margin(i, j)) for j in order),
        ]
        for i in order
    ]
    columns = ["margin of", *(f"over {short[result.agents[j]]}" for j in order)]
    return ranking, ResultTable("", columns, cross)


def plot(result: Tournament, path: str | Path) -> None:
    """Draw the margin of each agent over each other, best first, into a PNG, SVG or PDF file.

    Raises:
        HeartsError: if matplotlib is not installed, nothing was played, or the suffix is another.
    """
    if not result.standings:
        raise HeartsError("plot: no pairing was played; play some first")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise HeartsError(f"plot: drawing {needs('train')}") from None
    short = short_names(result.agents)
    order = [result.agents.index(standing.agent) for standing in result.standings]
    names = [literal(short[result.agents[i]]) for i in order]
    found = {(i, j): result.margin(i, j) for i in order for j in order if i != j}
    margins = np.array([[found[i, j][0] if i != j else np.nan for j in order] for i in order])
    reach = max(float(np.nanmax(np.abs(margins))), 1e-9)
    size = 2.2 + 0.8 * len(order)
    figure = Figure(figsize=(size + 0.6, size), layout="constrained")
    axes = figure.subplots()
    # Only the middle of the colours: on the others black figures cannot be read.
    image = axes.imshow(margins, cmap="RdBu", vmin=-1.8 * reach, vmax=1.8 * reach)
    for row, i in enumerate(order):
        for column, j in enumerate(order):
            if i != j:
                text = format_margin(*found[i, j]).replace(" ±", "\n±")
                axes.annotate(text, (column, row), ha="center", va="center", fontsize=9)
    places = range(len(order))
    axes.set_xticks(places, names, rotation=30, ha="right")
    axes.set_yticks(places, names)
    axes.set_xlabel("over")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.colorbar(image, label="margin in points a deal, 95 % interval", shrink=0.7)
    title = f"{result.rules}, {result.deals:,} duplicate deals each"
    axes.set_title(wrapped(title, 40), fontsize=11)
    save_figure(figure, Path(path))


def tournament(
    agents: Sequence[AgentLike],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Any,
) -> Tournament:
    """Let every agent play every other on `deals` duplicate deals.

    Ctrl-C ends it with the deals that all pairings have finished.

    Args:
        agents: two or more, by name, checkpoint or as objects.
        rules: the rules, or a preset's name; None: as for ``evaluate``.
        deals: duplicate deals of each pairing, 2 to 10,000,000.
        seed: seed of deals and agents.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the progress over all pairings; silent by default.
        **settings: `isolate`, `time_limit`, `workers`, `backend` and `command`, as for
            ``evaluate``.

    Raises:
        HeartsError: if there are too few agents or deals, or an agent is entered twice, unknown, or
            cannot play the rules.
    """
    deals = check_deals(deals)
    names = tuple(named(agent) for agent in agents)
    if len(names) < 2:
        raise HeartsError(f"agents: {len(names)} entered; a tournament needs 2 or more")
    for name in names:
        if names.count(name) > 1:
            raise HeartsError(
                f"agents: {name!r} is entered twice; enter each agent once", value=name
            )
    contest = Contest(
        agents, rules, seed, pairings=functools.partial(all_pairings, names), **settings
    )
    if len(contest.pairings) <= _MOST_OPEN:
        contest.most_open = _MOST_OPEN
    with contest.saved(save, resume, "tournament", deals=deals), show("tournament") as progress:
        return _play(contest, names, deals, progress)


def all_pairings(names: Sequence[str], rules: Rules) -> list[Pairing]:
    """Everybody against everybody; with more than two players both ways."""
    count = range(len(names))
    return [(i, j) for i in count for j in count if i < j or (i != j and rules.players > 2)]


def _play(contest: Contest, names: tuple[str, ...], deals: int, progress: Progress) -> Tournament:
    pairings = contest.pairings
    tasks = sorted(contest.tasks(deals), key=lambda task: task.first)
    found: dict[Pairing, list[Block]] = {pairing: [] for pairing in pairings}
    interrupted = False

    def report(done: float) -> None:
        progress(sum(map(num_deals, found.values())) + done, deals * len(pairings))

    try:
        with contextlib.closing(contest.run(tasks, lambda _, done: report(done))) as blocks:
            for task in tasks:
                found[task.pairing].append(next(blocks))
                report(0)
    except KeyboardInterrupt:
        interrupted = True
        if min(map(num_deals, found.values())) < MIN_DEALS:
            raise
    done = min(map(num_deals, found.values()))  # all have reached this deal
    results: dict[Pairing, Evaluation] = {
        pairing: contest.summary(pairing, of_one, done, interrupted=interrupted)
        for pairing, of_one in found.items()
    }
    return Tournament(
        names,
        contest.rules.name,
        done,
        contest.seed,
        results,
        _rank(names, results),
        interrupted,
        contest.command,
    )


def _margins(results: dict[Pairing, Evaluation], row: int, column: int) -> NDArray[np.float64]:
    """The margin of `row` over `column` in each duplicate deal."""
    forth, back = results.get((row, column)), results.get((column, row))
    if forth is None:
        assert back is not None
        return -back.margins
    return forth.margins if back is None else (forth.margins - back.margins) / 2


def _rank(names: tuple[str, ...], results: dict[Pairing, Evaluation]) -> tuple[Standing, ...]:
    """The agents by rating; of equal ones the first entered comes first, at the same place."""
    rows = []
    for i, name in enumerate(names):
        others = [j for j in range(len(names)) if j != i]
        rating, ci95 = mean_and_interval(np.mean([_margins(results, i, j) for j in others], 0))
        as_agent = [e for (row, _), e in results.items() if row == i]
        as_other = [
            e for (row, column), e in results.items() if column == i and (i, row) not in results
        ]
        won = [e.won for e in as_agent] + [1 - e.won for e in as_other]
        times = [e.ms_per_decision for e in as_agent]
        times += [e.opponent_ms_per_decision for e in as_other]
        faults = sum(e.faults for e in as_agent)
        faults += sum(e.opponent_faults for (_, column), e in results.items() if column == i)
        rows.append((rating, ci95, name, float(np.mean(won)), float(np.mean(times)), faults))
    rows.sort(key=lambda row: -row[0])
    ratings = [row[0] for row in rows]
    return tuple(
        Standing(ratings.index(rating) + 1, name, rating, ci95, won, ms, faults)
        for rating, ci95, name, won, ms, faults in rows
    )
