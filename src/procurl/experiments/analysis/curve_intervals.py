"""Intervals of numbers that a curve has for each of its runs, over runs and pools."""

from numpy.typing import ArrayLike

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.statistics import (
    Estimate,
    Interval,
    difference_interval,
    mean_interval,
    probability_of_improvement,
)
from procurl.internals.arrays import Floats, Ids


def interval_of(curve: Curve, values: Floats) -> Interval:
    """The mean of `values` [r], one for each run of the curve, with its interval."""
    return mean_interval(values, pools=curve.pools)


def interval_at(curve: Curve, step: int) -> Interval:
    """Mean performance at a step with its interval."""
    return interval_of(curve, curve.at(step))


def improvement_at(ours: Curve, theirs: Curve, step: int) -> Estimate:
    """The chance that a run of ours does better at a step than a run of theirs."""
    return improvement(ours, theirs, ours.at(step), theirs.at(step))


def improvement(ours: Curve, theirs: Curve, mine: ArrayLike, other: ArrayLike) -> Estimate:
    """The chance that a run of ours has a larger value than a run of theirs.

    Args:
        ours: the curve of r runs.
        theirs: the curve of s runs.
        mine: [r] values of its runs.
        other: [s] likewise.
    """
    return probability_of_improvement(mine, other, pools=_pools_of(ours, theirs))


def difference_at(ours: Curve, theirs: Curve, step: int) -> Estimate:
    """Our mean performance at a step minus theirs."""
    return difference_interval(ours.at(step), theirs.at(step), pools=_pools_of(ours, theirs))


def _pools_of(ours: Curve, theirs: Curve) -> tuple[Ids, Ids] | None:
    """Which pools the runs of both curves played; None unless both have several."""
    if ours.pools is None or theirs.pools is None:
        return None
    return ours.pools, theirs.pools
