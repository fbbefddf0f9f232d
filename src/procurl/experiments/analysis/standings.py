"""Where each contender stands: every number that tables show of it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curves import Curve, by_label
from procurl.experiments.analysis.statistics import (
    Estimate,
    Floats,
    Interval,
    TimeToThreshold,
    area_under_curve,
    iqm_interval,
    mean_interval,
    probability_of_improvement,
    time_to_threshold,
)

BASELINE = "iid"
NO_EVALUATION = "there is no evaluation yet, so there is nothing to show"


class Standing(NamedTuple):
    """What the runs of one contender came to; sort by these numbers, show the table's cells."""

    label: str
    runs: int
    steps: tuple[int, ...]  # that are shown
    performance: tuple[Interval, ...]  # at each of them
    iqm: Estimate  # at the last of them
    improvement: Estimate | None  # over the baseline there; None without it, or with one run
    area: Interval  # under the learning curve
    reached: TimeToThreshold | None  # the threshold; None where no mean is above 0
    env_steps: Interval  # at the last shown step, training and teacher
    seconds: Interval  # likewise; of the whole batch that a run was trained in
    test: Interval | None = None  # performance on the test pool there, where there is one


def standings(
    curves: Sequence[Curve],
    steps: Sequence[int] | None = None,
    baseline: str = BASELINE,
    threshold: float | None = None,
) -> list[Standing]:
    """Every contender's numbers, in the order of the curves.

    Args:
        curves: at least one curve.
        steps: to show; by default about a quarter, a half and all of training.
        baseline: the contender that the others are compared with, where it is there.
        threshold: for the steps to reach it; by default half of the best final mean, and none
            where that is not above 0.
    """
    if not curves:
        raise ValueError(NO_EVALUATION)
    shown = tuple(shown_steps(curves) if steps is None else steps)
    last = shown[-1]
    if threshold is None:
        means = [mean_interval(curve.at(last)).mean for curve in curves]
        best = max((mean for mean in means if not math.isnan(mean)), default=0.0)
        threshold = best / 2 if best > 0 else None
    base = by_label(curves).get(baseline)
    rows = []
    for curve in curves:
        until = curve.cut(last)
        rows.append(
            Standing(
                curve.label,
                len(curve.seeds),
                shown,
                tuple(mean_interval(curve.at(step)) for step in shown),
                iqm_interval(curve.at(last)),
                _improvement(curve, base, last),
                mean_interval(area_under_curve(until.steps, until.performance)),
                None
                if threshold is None
                else time_to_threshold(until.steps, until.performance, threshold),
                mean_interval(curve.env_steps_at(last)),
                mean_interval(curve.seconds_at(last)),
            )
        )
    return rows


def with_test(rows: Sequence[Standing], curves: Sequence[Curve]) -> list[Standing]:
    """The same with the performance on the test pool, where the curves have any.

    Args:
        rows: the standings of these curves.
        curves: in the same order.
    """
    if not any(curve.has_test for curve in curves):
        return list(rows)
    return [
        row._replace(test=mean_interval(curve.test_at(row.steps[-1])))
        for row, curve in zip(rows, curves, strict=True)
    ]


def shown_steps(curves: Sequence[Curve]) -> list[int]:
    """The evaluated steps nearest to a quarter, a half and all of training."""
    steps = max((curve.steps for curve in curves), key=len)
    quarters = (steps[-1] / 4, steps[-1] / 2, steps[-1])
    return list(dict.fromkeys(int(steps[np.argmin(np.abs(steps - at))]) for at in quarters))


def _improvement(curve: Curve, base: Curve | None, step: int) -> Estimate | None:
    """Over the baseline; a single run on either side tells nothing of a chance."""
    if base is None or base is curve:
        return None
    ours, theirs = curve.at(step), base.at(step)
    if min(_count(ours), _count(theirs)) < 2:
        return None
    return probability_of_improvement(ours, theirs)


def _count(values: Floats) -> int:
    """How many runs were measured."""
    return int((~np.isnan(values)).sum())
