"""Duplicate evaluation: measure by how many points per deal one agent is better than another.

Every deal is played once with the agent in each seat, against copies of the opponent in the other
seats, so good cards help both sides equally. All plays of one deal form a *duplicate deal*, the
unit of every interval. With two players a duplicate deal is two plays.

- Margin of a deal: the others' mean score minus the agent's score. Positive is good.
- Intervals: the mean over duplicate deals +- 1.96 standard errors, a normal approximation that
  needs a few dozen duplicate deals.
- Deals won: 1 if the agent alone has the lowest score. Agents that tie share the 1.
- Rank: 1 for the lowest score of the deal, 2 for the next, and so on. Ties share the mean rank.
- Chips, for rules that settle in chips: the agent's winnings if each deal is settled alone.
- No player sees a deal twice: each seating has its own players (``hearts_train.measure.duel``).
- An agent that raises an exception or gives an illegal answer commits a fault. It is charged all
  points of the deal, as after a revoke at the card table, and the other games continue.
- Milliseconds per decision are measured in calls of ``act_batch`` for many games at once.

The deals depend on the seed alone, so they are the same for all agents. The play of agents that
draw random numbers also depends on the number of deals, because it decides how many deals run at
once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Unpack, overload

import numba
import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError, Rules, __version__, settle
from hearts_env.render.scene import count_text
from hearts_env.support.arguments import check_path, listed
from hearts_env.support.errors import quoted
from hearts_env.support.keywords import takes
from hearts_env.support.progress import Progress, Show, no_progress, silent
from hearts_env.support.tables import ResultTable
from hearts_train.measure.contest import (
    MIN_DEALS,
    AnyBlock,
    Contest,
    Pairing,
    check_deals,
    num_deals,
)
from hearts_train.measure.display import (
    BLUE,
    format_interval,
    format_margin,
    format_ms,
    literal,
    new_figure,
    save_figure,
    short_names,
    wrapped,
)
from hearts_train.measure.duel import (
    MATCH_ARRAYS,
    WORST,
    Block,
    Example,
    MatchBlock,
    WorstDeal,
    first_examples,
)
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.settings import PlaySettings
from hearts_train.measure.statistics import mean_and_interval

File = str | os.PathLike[str]


def platform_versions() -> dict[str, str]:
    """Return the versions of Python, libraries and machine on which a result may depend."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
    }


@dataclass(frozen=True, kw_only=True)
class Result:
    """The fields common to all results: how the result was obtained.

    Attributes:
        seed: the seed of deals and agents.
        interrupted: True if play was stopped early.
        agents: for each agent its name, options, and digest of weights or source code.
        rules_in_full: every field of the rules.
        deals_digest: the SHA-256 of the seeds and cards of all deals, or empty for matches.
        isolated: True if each player had its own process.
        version: the version of this package.
        platform: the versions of Python, NumPy and Numba, and the kind of machine.
        command: the command that repeats the work: ``hearts ...``, or a call if agents are objects.
    """

    seed: int
    interrupted: bool = False
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    deals_digest: str = field(default="", repr=False)
    isolated: bool = False
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON types, followed by the fields of ``Result``."""
        common = [one.name for one in fields(Result)]
        own = [one.name for one in fields(self) if one.name not in (*common, *_OF_DEALS)]
        return {name: plain(getattr(self, name)) for name in (*own, *common)}


_OF_DEALS = ("margins", "shares", "worst")
"""Fields of results with a value per deal, which are too long for a record."""


def plain(value: Any) -> Any:
    """Return a value as JSON types."""
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value


@dataclass(frozen=True)
class Evaluation(Result):
    """The results of an agent against an opponent on duplicate deals.

    Attributes:
        agent: the name or checkpoint of the agent.
        opponent: the name or checkpoint of the agent in all other seats.
        rules: the rules in the form of ``Rules.from_text``.
        deals: the number of duplicate deals, the unit of the intervals.
        margin: the mean margin in points per deal, which is the others' mean score minus the
            agent's score.
        ci95: the 95 % interval of `margin`, low and high.
        won: the share of the plays that the agent won. A shared first place counts in part.
        won_ci95: 95 % interval of `won`.
        tied: the share of the plays in which the agent shared the lowest score.
        rank: the agent's mean rank, of which 1 is best. Ties share the mean rank.
        rank_ci95: 95 % interval of `rank`.
        moons: the number of moons that the agent shot.
        opponent_moons: the number of moons that all opponents shot.
        plays: the number of plays, deals times players.
        ms_per_decision: the milliseconds per decision of the agent, with many games at once.
        opponent_ms_per_decision: the milliseconds per decision of the opponent.
        faults: the number of plays charged to the agent for a fault.
        opponent_faults: the number of plays charged to the opponents for a fault.
        examples: some of the faults, with everything needed to reproduce them.
        chips: the chips per deal that the agent won. None if the rules settle in points.
        chips_ci95: 95 % interval of `chips`.
        margins: ``(deals,)``, the mean margin of each duplicate deal.
        shares: ``(deals,)``, the share of each duplicate deal that the agent won.
        worst: the deals that the agent lost most, card by card, the worst first.
    """

    agent: str
    opponent: str
    rules: str
    deals: int
    margin: float
    ci95: tuple[float, float]
    won: float
    won_ci95: tuple[float, float]
    tied: float
    rank: float
    rank_ci95: tuple[float, float]
    moons: int
    opponent_moons: int
    plays: int
    ms_per_decision: float
    opponent_ms_per_decision: float
    faults: int = 0
    opponent_faults: int = 0
    examples: tuple[Example, ...] = ()
    chips: float | None = None
    chips_ci95: tuple[float, float] | None = None
    margins: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    worst: tuple[WorstDeal, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return str(evaluations_table([self]))

    @classmethod
    def of(
        cls,
        pair: tuple[str, str],
        rules: Rules,
        blocks: Sequence[Block],
        deals: int,
        **how: Any,
    ) -> Evaluation:
        """Return the figures over the first `deals` duplicate deals of `blocks`.

        `pair` has the names of agent and opponent, `how` the fields of a ``Result``.
        """
        played = [block for block in blocks if block.first < deals]
        n, num_games = rules.players, deals * rules.players
        scores = np.concatenate([block.scores for block in played])[:num_games]
        points = np.concatenate([block.points for block in played])[:num_games]
        shooters = np.concatenate([block.shooters for block in played])[:num_games]
        own = scores[:, :1]
        lower, level = (scores < own).sum(1), (scores == own).sum(1)  # level counts the agent
        first = np.where(lower == 0, 1 / level, 0.0)
        margins = np.concatenate([block.margins for block in played])[:deals]
        margin, ci95 = mean_and_interval(margins)
        shares = first.reshape(deals, n).mean(1)
        won, won_ci95 = mean_and_interval(shares)
        ranks = 1 + lower + (level - 1) / 2
        rank, rank_ci95 = mean_and_interval(ranks.reshape(deals, n).mean(1))
        chips, chips_ci95 = None, None
        if rules.settlement != "points":
            won_chips = chips_won(rules, points).reshape(deals, n).mean(1)
            chips, chips_ci95 = mean_and_interval(won_chips)
        ms = []
        for role in range(2):
            seconds = sum(block.seconds[role] for block in played)
            decisions = sum(block.decisions[role] for block in played)
            ms.append(1000 * seconds / decisions if decisions else 0.0)
        worst = [deal for block in played for deal in block.worst if deal.number < deals]
        return cls(
            agent=pair[0],
            opponent=pair[1],
            rules=rules.name,
            deals=deals,
            margin=margin,
            ci95=ci95,
            won=won,
            won_ci95=won_ci95,
            tied=float(((lower == 0) & (level > 1)).mean()),
            rank=rank,
            rank_ci95=rank_ci95,
            moons=int((shooters == 0).sum()),
            opponent_moons=int((shooters > 0).sum()),
            plays=len(scores),
            ms_per_decision=ms[0],
            opponent_ms_per_decision=ms[1],
            faults=sum(block.faults[0] for block in played),
            opponent_faults=sum(block.faults[1] for block in played),
            examples=first_examples(example for block in played for example in block.examples),
            chips=chips,
            chips_ci95=chips_ci95,
            margins=margins,
            shares=shares,
            worst=tuple(sorted(worst, key=lambda deal: (-deal.lost, deal.number))[:WORST]),
            **how,
        )


def evaluations_table(results: Sequence[Evaluation]) -> ResultTable:
    """Return a table with a row per evaluation of one agent."""
    first = results[0]
    short = short_names([first.agent, *(result.opponent for result in results)])
    figures = []
    for result in results:
        stopped = f" (stopped: {count_text(result.deals, 'deal')})" * result.interrupted
        figures.append(vars(result) | {"opponent": short[result.opponent] + stopped})
    title = (
        f"{short[first.agent]}, {first.rules}: points per deal, 95 % interval over {first.deals:,} "
        f"duplicate deals (each from every seat); {OF_BOTH}"
    )
    return opponents_table(title, figures, Rules.make(first.rules).players)


OF_BOTH = "moons and ms per decision: agent / opponent"
"""The explanation of the columns of ``opponents_table`` that have two figures."""


def opponents_table(title: str, figures: Sequence[Mapping[str, Any]], players: int) -> ResultTable:
    """Return a table with a row per opponent, from fields of an ``Evaluation``."""
    is_ranked = players > 2  # with two players the rank is 2 minus the share of deals won
    in_chips = figures[0].get("chips") is not None
    has_faults = any(one["faults"] or one["opponent_faults"] for one in figures)
    columns = ["against", "margin", "deals won", *(["rank"] if is_ranked else [])]
    columns += [*(["chips per deal"] if in_chips else []), "moons", "ms"]
    columns += ["faults"] if has_faults else []
    rows = [
        [
            one["opponent"],
            format_margin(one["margin"], one["ci95"]),
            f"{one['won']:.1%}",
            *([format_interval(one["rank"], one["rank_ci95"])] if is_ranked else []),
            *([format_margin(one["chips"], one["chips_ci95"])] if in_chips else []),
            f"{one['moons']} / {one['opponent_moons']}",
            f"{format_ms(one['ms_per_decision'])} / {format_ms(one['opponent_ms_per_decision'])}",
            *([f"{one['faults']} / {one['opponent_faults']}"] if has_faults else []),
        ]
        for one in figures
    ]
    return ResultTable(title, columns, rows)


def chips_won(rules: Rules, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chips that the first player wins in each row's deal, settled alone.

    Without a pool, chips that no player wins are not carried over.
    """
    kinds, places = np.unique(points, axis=0, return_inverse=True)
    net = [float(settle(rules.settlement, row)[0][0]) for row in kinds.tolist()]
    won: NDArray[np.float64] = np.array(net)[places.reshape(-1)]
    return won


# ---- matches -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class MatchResults(Result):
    """The results of an agent against an opponent on duplicate matches.

    Attributes:
        agent: the name of the agent.
        opponent: the name of the opponent.
        rules: the rules in the form of ``Rules.from_text``.
        pairs: the number of pairs of matches, the unit of the interval.
        won: the share of the matches that the agent won. A tie counts a half.
        ci95: 95 % interval of `won`, low and high.
        swept: the share of the pairs in which the agent won both matches.
        deals: the mean number of deals per match.
        ahead: the mean final lead of the agent, in points or chips.
        faults: the number of deals charged to the agent for a fault.
        opponent_faults: the number of deals charged to the opponent for a fault.
    """

    agent: str
    opponent: str
    rules: str
    pairs: int
    won: float
    ci95: tuple[float, float]
    swept: float
    deals: float
    ahead: float
    faults: int = 0
    opponent_faults: int = 0

    def __str__(self) -> str:
        return str(matches_table([self]))

    @classmethod
    def of(
        cls,
        pair: tuple[str, str],
        rules: Rules,
        blocks: Sequence[MatchBlock],
        pairs: int,
        **how: Any,
    ) -> MatchResults:
        """Return the figures over the first `pairs` pairs of `blocks`.

        `pair` has the names of agent and opponent, `how` the fields of a ``Result``.
        """
        won, lengths, ahead = (
            np.concatenate([getattr(block, name) for block in blocks])[:pairs]
            for name in MATCH_ARRAYS
        )
        share, ci95 = mean_and_interval(won.mean(axis=1))
        return cls(
            agent=pair[0],
            opponent=pair[1],
            rules=rules.name,
            pairs=len(won),
            won=share,
            ci95=ci95,
            swept=float((won.sum(axis=1) == 2).mean()),
            deals=float(lengths.mean()),
            ahead=float(ahead.mean()),
            faults=sum(block.faults[0] for block in blocks),
            opponent_faults=sum(block.faults[1] for block in blocks),
            **how,
        )


def matches_table(results: Sequence[MatchResults]) -> ResultTable:
    """Return a table with a row per opponent of one agent in matches."""
    first = results[0]
    short = short_names([first.agent, *(result.opponent for result in results)])
    title = (
        f"{short[first.agent]}, {first.rules}: {first.pairs:,} pairs of matches with the seats "
        "swapped; 95 % interval over pairs"
    )
    columns = ["against", "matches won", "pairs won 2:0", "deals per match", "mean final lead"]
    rows = [
        [
            short[result.opponent] + f" (stopped: {result.pairs:,} pairs)" * result.interrupted,
            format_interval(result.won, result.ci95, ".2%"),
            f"{result.swept:.1%}",
            f"{result.deals:.1f}",
            f"{result.ahead:+.2f}",
        ]
        for result in results
    ]
    return ResultTable(title, columns, rows)


# ---- play ----------------------------------------------------------------------------------------
def play_pairings(
    contest: Contest, deals: int, show: Show, label: str
) -> Iterator[tuple[Pairing, list[AnyBlock]]]:
    """Play the pairings of a contest one after another, and yield each with its blocks.

    After Ctrl-C the last pairing has only its finished deals.

    Args:
        contest: the contest.
        deals: the number of deals per pairing.
        show: shows the progress.
        label: the label of the progress, as a format string for the two names.

    Raises:
        KeyboardInterrupt: if the first pairing is stopped before it has two deals.
    """
    tasks = contest.tasks(deals)
    progress: Progress = no_progress
    run = contest.run(tasks, lambda task, done: progress(task.first + done, deals))
    with contextlib.closing(run) as blocks:
        for place, pairing in enumerate(contest.pairings):
            found: list[AnyBlock] = []
            try:
                with show(label.format(*(contest.names[at] for at in pairing))) as progress:
                    while num_deals(found) < deals:
                        found.append(next(blocks))
                        progress(num_deals(found), deals)
            except KeyboardInterrupt:
                if num_deals(found) >= MIN_DEALS:
                    yield pairing, found
                elif not place:
                    raise
                return
            yield pairing, found


def evaluations(
    contest: Contest, deals: int, show: Show, label: str = "{} against {}"
) -> Iterator[Any]:
    """Yield the result of each pairing of ``play_pairings``, and mark an interrupted one."""
    for pairing, found in play_pairings(contest, deals, show, label):
        count = num_deals(found)
        yield result_of(contest, pairing, found, count, interrupted=count < deals)


def result_of(
    contest: Contest,
    pairing: Pairing,
    found: Sequence[AnyBlock],
    deals: int,
    *,
    interrupted: bool = False,
) -> Any:
    """Return the ``Evaluation`` or ``MatchResults`` of a pairing's first `deals` deals."""
    pair = contest.names[pairing[0]], contest.names[pairing[1]]
    how = {**contest.how(pairing, deals), "interrupted": interrupted}
    result = Evaluation if contest.unit == "deal" else MatchResults
    return result.of(pair, contest.rules, found, deals, **how)


@overload
def evaluate(
    agent: AgentLike,
    opponents: list[AgentLike] | tuple[AgentLike, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    unit: str = "deal",
    save: File | None = None,
    resume: File | None = None,
    show: Show = silent,
    **settings: Unpack[PlaySettings],
) -> list[Evaluation]: ...


@overload
def evaluate(
    agent: AgentLike,
    opponents: AgentLike,
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    unit: str = "deal",
    save: File | None = None,
    resume: File | None = None,
    show: Show = silent,
    **settings: Unpack[PlaySettings],
) -> Evaluation: ...


@takes(PlaySettings, Contest)
def evaluate(
    agent: AgentLike,
    opponents: AgentLike | list[AgentLike] | tuple[AgentLike, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    unit: str = "deal",
    save: File | None = None,
    resume: File | None = None,
    show: Show = silent,
    **settings: Unpack[PlaySettings],
) -> Evaluation | MatchResults | list[Any]:
    """Evaluate an agent on duplicate deals against an opponent, or against each of several.

    The docstring of this module describes the protocol. Ctrl-C returns the finished duplicate
    deals, marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``. An agent object is copied,
            and only its copies play.
        opponents: the agent in all other seats. With a list or tuple, `agent` plays against one
            after another, and the result is a list.
        rules: the rules, or the name of a preset. If None, the rules that a checkpoint was trained
            for, else ``two_player``.
        deals: the number of duplicate deals, 2 to 10,000,000.
        seed: the same seed gives the same deals to all agents, and the same random numbers to
            agents with ``reseed(seed)``.
        unit: ``deal`` or ``match``. With ``match``, pairs of whole matches between two players are
            played, who see the totals (``hearts_train.measure.duel``), and the result is a
            ``MatchResults``.
        save: a file to which finished blocks of deals are written. If None, nothing is saved.
        resume: such a file, to continue with the same arguments. If None, start anew.
        show: shows the progress against each opponent. By default nothing is shown.
        **settings: `isolate` (bool): if True, each player has its own process, which receives only
            what the player may see. `time_limit` (float): seconds that an isolated player may take
            for one answer, of at most 32 decisions. If None, no limit. `workers` (int): the number
            of processes that play. The results are the same for any number. `backend` (str): where
            these processes run, ``local`` or ``ray``.

    Raises:
        HeartsError: if an argument, agent or rule set is unknown, an agent cannot play the rules or
            cannot be copied, or the number of deals is out of range.
    """
    deals = check_deals(deals)
    others = list(opponents) if isinstance(opponents, list | tuple) else [opponents]
    contest = Contest([agent, *others], rules, seed, unit=unit, **settings)
    with contest.saved(save, resume, "evaluate", deals=deals):
        found = list(evaluations(contest, deals, show))
    return found if isinstance(opponents, list | tuple) else found[0]


# ---- a picture -----------------------------------------------------------------------------------
def plot(evaluations: Evaluation | Sequence[Evaluation], path: str | Path) -> None:
    """Draw the margins of an agent as bars with 95 % intervals, as PNG, SVG or PDF.

    Args:
        evaluations: one or several results of ``evaluate`` over deals, all of one agent.
        path: the file.

    Raises:
        HeartsError: if matplotlib is not installed, there is no evaluation, or the suffix is none
            of these.
    """
    file = check_path("path", path)
    given = [evaluations] if isinstance(evaluations, Result) else listed(evaluations)
    if not given or not all(isinstance(one, Evaluation) for one in given):
        shown = "a result" if isinstance(evaluations, Result) else quoted(evaluations)
        raise HeartsError(
            f"evaluations: {shown} cannot be drawn; give results of evaluate over deals"
        )
    evaluations = [*given]
    first, places = evaluations[0], range(len(evaluations))
    short = short_names([first.agent, *(e.opponent for e in evaluations)])
    figure = new_figure(7, 1.6 + 0.45 * len(evaluations))
    axes = figure.subplots()
    margins = [e.margin for e in evaluations]
    halves = [(e.ci95[1] - e.ci95[0]) / 2 for e in evaluations]
    axes.barh(places, margins, xerr=halves, color=BLUE, height=0.6, capsize=4, ecolor="#222222")
    for place, margin, half in zip(places, margins, halves, strict=True):
        end = (max(margin + half, 0.0), place)
        axes.annotate(f"{margin:+.2f}", end, (6, 0), textcoords="offset points", va="center")
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_yticks(places, [literal(f"against {short[e.opponent]}") for e in evaluations])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("margin in points per deal, 95 % interval over duplicate deals")
    title = f"{short[first.agent]}: {first.rules}, {first.deals:,} duplicate deals"
    axes.set_title(wrapped(title), fontsize=11)
    save_figure(figure, file)
