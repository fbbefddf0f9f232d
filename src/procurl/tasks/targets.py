"""Targets: the tasks of a pool that matter in the end, marked by a feature column."""

import numpy as np

from procurl.internals.arrays import Ids
from procurl.tasks.pool import TaskPool

TARGET = "target"  # the column that marks targets by default


def target_ids(pool: TaskPool, column: str = TARGET) -> Ids:
    """[m] ids of the targets of `pool`: the tasks whose feature `column` is not 0.

    Raises ValueError if the pool has no such feature or no target.
    """
    if column not in pool.features:
        known = ", ".join(pool.features) or "none"
        raise ValueError(
            f"targets={column!r} is not a feature of the pool (its features: {known}). Mark the "
            f"tasks that matter with TaskPool(…, features={{{column!r}: …}}) or the column "
            f"'feature:{column}' of its CSV file, or add them: with procurl.add_targets, on the "
            "command line with --target-pool FILE"
        )
    marked = np.flatnonzero(pool.features[column])
    if not marked.size:
        raise ValueError(
            f"targets={column!r}: no task of the pool is marked as a target, the feature is 0 on "
            f"all {len(pool)} tasks"
        )
    return marked


def add_targets(pool: TaskPool, targets: TaskPool, column: str = TARGET) -> TaskPool:
    """`pool` with the tasks of `targets` marked by the feature `column`.

    Targets that the pool holds already are marked in place, the others are added after its last
    task. Features that only one of the two pools has are dropped.

    >>> pool = add_targets(TaskPool([[0.0], [1.0]]), TaskPool([[1.0], [5.0]]))
    >>> pool.contexts.ravel().tolist(), pool.features["target"].tolist()
    ([0.0, 1.0, 5.0], [0.0, 1.0, 1.0])

    Args:
        pool: the training tasks, with contexts.
        targets: the tasks that matter, with the same context columns.
        column: name of the feature.
    """
    for argument, given in (("pool", pool), ("targets", targets)):
        if given.contexts is None:
            raise ValueError(
                f"{argument} must hold contexts, got {given}: mark the targets of other pools with "
                f"TaskPool(…, features={{{column!r}: …}})"
            )
    if pool.names != targets.names:
        raise ValueError(
            f"targets must have the context columns of the pool, {', '.join(pool.names)}, "
            f"got {', '.join(targets.names)}"
        )
    assert pool.contexts is not None
    assert targets.contexts is not None
    place = {tuple(row): task for task, row in enumerate(pool.contexts.tolist())}
    rows = [tuple(row) for row in targets.contexts.tolist()]
    known = [place[row] for row in rows if row in place]
    new = [i for i, row in enumerate(rows) if row not in place]
    mark = np.zeros(len(pool) + len(new))
    mark[known] = 1.0
    mark[len(pool) :] = 1.0
    shared = [name for name in pool.features if name in targets.features and name != column]
    features = {
        name: np.concatenate([pool.features[name], targets.features[name][new]]) for name in shared
    }
    return TaskPool(
        np.concatenate([pool.contexts, targets.contexts[new]]),
        names=pool.names,
        features=features | {column: mark},
        labels=_labels(pool, new),
    )


def _labels(pool: TaskPool, new: list[int]) -> list[str] | None:
    """The labels of the pool's tasks, and one for each new target; None if the pool has none."""
    if pool.labels is None:
        return None
    return [*pool.labels, *(f"{TARGET} {i}" for i in new)]
