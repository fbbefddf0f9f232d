"""Statistics over runs: intervals, interquartile means, comparisons, areas, steps to a threshold.

Values come one per run. NaN means "not measured", such as an evaluation that a run has not reached
yet. Such runs are left out, and the number of runs counted is reported. All randomness comes from
the seed argument.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.experiments.analysis.resampling import (
    counts_at,
    draw_counts,
    portions,
    share_of_wins,
)
from procurl.internals.arrays import Floats
from procurl.internals.checks import require_integer, require_number

__all__ = [
    "SMOOTHING_WINDOW",
    "Estimate",
    "Floats",
    "Interval",
    "TimeToThreshold",
    "area_under_curve",
    "difference_interval",
    "iqm",
    "iqm_interval",
    "mean_interval",
    "mean_over_runs",
    "probability_of_improvement",
    "smooth",
    "standard_error",
    "steps_to_reach",
    "time_to_threshold",
]

CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST_RUNS = 3  # for an interval: two runs say next to nothing about how runs vary
SMOOTHING_WINDOW = 5  # evaluations, in figures only


class Interval(NamedTuple):
    """A mean and half the width of its confidence interval, NaN for fewer than three runs."""

    mean: float
    half_width: float
    runs: int  # counted

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "–"
        return f"{self.mean:.2f}" + (
            "" if math.isnan(self.half_width) else f" ± {self.half_width:.2f}"
        )


class Estimate(NamedTuple):
    """A number and the ends of its interval, which are NaN for fewer than three runs."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        ends = "" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{ends}"


class TimeToThreshold(NamedTuple):
    """How soon runs reached a threshold, including the runs that never did."""

    threshold: float
    runs: int
    reached: int
    median: float  # steps over all runs, infinite if at least half never reached it

    @property
    def goal(self) -> str:
        """The threshold with two significant digits, or all digits before the point."""
        digits = ".0f" if abs(self.threshold) >= 100 else ".2g"
        return f"{float(f'{self.threshold:{digits}}'):,g}"


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Mean ± t·standard error, as in the paper's tables.

    t is the quantile of Student's distribution with n − 1 degrees of freedom. Fewer than three runs
    have a mean and no interval: for two, t is 12.7. Equal values have an interval of width 0.

    >>> str(mean_interval([0.1, 0.2, 0.3, 0.4]))
    '0.25 ± 0.21'
    """
    from scipy.special import stdtrit

    _check_confidence(confidence)
    sample = _sample(values)
    n = len(sample)
    if n < FEWEST_RUNS:
        return Interval(float(sample.mean()) if n else math.nan, math.nan, n)
    t = stdtrit(n - 1, (1 + confidence) / 2)
    return Interval(float(sample.mean()), float(t * _standard_error(sample)), n)


def mean_over_runs(values: ArrayLike) -> Floats:
    """[k] means over runs of values [r, k], NaN where no run has one."""
    columns = np.asarray(values, dtype=np.float64).T
    return np.array([column.mean() if column.size else np.nan for column in map(_sample, columns)])


def difference_interval(
    ours: ArrayLike, theirs: ArrayLike, confidence: float = CONFIDENCE
) -> Estimate:
    """Our mean minus theirs, with Welch's t interval for unequal variances.

    >>> str(difference_interval([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    '0.00 [-2.27, 2.27]'
    """
    from scipy.stats import ttest_ind

    _check_confidence(confidence)
    mine, other = _sample(ours), _sample(theirs)
    if len(mine) < 2 or len(other) < 2:
        return Estimate(math.nan, math.nan, math.nan)
    between = float(mine.mean() - other.mean())
    if not np.ptp(mine) and not np.ptp(other):  # nothing varies
        return Estimate(between, between, between)
    interval = ttest_ind(mine, other, equal_var=False).confidence_interval(confidence)
    return Estimate(between, float(interval.low), float(interval.high))


def standard_error(values: ArrayLike) -> float:
    """The standard error of the mean; 0 for a single value, which is then drawn as a plain line."""
    sample = _sample(values)
    return _standard_error(sample) if len(sample) > 1 else 0.0


def iqm(values: ArrayLike) -> float:
    """Interquartile mean: the mean of the middle half of the values.

    If n is not a multiple of 4, the two values at the edges of the middle half count in part, so
    that exactly a quarter of the weight is cut off at each end.

    >>> iqm([0.0, 1.0, 2.0, 9.0])
    1.5
    """
    sample = np.sort(_sample(values))
    if not len(sample):
        return math.nan
    edges = _middle(np.arange(len(sample) + 1) / len(sample))
    return float(np.diff(edges) @ sample)


def iqm_interval(
    strata: ArrayLike | Sequence[ArrayLike],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Interquartile mean over all runs with a stratified bootstrap interval (percentiles).

    There is no interval unless some environment has three runs.

    Args:
        strata: the values of one environment's runs, or a list with those of each environment. Runs
            are resampled within their environment, and the mean is over all of them.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
    """
    samples = _strata(strata)
    rng = _generator(resamples, confidence, seed)
    together = np.concatenate(samples)
    if not len(together):
        return Estimate(math.nan, math.nan, math.nan)
    if max(len(sample) for sample in samples) < FEWEST_RUNS:
        return Estimate(iqm(together), math.nan, math.nan)
    levels = np.unique(together)
    drawn = []
    for count in portions(resamples, len(together)):
        counts = sum(draw_counts(rng, sample, levels, count) for sample in samples)
        shares = np.cumsum(counts, axis=1) / len(together)
        drawn.append(np.diff(_middle(shares), axis=1, prepend=_middle(0.0)) @ levels)
    return _estimate(iqm(together), np.concatenate(drawn), confidence)


def probability_of_improvement(
    ours: ArrayLike | Sequence[ArrayLike],
    theirs: ArrayLike | Sequence[ArrayLike],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """The chance that a run of ours does better than a run of theirs, a tie counting half.

    With several environments it is the mean over them. The bootstrap interval resamples the runs of
    both sides within each environment. There is no interval unless both sides have three runs in
    some environment.

    >>> probability_of_improvement([1.0, 2.0], [0.0, 1.0]).value
    0.875
    """
    mine_all, other_all = _strata(ours), _strata(theirs)
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
    if max(min(len(mine), len(other)) for mine, other in pairs) < FEWEST_RUNS:
        return Estimate(float(value), math.nan, math.nan)
    return _estimate(float(value), drawn, confidence)


def area_under_curve(steps: ArrayLike, performance: ArrayLike) -> Floats:
    """[runs] mean height of learning curves between their first and last evaluation.

    Straight lines join the evaluations. A single evaluation is its own area. A run that lacks an
    evaluation has NaN, because a shorter curve cannot be compared.

    Args:
        steps: [k] ascending.
        performance: [runs, k], or [k] for a single run.
    """
    at, heights = _curves(steps, performance)
    if at.size == 1:
        return heights[:, 0].copy()
    area = (np.diff(at) * (heights[:, 1:] + heights[:, :-1]) / 2).sum(axis=1)
    return np.asarray(area / (at[-1] - at[0]), dtype=np.float64)


def steps_to_reach(steps: ArrayLike, performance: ArrayLike, threshold: float) -> Floats:
    """[runs] steps of the first evaluation at or above the threshold, infinite if there is none.

    Args:
        steps: [k] ascending.
        performance: [runs, k], or [k] for a single run.
        threshold: to reach.
    """
    at, heights = _curves(steps, performance)
    require_number("threshold", threshold)
    there = heights >= threshold
    return np.where(there.any(axis=1), at[there.argmax(axis=1)], np.inf)


def time_to_threshold(
    steps: ArrayLike, performance: ArrayLike, threshold: float
) -> TimeToThreshold:
    """How many runs reached the threshold, and the median number of steps over all runs."""
    taken = steps_to_reach(steps, performance, threshold)
    count = int(np.isfinite(taken).sum())
    median = float(np.median(taken)) if len(taken) else math.nan
    return TimeToThreshold(threshold, len(taken), count, median)


def smooth(performance: ArrayLike, over: int = SMOOTHING_WINDOW) -> Floats:
    """Each evaluation as the mean of the `over` evaluations around it, fewer at the ends.

    NaN is left out of the means and stays NaN.

    Args:
        performance: [..., k].
        over: an odd number of evaluations.
    """
    require_integer("over", over, at_least=1)
    if over % 2 == 0:
        raise ValueError(f"over must be odd, so that a curve is not shifted, got {over}")
    heights = np.asarray(performance, dtype=np.float64)
    there = np.isfinite(heights)
    sums, counts = (
        _window_sums(values, over // 2) for values in (np.where(there, heights, 0.0), there)
    )
    return np.where(there, sums / np.maximum(counts, 1.0), np.nan)


def _window_sums(values: NDArray[Any], half: int) -> Floats:
    """[..., k] sums over the entries at most `half` places away."""
    k = values.shape[-1]
    widths = [(0, 0)] * (values.ndim - 1) + [(half, half)]
    padded = np.pad(values.astype(np.float64), widths)
    return np.asarray(sum(padded[..., i : i + k] for i in range(2 * half + 1)), dtype=np.float64)


def _sample(values: ArrayLike) -> Floats:
    """[n] the values without NaN; raises on infinite ones."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"values must have the shape [runs], got {list(sample.shape)}")
    if np.isinf(sample).any():
        raise ValueError("values must not be infinite: their mean is not defined")
    return sample[~np.isnan(sample)]


def _strata(strata: ArrayLike | Sequence[ArrayLike]) -> list[Floats]:
    """The values of each environment, whether one or several are given."""
    if isinstance(strata, np.ndarray):
        return [_sample(row) for row in np.atleast_2d(strata)]
    given: Any = strata
    nested = [value for value in given if np.ndim(value)]
    return [_sample(stratum) for stratum in (nested or [given])]


def _standard_error(sample: Floats) -> float:
    # Equal values have no spread, whatever rounding makes of their mean.
    if (sample == sample[0]).all():
        return 0.0
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def _middle(share: Any) -> Any:
    """The share of the middle half that lies below a share of the sorted runs."""
    return 2 * (np.clip(share, 0.25, 0.75) - 0.25)


def _generator(resamples: int, confidence: float, seed: int) -> np.random.Generator:
    require_integer("resamples", resamples, at_least=1)
    require_integer("seed", seed, at_least=0)
    _check_confidence(confidence)
    return np.random.default_rng(seed)


def _check_confidence(confidence: float) -> None:
    require_number("confidence", confidence, above=0.0, at_most=1.0)


def _estimate(value: float, drawn: Floats, confidence: float) -> Estimate:
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(value, float(low), float(high))


def _curves(steps: ArrayLike, performance: ArrayLike) -> tuple[Floats, Floats]:
    at = np.asarray(steps, dtype=np.float64)
    heights = np.atleast_2d(np.asarray(performance, dtype=np.float64))
    if at.ndim != 1 or at.size == 0 or heights.shape[-1] != at.size:
        raise ValueError(
            f"performance must have one entry per step, got {list(heights.shape)} "
            f"for {at.size} steps"
        )
    if (np.diff(at) <= 0).any():
        raise ValueError("steps must ascend")
    return at, heights
