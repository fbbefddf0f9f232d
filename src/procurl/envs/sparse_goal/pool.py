"""The pools of SparseGoal: mostly uniform, for training and testing, and the targets."""

import numpy as np

from procurl.envs.sparse_goal.rules import (
    CONTEXT_HIGH,
    CONTEXT_LOW,
    CONTEXT_NAMES,
    INNER,
    OUTER,
    TARGET_TOLERANCE,
)
from procurl.internals.arrays import Floats
from procurl.internals.checks import require_choice, require_integer
from procurl.tasks.pool import TaskPool
from procurl.tasks.targets import TARGET

SIZES = {"uniform": 10_000, "test": 10_000, "target": 100}
SEED = 0
TARGETS_ONE_IN = 100  # of the tasks of a pool that is not `target`


def sparse_goal_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Draw a pool of SparseGoal tasks; the same arguments give the same pool.

    - `uniform`: goals and tolerances uniform over their ranges, also inside the walls; the last
      hundredth of the pool, rounded, are targets;
    - `test`: drawn in the same way from other random numbers, so the two share no task;
    - `target`: goals uniform over the corridor, tolerance 0.05.

    The feature `target` is 1 on targets.

    Args:
        kind: `uniform`, `test` or `target`.
        size: number of tasks; 10,000 by default, 100 for `target`.
        seed: 0 by default.
    """
    require_choice("kind", kind, tuple(SIZES))
    size = SIZES[kind] if size is None else size
    seed = SEED if seed is None else seed
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    rng = np.random.default_rng([seed, list(SIZES).index(kind)])
    targets = size if kind == "target" else round(size / TARGETS_ONE_IN)
    uniform = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (size - targets, len(CONTEXT_NAMES)))
    contexts = np.concatenate([uniform, _targets(rng, targets)])
    is_target = np.arange(size) >= size - targets
    return TaskPool(contexts, names=CONTEXT_NAMES, features={TARGET: is_target})


def _targets(rng: np.random.Generator, count: int) -> Floats:
    """[count, 3] targets with goals uniform over the corridor.

    Four equal rectangles, each a quarter turn from the one before, cover the corridor.
    """
    along = rng.uniform(-OUTER, INNER, count)
    across = rng.uniform(INNER, OUTER, count)
    turns = 0.5 * np.pi * rng.integers(4, size=count)
    x = along * np.cos(turns).round() - across * np.sin(turns).round()
    y = along * np.sin(turns).round() + across * np.cos(turns).round()
    return np.stack([x, y, np.full(count, TARGET_TOLERANCE)], axis=1)
