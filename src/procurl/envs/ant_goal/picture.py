"""Pictures of AntGoal: the ant from above, its path so far and the goal."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from procurl.envs.ant_goal.model import ant_goal_model
from procurl.envs.ant_goal.rules import GOAL_RADIUS
from procurl.envs.mujoco.picture import Mark, Studio, trail
from procurl.internals.arrays import Floats

SIZE = (480, 480)
GOAL_COLOR = (0.13, 0.55, 0.33, 0.6)
TRAIL_COLOR = (0.12, 0.37, 0.72, 1.0)


def ant_goal_picture(
    positions: Sequence[Floats], velocities: Sequence[Floats], goal: Floats
) -> NDArray[np.uint8]:
    """[height, width, 3] the episode so far.

    An episode succeeds if it ends in the green disc.

    Args:
        positions: [15] each, first to current.
        velocities: [14] each.
        goal: [2].
    """
    path = [np.array([*position[:2], 0.02]) for position in positions]
    marks = [
        Mark((*goal.tolist(), 0.004), GOAL_RADIUS, GOAL_COLOR, flat=True),
        *trail(path, 0.03, TRAIL_COLOR),
    ]
    return _studio().picture(positions[-1], velocities[-1], marks)


@cache
def _studio() -> Studio:
    return Studio(ant_goal_model(), SIZE, (0.0, 0.0, 0.0), 8.5, 90.0, -60.0)
