"""A box that grows from a start to a pool's whole range: when does it reach each task?"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from procurl.internals.arrays import Floats
from procurl.strategies.handmade.ranges import column_of
from procurl.tasks.pool import TaskPool


def entry_sizes(pool: TaskPool, start: Mapping[str, Any] | None, share: float) -> Floats:
    """[n] the size at which each task enters the box, in [0, 1].

    At size g, the box of a column with values from l to h reaches from a − g·(a − l) to
    b + g·(h − b), where [a, b] is the start. A task enters when all of its columns do. The earliest
    tasks enter at 0, so that the box is never empty.

    Args:
        pool: of n tasks.
        start: [a, b] by column name; None for the middle of all contexts.
        share: b − a as a share of h − l, if `start` is None.
    """
    sizes = np.zeros(len(pool))
    for column, a, b in _sides(pool, start, share):
        sizes = np.maximum(sizes, _entry(column, a, b))
    sizes[sizes == sizes.min()] = 0.0
    return sizes


def _sides(
    pool: TaskPool, start: Mapping[str, Any] | None, share: float
) -> list[tuple[Floats, float, float]]:
    """(column [n], a, b) for every column that the box bounds at first."""
    if start is not None:
        return [(column_of(pool, name, "start"), *ends) for name, ends in start.items()]
    if pool.contexts is None:
        order = np.arange(len(pool), dtype=np.float64)
        return [(order, 0.0, share * float(order[-1]))]
    low, high = pool.contexts.min(axis=0), pool.contexts.max(axis=0)
    middle, half = low / 2 + high / 2, share * (high / 2 - low / 2)
    return [
        (column, float(a), float(b))
        for column, a, b in zip(pool.contexts.T, middle - half, middle + half, strict=True)
    ]


def _entry(column: Floats, a: float, b: float) -> Floats:
    """[n] the size at which each entry of a column is in the box, from [a, b] at size 0."""
    # Halved, so that the distance between the largest numbers does not overflow.
    below, above = np.maximum(a / 2 - column / 2, 0.0), np.maximum(column / 2 - b / 2, 0.0)
    return np.maximum(_share(below), _share(above))


def _share(distance: Floats) -> Floats:
    """`distance` [n] as a share of the largest."""
    largest = distance.max()
    return distance / largest if largest > 0.0 else distance
