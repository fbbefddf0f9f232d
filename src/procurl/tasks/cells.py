"""Cells of near tasks within larger cells: evidence of a neighborhood of any size."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array, namespace
from procurl.tasks.scaling import scaled_columns

SMALLEST = 4  # tasks in a cell of the finest level, at least
MOST = 2**16  # cells of the finest level: what is known of each then stays in the cache
BLOCK = 2**17  # tasks that NumPy counts at a time: more would be memory that is new each time


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
    columns = np.empty((contexts.shape[1], n), dtype=np.float32)  # read one by one
    for j, column in enumerate(columns):
        column[:] = scaled_columns(contexts[:, j])
    order = positions = np.arange(n)  # `columns` [d, n] are in this order
    starts = np.array([0, n])
    while 2 * (len(starts) - 1) <= min(MOST, n // SMALLEST):
        sizes, begins = np.diff(starts), starts[:-1]
        span = np.maximum.reduceat(columns, begins, 1) - np.minimum.reduceat(columns, begins, 1)
        widest = np.repeat(np.argmax(span, axis=0), sizes)
        sort = _sort_within(starts, columns[widest, positions])
        order, columns = order[sort], columns.take(sort, axis=1)
        middles = begins + (sizes + 1) // 2
        starts = np.sort(np.concatenate([starts, middles]))
    return _cells(order, starts)


def _sort_within(starts: NDArray[np.intp], key: NDArray[np.float32]) -> NDArray[np.intp]:
    """[n] positions that sort `key` [n] stably within each of the cells that begin at `starts`.

    Keys are 0 or more, so that their bits sort as they do. With the position in the lower half of
    a word, no two are equal, and the fastest sort is a stable one.
    """
    sizes = np.diff(starts)
    inside = np.arange(sizes.max()) < sizes[:, None]  # cells differ by one task at most
    words = np.full(inside.shape, np.iinfo(np.uint64).max, dtype=np.uint64)
    bits = key.view(np.uint32).astype(np.uint64) << np.uint64(32)
    words[inside] = bits | np.arange(len(key), dtype=np.uint64)
    words.sort(axis=1)
    return words[inside].astype(np.uint32).astype(np.intp)


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
        finest = np.zeros(len(cells.tasks))
        for i in range(0, len(counts), BLOCK):
            some = slice(i, i + BLOCK)
            finest += np.bincount(cells.cell[some], counts[some], len(cells.tasks))
        finest = finest.astype(counts.dtype, copy=False)
    else:
        padded = xp.concatenate([counts, xp.zeros(1, dtype=counts.dtype)])
        finest = xp.sum(xp.take(padded, cells.tasks), axis=1)
    sums = [finest]
    while sums[-1].shape[0] > 1:
        sums.append(sums[-1][0::2] + sums[-1][1::2])
    return sums
