"""A sparse kernel over contexts: how much evidence a task shares with its nearest neighbors."""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array


class Neighbors(NamedTuple):
    """The k tasks nearest to each task, itself included, and their weights."""

    tasks: Array  # [n, k] int32
    weights: Array  # [n, k] float32, exp(−d² / 2h²)


def nearest_neighbors(contexts: Array, k: int, bandwidth: float | None = None) -> Neighbors:
    """A Gaussian kernel over the `k` nearest tasks, so that its cost is linear in the pool.

    For distances, each context column is scaled to [0, 1] over the pool; constant columns are
    ignored.

    Args:
        contexts: [n, d].
        k: neighbors per task, itself included; at most the size of the pool.
        bandwidth: h, in scaled contexts. None takes half the median distance of a task to the one
            nearest to it, which suits any number of tasks and columns: such a pair shares e⁻² of
            its evidence.
    """
    from scipy.spatial import cKDTree

    low, high = contexts.min(axis=0), contexts.max(axis=0)
    scaled = (contexts - low) / np.where(high > low, high - low, 1.0)
    k = min(k, len(contexts))
    distances, tasks = cKDTree(scaled).query(scaled, k=[*range(1, k + 1)])
    own = np.arange(len(contexts))
    crowded_out = (tasks != own[:, None]).all(axis=1)  # by k others in the same place
    tasks[crowded_out, -1] = own[crowded_out]
    weights = np.exp(-0.5 * (distances / (bandwidth or _bandwidth(distances))) ** 2)
    return Neighbors(tasks.astype(np.int32), weights.astype(np.float32))


def _bandwidth(distances: Array) -> float:
    """Half the median distance to the nearest task in another place, 1 if there is none.

    Args:
        distances: [n, k] of each task to its neighbors, in increasing order.
    """
    apart = np.where(distances > 0.0, distances, np.inf).min(axis=1)
    apart = apart[np.isfinite(apart)]
    return float(0.5 * np.median(apart)) if apart.size else 1.0
