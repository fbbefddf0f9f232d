"""Every number that tables show of a contender."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curve_intervals import improvement_at, interval_at, interval_of
from procurl.experiments.analysis.curve_statistics import (
    TimeToThreshold,
    area_under_curve,
    time_to_threshold,
)
from procurl.experiments.analysis.curves import Curve, by_label
from procurl.experiments.analysis.labels import MISSING, return_format, step_label
from procurl.experiments.analysis.statistics import (
    Estimate,
    Interval,
    iqm_interval,
    mean_interval,
)
from procurl.internals.arrays import Floats
from procurl.records.experiment import TEST

BASELINE = "iid"
NO_EVALUATION = "there is no evaluation yet, so there is nothing to show"


class Standing(NamedTuple):
    """The numbers of one contender's runs. Sort by these; tables show them as text."""

    label: str
    runs: int
    steps: tuple[int, ...]  # shown in tables
    performance: tuple[Interval, ...]  # at each of them
    iqm: Estimate  # at the last of them
    improvement: Estimate | None  # over the baseline there; None without one, or for a single run
    area: Interval  # under the learning curve
    reached: TimeToThreshold | None  # None if no mean has risen
    env_steps: Interval  # at the last shown step, training and teacher
    seconds: Interval  # likewise; of the whole batch that the run is part of
    test: Interval | None = None  # performance on the test pool there, if there is one
    test_name: str = TEST  # what tables call that pool
    evaluated: float = math.nan  # the step, at most the last shown, that all runs have reached

    @property
    def when_reached(self) -> str:
        """The median steps to the threshold; `> 1M` if at least half of the runs lack it by 1M."""
        if self.reached is None:
            return MISSING
        if math.isfinite(self.reached.median) or math.isnan(self.evaluated):
            return step_label(self.reached.median)
        return f"> {step_label(self.evaluated)}"


def standings(
    curves: Sequence[Curve],
    steps: Sequence[int] | None = None,
    baseline: str = BASELINE,
    threshold: float | None = None,
) -> list[Standing]:
    """The numbers of every contender, in the order of the curves.

    Args:
        curves: at least one.
        steps: to show; by default about a quarter, half and all of training.
        baseline: contender to compare the others with, if it is among them.
        threshold: whose steps to count; by default `halfway`.
    """
    if not curves:
        raise ValueError(NO_EVALUATION)
    shown = tuple(shown_steps(curves) if steps is None else steps)
    last = shown[-1]
    if threshold is None:
        threshold = halfway(curves, last)
    base = by_label(curves).get(baseline)
    rows = []
    for curve in curves:
        until = curve.cut(last)
        rows.append(
            Standing(
                curve.label,
                len(curve.seeds),
                shown,
                tuple(interval_at(curve, step) for step in shown),
                iqm_interval(curve.at(last), pools=curve.pools),
                _improvement(curve, base, last),
                interval_of(curve, _areas(curve, last)),
                None
                if threshold is None
                else time_to_threshold(until.steps, until.performance, threshold),
                interval_of(curve, curve.env_steps_at(last)),
                interval_of(curve, curve.seconds_at(last)),
                evaluated=_evaluated(until),
            )
        )
    return rows


def halfway(curves: Sequence[Curve], last: int) -> float | None:
    """The value halfway from the first evaluation to the best mean at the last step.

    The first evaluation is the mean over all runs of all contenders. For success rates, which start
    at 0, this is half of the best mean. None if no mean has risen.
    """
    first = min(int(curve.steps[0]) for curve in curves)
    starts = np.concatenate([curve.at(first) for curve in curves])
    means = [interval_at(curve, last).mean for curve in curves]
    start = mean_interval(starts).mean
    best = max((mean for mean in means if not math.isnan(mean)), default=start)
    return (start + best) / 2 if best > start and first < last else None


def with_test(rows: Sequence[Standing], curves: Sequence[Curve]) -> list[Standing]:
    """The standings with performance on the test pool, if the curves have any.

    Args:
        rows: standings of these curves.
        curves: in the same order.
    """
    if not any(curve.has_test for curve in curves):
        return list(rows)
    return [
        row._replace(
            test=interval_of(curve, curve.test_at(row.steps[-1])), test_name=curve.test_name
        )
        for row, curve in zip(rows, curves, strict=True)
    ]


def shown_steps(curves: Sequence[Curve]) -> list[int]:
    """The evaluated steps nearest to a quarter, half and all of training.

    They are those of the contender that has come furthest, of several the one with most of them.
    """
    steps = max((curve.steps for curve in curves), key=lambda steps: (int(steps[-1]), len(steps)))
    quarters = (steps[-1] / 4, steps[-1] / 2, steps[-1])
    return list(dict.fromkeys(int(steps[np.argmin(np.abs(steps - at))]) for at in quarters))


def _evaluated(curve: Curve) -> float:
    """The step that all runs of a curve were evaluated at or after; NaN if a run never was."""
    known = ~np.isnan(curve.performance)
    if not known.any(axis=1).all():
        return math.nan
    return float(np.where(known, curve.steps, 0).max(axis=1).min())


def _areas(curve: Curve, last: int) -> Floats:
    """[r] areas under the curve up to step `last`; NaN for runs that have not reached it."""
    until = curve.cut(last)
    if not len(until.steps) or until.steps[-1] < last:
        return np.full(len(curve.seeds), np.nan)
    return area_under_curve(until.steps, until.performance)


def _improvement(curve: Curve, base: Curve | None, step: int) -> Estimate | None:
    """Probability of improvement over the baseline; None if a side has a single run."""
    if base is None or base is curve:
        return None
    if min(_count(curve.at(step)), _count(base.at(step))) < 2:
        return None
    return improvement_at(curve, base, step)


def _count(values: Floats) -> int:
    """The number of runs with a value."""
    return int((~np.isnan(values)).sum())


def form_of(rows: Sequence[Standing]) -> str:
    """How to write the returns of these rows."""
    return return_format(interval.mean for row in rows for interval in row.performance)
