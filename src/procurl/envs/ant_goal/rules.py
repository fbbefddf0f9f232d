"""AntGoal: where the goals are, what the agent sees and what it is paid for.

Pure functions over a batch, as in `ball_catching`; the ant is Gymnasium's own model.
"""

import numpy as np

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number
from procurl.tasks.pool import TaskPool

CONTEXT_NAMES = ("goal_x", "goal_y")
GOALS_WITHIN = 3.0  # radius of the disc around the start

FRAME_SKIP = 5  # simulation steps of one action
HORIZON = 200
GOAL_RADIUS = 0.5  # an episode that ends this near to the goal is a success
ACTIONS = 8

NEARNESS = 10.0  # reward at the goal
DECAY = 2.0  # of that reward per unit of distance
EFFORT = 0.1  # cost per squared action
CONTACT = 0.0005  # cost per squared contact force
FORCE_BOUND = 1.0  # contact forces are clipped to ± this

POSITIONS = 15
VELOCITIES = 14
OBSERVATIONS = 2 + POSITIONS + VELOCITIES
BOUND = 1000.0  # observations are clipped to ± this; an ant comes nowhere near


class AntGoal(ArrayEnv):
    """Walk a four-legged ant to a goal on the plane and stay there.

    The rules, which all forms of the simulation share. An action is the torque of eight joints, as
    a share of the motors' strength. No episode ends before 200 actions.
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
        if (distance := float(np.hypot(*context))) > GOALS_WITHIN + 1e-9:  # rounding is forgiven
            raise ValueError(
                f"context: the goal must lie within {GOALS_WITHIN:g} of the start, "
                f"got {tuple(map(float, context))}, which is {distance:g} away"
            )

    def default_pool(self) -> TaskPool:
        from procurl.envs.ant_goal.pool import ant_goal_pool

        return ant_goal_pool("uniform")


def observations(goals: Array, positions: Array, velocities: Array) -> Array:
    """[b, 31] float32: the goal, then all positions and velocities.

    Args:
        goals: [b, 2].
        positions: [b, 15], of the torso x, y, z and orientation, then eight joints.
        velocities: [b, 14].
    """
    xp = namespace(goals, positions)
    shown = xp.concatenate([goals, positions, velocities], axis=1)
    return xp.minimum(xp.maximum(shown, -BOUND), BOUND).astype("float32")


def distances(goals: Array, positions: Array) -> Array:
    """[b] of the torso from the goal, on the plane."""
    xp = namespace(goals, positions)
    return xp.sqrt(((positions[:, :2] - goals) ** 2).sum(axis=1))


def rewards(distance: Array, actions: Array, forces: Array) -> Array:
    """[b] 10·exp(−2·distance) − 0.1·|a|² − 0.0005·Σ clip(contact forces, ±1)².

    Args:
        distance: [b] of the torso from the goal, after the action.
        actions: [b, 8] within the box.
        forces: [b, bodies, 6] external torque and force on every body.
    """
    xp = namespace(distance, forces)
    clipped = xp.minimum(xp.maximum(forces, -FORCE_BOUND), FORCE_BOUND)
    return (
        NEARNESS * xp.exp(-DECAY * distance)
        - EFFORT * (actions**2).sum(axis=1)
        - CONTACT * (clipped**2).sum(axis=(1, 2))
    )
