"""What the teacher's own rollouts say about each task, on the whole pool or on part of it."""

from typing import NamedTuple

from procurl.internals.arrays import Array, largest_ids, namespace, segment_sum

LAST = -1e4  # added to the keys of tasks of weight 0: below the logarithm of any other weight


class RolloutMeans(NamedTuple):
    """Means over the teacher's rollouts on every task; 0 where there were none."""

    rollout_success: Array  # [n] over all episodes
    rollout_top: Array  # [n] over the best
    rollouts: Array  # [n] how many


def average_rollouts(
    measured: Array, top_fraction: float, tasks: Array | None = None, n: int = 0
) -> RolloutMeans:
    """Average k episodes per task: all of them, and the best `top_fraction`, at least one.

    Args:
        measured: [m, k] return or success of each episode.
        top_fraction: in (0, 1].
        tasks: [m] the tasks of the rows, each at most once; None: the rows are the whole pool.
        n: tasks in the pool, if the rows are part of it.
    """
    xp = namespace(measured)
    top = max(1, round(top_fraction * measured.shape[1]))
    best = xp.sort(measured, axis=1)[:, -top:]
    means = xp.mean(measured, axis=1), xp.mean(best, axis=1)
    counts = xp.full_like(means[0], measured.shape[1])
    if tasks is None:
        return RolloutMeans(*means, counts)
    return RolloutMeans(*(segment_sum(part, tasks, n) for part in (*means, counts)))


def measured_only(values: Array, rollouts: Array | None) -> Array:
    """[n] `values` from rollouts, NaN for tasks without any.

    Args:
        values: [n] such as `Evidence.rollout_success`.
        rollouts: [n] `Evidence.rollouts`; None: there were some on every task.
    """
    if rollouts is None:
        return values
    xp = namespace(values, rollouts)
    return xp.where(rollouts > 0, values, xp.nan)


def draw_without_replacement(weights: Array | None, gumbel: Array, count: int) -> Array:
    """[count] different task ids in increasing order, each draw in proportion to the weights left.

    The `count` largest of log w + Gumbel noise are such draws. Tasks of weight 0 come last.

    Args:
        weights: [n] not negative, at least one of them positive; None: all equal.
        gumbel: [n] draws from the standard Gumbel distribution.
        count: from 1 to n.
    """
    if weights is None:
        return largest_ids(gumbel, count)
    xp = namespace(weights, gumbel)
    some = weights > 0
    keys = gumbel + xp.where(some, xp.log(xp.where(some, weights, 1.0)), LAST)
    return largest_ids(keys, count)
