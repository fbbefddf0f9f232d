"""The rules of AntGoal: goals, observations and rewards.

Pure functions over a batch, shared by the host form and the MJX form. The ant is Gymnasium's own
model.
"""

from procurl.internals.arrays import Array, namespace

CONTEXT_NAMES = ("goal_x", "goal_y")
GOALS_WITHIN = 3.0  # radius of the disc around the start

FRAME_SKIP = 5  # simulation steps of one action
HORIZON = 200
GOAL_RADIUS = 0.5  # an episode that ends this close to the goal is a success
ACTIONS = 8

NEARNESS = 10.0  # reward at the goal
DECAY = 2.0  # of that reward per unit of distance
EFFORT = 0.1  # cost per squared action
CONTACT = 0.0005  # cost per squared contact force
FORCE_BOUND = 1.0  # contact forces are clipped to ± this

POSITIONS = 15
VELOCITIES = 14
OBSERVATIONS = 2 + POSITIONS + VELOCITIES
BOUND = 1000.0  # observations are clipped to ± this; actual values are far smaller


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
