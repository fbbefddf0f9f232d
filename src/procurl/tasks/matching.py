"""Which tasks two pools have in common."""

import json
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool


class SharedTasks(NamedTuple):
    """The m tasks that are in both of two pools."""

    before: Ids  # [m] their ids in the first pool
    after: Ids  # [m] their ids in the second pool


def match_tasks(before: TaskPool, after: TaskPool) -> SharedTasks:
    """The tasks of both pools: equal labels, or equal tasks if one of the pools has no labels.

    Context columns of the same names are compared by name, in any order, all others by position.

    >>> match_tasks(TaskPool(["a", "b", "c"]), TaskPool(["c", "d", "a"]))
    SharedTasks(before=array([2, 0]), after=array([0, 2]))
    """
    labels = before.labels is not None and after.labels is not None
    names = before.names if set(before.names) == set(after.names) else after.names
    place = {key: task for task, key in enumerate(_keys(before, labels, before.names))}
    found = [place.get(key, -1) for key in _keys(after, labels, names)]
    ids = np.asarray(found, dtype=np.int64)
    shared = np.flatnonzero(ids >= 0)
    return SharedTasks(ids[shared], shared)


def _keys(pool: TaskPool, labels: bool, names: tuple[str, ...]) -> list[Hashable]:
    """What identifies each task of a pool; raises if two tasks are equal.

    Args:
        pool: the tasks.
        labels: whether their labels do.
        names: its context columns, in the order to compare them in.
    """
    if labels and pool.labels is not None:
        return list(pool.labels)
    if pool.contexts is not None:
        columns = pool.contexts[:, [pool.names.index(name) for name in names]]
        rows = np.ascontiguousarray(columns + 0.0)  # −0 becomes 0
        keys: list[Hashable] = [row.tobytes() for row in rows]
    else:
        keys = [_key(pool[task], task) for task in range(len(pool))]
    _require_different(keys)
    return keys


def _key(task: object, position: int) -> Hashable:
    """The task itself, or its JSON text if it is not hashable."""
    if isinstance(task, Hashable):
        try:
            hash(task)
        except TypeError:  # a tuple of lists
            pass
        else:
            return task
    try:
        return json.dumps(task, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"task {position} of the pool cannot be compared with those of another pool ({error}): "
            "pass labels to both pools"
        ) from error


def _require_different(keys: list[Hashable]) -> None:
    first: dict[Hashable, int] = {}
    for task, key in enumerate(keys):
        if first.setdefault(key, task) != task:
            raise ValueError(
                f"tasks {first[key]} and {task} of the pool are equal, so that the tasks of "
                "another pool cannot be told apart: pass labels to both pools"
            )
