"""The pools of AntGoal: goals drawn uniformly from a disc, for training and testing."""

import numpy as np

from procurl.envs.ant_goal.rules import CONTEXT_NAMES, GOALS_WITHIN
from procurl.envs.mujoco.pool import pool_draw
from procurl.tasks.pool import TaskPool

SIZE = 50
SEED = 0


def ant_goal_pool(
    kind: str = "uniform", size: int | None = None, seed: int | None = None
) -> TaskPool:
    """Goals uniform in the disc of radius 3 around the start, with their distance as a feature.

    Args:
        kind: `uniform`, or `test`, drawn in the same way from other random numbers, so that the
            two share no task.
        size: number of tasks, 50 by default.
        seed: 0 by default.
    """
    rng, size = pool_draw("AntGoal", kind, size, SIZE, seed, SEED)
    share, angle = rng.uniform(0.0, 1.0, size), rng.uniform(-np.pi, np.pi, size)
    distance = GOALS_WITHIN * np.sqrt(share)  # uniform over the area
    goals = distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return TaskPool(goals, names=CONTEXT_NAMES, features={"goal_distance": distance})
