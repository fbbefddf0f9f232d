"""The pools of BallCatching: throws drawn uniformly, for training and for tests."""

from procurl.envs.ball_catching.rules import CONTEXT_HIGH, CONTEXT_LOW, CONTEXT_NAMES
from procurl.envs.mujoco.pool import checked_draw
from procurl.tasks.pool import TaskPool

SIZE = 100
SEED = 0


def ball_catching_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Throws with angle, radius and distance uniform over their ranges.

    Args:
        kind: `uniform`, or `test`, drawn likewise from random numbers of its own, so that no task
            is in both.
        size: number of tasks, 100 by default.
        seed: 0 by default.
    """
    rng, size = checked_draw("BallCatching", kind, size, SIZE, seed, SEED)
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (size, len(CONTEXT_NAMES)))
    return TaskPool(contexts, names=CONTEXT_NAMES)
