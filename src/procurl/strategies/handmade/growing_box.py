"""A box that grows from a start to a pool's whole range: when does it reach each task?"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from procurl.internals.arrays import Floats
from procurl.strategies.handmade.ranges import column_of, ends_of
from procurl.tasks.pool import TaskPool


def entry_sizes(pool: TaskPool, start: Mapping[str, Any] | None, share: float) -> Floats:
    """[n] the size at which each task enters the box, in [0, 1].

    A box that grows from [a, b] to the range [l, h] of a column has passed the share d of its way
    when it reaches from a − d·(a − l) to b + d·(h − b), and a task is inside when all of its
    columns are. The first box is at d_0, the smallest at which it holds enough tasks, and its size
    is (d − d_0) / (1 − d_0).

    Args:
        pool: of n tasks.
        start: [a, b] or a number by column name; None for the middle of all contexts, or the first
            task if there are no contexts.
        share: of the tasks that the first box holds at least; one task in any case.
    """
    passed = np.zeros(len(pool))
    for column, a, b in _sides(pool, start):
        passed = np.maximum(passed, _entry(column, a, b))
    enough = max(1, math.ceil(share * len(pool)))
    first = np.partition(passed, enough - 1)[enough - 1]
    sizes: Floats = np.maximum(passed - first, 0.0)
    return sizes / (1.0 - first) if first < 1.0 else sizes


def _sides(pool: TaskPool, start: Mapping[str, Any] | None) -> list[tuple[Floats, float, float]]:
    """(column [n], a, b) for every column that bounds the box."""
    if start is not None:
        return [(column_of(pool, name, "start"), *ends_of(ends)) for name, ends in start.items()]
    if pool.contexts is None:
        return [(np.arange(len(pool), dtype=np.float64), 0.0, 0.0)]
    middles = pool.contexts.min(axis=0) / 2 + pool.contexts.max(axis=0) / 2
    return [(pool.contexts[:, j], float(each), float(each)) for j, each in enumerate(middles)]


def _entry(column: Floats, a: float, b: float) -> Floats:
    """[n] the size at which each entry of a column is in the box, from [a, b] at size 0."""
    # Halved, so that the distance between the largest numbers does not overflow.
    below, above = np.maximum(a / 2 - column / 2, 0.0), np.maximum(column / 2 - b / 2, 0.0)
    return np.maximum(_share(below), _share(above))


def _share(distance: Floats) -> Floats:
    """`distance` [n] as a share of the largest."""
    largest = distance.max()
    return distance / largest if largest > 0.0 else distance
