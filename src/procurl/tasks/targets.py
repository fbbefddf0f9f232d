"""Targets: the tasks of a pool that matter in the end, marked by a feature column."""

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from procurl.internals.arrays import Ids
from procurl.internals.checks import require_integer
from procurl.tasks.pool import TaskPool

TARGET = "target"  # the column that marks targets by default
DRAWS = 400  # targets drawn from a function by default

# As text, because naming the generator would import `numpy.random` with the package.
Draw: TypeAlias = Callable[["np.random.Generator", int], ArrayLike]


def target_ids(pool: TaskPool, column: str = TARGET) -> Ids:
    """[m] ids of the targets of `pool`: the tasks whose feature `column` is not 0.

    Raises if the pool has no such feature or no target.
    """
    if not isinstance(column, str):
        raise TypeError(
            f"targets must be the name of a feature of the pool, got {type(column).__name__}: add "
            "the tasks that matter to the pool with procurl.add_targets(pool, targets)"
        )
    if column not in pool.features:
        known = ", ".join(pool.features) or "none"
        raise ValueError(
            f"targets={column!r} is not a feature of the pool (its features: {known}). Mark the "
            f"tasks that matter with TaskPool(…, features={{{column!r}: …}}) or the column "
            f"'feature:{column}' of its CSV file, or add them: with procurl.add_targets, on the "
            "command line with --target-pool FILE. Candidates of a TaskSpace have no features: use "
            "a fixed pool, such as space.pool()"
        )
    marked = marked_ids(pool, column)
    if not marked.size:
        raise ValueError(
            f"targets={column!r}: no task of the pool is marked as a target, the feature is 0 on "
            f"all {len(pool)} tasks"
        )
    return marked


def marked_ids(pool: TaskPool, column: str = TARGET) -> Ids:
    """[m] ids of the targets of `pool`, as in `target_ids`; empty if it has none."""
    return np.flatnonzero(pool.features.get(column, ()))


def add_targets(
    pool: TaskPool,
    targets: TaskPool | Draw,
    column: str = TARGET,
    *,
    size: int = DRAWS,
    seed: int = 0,
) -> TaskPool:
    """`pool` with the tasks of `targets` marked by the feature `column`.

    Targets that the pool holds already are marked in place, the others are added after its last
    task. Features that only one of the two pools has are dropped. A function that draws targets is
    called once: the same seed gives the same targets, which then stay as they are.

    >>> pool = add_targets(TaskPool([[0.0], [1.0]]), TaskPool([[1.0], [5.0]]))
    >>> pool.contexts.ravel().tolist(), pool.features["target"].tolist()
    ([0.0, 1.0, 5.0], [0.0, 1.0, 1.0])

    Args:
        pool: the training tasks, with contexts.
        targets: the tasks that matter, with the same context columns, or a function that draws
            them: `draw(rng, size)` returns contexts [size, d].
        column: name of the feature.
        size: number of targets to draw.
        seed: of the draw.
    """
    _require_contexts("pool", pool, column)
    if not isinstance(targets, TaskPool):
        targets = _draw_targets(pool, targets, size, seed)
    _require_contexts("targets", targets, column)
    if pool.names != targets.names:
        raise ValueError(
            f"targets must have the context columns of the pool in the same order, "
            f"{', '.join(pool.names)}, got {', '.join(targets.names)}"
        )
    assert pool.contexts is not None
    assert targets.contexts is not None
    rows = [tuple(row) for row in pool.contexts.tolist()]
    wanted = [tuple(row) for row in targets.contexts.tolist()]
    there, marked = set(rows), set(wanted)
    new = [i for i, row in enumerate(wanted) if row not in there]
    mark = np.array([row in marked for row in rows] + [True] * len(new), dtype=np.float64)
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


def _require_contexts(argument: str, pool: TaskPool, column: str) -> None:
    if not isinstance(pool, TaskPool):
        raise TypeError(
            f"{argument} must be a TaskPool, got {type(pool).__name__}: targets are tasks of a "
            "fixed pool, which space.pool() makes of a TaskSpace"
        )
    if pool.contexts is None:
        raise ValueError(
            f"{argument} must hold contexts, got {pool}: mark the targets of other pools with "
            f"TaskPool(…, features={{{column!r}: …}})"
        )


def _draw_targets(pool: TaskPool, draw: Draw, size: int, seed: int) -> TaskPool:
    """`size` targets drawn by a function, with the context columns of `pool`."""
    if not callable(draw):
        raise TypeError(
            "targets must be a TaskPool or a function draw(rng, size) that returns contexts, got "
            f"{type(draw).__name__}"
        )
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    contexts = np.asarray(draw(np.random.default_rng(seed), size), dtype=np.float64)
    wanted = (size, len(pool.names))
    if contexts.shape != wanted:
        raise ValueError(
            f"the function that draws targets must return contexts of shape {wanted}, a row per "
            f"target and a column for each of {', '.join(pool.names)}, got shape {contexts.shape}"
        )
    return TaskPool(contexts, names=pool.names)


def _labels(pool: TaskPool, new: list[int]) -> list[str] | None:
    """The labels of the pool's tasks, and one for each new target; None if the pool has none."""
    if pool.labels is None:
        return None
    labels = dict.fromkeys(pool.labels)
    for i in new:
        free = (label for k in count(i) if (label := f"{TARGET} {k}") not in labels)
        labels[next(free)] = None
    return list(labels)
