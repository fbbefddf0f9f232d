"""The latest visits to tasks, and how much success changed since a visit nearby."""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace
from procurl.strategies.progress.rates import OutcomeRange, rescale_changes, rescale_rates

GOLDEN = 0.6180339887  # multiples of it, modulo 1, are spread evenly however many there are


class Visits(NamedTuple):
    """The latest h visits, the newest last; before there are h, the first entries are empty.

    A visit is a task that was played since the previous evidence.
    """

    task: Array  # [h] int32, id
    rate: Array  # [h] success rate
    change: Array  # [h] |rate − that of the visit nearest in context before it|
    filled: Array  # []  int32, entries that are not empty
    offset: Array  # []  in [0, 1), see `choose_tasks`


def no_visits(h: int) -> Visits:
    """The memory before the first visit."""
    return Visits(
        task=np.zeros(h, dtype=np.int32),
        rate=np.zeros(h),
        change=np.zeros(h),
        filled=np.zeros((), dtype=np.int32),
        offset=np.zeros(()),
    )


def is_filled(visits: Visits) -> Array:
    """[h] bool: which entries are visits."""
    xp = namespace(visits.filled)
    h = visits.task.shape[0]
    return xp.arange(h) >= h - visits.filled


def rescale_visits(visits: Visits, old: OutcomeRange, new: OutcomeRange) -> Visits:
    """The visits measured on the range `new` in place of `old`."""
    return visits._replace(
        rate=rescale_rates(visits.rate, old, new), change=rescale_changes(visits.change, old, new)
    )


def choose_tasks(played: Array, offset: Array, most: int) -> tuple[Array, Array]:
    """([most] ids of tasks that were played, [] how many of the ids to use: the first ones).

    If more than `most` were played, every so-manieth of them is chosen, starting at a place that
    depends on `offset`: systematic sampling, in which all tasks are equally likely as the offset
    goes around. The ids come in an order that is spread over the pool, so that whatever part of
    them is forgotten first is spread over it too.

    Args:
        played: [n] bool.
        offset: [] in [0, 1).
        most: at most n.
    """
    xp = namespace(played, offset)
    so_far = xp.cumsum(played.astype("int32"))
    total = so_far[-1]
    count = xp.minimum(total, most)
    slot = xp.arange(most)
    spaced = xp.floor((slot + offset) * (total / most)).astype("int32")
    rank = xp.where(total > most, xp.minimum(spaced, total - 1), slot)
    ids = xp.searchsorted(so_far, rank + 1)
    key = xp.where(slot < count, (slot * GOLDEN + offset) % 1.0, 2.0)
    return ids[xp.argsort(key, stable=True)].astype("int32"), count


def add_visits(visits: Visits, contexts: Array, played: Array, rate: Array, most: int) -> Visits:
    """The memory after a visit to every task that was played, or to `most` of them.

    Args:
        visits: so far.
        contexts: [n, d] of the pool.
        played: [n] bool.
        rate: [n] success rate of the tasks that were played.
        most: new visits to take at a time, at most n and at most h.
    """
    xp = namespace(visits.rate, contexts, rate)
    h = visits.task.shape[0]
    ids, count = choose_tasks(played, visits.offset, most)
    ids = xp.minimum(ids, played.shape[0] - 1)  # of those that are not used
    new_rate = rate[ids]
    change = xp.abs(new_rate - _nearest_rate(visits, contexts, ids, new_rate))
    kept = count + xp.arange(h)  # of the old entries followed by the new ones

    def append(old: Array, new: Array) -> Array:
        return xp.concat([old, new.astype(old.dtype)])[kept]

    return Visits(
        task=append(visits.task, ids),
        rate=append(visits.rate, new_rate),
        change=append(visits.change, change),
        filled=xp.minimum(visits.filled + count, h).astype(visits.filled.dtype),
        offset=((visits.offset + GOLDEN) % 1.0).astype(visits.offset.dtype),
    )


def _nearest_rate(visits: Visits, contexts: Array, ids: Array, otherwise: Array) -> Array:
    """[m] rate of the visit nearest in context to each task, the newest of several.

    Args:
        visits: so far.
        contexts: [n, d].
        ids: [m] of tasks.
        otherwise: [m] what to return if there was no visit.
    """
    xp = namespace(visits.rate, contexts)
    here, there = contexts[ids], contexts[visits.task[::-1]]  # the newest first
    distance = xp.zeros((here.shape[0], there.shape[0]), dtype=contexts.dtype)
    for column in range(contexts.shape[1]):  # exactly 0 for equal contexts
        distance = distance + (here[:, column, None] - there[None, :, column]) ** 2
    distance = xp.where(is_filled(visits)[::-1], distance, xp.inf)
    nearest = xp.argmin(distance, axis=1)
    return xp.where(visits.filled > 0, visits.rate[::-1][nearest], otherwise)
