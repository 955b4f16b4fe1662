"""Statistics of margins: intervals of means, and a sequential test.

The observations of an evaluation are its duplicate deals. `docs/evaluation.md` has how often each
interval contains the truth, in simulated evaluations.

**The sequential test** looks at the data as they arrive, and stops once it can decide. It is the
generalised sequential probability ratio test of engine testing (Van den Bergh, *A practical
introduction to the GSPRT*, 2020). The hypotheses are that the mean margin is `low` or less, and
that it is `high` or more. The log likelihood ratio (LLR) is that of the two likeliest distributions
of margins with these means (empirical likelihood, Owen 2001). For n deals with mean m and variance
v it is nearly ::

    n (high - low) (m - (low + high) / 2) / v

but unlike this it holds the error rates where margins are skewed: with an estimated variance alone
7 % of simulated tests erred where 5 % were asked for. The test ends where the LLR leaves the
interval from ``log(beta / (1 - alpha))`` to ``log((1 - beta) / alpha)`` (Wald 1945). Then `high` is
accepted in no more than a share `alpha` of the tests where the truth is `low`, and `low` in no more
than `beta` of those where it is `high`.

- It looks at fixed numbers of deals, each a sixteenth more than the last (``looks``): the decision
  follows from the deals alone, not from how many processes play them. Between two looks the bounds
  may be passed by some way, so that errors are somewhat rarer than asked.
- One imaginary pair is counted too, half of it with the greatest margin possible and half with the
  least. Two agents that nearly always play alike have margin 0 in the first hundred deals; without
  that pair the question would be decided by them.
- The mean of a test that stopped early is biased away from the middle, and its usual interval too
  short. ``estimate`` gives the median-unbiased estimate and the interval in the stagewise order of
  outcomes (Armitage 1957; Jennison and Turnbull 2000, chapter 8): the probability of an outcome as
  high as this one, or higher, is computed look by look, for every mean.
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
    """The mean and its 95 % interval, mean +- 1.96 standard errors; of two values or more."""
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def rounded(value: float) -> float:
    """Return a figure as records have it: without last bits, which differ among processors."""
    return round(float(value), 9) + 0.0  # never -0.0


# ---- the sequential test -------------------------------------------------------------------------
TEST_VERSION = 1
"""Of the test. Raise it with whatever changes when it looks, the LLR or its bounds: what was saved
for one test is not continued under another."""
FIRST_LOOK = 64
"""Pairs before the first look: fewer say too little about the variance."""
_STEP = 32
_GROWTH = 16
_POINTS = 241
_WIDTH = 9.0
"""Densities are computed within this many standard deviations."""

LOW, HIGH, OPEN = "low", "high", "open"


def looks(most: int) -> list[int]:
    """After how many deals the test looks, ascending; the last is `most`."""
    counts = [min(FIRST_LOOK, most)]
    while counts[-1] < most:
        counts.append(min(most, counts[-1] + max(_STEP, counts[-1] // _GROWTH)))
    return counts


@dataclass(frozen=True)
class Question:
    """The question that a sequential test decides, and how often it may be wrong.

    Attributes:
        low: The mean margin of the lower hypothesis, points per deal.
        high: That of the higher one.
        alpha: How often `high` may be accepted where the mean is `low`.
        beta: How often `low` may be accepted where the mean is `high`.
    """

    low: float = 0.0
    high: float = 0.1
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        """Refuse what cannot be decided.

        Raises:
            HeartsError: if `low` is not below `high`, or a rate of error not in (0, 0.5).
        """
        for name in ("low", "high", "alpha", "beta"):
            object.__setattr__(self, name, check_finite(name, getattr(self, name)))
        if not self.low < self.high:
            raise HeartsError(
                f"low: {self.low:g} is not below high, {self.high:g}; give two margins in points a "
                "deal, like 0 and 0.1"
            )
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise HeartsError(
                    f"{name}: a rate of error must be above 0 and below 0.5, got "
                    f"{getattr(self, name):g}; 0.05 is usual"
                )

    @property
    def middle(self) -> float:
        """The margin half-way between the hypotheses."""
        return (self.low + self.high) / 2

    @property
    def bounds(self) -> Interval:
        """The log likelihood ratios at which `low` and `high` are accepted."""
        return (math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha))

    def fixed_deals(self, variance: float) -> int:
        """The deals that a test of fixed size with the same error rates needs."""
        z = _NORMAL.inv_cdf(1 - self.alpha) + _NORMAL.inv_cdf(1 - self.beta)
        return max(2, math.ceil(variance * (z / (self.high - self.low)) ** 2))


class Look(NamedTuple):
    """A sequential test when it looks at its margins.

    Attributes:
        deals: Duplicate deals so far.
        mean: Their mean margin.
        variance: The variance of the margins, the imaginary pair included.
        llr: The log likelihood ratio.
        slope: What it would be higher by for each point more in the sum of the margins.
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
        """Return whether one of the hypotheses is accepted."""
        return self.verdict != OPEN


class SequentialTest:
    """A test under way: margins are added, look by look."""

    def __init__(self, question: Question, reach: float) -> None:
        """A test of `question`; no margin is larger than `reach`, or below its negative.

        Raises:
            HeartsError: a hypothesis is a mean that no margins can have.
        """
        for name, value in (("low", question.low), ("high", question.high)):
            if not -reach < value < reach:
                raise HeartsError(
                    f"{name}: a mean margin of {value:g} cannot be, the largest margin here is "
                    f"{reach:g} points per deal; give a smaller number"
                )
        self.question = question
        self.reach = reach
        self.looks: list[Look] = []
        self._levels, self._counts = np.array([-float(reach), float(reach)]), np.full(2, 0.5)

    def add(self, margins: Floats) -> Look:
        """Add the margins of the deals since the last look, and look.

        Args:
            margins: ``(n,)``, in points per deal; one or more.
        """
        deals = (self.looks[-1].deals if self.looks else 0) + len(margins)
        self._count(margins)
        real = self._counts.copy()  # the imaginary pair has no part in the mean
        real[[0, -1]] -= 0.5
        mean = float(real @ self._levels) / deals
        variance = float(self._counts @ (self._levels - mean) ** 2) / (deals + 1)
        question = self.question
        (high, high_slope), (low, low_slope) = (
            log_likelihood(self._levels, self._counts, mean)
            for mean in (question.high, question.low)
        )
        llr = high - low
        # All margins higher by x are both hypotheses lower by x.
        slope = (low_slope - high_slope) / deals
        below, above = question.bounds
        verdict = LOW if llr <= below else HIGH if llr >= above else OPEN
        self.looks.append(Look(deals, mean, variance, llr, slope, verdict))
        return self.looks[-1]

    def _count(self, margins: Floats) -> None:
        """Count equal margins together; the imaginary ones are the first and the last level."""
        both = np.concatenate([self._levels, margins])
        counts = np.concatenate([self._counts, np.ones(len(margins))])
        self._levels, places = np.unique(both, return_inverse=True)
        self._counts = np.bincount(places, counts)

    def expected_left(self) -> float:
        """The deals still needed, expected if the LLR drifts as so far (Wald's identity)."""
        state = self.looks[-1]
        below, above = self.question.bounds
        if not below < state.llr < above:
            return 0.0
        drift = state.llr / state.deals
        squared = max(state.slope**2 * state.variance, 1e-30)
        up, down = above - state.llr, state.llr - below
        lean = 2 * drift / squared
        if abs(lean) * (up + down) < 1e-3:
            return up * down / squared
        # The probability of a Brownian motion with this drift to leave at the top.
        top = (
            math.expm1(-lean * down) / math.expm1(-lean * (up + down))
            if lean > 0
            else (math.exp(lean * up) * math.expm1(lean * down) / math.expm1(lean * (up + down)))
        )
        return (top * up - (1 - top) * down) / drift

    def estimate(self) -> tuple[float, Interval]:
        """The median-unbiased estimate of the mean margin, and its 95 % interval.

        Both take into account that the test stops where the result is extreme (see the module).
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
    """Return how likely margins are at best if their mean is `mean`, and the slope of that.

    The probability of each level that makes the counts likeliest is ``counts / (total (1 + t (level
    - mean)))``, with the one number t for which the mean comes out (Owen 2001, section 2.9). The
    result is relative to the likeliest distribution of all.

    Args:
        levels: ``(n,)`` different margins, ascending, the first below `mean` and the last above it.
        counts: ``(n,)`` how often each was seen, above 0.
        mean: the mean that the distribution is to have.

    Returns:
        The log likelihood, 0 at most, and its rise for each point of the mean.
    """
    away = levels - mean
    low, high = -1 / away[-1], -1 / away[0]
    t = 0.0
    for _ in range(100):  # Newton's method; where it would leave the interval, halves
        share = 1 + t * away
        slope = float((counts * away / share).sum())
        low, high = (t, high) if slope > 0 else (low, t)
        step = slope / float((counts * (away / share) ** 2).sum())
        if abs(step) <= 1e-12 * (high - low):
            break
        t = t + step if low < t + step < high else (low + high) / 2
    return -float((counts * np.log1p(t * away)).sum()), t * float(counts.sum())


class _Paths:
    """The sum of standardised margins from look to look, as long as the test continues.

    A random walk with normal steps of variance 1 a pair, absorbed at the bounds. Densities are
    computed once, for the drift c; with drift d the density at y after n deals is
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
            # The way of the mean, as far as it lies within the bounds.
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
        """The probability to stop at a bound before, or to be at `total` or beyond in the end."""
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
    """The standardised sums, counted from the middle, at which a test would have ended at a look.

    As the LLR runs on from what it was there. Far from both hypotheses it hardly rises with the sum
    any more, or falls: there the sum does not decide when the test ends.
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
    """Return where an increasing function has a value, by bisection around `centre`."""
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
    """The probability that a standard normal number stays below each of these, to 1e-7."""
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
