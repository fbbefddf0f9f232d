"""The rules of BallCatching: throws, initial states, observations and rewards.

Pure functions over a batch, written against the array namespace of their inputs, so that the host
form and the MJX form share them. The arm itself is a MuJoCo model, see `model`.
"""

import math
from importlib import import_module

import numpy as np

from procurl.internals.arrays import Array, namespace

CONTEXT_NAMES = ("angle", "radius", "distance")
CONTEXT_LOW = (math.pi / 8, 0.6, 0.75)
CONTEXT_HIGH = (math.pi / 2, 1.1, 4.0)

SUBSTEP = 0.002  # seconds
SUBSTEPS = 5  # of one action
GRAVITY = 9.81
BALL_RADIUS = 0.02
NET_RADIUS = 0.06
NET_HALF_HEIGHT = 0.01

HOME = (0.0, 0.4, 0.0, 1.5, 0.0, 0.0, 0.0)
MOVED = (1, 3, 4, 5, 6)  # joints that an action moves; the PD law holds the other two at 0
OBSERVED = (*MOVED, 7, 8, 9)  # observed coordinates: the moved joints and the ball
SPEED = (3.97, 4.04, 5.8, 3.14, 5.4)  # rad/s, bound of the desired velocity of each moved joint

POSITION_NOISE = 0.05  # reset: half the width of the uniform noise on the moved joints, rad
VELOCITY_NOISE = 0.05  # reset: standard deviation on their velocities, rad/s
UNIFORM_DRAWS = 7  # of a reset: five joints, then y and z of the throw
START_NOISE = 12  # those and the velocities of five joints
START_Y = (-0.75, -0.65)  # where throws start, uniform
START_Z = (0.8, 1.8)
TARGET_HEIGHT = 0.75  # of the point around which angle and radius are taken

NET_AXES = ("column", "row")  # of the net's rotation matrix, see `net_normals`
ALIVE = 0.275  # reward of every step
EFFORT = 0.005  # cost per squared action
CATCH = 50.0
STRAIGHT = 25.0  # for catching along the net's axis

BOUND = 10.0  # observations are clipped to ± this
OBSERVATIONS = 21
HORIZON = 120  # the longest throw hits the floor after 1.15 s, or 115 actions

_SEEN = np.asarray(OBSERVED)
_COLUMNS = np.array([5, 0, 5, 1, 2, 3, 4])  # of moved joints and a 0 behind them, as on the arm


def targets(contexts: Array) -> Array:
    """[b, 3] the target points of the throws, in the plane x = 0 of the arm.

    Args:
        contexts: [b, 3] angle φ, radius r and distance d; the target is
            (0, −r·cos φ, 0.75 + r·sin φ).
    """
    xp = namespace(contexts)
    angle, radius = contexts[:, 0], contexts[:, 1]
    y, z = -radius * xp.cos(angle), TARGET_HEIGHT + radius * xp.sin(angle)
    return xp.stack([xp.zeros_like(y), y, z], axis=1)


def flight_times(contexts: Array) -> Array:
    """[b] seconds until a ball in free flight reaches its target."""
    return 0.5 + 0.05 * contexts[:, 2]


def throws(contexts: Array, uniform: Array) -> tuple[Array, Array]:
    """(position [b, 3], velocity [b, 3]) of balls that reach their targets in free flight.

    A ball starts at (d, y, z) with random y and z.

    Args:
        contexts: [b, 3].
        uniform: [b, 2] in [0, 1], for y and z.
    """
    xp = namespace(contexts, uniform)
    y = START_Y[0] + (START_Y[1] - START_Y[0]) * uniform[:, 0]
    z = START_Z[0] + (START_Z[1] - START_Z[0]) * uniform[:, 1]
    start = xp.stack([contexts[:, 2], y, z], axis=1)
    time = flight_times(contexts)[:, None]
    fall = np.asarray([0.0, 0.0, 0.5 * GRAVITY], dtype=start.dtype)
    return start, (targets(contexts) - start) / time + fall * time


def starts(contexts: Array, uniform: Array, normal: Array) -> tuple[Array, Array]:
    """(positions [b, 10], velocities [b, 10]) of the arm's 7 joints and the ball in fresh episodes.

    The arm is at home, with noise on the joints that actions move. Desired positions begin at the
    joints' own.

    Args:
        contexts: [b, 3].
        uniform: [b, 7] in [0, 1], five for the joints, then two for the throw.
        normal: [b, 5] standard normal.
    """
    xp = namespace(contexts, uniform, normal)
    ball, ball_velocity = throws(contexts, uniform[:, 5:])
    shift = on_arm(POSITION_NOISE * (2.0 * uniform[:, :5] - 1.0))
    arm = np.asarray(HOME, dtype=ball.dtype) + shift
    arm_velocity = on_arm(VELOCITY_NOISE * normal)
    return (
        xp.concatenate([arm, ball], axis=1),
        xp.concatenate([arm_velocity, ball_velocity], axis=1),
    )


def noisy_starts(contexts: Array, noise: Array) -> tuple[Array, Array]:
    """`starts` from standard normal numbers alone.

    Args:
        contexts: [b, 3].
        noise: [b, 12]; the normal distribution function makes the first seven uniform.
    """
    special = import_module(
        "scipy.special" if isinstance(noise, np.ndarray) else "jax.scipy.special"
    )
    uniform = special.ndtr(noise[:, :UNIFORM_DRAWS])
    return starts(contexts, uniform, noise[:, UNIFORM_DRAWS:])


def on_arm(moved: Array) -> Array:
    """[..., 7] the values of the moved joints [..., 5], and 0 for the other two joints.

    This turns desired positions into the controls of the model.
    """
    xp = namespace(moved)
    held = xp.zeros_like(moved[..., :1])
    return xp.concatenate([moved, held], axis=-1)[..., _COLUMNS]


def observations(desired: Array, positions: Array, velocities: Array) -> Array:
    """[b, 21] float32: desired positions, then positions and velocities of joints and ball.

    Args:
        desired: [b, 5] of the moved joints.
        positions: [b, 10] of the arm's joints and the ball.
        velocities: [b, 10].
    """
    xp = namespace(desired, positions)
    shown = xp.concatenate([desired, positions[:, _SEEN], velocities[:, _SEEN]], axis=1)
    return xp.minimum(xp.maximum(shown, -BOUND), BOUND).astype("float32")


def net_normals(rotations: Array, net_axis: str) -> Array:
    """[..., 3] the vector n of the reward, from the net's rotation matrices [..., 3, 3].

    Args:
        rotations: from the net to the world.
        net_axis: `column` for the net's axis, `row` for the third row, as in the paper's program.
    """
    return rotations[..., 2, :] if net_axis == "row" else rotations[..., :, 2]


def rewards(actions: Array, caught: Array, axes: Array, ball_velocities: Array) -> Array:
    """[b] 0.275 − 0.005·|a|², and 50 + 25·(n·v)⁵ for a catch.

    Args:
        actions: [b, 5] within the box.
        caught: [b] bool, the ball touches the net.
        axes: [b, 3] n, of `net_normals`.
        ball_velocities: [b, 3] after the step; v is the unit vector along it.
    """
    xp = namespace(actions, axes)
    speed = xp.sqrt((ball_velocities**2).sum(axis=1))
    along = (axes * ball_velocities).sum(axis=1) / xp.maximum(speed, 1e-9)
    catch = CATCH + STRAIGHT * along**5
    return ALIVE - EFFORT * (actions**2).sum(axis=1) + xp.where(caught, catch, 0.0)
