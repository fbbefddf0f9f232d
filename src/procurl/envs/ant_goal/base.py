"""AntGoal without its physics: what the host form and the MJX form share."""

import numpy as np

from procurl.envs.ant_goal.pool import ant_goal_pool
from procurl.envs.ant_goal.rules import (
    ACTIONS,
    BOUND,
    CONTEXT_NAMES,
    GOALS_WITHIN,
    HORIZON,
    OBSERVATIONS,
)
from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array
from procurl.internals.checks import require_number
from procurl.tasks.pool import TaskPool


class AntGoal(ArrayEnv):
    """Walk a four-legged ant to a goal on the plane and stay there.

    An action is the torque of eight joints, as a fraction of the motors' maximum. Every episode
    lasts 200 actions.
    """

    horizon = HORIZON
    context_names = CONTEXT_NAMES
    observation_low = np.full(OBSERVATIONS, -BOUND, dtype=np.float32)
    observation_high = np.full(OBSERVATIONS, BOUND, dtype=np.float32)
    action_low = -np.ones(ACTIONS, dtype=np.float32)
    action_high = np.ones(ACTIONS, dtype=np.float32)
    n_actions = None
    noise_shape = (0,)

    def check_context(self, context: Array) -> None:
        if np.shape(context) != (len(CONTEXT_NAMES),):
            raise ValueError(
                f"context must hold {len(CONTEXT_NAMES)} numbers ({', '.join(CONTEXT_NAMES)}), "
                f"got {context!r}"
            )
        for name, value in zip(CONTEXT_NAMES, context, strict=True):
            require_number(f"context: {name}", float(value))
        if (distance := float(np.hypot(*context))) > GOALS_WITHIN + 1e-9:  # tolerates rounding
            raise ValueError(
                f"context: the goal must lie within {GOALS_WITHIN:g} of the start, "
                f"got {tuple(map(float, context))}, which is {distance:g} away"
            )

    def default_pool(self) -> TaskPool:
        return ant_goal_pool("uniform")
