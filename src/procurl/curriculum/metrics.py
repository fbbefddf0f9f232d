"""The state of a curriculum in a few numbers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, Floats, Ids, entropy_of
from procurl.monitor import Calibration


class Metrics(NamedTuple):
    """The state of a curriculum in a few numbers, for logs."""

    entropy: float  # of the distribution, in nats
    effective_tasks: float  # e^entropy: as many equally likely tasks would have this entropy
    estimated_success: float | None  # mean over the pool; None if the strategy has no estimate
    most_likely: Ids  # task ids, the most likely first
    least_likely: Ids  # task ids, the least likely first
    # Mean absolute difference between estimated and achieved success over the recent training
    # episodes; None if there is no estimate, or there are few episodes.
    calibration: float | None = None
    achieved_success: float | None = None  # mean outcome of these episodes
    strategy: Mapping[str, float] = MappingProxyType({})  # the strategy's own, by name


def metrics_of(
    probabilities: Floats,
    success: Floats | None,
    calibration: Calibration | None,
    own: Mapping[str, Array],
    top: int,
) -> Metrics:
    """The metrics of a distribution and an estimate.

    Args:
        probabilities: [n] of being drawn next.
        success: [n] the estimate, None if the strategy has none.
        calibration: of the estimate, None if it is not known.
        own: the strategy's own numbers.
        top: how many tasks to list of each extreme.
    """
    p = probabilities
    entropy = entropy_of(p)
    return Metrics(
        entropy=entropy,
        effective_tasks=float(np.exp(entropy)),
        estimated_success=None if success is None else float(success.mean()),
        most_likely=_smallest(-p, top),
        least_likely=_smallest(p, top),
        calibration=None if calibration is None else calibration.error,
        achieved_success=None if calibration is None else calibration.achieved,
        strategy={name: float(number) for name, number in own.items()},
    )


def _smallest(values: Floats, count: int) -> Ids:
    """Positions of the `count` smallest values, the smallest first, the earlier among equals."""
    count = min(count, len(values))
    limit = np.partition(values, count - 1)[count - 1]
    below = np.flatnonzero(values < limit)
    equal = np.flatnonzero(values == limit)[: count - len(below)]
    chosen = np.concatenate([below, equal])
    ordered: Ids = chosen[np.argsort(values[chosen], kind="stable")]
    ordered.setflags(write=False)  # the curriculum returns it again until it has changed
    return ordered
