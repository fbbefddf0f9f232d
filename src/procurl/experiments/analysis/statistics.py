"""Statistics over runs: intervals, interquartile means and comparisons.

Values come one per run. NaN means "not measured", such as an evaluation that a run has not reached
yet. Such runs are left out, and the number of runs counted is reported. All randomness comes from
the seed argument.

If runs were spread over several pools, `pools` says which pool each run played. Intervals then tell
what to expect on further pools: they follow from the spread between pools as well as between runs.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from procurl.experiments.analysis.labels import MISSING, TWO_DECIMALS
from procurl.experiments.analysis.resampling import (
    counts_at,
    draw_chances_over_pools,
    draw_counts,
    draw_counts_over_pools,
    portions,
    share_of_wins,
)
from procurl.experiments.analysis.samples import (
    by_environment,
    by_pool,
    pairs_by_pool,
    sample_of,
)
from procurl.internals.arrays import Floats
from procurl.internals.checks import require_integer, require_number

CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST = 3  # runs, or pools, for an interval: two say next to nothing about how they vary


class Interval(NamedTuple):
    """A mean and half the width of its confidence interval, NaN for fewer than three runs."""

    mean: float
    half_width: float
    runs: int  # counted

    def __format__(self, form: str) -> str:
        form = form or TWO_DECIMALS
        if math.isnan(self.mean):
            return MISSING
        half = "" if math.isnan(self.half_width) else f" ± {self.half_width:{form}}"
        return f"{self.mean:{form}}{half}"

    def __str__(self) -> str:
        return format(self)


class Estimate(NamedTuple):
    """A number and the ends of its interval, which are NaN for fewer than three runs."""

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        form = form or TWO_DECIMALS
        if math.isnan(self.value):
            return MISSING
        ends = "" if math.isnan(self.low) else f" [{self.low:{form}}, {self.high:{form}}]"
        return f"{self.value:{form}}{ends}"

    def __str__(self) -> str:
        return format(self)


def mean_interval(
    values: ArrayLike, confidence: float = CONFIDENCE, pools: ArrayLike | None = None
) -> Interval:
    """Mean ± t·standard error, as in the paper's tables.

    t is the quantile of Student's distribution with n − 1 degrees of freedom. Fewer than three runs
    have a mean and no interval: for two, t is 12.7. Equal values have an interval of width 0.

    With several pools, n is their number, and the standard error is that of `standard_error`.

    >>> str(mean_interval([0.1, 0.2, 0.3, 0.4]))
    '0.25 ± 0.21'
    >>> str(mean_interval([0.1, 0.1, 0.3, 0.3, 0.5, 0.5], pools=[0, 0, 1, 1, 2, 2]))
    '0.30 ± 0.50'

    Args:
        values: [r] one per run.
        confidence: of the interval.
        pools: [r] which pool each run played; None for a single one.
    """
    from scipy.special import stdtrit

    _check_confidence(confidence)
    samples = list(by_pool(values, pools).values())
    together = np.concatenate(samples)
    n = len(together) if len(samples) == 1 else len(samples)
    if n < FEWEST:
        mean = float(together.mean()) if len(together) else math.nan
        return Interval(mean, math.nan, len(together))
    t = stdtrit(n - 1, (1 + confidence) / 2)
    return Interval(float(together.mean()), float(t * _standard_error(samples)), len(together))


def mean_over_runs(values: ArrayLike) -> Floats:
    """[k] means over runs of values [r, k], NaN where no run has one."""
    columns = np.asarray(values, dtype=np.float64).T
    return np.array(
        [column.mean() if column.size else np.nan for column in map(sample_of, columns)]
    )


def difference_interval(
    ours: ArrayLike,
    theirs: ArrayLike,
    confidence: float = CONFIDENCE,
    pools: tuple[ArrayLike, ArrayLike] | None = None,
) -> Estimate:
    """Our mean minus theirs, with Welch's t interval for unequal variances.

    There is no interval unless both sides have three runs.

    With several pools, it is the mean over the pools of both sides of the difference on each, with
    the t interval of these differences.

    >>> str(difference_interval([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    '0.00 [-2.27, 2.27]'

    Args:
        ours: [r] one per run.
        theirs: [s] likewise.
        confidence: of the interval.
        pools: ([r], [s]) which pool each run played; None for a single one.
    """
    from scipy.stats import ttest_ind

    _check_confidence(confidence)
    pairs = pairs_by_pool(ours, theirs, pools)
    if len(pairs) > 1:
        apart = mean_interval([mine.mean() - other.mean() for mine, other in pairs], confidence)
        return Estimate(apart.mean, apart.mean - apart.half_width, apart.mean + apart.half_width)
    [(mine, other)] = pairs
    if not len(mine) or not len(other):
        return Estimate(math.nan, math.nan, math.nan)
    between = float(mine.mean() - other.mean())
    if min(len(mine), len(other)) < FEWEST:
        return Estimate(between, math.nan, math.nan)
    if not np.ptp(mine) and not np.ptp(other):  # nothing varies
        return Estimate(between, between, between)
    interval = ttest_ind(mine, other, equal_var=False).confidence_interval(confidence)
    return Estimate(between, float(interval.low), float(interval.high))


def standard_error(values: ArrayLike, pools: ArrayLike | None = None) -> float:
    """The standard error of the mean; 0 for a single value, which is then drawn as a plain line.

    With n pools it is √(n/(n − 1)·Σ S²)/r over r runs, where S is the sum over the runs of a pool
    of their deviations from the mean. If all pools have as many runs, it is the standard error of
    the mean of n values, the means of the pools.

    Args:
        values: [r] one per run.
        pools: [r] which pool each run played; None for a single one.
    """
    samples = list(by_pool(values, pools).values())
    return _standard_error(samples) if sum(map(len, samples)) > 1 else 0.0


def iqm(values: ArrayLike) -> float:
    """Interquartile mean: the mean of the middle half of the values.

    If n is not a multiple of 4, the two values at the edges of the middle half count in part, so
    that exactly a quarter of the weight is cut off at each end.

    >>> iqm([0.0, 1.0, 2.0, 9.0])
    1.5
    """
    sample = np.sort(sample_of(values))
    if not len(sample):
        return math.nan
    edges = _middle(np.arange(len(sample) + 1) / len(sample))
    return float(np.diff(edges) @ sample)


def iqm_interval(
    strata: ArrayLike | Sequence[ArrayLike],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
    pools: ArrayLike | None = None,
) -> Estimate:
    """Interquartile mean over all runs with a stratified bootstrap interval (percentiles).

    There is no interval unless some environment has three runs.

    With several pools of one environment, a resample draws pools and then runs of each, and the
    interval is widened by `small_number_factor`, but not beyond the values of all runs. There is
    none for fewer than three pools.

    Args:
        strata: the values of one environment's runs, or a list with those of each environment. Runs
            are resampled within their environment, and the mean is over all of them.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
        pools: [r] which pool each run of one environment played; None for a single one.
    """
    samples = by_environment(strata) if pools is None else list(by_pool(strata, pools).values())
    spread = pools is not None and len(samples) > 1
    rng = _generator(resamples, confidence, seed)
    together = np.concatenate(samples)
    if not len(together):
        return Estimate(math.nan, math.nan, math.nan)
    if (len(samples) if spread else max(map(len, samples))) < FEWEST:
        return Estimate(iqm(together), math.nan, math.nan)
    levels = np.unique(together)
    drawn = []
    for count in portions(resamples, len(together)):
        counts: Any
        if spread:
            counts = draw_counts_over_pools(rng, samples, levels, count)
        else:
            counts = sum(draw_counts(rng, sample, levels, count) for sample in samples)
        shares = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
        drawn.append(np.diff(_middle(shares), axis=1, prepend=_middle(0.0)) @ levels)
    if not spread:
        return _estimate(iqm(together), np.concatenate(drawn), confidence)
    factor = small_number_factor(len(samples), confidence)
    found = _estimate(iqm(together), np.concatenate(drawn), confidence, factor)
    return _within(found, levels[0], levels[-1])


def probability_of_improvement(
    ours: ArrayLike | Sequence[ArrayLike],
    theirs: ArrayLike | Sequence[ArrayLike],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
    pools: tuple[ArrayLike, ArrayLike] | None = None,
) -> Estimate:
    """The chance that a run of ours does better than a run of theirs, a tie counting half.

    With several environments it is the mean over them. The bootstrap interval resamples the runs of
    both sides within each environment. There is no interval unless both sides have three runs in
    some environment.

    With several pools of one environment, runs on the same pool are compared, and it is the mean
    over the pools of both sides, NaN if there is none. A resample draws pools, the same for both
    sides, and then runs of each. The interval is widened by `small_number_factor`; there is none
    for fewer than three pools.

    >>> probability_of_improvement([1.0, 2.0], [0.0, 1.0]).value
    0.875

    Args:
        ours: the values of one environment's runs, or a list with those of each environment.
        theirs: likewise.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
        pools: which pool each run of ours and of theirs played, in one environment; None for a
            single one.
    """
    if pools is not None:
        pairs = pairs_by_pool(ours, theirs, pools)
        if len(pairs) > 1:
            return _improvement_over_pools(pairs, confidence, resamples, seed)
        [(ours, theirs)] = pairs
    mine_all, other_all = by_environment(ours), by_environment(theirs)
    if len(mine_all) != len(other_all):
        raise ValueError(
            "ours and theirs must come from the same environments, "
            f"got {len(mine_all)} and {len(other_all)}"
        )
    pairs = list(zip(mine_all, other_all, strict=True))
    rng = _generator(resamples, confidence, seed)
    if not all(len(mine) and len(other) for mine, other in pairs):
        return Estimate(math.nan, math.nan, math.nan)
    value, drawn = 0.0, np.zeros(resamples)
    for mine, other in pairs:
        levels = np.unique(np.concatenate([mine, other]))
        value += share_of_wins(counts_at(mine, levels), counts_at(other, levels))[0] / len(pairs)
        found = [
            share_of_wins(
                draw_counts(rng, mine, levels, count), draw_counts(rng, other, levels, count)
            )
            for count in portions(resamples, len(levels))
        ]
        drawn += np.concatenate(found) / len(pairs)
    if max(min(len(mine), len(other)) for mine, other in pairs) < FEWEST:
        return Estimate(float(value), math.nan, math.nan)
    return _estimate(float(value), drawn, confidence)


def _improvement_over_pools(
    pairs: Sequence[tuple[Floats, Floats]], confidence: float, resamples: int, seed: int
) -> Estimate:
    """`probability_of_improvement` from the runs of both sides on each of several pools."""
    rng = _generator(resamples, confidence, seed)
    wins = [np.subtract.outer(mine, other) for mine, other in pairs]
    value = float(np.mean([np.mean(np.where(apart == 0.0, 0.5, apart > 0.0)) for apart in wins]))
    if len(pairs) < FEWEST:
        return Estimate(value, math.nan, math.nan)
    factor = small_number_factor(len(pairs), confidence)
    drawn = draw_chances_over_pools(rng, pairs, resamples)
    return _within(_estimate(value, drawn, confidence, factor), 0.0, 1.0)


def small_number_factor(pools: int, confidence: float = CONFIDENCE) -> float:
    """How much wider than its percentiles a bootstrap interval over few pools is made.

    t/z, the quantile of Student's distribution with n − 1 degrees of freedom divided by the normal
    distribution's: percentiles of a resample of n pools know as little of the spread between pools
    as a standard error from n values. It is 1.42 for 5 pools and 1.15 for 10.
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + confidence) / 2
    return float(stdtrit(pools - 1, upper) / ndtri(upper)) if confidence < 1.0 else 1.0


def _standard_error(samples: Sequence[Floats]) -> float:
    """Of the mean over the runs of one or more pools."""
    together = np.concatenate(samples)
    # Equal values have no spread, whatever rounding makes of their mean.
    if (together == together[0]).all():
        return 0.0
    n = len(samples)
    if n == 1:
        return float(together.std(ddof=1) / math.sqrt(len(together)))
    mean = together.mean()
    sums = np.array([(sample - mean).sum() for sample in samples])
    return float(math.sqrt(n / (n - 1) * (sums**2).sum()) / len(together))


def _middle(share: Any) -> Any:
    """The share of the middle half that lies below a share of the sorted runs."""
    return 2 * (np.clip(share, 0.25, 0.75) - 0.25)


def _generator(resamples: int, confidence: float, seed: int) -> np.random.Generator:
    require_integer("resamples", resamples, at_least=1)
    require_integer("seed", seed, at_least=0)
    _check_confidence(confidence)
    return np.random.default_rng(seed)


def _within(estimate: Estimate, least: float, most: float) -> Estimate:
    """The estimate with the ends of its interval clipped to the values that are possible."""
    low, high = (float(np.clip(end, least, most)) for end in (estimate.low, estimate.high))
    return estimate._replace(low=low, high=high)


def _check_confidence(confidence: float) -> None:
    require_number("confidence", confidence, above=0.0, at_most=1.0)


def _estimate(value: float, drawn: Floats, confidence: float, factor: float = 1.0) -> Estimate:
    """A value with the percentiles of resamples, `factor` times as far from it."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    if factor == 1.0:
        return Estimate(value, float(low), float(high))
    return Estimate(value, *(value + factor * (float(end) - value) for end in (low, high)))
