"""Cells of near tasks within larger cells: evidence of a neighborhood of any size."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array, namespace

SMALLEST = 4  # tasks in a cell of the finest level, at least


class Cells(NamedTuple):
    """A binary tree over the pool: 2^L cells of near tasks, whose halves differ in one column."""

    tasks: Array  # [2^L, m] int32, the tasks of each cell; the pool's size in unused places
    cell: Array  # [n] int32, the cell of each task


def nested_cells(contexts: NDArray[np.floating]) -> Cells:
    """Halve the pool again and again, each cell in the column in which its tasks differ most.

    Columns count by their range over the pool. Halves have equally many tasks, or one more.

    Args:
        contexts: [n, d].
    """
    n = len(contexts)
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    scaled = ((contexts - low) / np.where(high > low, high - low, 1.0)).astype(np.float32)
    order = np.arange(n)
    starts = np.array([0, n])
    while n // (2 * (len(starts) - 1)) >= SMALLEST:
        cells = len(starts) - 1
        cell = np.repeat(np.arange(cells), np.diff(starts))
        ordered = scaled[order]
        span = np.maximum.reduceat(ordered, starts[:-1]) - np.minimum.reduceat(ordered, starts[:-1])
        widest = np.argmax(span, axis=1)
        key = np.take_along_axis(ordered, widest[cell][:, None], axis=1)[:, 0]
        order = order[np.argsort(cell + 0.5 * key.astype(np.float64), kind="stable")]
        middles = starts[:-1] + (np.diff(starts) + 1) // 2
        starts = np.sort(np.concatenate([starts, middles]))
    return _cells(order, starts)


def _cells(order: NDArray[np.intp], starts: NDArray[np.intp]) -> Cells:
    """The cells of the tasks in `order` [n] that begin at `starts` [c + 1]."""
    n, sizes = len(order), np.diff(starts)
    number = np.repeat(np.arange(len(sizes)), sizes)
    tasks = np.full((len(sizes), sizes.max()), n, dtype=np.int32)
    tasks[number, np.arange(n) - np.repeat(starts[:-1], sizes)] = order
    cell = np.empty(n, dtype=np.int32)
    cell[order] = number
    return Cells(tasks, cell)


def cell_rates(cells: Cells, wins: Array, total: Array, weight: float) -> Array:
    """[n] the rate of wins around each task, by its cells from the whole pool to the finest.

    With S wins among N in a cell, and r the rate of the cell around it, its own rate is

        (S + weight · r) / (N + weight),

    so that a neighborhood is as small as the data allow. Around the whole pool, r is one half.

    Args:
        cells: from `nested_cells`.
        wins: [n] S of single tasks.
        total: [n] N of single tasks.
        weight: of the larger cell, in episodes.
    """
    levels = list(zip(_sums(cells, wins), _sums(cells, total), strict=True))
    xp = namespace(wins, total)
    rate = xp.full((1,), 0.5, dtype=wins.dtype)
    for won, played in reversed(levels):
        rate = xp.repeat(rate, won.shape[0] // rate.shape[0])
        rate = (won + weight * rate) / (played + weight)
    return xp.take(rate, cells.cell)


def _sums(cells: Cells, counts: Array) -> list[Array]:
    """Sums of `counts` [n] over the cells of every level, the finest first."""
    xp = namespace(counts, cells.tasks)
    if xp is np:  # reads a large pool in order
        finest = np.bincount(cells.cell, counts, len(cells.tasks)).astype(counts.dtype, copy=False)
    else:
        padded = xp.concatenate([counts, xp.zeros(1, dtype=counts.dtype)])
        finest = xp.sum(xp.take(padded, cells.tasks), axis=1)
    sums = [finest]
    while sums[-1].shape[0] > 1:
        sums.append(xp.sum(xp.reshape(sums[-1], (-1, 2)), axis=1))
    return sums
