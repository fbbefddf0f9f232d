"""A pool cut into parts of about equal size along one of its columns."""

import numpy as np

from procurl.internals.arrays import Floats, Ids
from procurl.strategies.handmade.ranges import column_of
from procurl.tasks.pool import TaskPool


def order_of(pool: TaskPool, by: str | None) -> Floats:
    """[n] the column that orders the tasks, the first to play with the smallest entry.

    Args:
        pool: of n tasks.
        by: name of a context or feature column, with a minus sign in front to start with the
            largest; None for the first context, or the order of the pool if it has no contexts.
    """
    if by is not None:
        backwards = by.startswith("-") and by not in (*pool.names, *pool.features)
        column = column_of(pool, by[1:] if backwards else by, "by")
        return -column if backwards else column
    if pool.contexts is None:
        return np.arange(len(pool), dtype=np.float64)
    first: Floats = pool.contexts[:, 0]
    return first


def split(order: Floats, parts: int) -> Ids:
    """[n] the part of each task, from 0: about n/`parts` tasks each, by increasing `order`.

    Tasks of equal order are in the same part, so that there may be fewer parts.

    >>> split(np.array([3.0, 1.0, 2.0, 2.0]), 2).tolist()
    [1, 0, 0, 0]
    """
    ordered = np.sort(order)
    below = np.searchsorted(ordered, order)  # tasks with a smaller entry
    part = below * parts // len(order)
    return np.unique(part, return_inverse=True)[1]
