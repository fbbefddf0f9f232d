"""BallCatching without its physics: what the host form and the MJX form share."""

import numpy as np

from procurl.envs.array_env import ArrayEnv, require_context
from procurl.envs.ball_catching.pool import ball_catching_pool
from procurl.envs.ball_catching.rules import (
    BOUND,
    CONTEXT_HIGH,
    CONTEXT_LOW,
    CONTEXT_NAMES,
    HORIZON,
    NET_AXES,
    OBSERVATIONS,
    SPEED,
    START_NOISE,
)
from procurl.internals.arrays import Array
from procurl.internals.checks import require_choice
from procurl.tasks.pool import TaskPool


class BallCatching(ArrayEnv):
    """Catch a ball with a net on a robot arm; the ball is thrown at a point near the arm.

    An action is the desired velocity of five joints. The episode ends when the ball touches
    anything; touching the net is a success.
    """

    net_axis: str  # what a catch is measured along, one of `NET_AXES`

    def __post_init__(self) -> None:
        require_choice("net_axis", self.net_axis, NET_AXES)

    horizon = HORIZON
    context_names = CONTEXT_NAMES
    observation_low = np.full(OBSERVATIONS, -BOUND, dtype=np.float32)
    observation_high = np.full(OBSERVATIONS, BOUND, dtype=np.float32)
    action_low = -np.array(SPEED, dtype=np.float32)
    action_high = np.array(SPEED, dtype=np.float32)
    n_actions = None
    noise_shape = (0,)
    start_noise_shape = (START_NOISE,)

    def check_context(self, context: Array) -> None:
        require_context(context, CONTEXT_NAMES, CONTEXT_LOW, CONTEXT_HIGH)

    def default_pool(self) -> TaskPool:
        return ball_catching_pool("uniform")
