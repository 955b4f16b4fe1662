"""Several training runs of one config: aggregates over them, with intervals over runs.

What a config gives differs from seed to seed, so that a single run says little about it. The
methods are those of Agarwal et al., *Deep Reinforcement Learning at the Edge of the Statistical
Precipice*, 2021 (rliable): the interquartile mean, bootstrap intervals, the probability of
improvement and performance profiles. Scores are arrays ``(runs, tasks)``; here a task is an
opponent, and a score the mean margin over it. Unlike there, a run is drawn with its scores in all
tasks: a strong run is strong against every opponent, and drawn in each task on its own its luck
would cancel.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.arguments import check_number
from hearts_env.support.arrays import Array, Floats
from hearts_env.support.progress import Show, silent
from hearts_train.measure.comparison import same_players
from hearts_train.measure.contest import Contest, Task, check_deals
from hearts_train.measure.intervals import Interval, finite_values, percentiles
from hearts_train.measure.participants import AgentLike, named
from hearts_train.measure.summary import platform_versions

RESAMPLES = 10_000
_BLOCK = 1024
OPPONENTS = ("easy", "standard", "standard_trump", "pro")
"""Whom groups of runs play where nothing else is said."""
MIN_RUNS = 2
_ENOUGH_RUNS = 10
"""With fewer the intervals are clearly too short (docs/evaluation.md has how often they hold)."""

Statistic = Callable[[Floats], Floats]
"""Of many samples at once: ``(samples, runs, tasks)`` to ``(samples,)``."""


def interquartile_mean(samples: Floats) -> Floats:
    """The mean of the middle half of all scores of each sample, ``(samples,)``.

    A quarter of the scores, rounded down, is left out at either end.

    Args:
        samples: ``(samples, runs, tasks)``.
    """
    scores = np.sort(samples.reshape(len(samples), -1), axis=1)
    out = scores.shape[1] // 4
    middle: Floats = scores[:, out : scores.shape[1] - out].mean(1)
    return middle


def mean(samples: Floats) -> Floats:
    """The mean of all scores of each sample, ``(samples,)``."""
    means: Floats = samples.mean((1, 2))
    return means


def aggregate(
    scores: Array,
    statistic: Statistic = interquartile_mean,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, Interval]:
    """A statistic of the scores, and its 95 % interval by the bootstrap over runs.

    Args:
        scores: ``(runs, tasks)``.
        statistic: what is asked for.
        resamples: samples; in each, runs are drawn with replacement, with all their scores.
        seed: of the draws.

    Raises:
        HeartsError: if the scores are not such an array of finite numbers, of two runs or more.
    """
    found = check_scores("scores", scores)
    drawn = _resampled(found, resamples, np.random.default_rng(seed))
    return float(statistic(found[None])[0]), percentiles(statistic(drawn))


def difference(
    scores: Array,
    others: Array,
    statistic: Statistic = interquartile_mean,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, Interval]:
    """By how much a statistic of one group exceeds that of another, and the 95 % interval.

    Args:
        scores: ``(runs, tasks)``.
        others: ``(runs of the others, tasks)``.
        statistic: what is compared.
        resamples: samples, drawn in either group on its own.
        seed: of the draws.

    Raises:
        HeartsError: as ``aggregate``, and if the tasks are not as many.
    """
    a, b = _both(scores, others)
    rng = np.random.default_rng(seed)
    drawn = statistic(_resampled(a, resamples, rng)) - statistic(_resampled(b, resamples, rng))
    return float(statistic(a[None])[0] - statistic(b[None])[0]), percentiles(drawn)


def improvement(
    scores: Array, others: Array, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, Interval]:
    """The probability that a run of one group scores more than one of another, and its interval.

    The mean over the tasks of the share of pairs of runs in which it does; equal ones are half.

    Args:
        scores: ``(runs, tasks)``.
        others: ``(runs of the others, tasks)``.
        resamples: samples, drawn in either group on its own.
        seed: of the draws.

    Raises:
        HeartsError: as ``difference``.
    """
    a, b = _both(scores, others)
    rng = np.random.default_rng(seed)
    drawn = _better(_resampled(a, resamples, rng), _resampled(b, resamples, rng))
    return float(_better(a[None], b[None])[0]), percentiles(drawn)


def performance_profile(scores: Array, thresholds: Array) -> Floats:
    """The share of all scores above each threshold, ``(len(thresholds),)``.

    Raises:
        HeartsError: as ``aggregate``.
    """
    found = check_scores("scores", scores)
    shares: Floats = (found.ravel()[:, None] > np.asarray(thresholds, np.float64)).mean(0)
    return shares


def check_scores(name: str, scores: Array) -> Floats:
    """Scores as an array ``(runs, tasks)``.

    Raises:
        HeartsError: if they are not scores, or of one run only.
    """
    found = finite_values(name, scores, 2)
    if len(found) < MIN_RUNS:
        raise HeartsError(f"{name}: of {len(found)} run; give a row for each run, two or more")
    return found


def _both(scores: Array, others: Array) -> tuple[Floats, Floats]:
    a, b = check_scores("scores", scores), check_scores("others", others)
    if a.shape[1] != b.shape[1]:
        raise HeartsError(
            f"others: {b.shape[1]} tasks, scores have {a.shape[1]}; give the same tasks"
        )
    return a, b


def _resampled(scores: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """``(resamples, runs, tasks)``: runs are drawn with replacement, each with all its scores."""
    resamples = check_number("resamples", resamples, 100, 1_000_000)
    drawn: Floats = scores[rng.integers(len(scores), size=(resamples, len(scores)))]
    return drawn


def _better(a: Floats, b: Floats) -> Floats:
    """The share of pairs of runs in which one of `a` scores more, in each sample."""
    more = np.zeros(len(a))
    for i, j in itertools.product(range(a.shape[1]), range(b.shape[1])):
        more += (np.sign(a[:, i] - b[:, j]) + 1).mean(1) / 2
    share: Floats = more / (a.shape[1] * b.shape[1])
    return share


# ---- runs that play ------------------------------------------------------------------------------
@dataclass(frozen=True)
class GroupComparison:
    """Two groups of runs, measured against the same opponents.

    Attributes:
        runs: The runs of the first group, by name.
        others: Those of the second.
        opponents: The opponents.
        rules: The rules, as ``Rules.from_text`` reads them.
        deals: Duplicate deals of each run against each opponent; each run has its own deals.
        scores: ``(runs, opponents)``, mean margins in points a deal.
        other_scores: The same for the second group.
        iqm: Interquartile mean of the first group, and its 95 % interval.
        other_iqm: That of the second.
        difference: The first less the second, and its interval.
        improvement: Probability that a run of the first scores more, and its interval.
        seed: Seed of deals and agents.
        agents: All of them: name, options, digest.
        version: Of this package.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
    """

    runs: tuple[str, ...]
    others: tuple[str, ...]
    opponents: tuple[str, ...]
    rules: str
    deals: int
    scores: Floats
    other_scores: Floats
    iqm: tuple[float, Interval]
    other_iqm: tuple[float, Interval]
    difference: tuple[float, Interval]
    improvement: tuple[float, Interval]
    seed: int
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str | None = None

    @property
    def better(self) -> str | None:
        """Which group is better, ``runs`` or ``others``; None where the interval contains 0."""
        low, high = self.difference[1]
        return "runs" if low > 0 else "others" if high < 0 else None

    @property
    def conclusion(self) -> str:
        """Which group is better, by how much and how sure that is, in a sentence."""
        groups = {
            "runs": f"The first group ({len(self.runs)} runs)",
            "others": f"The second group ({len(self.others)} runs)",
        }
        margin, (low, high) = self.difference
        count = min(len(self.runs), len(self.others))
        if self.better == "others":
            margin, low, high = -margin, -high, -low
        found = "It is not known which group is better"
        if self.better is not None:
            found = f"{groups[self.better]} is better"
        return (
            f"{found} against {', '.join(self.opponents)}: {margin:+.2f} points a deal (95 % "
            f"interval over runs {low:+.2f} to {high:+.2f}); each run played {self.deals:,} "
            "duplicate deals against each opponent"
            + "; with so few runs the interval is too short"
            * (count < _ENOUGH_RUNS)
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows, with ``better`` and ``conclusion``."""
        record: dict[str, Any] = {"better": self.better, "conclusion": self.conclusion}
        for name, value in vars(self).items():
            if name in ("iqm", "other_iqm", "difference", "improvement"):
                record[name] = {"value": value[0], "ci95": list(value[1])}
            elif isinstance(value, np.ndarray):
                record[name] = value.tolist()
            else:
                record[name] = list(value) if isinstance(value, tuple) else value
        return record


def compare_runs(
    runs: Sequence[AgentLike],
    others: Sequence[AgentLike],
    opponents: Sequence[AgentLike] = OPPONENTS,
    rules: Rules | str | None = None,
    deals: int = 1000,
    *,
    seed: int = 0,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Any,
) -> GroupComparison:
    """Let two groups of runs play the same opponents, and compare the groups.

    Run i of either group plays the same deals.

    Args:
        runs: players, by name, checkpoint or run folder; two or more.
        others: those of the second group; two or more.
        opponents: opponents.
        rules: the rules, or a preset's name; None: as for ``evaluate``.
        deals: duplicate deals of each run against each opponent.
        seed: seed of deals and agents.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the duplicate deals done by all runs; silent by default.
        **settings: `isolate`, `time_limit`, `workers`, `backend` and `command`, as for
            ``evaluate``.

    Raises:
        HeartsError: if there are too few runs or opponents, one is named twice, an agent is unknown
            or cannot play the rules.
    """
    deals = check_deals(deals)
    for name, group in (("runs", runs), ("others", others), ("opponents", opponents)):
        least = 1 if name == "opponents" else MIN_RUNS
        if len(group) < least:
            raise HeartsError(f"{name}: {len(group)} given; give {least} or more")
        names = list(map(named, group))
        if twice := [one for one in names if names.count(one) > 1]:
            raise HeartsError(f"{name}: {twice[0]!r} is listed twice; name each once")
    first, players = len(runs), len(runs) + len(others)
    everybody = [*runs, *others, *opponents]
    pairings = [(i, j) for i in range(players) for j in range(players, len(everybody))]
    contest = Contest(everybody, rules, seed, pairings=lambda _: pairings, **settings)
    for same_kind in (contest.participants[:first], contest.participants[first:players]):
        for one, same in same_players(same_kind):
            warnings.warn(
                f"{one} and {same} are the same player: they are one run, not two, and the "
                "intervals too narrow; train with other seeds (--set seed=1)",
                stacklevel=2,
            )
    tasks = [
        Task((i, j), (i if i < first else i - first) * deals + begin, min(_BLOCK, deals - begin))
        for i, j in pairings
        for begin in range(0, deals, _BLOCK)
    ]
    sums = np.zeros((players, len(opponents)))
    done, total = 0.0, deals * len(pairings)
    about = {"groups": [first, len(others)], "deals": deals}
    with (
        contest.saved(save, resume, "compare", **about),
        show("runs") as progress,
        closing(contest.run(tasks, lambda _, part: progress(done + part, total))) as blocks,
    ):
        for task, block in zip(tasks, blocks, strict=True):
            i, j = task.pairing
            sums[i, j - players] += block.margins.sum()
            done += block.deals
            progress(done, total)
    scores, other_scores = np.split(sums / deals, [first])
    return GroupComparison(
        runs=tuple(contest.names[:first]),
        others=tuple(contest.names[first:players]),
        opponents=tuple(contest.names[players:]),
        rules=contest.rules.name,
        deals=deals,
        scores=scores,
        other_scores=other_scores,
        iqm=aggregate(scores),
        other_iqm=aggregate(other_scores),
        difference=difference(scores, other_scores),
        improvement=improvement(scores, other_scores),
        seed=contest.seed,
        agents=tuple([participant.to_json() for participant in contest.participants]),
        command=contest.command,
    )
