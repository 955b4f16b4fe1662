"""Intervals of means: the normal approximation, and the bootstrap, over independent observations.

The observations of an evaluation are its duplicate deals. `docs/evaluation.md` has how often each
interval contains the truth, in simulated evaluations.

Of several training runs of one config the observations are the runs: what a config gives differs
from seed to seed, so that a single run says little about it. The methods are those of Agarwal et
al., *Deep Reinforcement Learning at the Edge of the Statistical Precipice*, 2021 (rliable): the
interquartile mean, bootstrap intervals and the probability of improvement.
Scores are arrays ``(runs, tasks)``; here a task is an opponent, and a score the mean margin over
it. Unlike there, a run is drawn with its scores in all tasks: a strong run is strong against every
opponent, and drawn in each task on its own its luck would cancel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError
from hearts_env.support.arguments import check_number
from hearts_env.support.arrays import Array, Floats

Z95 = 1.96
LEVEL = 0.95
RESAMPLES = 10_000
MIN_RUNS = 2

Interval = tuple[float, float]


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, Interval]:
    """The mean and its 95 % interval, mean +- 1.96 standard errors; of two values or more."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def percentiles(resampled: Floats) -> Interval:
    """The middle 95 % of a statistic's values over all resamples."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return float(low), float(high)


def finite_values(name: str, values: object, dimensions: int = 1) -> Floats:
    """`values` as an array of two or more finite numbers.

    Raises:
        HeartsError: if they are something else; `name` is what the message calls them.
    """
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise HeartsError(
            f"{name}: not an array of numbers; give one number an observation"
        ) from None
    if array.ndim != dimensions or array.size < 2:
        raise HeartsError(
            f"{name}: an array of shape {array.shape}; needed are two numbers or more in "
            f"{dimensions} dimension{'s' * (dimensions > 1)}"
        )
    if not np.isfinite(array).all():
        raise HeartsError(f"{name}: some are not finite; leave out what has no result")
    return array


# ---- several runs --------------------------------------------------------------------------------
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
