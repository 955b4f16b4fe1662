"""Intervals of means: the normal approximation, and the bootstrap, over independent observations.

The observations of an evaluation are its duplicate deals. `docs/evaluation.md` has how often each
interval contains the truth, in simulated evaluations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError
from hearts_env.support.arguments import check_number
from hearts_env.support.arrays import Floats

Z95 = 1.96
LEVEL = 0.95
RESAMPLES = 2000
_CELLS = 10_000_000
"""Counts that are held in memory at once."""

Interval = tuple[float, float]


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, Interval]:
    """The mean and its 95 % interval, mean +- 1.96 standard errors; of two values or more."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def bootstrap_interval(
    values: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The 95 % interval of the mean, by the percentile bootstrap (Efron 1979).

    Equal values are drawn together, as one draw from a multinomial distribution, so that a million
    margins, of which there are few different ones, take no longer than a thousand.

    Args:
        values: ``(n,)``, independent observations, two or more.
        resamples: samples drawn with replacement; 100 to 1,000,000.
        seed: of the draws.

    Raises:
        HeartsError: if there are fewer than two values, some are not finite, or `resamples` is out
            of range.
    """
    values = finite_values("values", values)
    resamples = check_number("resamples", resamples, 100, 1_000_000)
    rng = np.random.default_rng(seed)
    levels, counts = np.unique(values, return_counts=True)
    means = np.empty(resamples)
    at_once = max(1, _CELLS // len(levels))
    for begin in range(0, resamples, at_once):
        part = means[begin : begin + at_once]
        part[:] = rng.multinomial(len(values), counts / len(values), len(part)) @ levels
    return percentiles(means / len(values))


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
