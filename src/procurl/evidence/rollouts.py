"""What the teacher's own rollouts say about each task."""

from typing import NamedTuple

from procurl.internals.arrays import Array, namespace


class RolloutMeans(NamedTuple):
    """Means over the teacher's rollouts on every task."""

    rollout_success: Array  # [n] over all episodes
    rollout_top: Array  # [n] over the best


def average_rollouts(measured: Array, top_fraction: float) -> RolloutMeans:
    """Average k episodes per task: all of them, and the best `top_fraction`, at least one.

    Args:
        measured: [n, k] return or success of each episode.
        top_fraction: in (0, 1].
    """
    xp = namespace(measured)
    top = max(1, round(top_fraction * measured.shape[1]))
    best = xp.sort(measured, axis=1)[:, -top:]
    return RolloutMeans(xp.mean(measured, axis=1), xp.mean(best, axis=1))
