"""Duplicate evaluation: how many points a deal one agent is better than another.

Every deal is played once with the agent in each seat, the other seats taken by copies of the
opponent, so that good and bad cards cancel out. Such a *duplicate deal*, all plays of one deal
together, is the unit of every interval. Arguments and results call their number ``pairs``, since
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
- An agent that raises, answers with something illegal or changes its views commits a fault: it is
  charged all points of the deal, as after a revoke at the card table, and the rest goes on.
- Milliseconds per decision are those of ``act_batch``, many games at once. Everything else follows
  from the seed: the deals from it alone, so that they are the same whoever plays; with players that
  draw random numbers the play also from the number of deals, which decides how many run at once.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError, Rules, __version__
from hearts_env.arguments import check_seed
from hearts_env.errors import install
from hearts_env.seeds import secret_seed
from hearts_train.measure.contenders import Contender, Entrant, named, rules_for
from hearts_train.measure.duel import WORST, Duel, Example, WorstDeal, deals_digest
from hearts_train.measure.matches import chips_won, string_matches
from hearts_train.measure.pictures import literal, save_figure, short_names, styles, wrapped
from hearts_train.measure.records import Results, results_file

__all__ = [
    "MAX_PAIRS",
    "MIN_PAIRS",
    "Contest",
    "Entrant",
    "Evaluation",
    "Progress",
    "check_pairs",
    "evaluate",
    "mean_and_interval",
    "named",
    "plot",
    "rules_for",
    "string_matches",
]

Progress = Callable[[float, int], None]
"""Called with the duplicate deals done, including part of those being played, and all of them."""

MIN_PAIRS = 2
MAX_PAIRS = 10_000_000
"""Duplicate deals; the scores of all of them are kept, 80 bytes a deal with two players."""
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 2048
_Z95 = 1.96
_MOST_EXAMPLES = 3


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, tuple[float, float]]:
    """The mean and its 95 % interval, mean +- 1.96 standard errors; of two values or more."""
    mean = float(values.mean())
    half = _Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


@dataclass(frozen=True)
class Evaluation:
    """The results of an agent against an opponent on duplicate deals.

    Attributes:
        agent: Name or checkpoint of the agent.
        opponent: Name or checkpoint of the agent in all other seats.
        rules: The rules, as ``Rules.from_text`` reads them.
        pairs: Duplicate deals, each played with the agent in every seat: the intervals' unit.
        margin: Points a deal by which the agent was better: others' mean score minus its own.
        ci95: Its 95 % interval, low and high.
        won: Share of the deals played that the agent won; a shared first place counts in part.
        won_ci95: Its 95 % interval.
        tied: Share of the deals played in which the agent shared the lowest score.
        rank: The agent's mean rank in a deal, 1 the best; ties share the mean rank.
        rank_ci95: Its 95 % interval.
        moons: Moons that the agent shot.
        opponent_moons: Moons that the others shot, all together.
        deals: Plays of a deal, players times pairs.
        matches: Matches finished in stringing the deals together.
        matches_won: Share of them that the agent won, None without any; shared ones in part.
        ms_per_decision: Milliseconds per decision of the agent, many games at once.
        opponent_ms_per_decision: The same for the opponent.
        seed: What the deals and the players' own chance follow from.
        interrupted: Whether it was stopped before all deals were played.
        faults: Deals charged to the agent for misbehaving.
        opponent_faults: Deals charged to the opponents.
        examples: Some of those faults, each with everything needed to reproduce it.
        chips: Chips that the agent won a deal; None where the rules settle in points.
        chips_ci95: Its 95 % interval.
        version: Of this package.
        rules_in_full: Every field of the rules.
        agents: Agent and opponent: name, options, digest of weights or source code.
        deals_digest: SHA-256 over seeds and cards of all deals.
        isolated: Whether each player had a process of its own.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
        margins: Mean margin of each duplicate deal.
        worst: The deals that went worst for the agent, card by card, the worst first.
    """

    agent: str
    opponent: str
    rules: str
    pairs: int
    margin: float
    ci95: tuple[float, float]
    won: float
    won_ci95: tuple[float, float]
    tied: float
    rank: float
    rank_ci95: tuple[float, float]
    moons: int
    opponent_moons: int
    deals: int
    matches: int
    matches_won: float | None
    ms_per_decision: float
    opponent_ms_per_decision: float
    seed: int
    interrupted: bool = False
    faults: int = 0
    opponent_faults: int = 0
    examples: tuple[Example, ...] = ()
    chips: float | None = None
    chips_ci95: tuple[float, float] | None = None
    version: str = __version__
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    deals_digest: str = field(default="", repr=False)
    isolated: bool = False
    platform: dict[str, str] = field(default_factory=dict, repr=False)
    command: str | None = None
    margins: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    worst: tuple[WorstDeal, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """All figures but those of the single deals, of types that JSON knows."""
        names = [f.name for f in fields(self) if f.name not in ("margins", "worst")]
        figures = {name: getattr(self, name) for name in names}
        figures["examples"] = [dataclasses.asdict(example) for example in self.examples]
        return {name: list(v) if isinstance(v, tuple) else v for name, v in figures.items()}


def evaluate(
    agent: Entrant,
    opponent: Entrant,
    rules: Rules | str | None = None,
    pairs: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Play `pairs` duplicate deals of `agent` against `opponent` (see the module's text).

    Ctrl-C ends it with the duplicate deals finished, marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``. An agent object is
            copied; it does not play itself.
        opponent: the same for all other seats.
        rules: the rules, or a preset's name; None: those that a checkpoint was trained for, else
            ``two_player``.
        pairs: duplicate deals, each played with the agent in every seat; 2 to 10,000,000.
        seed: the same seed gives the same deals to whoever plays, and to agents that have
            ``reseed(seed)`` the same random numbers.
        progress: called after every round of play with the duplicate deals done and all of them.
        isolate: every player in a process of its own, which gets views only.
        time_limit: with `isolate`, seconds that a process may take for one answer.
        out: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.

    Raises:
        HeartsError: if an agent or rule set is unknown, an agent cannot play the rules or cannot be
            copied, or there are too few or too many deals.
    """
    pairs = check_pairs(pairs)
    contest = Contest(
        [agent, opponent], rules, seed, isolate=isolate, time_limit=time_limit, pairings=[(0, 1)]
    )
    with contest.recorded(pairs, out, resume):
        return contest.evaluate(0, 1, pairs, progress)


class Contest:
    """Some agents, made once, who play each other under one set of rules."""

    def __init__(
        self,
        entrants: Sequence[Entrant],
        rules: Rules | str | None,
        seed: int,
        *,
        isolate: bool = False,
        time_limit: float | None = None,
        pairings: Sequence[tuple[int, int]] | None = None,
        command: str | None = None,
    ) -> None:
        """Make the agents, and ask each whether it can play the rules.

        Args:
            entrants: agents, or their names or checkpoints.
            rules: the rules, or a preset's name; None: as for ``evaluate``.
            seed: what deals and the agents' chance follow from.
            isolate: every player in a process of its own.
            time_limit: with `isolate`, seconds that a process may take for one answer.
            pairings: who plays whom, by place; None: the first against each of the others.
            command: the command line, for the results.

        Raises:
            HeartsError: if an agent is unknown or cannot play the rules.
        """
        self.seed = check_seed(seed)
        self.isolate = bool(isolate)
        self.time_limit = _check_time_limit(time_limit, isolate=self.isolate)
        self.command = command
        self.contenders: list[Contender] = []
        try:
            for place, entrant in enumerate(entrants):
                # Not the evaluation's own seed, from which every deal could be computed.
                seed = secret_seed(self.seed, "entered", place)
                self.contenders.append(Contender(entrant, seed, isolate=self.isolate))
            self.rules = rules_for(self.contenders, rules)
            for contender in self.contenders:
                contender.check_rules(self.rules)
        finally:
            for contender in self.contenders:
                contender.close()
        self.pairings = pairings or [(0, j) for j in range(1, len(entrants))]
        self._results: Results | None = None

    def duel(self, i: int, j: int) -> Duel:
        """The agent in place i against that in place j; nothing is played yet."""
        return Duel(
            self.contenders[i],
            self.contenders[j],
            self.rules,
            self.seed,
            time_limit=self.time_limit,
        )

    def settings(self, pairs: int) -> dict[str, Any]:
        """All that the blocks of a file of results follow from."""
        return {
            "agents": [contender.to_json() for contender in self.contenders],
            "pairings": [list(pairing) for pairing in self.pairings],
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "pairs": pairs,
            "blocks": blocks(pairs),
            "seed": self.seed,
            "isolate": self.isolate,
            "time_limit": self.time_limit,
        }

    @contextmanager
    def recorded(
        self,
        pairs: int,
        out: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
        about: dict[str, Any] | None = None,
    ) -> Iterator[None]:
        """Save the blocks that are played in this context to a file, or take them from it.

        `about` is what the file says besides the settings; a file to continue must say the same.
        """
        settings = self.settings(pairs) | ({} if about is None else {"about": about})
        with results_file(out, resume, settings) as results:
            self._results = results
            try:
                yield
            finally:
                self._results = None

    def play(
        self,
        duel: Duel,
        pairing: tuple[int, int],
        size: int,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Play the next block of a duel, or take it from the file of results."""
        results = self._results
        if results is not None:
            block = results.get(pairing, duel.pairs, self.rules.players)
            if block is not None and block.deals == size:
                duel.add(block)
                return
        block = duel.play(size, progress)
        if results is not None:
            results.append(pairing, block)

    def evaluate(self, i: int, j: int, pairs: int, progress: Progress | None = None) -> Evaluation:
        """Play the agent in place i against that in place j, until done or stopped."""
        duel = self.duel(i, j)
        interrupted = False

        def report(pairs_done: float) -> None:
            if progress is not None:
                progress(pairs_done, pairs)

        try:
            for size in blocks(pairs):
                self.play(duel, (i, j), size, report)
            report(pairs)
        except KeyboardInterrupt:
            if duel.pairs < MIN_PAIRS:
                raise
            interrupted = True
        finally:
            duel.close()
        return self.summary(duel, interrupted=interrupted)

    def summary(
        self, duel: Duel, pairs: int | None = None, *, interrupted: bool = False
    ) -> Evaluation:
        """The figures over the duplicate deals played, or over the first `pairs` of them."""
        return dataclasses.replace(
            summarize(duel, pairs, interrupted=interrupted), command=self.command
        )


def check_pairs(pairs: object) -> int:
    """`pairs` as a number of duplicate deals that gives an interval and fits in memory.

    Raises:
        HeartsError: if it is not a whole number from 2 to 10,000,000.
    """
    try:
        number = operator.index(pairs)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if not MIN_PAIRS <= number <= MAX_PAIRS:
        raise HeartsError(
            f"pairs: {pairs!r} is not a usable number of duplicate deals; "
            f"give {MIN_PAIRS} to {MAX_PAIRS:,}, preferably 1000 or more"
        )
    return number


def _check_time_limit(time_limit: Any, *, isolate: bool) -> float | None:
    if time_limit is None:
        return None
    if not isolate:
        raise HeartsError("time_limit: only a process of its own can be stopped; set isolate too")
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if not (is_number and 0 < time_limit < math.inf):
        raise HeartsError(f"time_limit: must be a number of seconds above 0, got {time_limit!r}")
    return float(time_limit)


def blocks(pairs: int) -> list[int]:
    """How many deals are played at once in each block: few at first, then more.

    There are then results early if play is stopped, and a slow agent shows progress.
    """
    sizes, size = [], _FIRST_BLOCK
    while pairs:
        sizes.append(min(size, pairs))
        pairs -= sizes[-1]
        size = min(2 * size, _LARGEST_BLOCK)
    return sizes


def summarize(duel: Duel, pairs: int | None = None, *, interrupted: bool = False) -> Evaluation:
    """The figures over the duplicate deals of a duel, or over the first `pairs` of them."""
    rules, played = duel.rules, duel.blocks
    if pairs is None:
        pairs = duel.pairs
    played = [block for block in played if block.first < pairs]
    n, num_games = rules.players, pairs * rules.players
    scores = np.concatenate([block.scores for block in played])[:num_games]
    points = np.concatenate([block.points for block in played])[:num_games]
    shooters = np.concatenate([block.shooters for block in played])[:num_games]
    own = scores[:, :1]
    lower, level = (scores < own).sum(1), (scores == own).sum(1)  # level counts the agent
    first = np.where(lower == 0, 1 / level, 0.0)
    # Integers up to a single division, so that an even result is exactly 0.
    margins = (scores.sum(1) - n * scores[:, 0]).reshape(pairs, n).sum(1) / (n * (n - 1))
    margin, ci95 = mean_and_interval(margins)
    won, won_ci95 = mean_and_interval(first.reshape(pairs, n).mean(1))
    ranks = 1 + lower + (level - 1) / 2
    rank, rank_ci95 = mean_and_interval(ranks.reshape(pairs, n).mean(1))
    matches, matches_won = 0, 0.0
    for s in range(n):
        finished, taken = string_matches(rules, scores[s::n], points[s::n])
        matches, matches_won = matches + finished, matches_won + taken
    chips, chips_ci95 = None, None
    if rules.settlement != "points":
        chips, chips_ci95 = mean_and_interval(chips_won(rules, points).reshape(pairs, n).mean(1))
    ms = []
    for role in range(2):
        seconds = sum(block.seconds[role] for block in played)
        decisions = sum(block.decisions[role] for block in played)
        ms.append(1000 * seconds / decisions if decisions else 0.0)
    examples = [example for block in played for example in block.examples]
    worst = [deal for block in played for deal in block.worst if deal.number < pairs]
    described = [
        example
        for role in ("agent", "opponent")
        for example in [e for e in examples if e.role == role][:_MOST_EXAMPLES]
    ]
    return Evaluation(
        agent=duel.contenders[0].name,
        opponent=duel.contenders[1].name,
        rules=rules.name,
        pairs=pairs,
        margin=margin,
        ci95=ci95,
        won=won,
        won_ci95=won_ci95,
        tied=float(((lower == 0) & (level > 1)).mean()),
        rank=rank,
        rank_ci95=rank_ci95,
        moons=int((shooters == 0).sum()),
        opponent_moons=int((shooters > 0).sum()),
        deals=len(scores),
        matches=matches,
        matches_won=matches_won / matches if matches else None,
        ms_per_decision=ms[0],
        opponent_ms_per_decision=ms[1],
        seed=duel.seed,
        interrupted=interrupted,
        faults=sum(block.faults[0] for block in played),
        opponent_faults=sum(block.faults[1] for block in played),
        examples=tuple(described),
        chips=chips,
        chips_ci95=chips_ci95,
        rules_in_full=rules.to_dict(),
        agents=tuple(contender.to_json() for contender in duel.contenders),
        deals_digest=deals_digest(rules, duel.seed, pairs),
        isolated=duel.contenders[0].isolate,
        platform=platform_versions(),
        margins=margins,
        worst=tuple(sorted(worst, key=lambda deal: (-deal.lost, deal.number))[:WORST]),
    )


def platform_versions() -> dict[str, str]:
    """What a result may depend on besides this package."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
    }


# ---- a picture ------------------------------------------------------------
def plot(evaluations: Sequence[Evaluation], path: str | Path) -> None:
    """Draw margins as horizontal bars with their 95 % intervals into a PNG, SVG or PDF file.

    Raises:
        HeartsError: if matplotlib is not installed, there is nothing to draw, or the suffix is
            another.
    """
    if not evaluations:
        raise HeartsError("plot: there is no evaluation to draw; give one or more")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise HeartsError(
            f"plot: drawing needs matplotlib; in the checkout: {install('train')}"
        ) from None
    names = {e.agent for e in evaluations}
    short = short_names([*names, *(e.opponent for e in evaluations)])
    labels = [
        f"against {short[e.opponent]}"
        if len(names) == 1
        else f"{short[e.agent]} against {short[e.opponent]}"
        for e in evaluations
    ]
    places = range(len(labels))
    means = [e.margin for e in evaluations]
    halves = [(e.ci95[1] - e.ci95[0]) / 2 for e in evaluations]
    figure = Figure(figsize=(7, 1.6 + 0.45 * len(labels)), layout="constrained")
    axes = figure.subplots()
    style = styles([short[e.opponent] for e in evaluations])
    colors = [style[short[e.opponent]].color for e in evaluations]
    axes.barh(places, means, xerr=halves, color=colors, height=0.6, capsize=4, ecolor="#222222")
    for place, e in zip(places, evaluations, strict=True):
        end = max(e.ci95[1], 0.0)
        axes.annotate(
            f"{e.margin:+.2f}", (end, place), (6, 0), textcoords="offset points", va="center"
        )
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_yticks(places, [literal(label) for label in labels])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("margin in points a deal, 95 % interval over duplicate deals")
    counts = sorted({e.pairs for e in evaluations})
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    owner = f"{short[next(iter(names))]}: " if len(names) == 1 else ""
    title = f"{owner}{evaluations[0].rules}, {count} duplicate deals"
    axes.set_title(wrapped(title), fontsize=11)
    save_figure(figure, Path(path))
