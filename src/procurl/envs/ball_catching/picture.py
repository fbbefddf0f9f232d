"""Pictures of BallCatching: the arm, the net, the ball, its path so far and its target."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from procurl.envs.ball_catching.model import BALL, ball_catching_model
from procurl.envs.ball_catching.rules import GRAVITY, flight_times
from procurl.envs.mujoco.picture import Mark, Studio, trail
from procurl.internals.arrays import Floats

SIZE = (480, 480)
TARGET_COLOR = (0.13, 0.62, 0.33, 0.6)
TARGET_RADIUS = 0.03
TRAIL_COLOR = (0.85, 0.3, 0.2, 1.0)


def ball_catching_picture(
    positions: Sequence[Floats], velocities: Sequence[Floats]
) -> NDArray[np.uint8]:
    """[height, width, 3] the episode so far.

    The green ball is the target point, computed from the first state.

    Args:
        positions: [10] each, first to current.
        velocities: [10] each.
    """
    path = [position[BALL] for position in positions]
    target = _target(path[0], velocities[0][BALL])
    marks = [*trail(path[:-1], 0.008, TRAIL_COLOR), Mark(target, TARGET_RADIUS, TARGET_COLOR)]
    return _studio().picture(positions[-1], velocities[-1], marks)


def _target(start: Floats, velocity: Floats) -> list[float]:
    """Where a throw from `start` [3] is after its flight, as its distance is its x."""
    time = float(flight_times(np.array([[0.0, 0.0, start[0]]]))[0])
    fall = np.array([0.0, 0.0, 0.5 * GRAVITY * time**2])
    reached: list[float] = (start + velocity * time - fall).tolist()
    return reached


@cache
def _studio() -> Studio:
    return Studio(ball_catching_model(), SIZE, (0.25, -0.45, 1.2), 2.7, 150.0, -14.0)
