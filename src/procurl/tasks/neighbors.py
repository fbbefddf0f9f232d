"""A sparse kernel over contexts: how much evidence a task shares with its nearest neighbors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import BLOCK, LARGE, Array, by_blocks
from procurl.tasks.scaling import scaled_columns


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
    tasks, distances = _nearest(contexts, min(k, len(contexts)))
    width = bandwidth or _bandwidth(distances)
    weights = by_blocks(
        lambda own: np.exp(-0.5 * (own / width) ** 2).astype(np.float32, copy=False), distances
    )
    return Neighbors(tasks, weights)


def _nearest(contexts: Array, k: int) -> tuple[NDArray[np.int32], NDArray[np.floating]]:
    """[n, k] the nearest tasks, and their distances in increasing order."""
    from scipy.spatial import cKDTree

    n = len(contexts)
    tree = cKDTree(scaled_columns(contexts))
    tasks = np.empty((n, k), dtype=np.int32)
    distances = np.empty((n, k), dtype=np.float32 if n >= LARGE else np.float64)
    for start in range(0, n, BLOCK):
        own = tree.indices[start : start + BLOCK]  # near each other, which the search is faster for
        apart, near = tree.query(tree.data[own], k=[*range(1, k + 1)])
        crowded_out = (near != own[:, None]).all(axis=1)  # by k others in the same place
        near[crowded_out, -1] = own[crowded_out]
        tasks[own], distances[own] = near, apart
    return tasks, distances


def _bandwidth(distances: Array) -> float:
    """Half the median distance to the nearest task in another place, 1 if there is none.

    Args:
        distances: [n, k] of each task to its neighbors, in increasing order.
    """
    apart = by_blocks(lambda own: np.where(own > 0.0, own, np.inf).min(axis=1), distances)
    apart = apart[np.isfinite(apart)]
    return float(0.5 * np.median(apart)) if apart.size else 1.0
