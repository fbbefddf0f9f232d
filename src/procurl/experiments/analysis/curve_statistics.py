"""Numbers of learning curves: areas, steps to a threshold, and smoothing for figures."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.internals.arrays import Floats
from procurl.internals.checks import require_integer, require_number

SMOOTHING_WINDOW = 5  # evaluations, in figures only


class TimeToThreshold(NamedTuple):
    """How soon runs reached a threshold, including the runs that never did."""

    threshold: float
    runs: int
    reached: int
    median: float  # steps over all runs, infinite if at least half never reached it

    @property
    def goal(self) -> str:
        """The threshold with two significant digits, or all digits before the point."""
        if abs(self.threshold) >= 100:
            return f"{self.threshold:,.0f}"
        return f"{float(f'{self.threshold:.2g}'):g}"


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
