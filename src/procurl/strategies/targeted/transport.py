"""Particles on the tasks of a pool that move to the targets as far as success allows."""

from typing import Any, NamedTuple

import numpy as np

from procurl.internals.arrays import Array, Ids, compute_if, namespace
from procurl.strategies.targeted.assignment import assign
from procurl.tasks.cells import nested_cells
from procurl.tasks.pool import TaskPool
from procurl.tasks.scaling import scaled_columns
from procurl.tasks.targets import target_ids

STEP = 0.1  # of a particle; the paper's experiments have 0.10 and 0.13 on average
SPACINGS = 2.0  # that a step spans at least: with fewer, a small pool has no neighbor in reach
ROUNDING = 1e-5  # of distances in single precision: a step of 0.1 reaches the next task of a grid


class Terrain(NamedTuple):
    """Where particles can be, where they start and where they should arrive."""

    contexts: Array  # [n, d] float32, scaled to [0, 1] per column
    candidates: Array  # [k] int32, the tasks that particles can move to
    goals: Array  # [m] int32, targets: one for each particle
    start: Array  # [m] int32, tasks
    step: Array  # []  float32, largest distance of a move by default


def terrain_of(pool: TaskPool, targets: str, particles: int, candidates: int) -> Terrain:
    """The terrain of a pool with contexts.

    The order of cells, in which near tasks follow each other, spreads particles and candidates
    evenly, without any randomness.

    Args:
        pool: its targets are among the candidates.
        targets: the feature that marks the targets.
        particles: m; targets repeat or are left out, evenly, to give as many goals.
        candidates: largest number of tasks besides the targets.
    """
    if pool.contexts is None:
        raise ValueError(
            "currot needs a pool with contexts, numbers that say how tasks differ; this pool of "
            f"{len(pool)} tasks has none. Pass TaskPool an array with a row per task, or a CSV "
            "file with a column per number, or use target, which needs none"
        )
    n, d = pool.contexts.shape
    marked = target_ids(pool, targets)
    cells = nested_cells(pool.contexts).tasks.ravel()
    order = cells[cells < n]
    some = np.union1d(_evenly(order, min(candidates, n)), marked)
    return Terrain(
        scaled_columns(pool.contexts).astype(np.float32),
        some.astype(np.int32),
        _evenly(marked, particles).astype(np.int32),
        _evenly(order, particles).astype(np.int32),
        np.asarray(max(STEP, SPACINGS * n ** (-1.0 / d)), dtype=np.float32),
    )


def _evenly(ids: Ids, count: int) -> Ids:
    """[count] of `ids`, evenly spaced, or repeated equally often up to one."""
    return ids[(2 * np.arange(count) + 1) * len(ids) // (2 * count)]


def transport(
    terrain: Terrain, particles: Array, success: Array, threshold: Array, step: Array
) -> Array:
    """[m] int32, the particles after one step; the same if no candidate is above the threshold.

    Args:
        terrain: of the pool.
        particles: [m] int32, tasks.
        success: [n] estimate.
        threshold: that the success on a particle's task must exceed.
        step: largest distance of a move.
    """
    xp = namespace(particles, success, terrain.contexts)
    able = success[terrain.candidates] > threshold

    def move() -> Array:
        contexts, goals, candidates = terrain.contexts, terrain.goals, terrain.candidates
        apart = squared_distances(contexts[goals], contexts[candidates])
        solved = candidates[xp.argmin(xp.where(able, apart, xp.inf), axis=1)]
        kept = _send_back(xp, contexts, particles, solved, success[particles] > threshold)
        goal = assign(squared_distances(contexts[kept], contexts[goals]))
        moves = squared_distances(contexts[kept], contexts[candidates])
        reach = moves <= ((1.0 + ROUNDING) * step) ** 2
        left = xp.where(able & reach, apart[goal], xp.inf)
        now = xp.sum((contexts[kept] - contexts[goals[goal]]) ** 2, axis=1)
        return xp.where(xp.min(left, axis=1) < now, candidates[xp.argmin(left, axis=1)], kept)

    return compute_if(xp, xp.any(able), move, particles)


def _send_back(xp: Any, contexts: Array, particles: Array, solved: Array, keeps: Array) -> Array:
    """[m] the particles; those that do not keep their task go where the plan to `solved` says."""
    plan = assign(squared_distances(contexts[particles], contexts[solved]))
    return xp.where(keeps, particles, solved[plan])


def squared_distances(one: Array, other: Array) -> Array:
    """[a, b] between the rows of two arrays, [a, d] and [b, d]."""
    columns = zip(one.T, other.T, strict=True)
    return sum((left[:, None] - right) ** 2 for left, right in columns)
