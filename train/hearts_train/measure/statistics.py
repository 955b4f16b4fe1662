"""Statistics of margins: intervals of means, and a sequential test.

The observations of an evaluation are its duplicate deals.

**The sequential test** looks at the data as they arrive and stops as soon as it can decide. It is
the generalised sequential probability ratio test of engine testing (Van den Bergh, *A practical
introduction to the GSPRT*, 2020). The hypotheses are that the mean margin is `low` or less, and
that it is `high` or more. The log likelihood ratio (LLR) compares the two likeliest distributions
of margins with these means (empirical likelihood, Owen 2001). For n deals with mean m and variance
v it is nearly ::

    n (high - low) (m - (low + high) / 2) / v

but it also keeps the error rates for skewed margins: with this formula and an estimated variance,
7 % of simulated tests erred instead of 5 %. The test ends when the LLR leaves the interval from
``log(beta / (1 - alpha))`` to ``log((1 - beta) / alpha)`` (Wald 1945). It then accepts `high` with
probability at most `alpha` if the truth is `low`, and `low` with probability at most `beta` if the
truth is `high`.

- The test looks at fixed numbers of deals, each a sixteenth more than the last (``looks``). The
  decision therefore depends on the deals alone, not on the number of processes. The LLR may
  overshoot a bound between two looks, which makes errors somewhat rarer than requested.
- A pseudo-observation is added, half at the greatest possible margin and half at the least. Agents
  that nearly always play alike have margin 0 in the first hundred deals, and the test would
  otherwise stop there.
- After early stopping the mean is biased away from the middle, and the usual interval is too short.
  ``estimate`` gives the median-unbiased estimate, with the interval in the stagewise order of
  outcomes (Armitage 1957; Jennison and Turnbull 2000, chapter 8). For this it computes, look by
  look and for every mean, the probability of an outcome at least as high.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError
from hearts_env.support.arguments import check_finite
from hearts_env.support.arrays import Floats

Z95 = 1.96
LEVEL = 0.95
_NORMAL = NormalDist()

Interval = tuple[float, float]


def mean_and_interval(values: NDArray[np.float64]) -> tuple[float, Interval]:
    """Return the mean of two or more values, with its 95 % interval (+- 1.96 standard errors)."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def rounded(value: float) -> float:
    """Round a figure for a record: the last bits differ between processors."""
    return round(float(value), 9) + 0.0  # never -0.0


# ---- the sequential test -------------------------------------------------------------------------
TEST_VERSION = 1
"""The version of the test. Raise it with any change of the looks, the LLR or the bounds, because a
saved test must not be continued under other rules."""
FIRST_LOOK = 64
"""The number of deals before the first look. Fewer deals say too little about the variance."""
_STEP = 32
_GROWTH = 16
_POINTS = 241
_WIDTH = 9.0
"""The number of standard deviations within which densities are computed."""

LOW, HIGH, OPEN = "low", "high", "open"


def looks(most: int) -> list[int]:
    """Return the numbers of deals at which the test looks, ascending up to `most`."""
    counts = [min(FIRST_LOOK, most)]
    while counts[-1] < most:
        counts.append(min(most, counts[-1] + max(_STEP, counts[-1] // _GROWTH)))
    return counts


@dataclass(frozen=True)
class Question:
    """The hypotheses of a sequential test and its error rates.

    Attributes:
        low: the mean margin of the lower hypothesis in points per deal.
        high: the mean margin of the higher hypothesis in points per deal.
        alpha: the greatest probability of accepting `high` if the mean is `low`.
        beta: the greatest probability of accepting `low` if the mean is `high`.
    """

    low: float = 0.0
    high: float = 0.1
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        """Check all fields.

        Raises:
            HeartsError: if `low` is not below `high`, or an error rate is not in (0, 0.5).
        """
        for name in ("low", "high", "alpha", "beta"):
            object.__setattr__(self, name, check_finite(name, getattr(self, name)))
        if not self.low < self.high:
            raise HeartsError(
                f"low: {self.low:g} is not below high, {self.high:g}; give two margins in points "
                "per deal, like 0 and 0.1"
            )
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise HeartsError(
                    f"{name}: an error rate must be above 0 and below 0.5, got "
                    f"{getattr(self, name):g}; 0.05 is usual"
                )

    @property
    def middle(self) -> float:
        """The margin halfway between the hypotheses."""
        return (self.low + self.high) / 2

    @property
    def bounds(self) -> Interval:
        """The log likelihood ratios at which `low` and `high` are accepted."""
        return (math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha))

    def fixed_deals(self, variance: float) -> int:
        """Return the deals that a test of fixed size needs for the same error rates."""
        z = _NORMAL.inv_cdf(1 - self.alpha) + _NORMAL.inv_cdf(1 - self.beta)
        return max(2, math.ceil(variance * (z / (self.high - self.low)) ** 2))


class Look(NamedTuple):
    """The state of a sequential test at a look.

    Attributes:
        deals: the number of duplicate deals so far.
        mean: the mean margin so far.
        variance: the variance of the margins, including the pseudo-observation.
        llr: the log likelihood ratio.
        slope: the increase of `llr` per point in the sum of the margins.
        verdict: ``low``, ``high`` or ``open``.
    """

    deals: int
    mean: float
    variance: float
    llr: float
    slope: float
    verdict: str

    @property
    def is_decided(self) -> bool:
        """True if one of the hypotheses is accepted."""
        return self.verdict != OPEN


class SequentialTest:
    """A test in progress, to which margins are added look by look."""

    def __init__(self, question: Question, reach: float) -> None:
        """Start a test of `question` on margins from ``-reach`` to ``reach``.

        Raises:
            HeartsError: if a hypothesis is outside this range.
        """
        for name, value in (("low", question.low), ("high", question.high)):
            if not -reach < value < reach:
                raise HeartsError(
                    f"{name}: a mean margin of {value:g} is impossible, as no margin exceeds "
                    f"{reach:g} points per deal; give a smaller number"
                )
        self.question = question
        self.reach = reach
        self.looks: list[Look] = []
        self._levels, self._counts = np.array([-float(reach), float(reach)]), np.full(2, 0.5)

    def add(self, margins: Floats) -> Look:
        """Add the margins of the deals since the last look, and look.

        Args:
            margins: ``(n,)``, one or more margins in points per deal.
        """
        deals = (self.looks[-1].deals if self.looks else 0) + len(margins)
        self._count(margins)
        real = self._counts.copy()  # the mean excludes the pseudo-observation
        real[[0, -1]] -= 0.5
        mean = float(real @ self._levels) / deals
        variance = float(self._counts @ (self._levels - mean) ** 2) / (deals + 1)
        question = self.question
        (high, high_slope), (low, low_slope) = (
            log_likelihood(self._levels, self._counts, mean)
            for mean in (question.high, question.low)
        )
        llr = high - low
        # Raising all margins by x is lowering both hypotheses by x.
        slope = (low_slope - high_slope) / deals
        below, above = question.bounds
        verdict = LOW if llr <= below else HIGH if llr >= above else OPEN
        self.looks.append(Look(deals, mean, variance, llr, slope, verdict))
        return self.looks[-1]

    def _count(self, margins: Floats) -> None:
        """Count equal margins. The pseudo-observation is in the first and last level."""
        both = np.concatenate([self._levels, margins])
        counts = np.concatenate([self._counts, np.ones(len(margins))])
        self._levels, places = np.unique(both, return_inverse=True)
        self._counts = np.bincount(places, counts)

    def expected_left(self) -> float:
        """Return about how many deals are left, if the LLR keeps its course.

        This is the smaller of two numbers: the deals until the LLR reaches the next bound at its
        mean rate, and the deals until chance alone takes it to a bound (Wald's identity). It is at
        most about 1.4 times the expected number.
        """
        state = self.looks[-1]
        below, above = self.question.bounds
        up, down = max(0.0, above - state.llr), max(0.0, state.llr - below)
        rate = max(abs(state.llr) / state.deals, 1e-30)
        squared = max(state.slope**2 * state.variance, 1e-30)
        return min((up if state.llr > 0 else down) / rate, up * down / squared)

    def estimate(self) -> tuple[float, Interval]:
        """Return the median-unbiased estimate of the mean margin, and its 95 % interval.

        Both are corrected for early stopping, as the docstring of the module explains.
        """
        last, middle = self.looks[-1], self.question.middle
        sd = math.sqrt(last.variance)
        centre, unit = (last.mean - middle) / sd, 1 / math.sqrt(last.deals)
        paths = _Paths(self.question, self.looks, sd, centre)
        total, above = last.deals * centre, last.verdict != LOW

        def chance_of_more(drift: float) -> float:
            chance = paths.beyond(drift, total, above=above)
            return chance if above else 1 - chance

        tail = (1 - LEVEL) / 2
        low, half, high = (
            middle + sd * _solve(chance_of_more, wanted, centre, unit)
            for wanted in (tail, 0.5, 1 - tail)
        )
        return half, (low, high)


def log_likelihood(levels: Floats, counts: Floats, mean: float) -> tuple[float, float]:
    """Return the empirical log likelihood of the mean `mean`, and its slope.

    The likeliest distribution with this mean has probability
    ``counts / (total (1 + t (level - mean)))`` at each level, for the one t that gives the mean
    (Owen 2001, section 2.9). The likelihood is relative to the likelihood of the likeliest
    distribution with any mean.

    Args:
        levels: ``(n,)``, distinct margins, ascending, the first below `mean` and the last above it.
        counts: ``(n,)``, the number of times that each margin was observed, above 0.
        mean: the mean of the distribution.

    Returns:
        The log likelihood, at most 0, and its increase per point of the mean.
    """
    away = levels - mean
    low, high = -1 / away[-1], -1 / away[0]
    t = 0.0
    for _ in range(100):  # Newton's method, with bisection if it would leave the interval
        share = 1 + t * away
        slope = float((counts * away / share).sum())
        low, high = (t, high) if slope > 0 else (low, t)
        step = slope / float((counts * (away / share) ** 2).sum())
        if abs(step) <= 1e-12 * (high - low):
            break
        t = t + step if low < t + step < high else (low + high) / 2
    return -float((counts * np.log1p(t * away)).sum()), t * float(counts.sum())


class _Paths:
    """The distribution of the sum of standardised margins while the test continues.

    The sum is a random walk with normal steps of variance 1 per deal, absorbed at the bounds.
    Densities are computed once, for the drift c. With drift d, the density at y after n deals is
    ``exp((d - c) y - (d**2 - c**2) n / 2)`` times as large.
    """

    def __init__(self, question: Question, looks: Sequence[Look], sd: float, drift: float) -> None:
        self.deals, self.drift = [look.deals for look in looks], drift
        self.bounds = [_sums_at_bounds(question, look, sd) for look in looks]
        self.points: list[Floats] = []
        self.masses: list[Floats] = []
        before = 0
        for n, (bottom, top) in zip(self.deals[:-1], self.bounds, strict=False):
            root = math.sqrt(n - before)
            # The range around the mean, clipped to the bounds.
            width = _WIDTH * math.sqrt(n)
            start = min(max(bottom, drift * n - width), top - root)
            end = max(min(top, drift * n + width), start + root)
            points = np.linspace(start, end, _POINTS)
            weights = np.full(_POINTS, 4.0)
            weights[::2] = 2.0
            weights[[0, -1]] = 1.0
            weights *= (points[1] - points[0]) / 3  # Simpson's rule
            if before == 0:
                density = _normal_density((points - drift * n) / root) / root
            else:
                steps = (points[:, None] - self.points[-1] - drift * (n - before)) / root
                density = _normal_density(steps) @ self.masses[-1] / root
            self.points.append(points)
            self.masses.append(density * weights)
            before = n

    def beyond(self, drift: float, total: float, *, above: bool) -> float:
        """Return the probability of an earlier exit at this bound, or of an end beyond `total`."""
        sign = 1.0 if above else -1.0
        chance, before = 0.0, 0
        for place, n in enumerate(self.deals):
            is_last = place == len(self.deals) - 1
            limit = total if is_last else self.bounds[place][int(above)]
            root = math.sqrt(n - before)
            if place == 0:
                start, mass = np.zeros(1), np.ones(1)
            else:
                start = self.points[place - 1]
                tilt = (drift - self.drift) * start - (drift**2 - self.drift**2) * before / 2
                mass = self.masses[place - 1] * np.exp(tilt)
            gone = _normal_cdf(sign * (start + drift * (n - before) - limit) / root)
            chance += float(mass @ gone)
            before = n
        return chance


def _sums_at_bounds(question: Question, state: Look, sd: float) -> Interval:
    """Return the standardised sums, relative to the middle, at which a test would end at a look.

    The LLR is extrapolated from its value and slope at the look. Far from both hypotheses its slope
    may be 0 or negative. The sum then does not decide when the test ends.
    """
    total = state.deals * (state.mean - question.middle)
    below, above = question.bounds
    if state.slope <= 0:
        return -math.inf, math.inf
    return (
        (total + (below - state.llr) / state.slope) / sd,
        (total + (above - state.llr) / state.slope) / sd,
    )


def _solve(chance: Callable[[float], float], wanted: float, centre: float, unit: float) -> float:
    """Return where an increasing function has the value `wanted`, by bisection near `centre`."""
    low, high = centre - 2 * unit, centre + 2 * unit
    for _ in range(6):
        if chance(low) <= wanted:
            break
        low -= 2 * unit
    for _ in range(6):
        if chance(high) >= wanted:
            break
        high += 2 * unit
    while high - low > 1e-4 * unit:
        half = (low + high) / 2
        low, high = (half, high) if chance(half) < wanted else (low, half)
    return (low + high) / 2


def _normal_cdf(x: Floats) -> Floats:
    """Return the standard normal distribution function, accurate to 1e-7."""
    places, chances = _cdf_table()
    below: Floats = np.interp(x, places, chances)
    return below


@functools.cache
def _cdf_table() -> tuple[Floats, Floats]:
    places = np.linspace(-9.0, 9.0, 20_001)
    return places, np.array([_NORMAL.cdf(x) for x in places.tolist()])


def _normal_density(x: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return density
