"""Duplicate evaluation: how many points a deal one agent is better than another.

Every deal is played once with the agent in each seat, the other seats taken by copies of the
opponent, so that good and bad cards cancel out. Such a *duplicate deal*, all plays of one deal
together, is the unit of every interval. Arguments and results call their number ``pairs``, since
with two players it is two plays, with the seats swapped.

- The margin of a deal is the others' mean score minus the agent's own: positive is good.
- Intervals are the mean over duplicate deals +- 1.96 standard errors (normal approximation, fair
  from some dozens of them on).
- Deals won: 1 where the agent alone has the lowest score, a share of 1 where it is shared.
- Rank: 1 for the lowest score of the deal, 2 for the next, and so on; ties in the middle.
- Matches: for each seat, the deals that the agent played there, in order, are strung together into
  matches that end as the rules say (end score, ties, chips); unfinished ones do not count. The
  players do not know the totals, and deal number and dealer are those of each deal.
- Milliseconds per decision are those of ``act_batch``, many games at once. Everything else follows
  from the seed: the deals from it alone, so that whoever plays gets the same; with players that
  draw random numbers the play also from the number of deals, which says how many play at once.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent, Player, as_agent, make_agent
from hearts_env import BatchGame, HeartsError, Match, Rules
from hearts_env import kernel as k
from hearts_env.game import Game, check_seed, derived_seed
from hearts_train.pictures import save_png

Progress = Callable[[float, int], None]
"""Called with the duplicate deals done, part of the present ones counted in, and all of them."""

Entrant = str | os.PathLike[str] | Player
"""An agent, or its name or checkpoint for ``make_agent``."""

MIN_PAIRS = 2
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 2048
_Z95 = 1.96


def rules_for(players: Sequence[Agent], rules: Rules | str | None) -> Rules:
    """The rules asked for, or else those that one of the players was trained for."""
    if rules is None:
        own = (getattr(player, "rules", None) for player in players)
        rules = next((known for known in own if isinstance(known, Rules)), "two_player")
    return Rules.make(rules)


def named(agent: Entrant) -> str:
    """What an agent is called in results."""
    if isinstance(agent, str | os.PathLike):
        return os.fspath(agent)
    return str(getattr(agent, "name", None) or type(agent).__name__)


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, tuple[float, float]]:
    """The mean and its 95 % interval, mean +- 1.96 standard errors; of two values or more."""
    mean = float(values.mean())
    half = _Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


@dataclass(frozen=True)
class Evaluation:
    """What an agent did against an opponent on duplicate deals.

    Attributes:
        agent: Name or checkpoint of the agent.
        opponent: Name or checkpoint of everybody else at the table.
        rules: The rules, as ``Rules.from_text`` reads them.
        pairs: Duplicate deals, each played with the agent in every seat: the intervals' unit.
        margin: Points a deal by which the agent was better: others' mean score minus its own.
        ci95: Its 95 % interval, low and high.
        won: Share of the deals played that the agent won; a shared first place counts in part.
        won_ci95: Its 95 % interval.
        tied: Share of the deals played in which the agent shared the lowest score.
        rank: The agent's mean rank in a deal, 1 the best; ties in the middle.
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
        margins: Mean margin of each duplicate deal.
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
    margins: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)

    def to_json(self) -> dict[str, Any]:
        """All figures but those of the single deals, of types that JSON knows."""
        figures = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "margins"}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in figures.items()}


def evaluate(
    agent: Entrant,
    opponent: Entrant,
    rules: Rules | str | None = None,
    pairs: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Play `pairs` duplicate deals of `agent` against `opponent` (see the module's text).

    Ctrl-C ends it with the duplicate deals finished, marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        opponent: the same for all other seats.
        rules: the rules, or a preset's name; None: those that a checkpoint was trained for, else
            ``two_player``.
        pairs: duplicate deals, each played with the agent in every seat; at least 2.
        seed: the same seed gives the same deals to whoever plays, and to agents that have
            ``reseed(seed)`` the same random numbers.
        progress: called after every round of play with the duplicate deals done and all of them.

    Raises:
        HeartsError: an unknown agent or rule set, or too few deals.
    """
    pairs = check_pairs(pairs)
    duel = Duel(agent, opponent, rules, check_seed(seed))
    interrupted = False

    def tell(pairs_done: float) -> None:
        if progress is not None:
            progress(pairs_done, pairs)

    try:
        for size in blocks(pairs):
            duel.play(size, tell)
    except KeyboardInterrupt:
        if duel.pairs < MIN_PAIRS:
            raise
        interrupted = True
    return duel.result(interrupted=interrupted)


def check_pairs(pairs: object) -> int:
    """The number of duplicate deals; refused where it gives no interval."""
    try:
        number = operator.index(pairs)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if number < MIN_PAIRS:
        raise HeartsError(
            f"pairs: {pairs!r} duplicate deals cannot be evaluated; "
            f"give {MIN_PAIRS} or more, best 1000 or more"
        )
    return number


def blocks(pairs: int) -> list[int]:
    """How many deals are played at once, one block after another: first few, then more.

    So that something stands early for whoever stops, and a slow agent shows progress.
    """
    sizes, size = [], _FIRST_BLOCK
    while pairs:
        sizes.append(min(size, pairs))
        pairs -= sizes[-1]
        size = min(2 * size, _LARGEST_BLOCK)
    return sizes


class Duel:
    """One agent against copies of another on duplicate deals, block by block."""

    def __init__(
        self, agent: Entrant, opponent: Entrant, rules: Rules | str | None, seed: int
    ) -> None:
        """Nothing is played yet; agents given by name are made, their chance from `seed`."""
        self.names = named(agent), named(opponent)
        self.seed = seed
        self.players = seated(agent, seed), seated(opponent, seed)
        self.rules = rules_for(self.players, rules)
        self.pairs = 0
        self._played: list[tuple[NDArray[np.int64], ...]] = []  # scores, points, shooters
        self._seconds = [0.0, 0.0]
        self._decisions = [0, 0]

    def play(self, deals: int, progress: Callable[[float], None] | None = None) -> None:
        """Play the next `deals` deals in every seat; all or, if interrupted, none of them count.

        `progress` is called with the deals done, a part of those being played counted in.
        """
        rules, n = self.rules, self.rules.players
        seeds = [derived_seed(self.seed, self.pairs + number) for number in range(deals)]
        for role, player in enumerate(self.players):
            # Streams of their own, so that an agent against itself is not the same player twice.
            if callable(reseed := getattr(player, "reseed", None)):
                reseed(derived_seed(self.seed, 2**63 + 2 * self.pairs + role))
        seat = np.tile(np.arange(n), deals)  # of the agent, in each game
        batch = BatchGame(rules, num_games=len(seat), observation="flat", autodeal=False)
        batch.reset(seeds=np.repeat(np.array(seeds, np.int64), n))
        self._play_out(batch, seat, progress)
        # The agent's column first, then the others in the order of play.
        order = (seat[:, None] + np.arange(n)) % n
        points = batch.states[:, k.POINTS : k.POINTS + n]
        shooter = batch.states[:, k.SHOOTER]
        self._played.append(
            (
                np.take_along_axis(batch.scores(), order, 1),
                np.take_along_axis(points, order, 1),
                np.where(shooter < 0, -1, (shooter - seat) % n),
            )
        )
        self.pairs += deals

    def _play_out(
        self, batch: BatchGame, seat: NDArray[np.int64], progress: Callable[[float], None] | None
    ) -> None:
        rules, deals = self.rules, len(seat) // self.rules.players
        expected = rules.players * (rules.hand_size + rules.pass_count) + (rules.moon == "choose")
        for step in range(2**31):
            if progress is not None:
                progress(self.pairs + deals * min(1.0, step / expected))
            going = ~batch.done
            if not going.any():
                return
            own = batch.player == seat
            for role, acting in enumerate((going & own, going & ~own)):
                games = np.flatnonzero(acting)
                if not len(games):
                    continue
                views = batch.views(games=games)
                begin = time.perf_counter()
                actions = self.players[role].act_batch(views)
                seconds = time.perf_counter() - begin
                batch.play(actions, games=games)
                if self.pairs or step > 1:  # the first calls may compile
                    self._seconds[role] += seconds
                    self._decisions[role] += len(games)

    def result(self, pairs: int | None = None, *, interrupted: bool = False) -> Evaluation:
        """The figures over the duplicate deals played, or over the first `pairs` of them."""
        pairs = self.pairs if pairs is None else pairs
        n, num_games = self.rules.players, pairs * self.rules.players
        scores, points, shooters = (
            np.concatenate(parts)[:num_games] for parts in zip(*self._played, strict=True)
        )
        own = scores[:, :1]
        lower, level = (scores < own).sum(1), (scores == own).sum(1)  # level counts the agent
        first = np.where(lower == 0, 1 / level, 0.0)
        # In whole numbers up to one division, so that level is exactly 0.
        margins = (scores.sum(1) - n * scores[:, 0]).reshape(pairs, n).sum(1) / (n * (n - 1))
        margin, ci95 = mean_and_interval(margins)
        won, won_ci95 = mean_and_interval(first.reshape(pairs, n).mean(1))
        ranks = 1 + lower + (level - 1) / 2
        rank, rank_ci95 = mean_and_interval(ranks.reshape(pairs, n).mean(1))
        matches, matches_won = 0, 0.0
        for s in range(n):
            finished, taken = string_matches(self.rules, scores[s::n], points[s::n])
            matches, matches_won = matches + finished, matches_won + taken
        ms = [
            1000 * seconds / decisions if decisions else 0.0
            for seconds, decisions in zip(self._seconds, self._decisions, strict=True)
        ]
        return Evaluation(
            agent=self.names[0],
            opponent=self.names[1],
            rules=self.rules.name,
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
            seed=self.seed,
            interrupted=interrupted,
            margins=margins,
        )


def seated(agent: Entrant, seed: int) -> Agent:
    """The agent that a name stands for, its chance from `seed`; or the one given."""
    return make_agent(agent, seed=seed) if isinstance(agent, str | os.PathLike) else as_agent(agent)


# ---- matches ------------------------------------------------------------
@dataclass
class _PlayedDeal:
    """What a match asks of a finished game."""

    own_scores: list[int]
    own_points: list[int]
    revoker: int | None = None

    def scores(self) -> list[int]:
        return self.own_scores

    def points(self) -> list[int]:
        return self.own_points


class _Ledger(Match):
    """The book-keeping of a match whose deals were played elsewhere."""

    def _deal(self) -> Game:
        return cast(Game, _PlayedDeal([], []))

    def add(self, scores: list[int], points: list[int]) -> None:
        """Enter a deal."""
        self.game = cast(Game, _PlayedDeal(scores, points))
        self.finish_deal()


def string_matches(
    rules: Rules, scores: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[int, float]:
    """Strings deals, one a row, into matches: how many ended, and how many the first column won.

    A first place shared (a match may end so by ``max_deals``) counts in part.
    """
    finished, won = 0, Fraction()
    match = _Ledger(rules, 0)
    for row, taken in zip(scores.tolist(), points.tolist(), strict=True):
        match.add(row, taken)
        if match.is_over:
            best = max(match.totals) if match.in_chips else min(match.totals)
            finished += 1
            won += Fraction(match.totals[0] == best, match.totals.count(best))
            match = _Ledger(rules, 0)
    return finished, float(won)


# ---- a picture ------------------------------------------------------------
def plot(evaluations: Sequence[Evaluation], path: str | Path) -> None:
    """Draw margins as horizontal bars with their 95 % intervals into a PNG file.

    Raises:
        HeartsError: matplotlib is not installed, or there is nothing to draw.
    """
    if not evaluations:
        raise HeartsError("plot: there is no evaluation to draw; give one or more")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise HeartsError(
            "plot: drawing needs matplotlib; pip install 'hearts-env[train]'"
        ) from None
    names = {e.agent for e in evaluations}
    labels = [
        f"against {e.opponent}" if len(names) == 1 else f"{e.agent} against {e.opponent}"
        for e in evaluations
    ]
    places = range(len(labels))
    means = [e.margin for e in evaluations]
    halves = [(e.ci95[1] - e.ci95[0]) / 2 for e in evaluations]
    figure = Figure(figsize=(7, 1.6 + 0.45 * len(labels)), layout="constrained")
    axes = figure.subplots()
    colors = ["#2a7f62" if mean >= 0 else "#b23a48" for mean in means]
    axes.barh(places, means, xerr=halves, color=colors, height=0.6, capsize=4, ecolor="#222222")
    for place, e in zip(places, evaluations, strict=True):
        end = max(e.ci95[1], 0.0)
        axes.annotate(
            f"{e.margin:+.2f}", (end, place), (6, 0), textcoords="offset points", va="center"
        )
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("margin in points a deal, 95 % interval over duplicate deals")
    counts = sorted({e.pairs for e in evaluations})
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    owner = f"{next(iter(names))}: " if len(names) == 1 else ""
    axes.set_title(f"{owner}{evaluations[0].rules}, {count} duplicate deals", fontsize=11)
    save_png(figure, Path(path))
