"""Duplicate evaluation: how many points per deal one agent is better than another.

Every deal is played once with the agent in each seat, the other seats taken by copies of the
opponent, so that good and bad cards cancel out. Such a *duplicate deal*, all plays of one deal
together, is the unit of every interval. Arguments and results call their number ``deals``, since
with two players it is two plays, with the seats swapped.

- The margin of a deal is the others' mean score minus the agent's own: positive is good.
- Intervals are the mean over duplicate deals +- 1.96 standard errors (normal approximation,
  adequate from a few dozen of them on).
- Deals won: 1 where the agent alone has the lowest score, a share of 1 where it is shared.
- Rank: 1 for the lowest score of the deal, 2 for the next, and so on; ties share the mean rank.
- Chips, where the rules settle in chips: what the agent wins in a deal that is settled on its own.
- Matches: for each seat, the deals that the agent played there, in order, are strung together into
  matches that end as the rules say (end score, ties, chips); unfinished ones do not count. The
  players do not know the totals, and deal number and dealer are those of each deal.
- No player sees a deal twice: each seating has players of its own (``hearts_train.measure.duel``).
- An agent that raises, or answers with something illegal, commits a fault: it is
  charged all points of the deal, as after a revoke at the card table, and the rest continues.
- Milliseconds per decision are those of ``act_batch``, many games at once. Everything else follows
  from the seed: the deals from it alone, which are therefore the same for all players. With
  players that draw random numbers the play follows from the number of deals too, which decides how
  many run at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, overload

import numba
import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError, Rules, __version__, settle
from hearts_env.game.match import Scoreboard
from hearts_env.render.scene import count_text
from hearts_env.support.progress import Progress, Show, no_progress, silent
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
    ResultTable,
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
    few_of,
)
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.statistics import mean_and_interval

File = str | os.PathLike[str]


def platform_versions() -> dict[str, str]:
    """Return the versions that a result may depend on besides this package."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
    }


@dataclass(frozen=True, kw_only=True)
class Result:
    """The fields that say how a result was found.

    Attributes:
        seed: Seed of deals and agents.
        interrupted: Whether it was stopped before everything was played.
        agents: All who played: name, options, digest of weights or source code.
        rules_in_full: Every field of the rules.
        deals_digest: SHA-256 over seeds and cards of all deals; empty where that is not of use.
        isolated: Whether each player had a process of its own.
        version: Of this package.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
    """

    seed: int
    interrupted: bool = False
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    deals_digest: str = field(default="", repr=False)
    isolated: bool = False
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows: what was found, then how."""
        common = [one.name for one in fields(Result)]
        own = [one.name for one in fields(self) if one.name not in (*common, *self._of_deals())]
        return {name: plain(getattr(self, name)) for name in (*own, *common)}

    def _of_deals(self) -> tuple[str, ...]:
        """The fields that are of single deals, and too long for a record."""
        return ()


def plain(value: Any) -> Any:
    """Return a value as types that JSON knows."""
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
        agent: Name or checkpoint of the agent.
        opponent: Name or checkpoint of the agent in all other seats.
        rules: The rules, as ``Rules.from_text`` reads them.
        deals: Duplicate deals, each played with the agent in every seat: the intervals' unit.
        margin: Points a deal by which the agent was better: others' mean score minus its own.
        ci95: Its 95 % interval, low and high.
        won: Share of the deals played that the agent won; a shared first place counts in part.
        won_ci95: Its 95 % interval.
        tied: Share of the deals played in which the agent shared the lowest score.
        rank: The agent's mean rank in a deal, 1 the best; ties share the mean rank.
        rank_ci95: Its 95 % interval.
        moons: Moons that the agent shot.
        opponent_moons: Moons that the others shot, all together.
        plays: Plays of a deal, players times deals.
        matches: Matches finished in stringing the deals together.
        matches_won: Share of them that the agent won, None without any; shared ones in part.
        ms_per_decision: Milliseconds per decision of the agent, many games at once.
        opponent_ms_per_decision: The same for the opponent.
        faults: Deals charged to the agent for misbehaving.
        opponent_faults: Deals charged to the opponents.
        examples: Some of those faults, each with everything needed to reproduce it.
        chips: Chips that the agent won a deal; None where the rules settle in points.
        chips_ci95: Its 95 % interval.
        margins: Mean margin of each duplicate deal.
        shares: Share of each duplicate deal that the agent won.
        worst: The deals that went worst for the agent, card by card, the worst first.
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
    matches: int
    matches_won: float | None
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

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        return evaluations_table([self]).to_html()

    def _of_deals(self) -> tuple[str, ...]:
        return "margins", "shares", "worst"

    @classmethod
    def of(
        cls,
        pair: tuple[str, str],
        rules: Rules,
        blocks: Sequence[Block],
        deals: int,
        **how: Any,
    ) -> Evaluation:
        """The figures over the first `deals` duplicate deals of some blocks.

        `pair` are the two names, and `how` the fields of a ``Result``.
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
        matches, matches_won = 0, 0.0
        for s in range(n):
            finished, taken = string_matches(rules, scores[s::n], points[s::n])
            matches, matches_won = matches + finished, matches_won + taken
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
            matches=matches,
            matches_won=matches_won / matches if matches else None,
            ms_per_decision=ms[0],
            opponent_ms_per_decision=ms[1],
            faults=sum(block.faults[0] for block in played),
            opponent_faults=sum(block.faults[1] for block in played),
            examples=few_of(example for block in played for example in block.examples),
            chips=chips,
            chips_ci95=chips_ci95,
            margins=margins,
            shares=shares,
            worst=tuple(sorted(worst, key=lambda deal: (-deal.lost, deal.number))[:WORST]),
            **how,
        )


def evaluations_table(results: Sequence[Evaluation]) -> ResultTable:
    """A row for each evaluation of one agent."""
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
"""Explains the columns of ``opponents_table`` that have two figures."""


def opponents_table(title: str, figures: Sequence[Mapping[str, Any]], players: int) -> ResultTable:
    """Return a table with a row per opponent; `figures` are fields of an ``Evaluation``."""
    is_ranked = players > 2  # with two players the rank is 2 minus the share of deals won
    in_chips = figures[0].get("chips") is not None
    has_faults = any(one["faults"] or one["opponent_faults"] for one in figures)
    columns = ["against", "margin", "deals won", *(["rank"] if is_ranked else [])]
    columns += [*(["chips per deal"] if in_chips else []), "moons", "matches won", "ms"]
    columns += ["faults"] if has_faults else []
    rows = [
        [
            one["opponent"],
            format_margin(one["margin"], one["ci95"]),
            f"{one['won']:.1%}",
            *([format_interval(one["rank"], one["rank_ci95"])] if is_ranked else []),
            *([format_margin(one["chips"], one["chips_ci95"])] if in_chips else []),
            f"{one['moons']} / {one['opponent_moons']}",
            "-" if one["matches_won"] is None else f"{one['matches_won']:.1%} of {one['matches']}",
            f"{format_ms(one['ms_per_decision'])} / {format_ms(one['opponent_ms_per_decision'])}",
            *([f"{one['faults']} / {one['opponent_faults']}"] if has_faults else []),
        ]
        for one in figures
    ]
    return ResultTable(title, columns, rows)


# ---- matches -------------------------------------------------------------------------------------
def string_matches(
    rules: Rules, scores: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[int, float]:
    """String deals, one per row, into matches: how many ended, and how many the first column won.

    A shared first place, with which ``max_deals`` may end a match, counts in part.
    """
    finished, won = 0, Fraction()
    board = Scoreboard(rules)
    for row, taken in zip(scores.tolist(), points.tolist(), strict=True):
        board.add(row, taken)
        if board.is_over:
            leaders = board.leaders
            finished += 1
            won += Fraction(0 in leaders, len(leaders))
            board = Scoreboard(rules)
    return finished, float(won)


def chips_won(rules: Rules, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chips that the first column wins in each deal, one per row, settled on its own.

    There is no pool: chips that no player wins in a deal are not carried over.
    """
    kinds, places = np.unique(points, axis=0, return_inverse=True)
    net = [float(settle(rules.settlement, row)[0][0]) for row in kinds.tolist()]
    won: NDArray[np.float64] = np.array(net)[places.reshape(-1)]
    return won


@dataclass(frozen=True)
class MatchResults(Result):
    """The results of an agent against an opponent on duplicate matches.

    Attributes:
        agent: Name of the agent.
        opponent: Name of the opponent.
        rules: The rules, as ``Rules.from_text`` reads them.
        pairs: Pairs of matches, the unit of the interval.
        won: Share of the matches that the agent won; a shared first place counts a half.
        ci95: Its 95 % interval, low and high.
        split: Share of the pairs that ended one match each: the cards decided.
        swept: Share of the pairs of which the agent won both.
        deals: Mean number of deals of a match.
        ahead: Mean points or chips by which the agent was ahead at the end.
        faults: Deals charged to the agent for misbehaving.
        opponent_faults: Deals charged to the opponent.
    """

    agent: str
    opponent: str
    rules: str
    pairs: int
    won: float
    ci95: tuple[float, float]
    split: float
    swept: float
    deals: float
    ahead: float
    faults: int = 0
    opponent_faults: int = 0

    @classmethod
    def of(
        cls,
        pair: tuple[str, str],
        rules: Rules,
        blocks: Sequence[MatchBlock],
        pairs: int,
        **how: Any,
    ) -> MatchResults:
        """The figures over the first `pairs` pairs of some blocks.

        `pair` are the two names, and `how` the fields of a ``Result``.
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
            split=float((won.sum(axis=1) == 1).mean()),
            swept=float((won.sum(axis=1) == 2).mean()),
            deals=float(lengths.mean()),
            ahead=float(ahead.mean()),
            faults=sum(block.faults[0] for block in blocks),
            opponent_faults=sum(block.faults[1] for block in blocks),
            **how,
        )


# ---- play ----------------------------------------------------------------------------------------


def play_pairings(
    contest: Contest, deals: int, show: Show, label: str
) -> Iterator[tuple[Pairing, list[AnyBlock]]]:
    """Play `deals` deals of a contest's pairings, one after another, and give each one's blocks.

    After Ctrl-C the last one has the deals that were finished.

    Args:
        contest: who plays.
        deals: how many each pairing plays.
        show: shows the progress.
        label: of the progress, with the names of the two.

    Raises:
        KeyboardInterrupt: the first pairing was stopped and has fewer than two deals.
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
    """Yield the result of each pairing, as ``play_pairings``; interrupted ones are marked."""
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
    """The ``Evaluation`` or ``MatchResults`` of the first `deals` deals of a pairing."""
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
    **settings: Any,
) -> list[Evaluation]: ...


@overload
def evaluate(
    agent: AgentLike,
    opponents: AgentLike,
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    **settings: Any,
) -> Evaluation: ...


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
    **settings: Any,
) -> Evaluation | MatchResults | list[Any]:
    """Play `deals` duplicate deals of `agent` against an opponent, or each of several.

    The module's text has the protocol. Ctrl-C ends it with the duplicate deals finished, marked as
    interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``. An agent object is
            copied; it does not play itself.
        opponents: the same for all other seats; of a list or tuple each in turn, and the result is
            a list of evaluations.
        rules: the rules, or a preset's name; None: those that a checkpoint was trained for, else
            ``two_player``.
        deals: duplicate deals, each played with the agent in every seat; 2 to 10,000,000.
        seed: the same seed gives the same deals to all players, and to agents that have
            ``reseed(seed)`` the same random numbers.
        unit: ``deal``, or ``match``: pairs of whole matches of two players, who know the score
            (``hearts_train.measure.duel``); the results are ``MatchResults``.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the progress against each opponent; silent by default.
        **settings: the other arguments of ``Contest``: `isolate` (every player in a process of
            its own), `time_limit` (with it, seconds for one answer), `workers` (processes that
            play; the figures, times aside, are the same with any number), `backend` (``local`` or
            ``ray``), `command`.

    Raises:
        HeartsError: if an agent or rule set is unknown, an agent cannot play the rules or cannot be
            copied, or there are too few or too many deals.
    """
    deals = check_deals(deals)
    others = list(opponents) if isinstance(opponents, list | tuple) else [opponents]
    contest = Contest([agent, *others], rules, seed, unit=unit, **settings)
    with contest.saved(save, resume, "evaluate", deals=deals):
        found = list(evaluations(contest, deals, show))
    return found if isinstance(opponents, list | tuple) else found[0]


# ---- a picture -----------------------------------------------------------------------------------
def plot(evaluations: Sequence[Evaluation], path: str | Path) -> None:
    """Draw an agent's margins as bars with 95 % intervals into a PNG, SVG or PDF file.

    Raises:
        HeartsError: if matplotlib is not installed, there is nothing to draw, or the suffix is
            another.
    """
    if not evaluations:
        raise HeartsError("plot: there is no evaluation to draw; give one or more")
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
    save_figure(figure, Path(path))
