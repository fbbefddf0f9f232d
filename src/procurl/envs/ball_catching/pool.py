"""The pools of BallCatching: throws drawn uniformly, for training and testing."""

from procurl.envs.ball_catching.rules import CONTEXT_HIGH, CONTEXT_LOW, CONTEXT_NAMES
from procurl.envs.mujoco.pool import pool_draw
from procurl.tasks.pool import TaskPool

SIZE = 100
SEED = 0


def ball_catching_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Throws with angle, radius and distance uniform over their ranges.

    Args:
        kind: `uniform`, or `test`, drawn in the same way from other random numbers, so that the
            two share no task.
        size: number of tasks, 100 by default.
        seed: 0 by default.
    """
    rng, size = pool_draw("BallCatching", kind, size, SIZE, seed, SEED)
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (size, len(CONTEXT_NAMES)))
    return TaskPool(contexts, names=CONTEXT_NAMES)
